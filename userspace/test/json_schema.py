#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The JSON Schema of the command's output.

json_schema.py check SCHEMA FILE   checks the lines of FILE: a name of $defs, a tab and JSON. Prints each name that was good,
                                   and on standard error why a line is not
json_schema.py names SCHEMA        prints the names of the commands
json_schema.py page SCHEMA         prints the tables of docs/json.md
"""
import json
import sys

PARTS = ('limit', 'maximum', 'histogram')   # of several commands


def load(path):
    with open(path, encoding='utf-8') as file:
        return json.load(file)


def check(schema, path):
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(schema)
    bad = False
    with open(path, encoding='utf-8') as file:
        for line in file:
            name, text = line.rstrip('\n').split('\t', 1)
            name = name.split(':')[0]
            if name not in schema['$defs']:
                sys.exit(f'{name} is not in the schema')
            validator = jsonschema.Draft202012Validator({'$ref': f'#/$defs/{name}', '$defs': schema['$defs']})
            errors = list(validator.iter_errors(json.loads(text)))
            for error in errors:
                print(f'{name}: {error.json_path}: {error.message}', file=sys.stderr)
            if errors:
                bad = True
            else:
                print(name)
    return bad


def type_of(member):
    if '$ref' in member:
        return '[' + member['$ref'].rsplit('/', 1)[1] + '](#' + member['$ref'].rsplit('/', 1)[1] + ')'
    if 'enum' in member:
        return ', '.join(f'`"{value}"`' for value in member['enum'])
    if 'const' in member:
        return f'`{json.dumps(member["const"])}`'
    kind = member['type']
    if isinstance(kind, list):
        return ' or '.join(kind)
    if kind == 'array':
        return 'array of ' + type_of(member['items'])
    return kind


def rows(description, prefix=''):
    for name, member in description.get('properties', {}).items():
        yield f'| `{prefix}{name}` | {type_of(member)} | {member["description"]} |'
        if member.get('type') == 'object':
            yield from rows(member, f'{prefix}{name}.')
        if member.get('type') == 'array' and member['items'].get('type') == 'object':
            yield from rows(member['items'], f'{prefix}{name}[].')


def page(schema):
    for name, description in schema['$defs'].items():
        print(f'\n## {name}\n')
        if '$ref' in description:
            print(f'{description["description"]}')
            continue
        print(description['description'])
        print('\n| member | type | |\n|---|---|---|')
        for row in rows(description['items'] if description['type'] == 'array' else description):
            print(row)


def main():
    command, path, *rest = sys.argv[1:]
    schema = load(path)
    if command == 'check':
        return check(schema, rest[0])
    if command == 'names':
        print('\n'.join(name for name in schema['$defs'] if name not in PARTS))
    elif command == 'page':
        page(schema)
    return 0


if __name__ == '__main__':
    sys.exit(main())
