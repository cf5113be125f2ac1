#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The JSON Schema of the command's output.

json_schema.py check SCHEMA FILE   checks the lines of FILE: a name of $defs, a tab and JSON. Prints each name that was good,
                                   and on standard error why a line is not
json_schema.py names SCHEMA        prints the names of the commands
"""
import json
import sys

# Those of several commands.
PARTS = ('key', 'key_bytes', 'bytes', 'refusal', 'line', 'argument', 'item', 'limit', 'maximum', 'histogram', 'count',
         'count_or_null', 'priority')


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


def main():
    command, path, *rest = sys.argv[1:]
    schema = load(path)
    if command == 'check':
        return check(schema, rest[0])
    if command == 'names':
        print('\n'.join(name for name in schema['$defs'] if name not in PARTS))
    return 0


if __name__ == '__main__':
    sys.exit(main())
