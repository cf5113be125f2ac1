# SPDX-License-Identifier: GPL-2.0-only
"""The part of syzkaller's language that kwq.txt uses: its syntax, its sizes, and the errors of its compiler.

syzkaller itself is not available where this project is tested, so this file repeats its rules: those of its compiler,
and those by which its fuzzer decides which calls it can make. Rules that newer compilers dropped stay, so that the
description works with older ones. test_syzlang.py has a bad description for each rule.
"""
import re

INTS = {f'int{bits}{order}': bits // 8 for bits in (8, 16, 32, 64) for order in ('', 'be') if bits > 8 or not order}
INTS['intptr'] = 8
LENS = ('len', 'bytesize', 'bytesize2', 'bytesize4', 'bytesize8', 'bitsize', 'offsetof')
# Built-in types: the minimum and maximum number of arguments, without the base type.
ARGUMENTS = {'const': (1, 1), 'flags': (1, 1), 'proc': (2, 2), 'csum': (2, 3), 'text': (1, 1), 'fmt': (2, 2), 'void': (0, 0),
             'ptr': (2, 2), 'ptr64': (2, 2), 'array': (1, 2), 'string': (0, 2), 'stringnoz': (0, 1), 'vma': (0, 1),
             'vma64': (0, 1), **{name: (1, 1) for name in LENS}, **{name: (0, 2) for name in INTS}}
# Types with an integer type as their last argument, except as an argument of a call.
WANT_BASE = ('const', 'flags', 'proc', 'csum', *LENS)
# The fuzzer chooses these values, so the kernel cannot write them.
NEVER_OUT = ('const', 'flags', 'proc', 'csum', 'text', *LENS)
NEVER_OPTIONAL = ('const', 'flags', 'csum', 'text', 'fmt', 'array', 'void', *LENS)
NEVER_ARGUMENT = ('csum', 'text', 'fmt', 'void', 'array', 'string', 'stringnoz')
NEVER_ALIAS = ('csum', 'text', 'void', 'vma', 'vma64', *LENS)
RESERVED = ('opt', 'in', 'out', 'inout')
DIRECTIONS = ('in', 'out', 'inout')
# Defined in syzkaller's own files.
EXTERNAL = {'fd': 'int32'}
LONGEST_ARRAY = 1000000


class Type:
    """A type, or an argument of one: NAME[ARGUMENT, ...]:COLON:..."""

    def __init__(self, name, args=(), colon=()):
        self.name, self.args, self.colon = name, list(args), list(colon)

    def __str__(self):
        return self.name + (f'[{", ".join(map(str, self.args))}]' if self.args else '') + \
            ''.join(f':{colon}' for colon in self.colon)

    def with_arguments(self, values):
        """A copy in which a template's parameters are filled in."""
        if self.name in values and not self.args:
            filled = values[self.name]
            return Type(filled.name, filled.args, self.colon and [colon.with_arguments(values) for colon in self.colon])
        return Type(self.name, [arg.with_arguments(values) for arg in self.args],
                    [colon.with_arguments(values) for colon in self.colon])

    def plain(self):
        """The arguments without opt."""
        return [arg for arg in self.args if arg.name != 'opt']

    def optional(self):
        return len(self.plain()) < len(self.args)


class Parser:
    TOKEN = re.compile(r'\s*([A-Za-z_]\w*|-?0x[0-9a-fA-F]+|-?\d+|"[^"]*"|\'.\'|==|!=|[\[\](),:&])')

    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = self.TOKEN.match(text, at)
            if not match:
                raise ValueError(f'cannot read {text[at:]}')
            self.tokens.append(match[1])
            at = match.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ''

    def take(self, token=None):
        if not self.peek() or (token and self.peek() != token):
            raise ValueError(f'{self.peek() or "the end of the line"} instead of {token or "more"}')
        self.at += 1
        return self.tokens[self.at - 1]

    def type(self):
        parsed = Type(self.take())
        # The range of an integer with a size in bits follows it: int64:20[0:5].
        while self.peek() in ('[', ':'):
            if self.take() == ':':
                parsed.colon.append(Type(self.take()))
            elif not parsed.args:
                parsed.args = self.list(']', self.type)
        return parsed

    def list(self, end, item):
        items = []
        while self.peek() != end:
            items.append(item())
            if self.peek() != end:
                self.take(',')
        self.take(end)
        return items

    def name_and_type(self):
        return Field(self.take(), self.type())

    def attributes(self, begin='(', end=')'):
        """The words in brackets after a field, a call or a structure."""
        if self.peek() != begin:
            return []
        self.take()
        depth, words = 1, ['']
        while depth:
            token = self.take()
            depth += (token in '([') - (token in ')]')
            if depth == 1 and token == ',':
                words.append('')
            elif depth:
                words[-1] += token
        return words

    def finish(self):
        if self.peek():
            raise ValueError(f'{self.peek()} where the line should end')


class Field:
    def __init__(self, name, kind, attributes=()):
        self.name, self.type, self.attributes = name, kind, list(attributes)

    def direction(self):
        return next((word for word in self.attributes if word in DIRECTIONS), None)

    def condition(self):
        return next((word for word in self.attributes if word.startswith('if[')), None)


class Struct:
    def __init__(self, name, parameters, is_union):
        self.name, self.parameters, self.is_union, self.fields, self.attributes = name, parameters, is_union, [], []


class Call:
    def __init__(self, name, args, result):
        self.name, self.args, self.result = name, args, result


class Description:
    def __init__(self, text):
        self.structs, self.aliases, self.flags, self.strings, self.resources = {}, {}, {}, {}, {}
        self.defines, self.calls, self.faults, self.parameters = {}, {}, [], {}
        self.instances = {}
        self.used = set()
        struct = None
        for number, line in enumerate(text.splitlines(), 1):
            if line.startswith('#'):
                if re.match(r'#\s*(include|incdir|define)\b', line):
                    self.fault(f'line {number}: a comment that looks like a directive')
                continue
            line = line.split(' #')[0].rstrip()
            if not line:
                continue
            try:
                struct = self.line(line, struct)
            except ValueError as error:
                self.fault(f'line {number}: {error}')

    def fault(self, text):
        if text not in self.faults:
            self.faults.append(text)

    def declare(self, where, name, what):
        kinds = (self.structs, self.aliases, self.resources)
        taken = any(name in kind for kind in (kinds if where in kinds else (where,)))
        if taken:
            raise ValueError(f'{name} is declared twice')
        if where in kinds and (name in ARGUMENTS or name in EXTERNAL or name in RESERVED):
            raise ValueError(f'{name} is a name of syzkaller\'s own')
        where[name] = what

    def line(self, line, struct):
        """Reads a line; returns the structure in whose body the next one is."""
        if struct:
            if line[0] in '}]':
                parser = Parser(line[1:])
                struct.attributes = parser.attributes('[', ']')
                parser.finish()
                return None
            parser = Parser(line)
            field = parser.name_and_type()
            field.attributes = parser.attributes()
            struct.fields.append(field)
            parser.finish()
            return struct
        if line.startswith(('include ', 'incdir ', 'meta ')):
            return None
        match = re.match(r'define\s+(\w+)\s+(.+)$', line)
        if match:
            self.declare(self.defines, match[1], match[2])
            return None
        match = re.match(r'resource (\w+)\[(\w+)\](?:: (.+))?$', line)
        if match:
            self.declare(self.resources, match[1], match[2])
            self.words(match[3])
            return None
        match = re.match(r'(\w+) = (.+)$', line)
        if match:
            values = [word.strip() for word in match[2].split(',')]
            self.declare(self.strings if values[0][0] in '"`' else self.flags, match[1], values)
            self.words(match[2])
            return None
        match = re.match(r'(type )?(\w+)(?:\[([\w, ]+)\])? ([{\[])$', line)
        if match:
            struct = Struct(match[2], match[3].split(', ') if match[3] else [], match[4] == '[')
            self.declare(self.structs, match[2], struct)
            return struct
        match = re.match(r'type (\w+)(?:\[([\w, ]+)\])? (.+)$', line)
        if match:
            parser = Parser(match[3])
            self.declare(self.aliases, match[1], (match[2].split(', ') if match[2] else [], parser.type()))
            parser.finish()
            return None
        match = re.match(r'(\w+)(\$\w+)?\(', line)
        if not match:
            raise ValueError(f'cannot read {line}')
        parser = Parser(line[match.end():])
        args = parser.list(')', parser.name_and_type)
        result = parser.type() if parser.peek() not in ('', '(') else None
        parser.attributes()
        parser.finish()
        name = match[1] + (match[2] or '')
        self.declare(self.calls, name, Call(name, args, result))
        return None

    def words(self, text):
        self.used |= {word for word in re.findall(r'\b[A-Z_]\w*\b', re.sub(r'"[^"]*"', '', text or ''))}

    def template(self, kind, parameters):
        """The values of its parameters, or None."""
        if len(kind.args) != len(parameters):
            self.fault(f'{kind}: {kind.name} takes {len(parameters)} arguments')
            return None
        return dict(zip(parameters, kind.args))

    def resolve(self, kind):
        """The type that an alias stands for."""
        while kind.name in self.aliases:
            parameters, target = self.aliases[kind.name]
            values = self.template(kind, parameters)
            if values is None:
                return Type('int64')
            kind = target.with_arguments(values)
        return kind

    def struct(self, kind):
        """A structure, its template filled in, or None."""
        kind = self.resolve(kind)
        found = self.structs.get(kind.name)
        if not found:
            return None
        name = str(kind)
        if name not in self.instances:
            values = self.template(kind, found.parameters) or {}
            made = Struct(name, [], found.is_union)
            made.attributes = found.attributes
            made.fields = [Field(field.name, field.type.with_arguments(values), field.attributes) for field in found.fields]
            self.instances[name] = made
        return self.instances[name]

    def base(self, resource):
        """The integer that a resource is made of, or None if there is none."""
        seen = []
        while resource in self.resources or resource in EXTERNAL:
            if resource in seen:
                return None
            seen.append(resource)
            resource = self.resources.get(resource) or EXTERNAL[resource]
        return resource if resource in INTS else None

    def ancestors(self, resource):
        found = []
        while (resource in self.resources or resource in EXTERNAL) and resource not in found:
            found.append(resource)
            resource = self.resources.get(resource) or EXTERNAL[resource]
        return found

    def layout(self, kind, values):
        """(size, alignment) of a type; the size is None where it varies."""
        kind = self.resolve(kind)
        name, args = kind.name, kind.plain()
        struct = self.struct(kind)
        if struct:
            offset, align, varies = 0, 1, False
            for field in struct.fields:
                size, wants = self.layout(field.type, values)
                if 'packed' in struct.attributes:
                    wants = 1
                align = max(align, wants)
                varies |= size is None or bool(field.condition())
                offset = max(offset, size or 0) if struct.is_union else -(-offset // wants) * wants + (size or 0)
            return (None if varies or 'varlen' in struct.attributes else -(-offset // align) * align), align
        if name in self.resources or name in EXTERNAL:
            name = self.base(name) or 'int64'
        if name in INTS:
            return INTS[name], INTS[name]
        if name in ('ptr', 'ptr64', 'vma', 'vma64'):
            return 8, 8
        if name in WANT_BASE:
            return self.layout(args[-1], values)
        if name == 'array':
            size, align = self.layout(args[0], values)
            fixed = len(args) > 1 and (not args[1].colon or str(args[1].colon[0]) == args[1].name)
            return (size * number(args[1].name, values) if fixed and size is not None else None), align
        if name in ('string', 'stringnoz'):
            if len(args) > 1:
                return number(args[1].name, values), 1
            sizes = {len(word) for word in self.words_of_string(args, name)}
            return (sizes.pop() if len(sizes) == 1 else None), 1
        return (0 if name == 'void' else None), 1

    def words_of_string(self, args, name):
        """The strings that it may be, with their NUL."""
        words = [] if not args else [args[0].name] if args[0].name[0] == '"' else self.strings.get(args[0].name, [])
        return [word.strip('"') + ('' if name == 'stringnoz' else '\0') for word in words]


def number(word, values):
    if word in values:
        return values[word]
    if len(word) == 3 and word[0] == "'":
        return ord(word[1])
    return int(word, 0)


def is_number(word, values):
    return word in values or word[0].isdigit() or word[0] in "-'"


class Compiler:
    """Says what syzkaller's compiler, or its fuzzer, finds wrong with a description."""

    def __init__(self, description, values):
        # C represents negative constants as 64-bit values.
        self.values = {name: value - (1 << 64) if value >> 63 else value for name, value in values.items()}
        self.d = description
        # Types that cannot be resolved.
        self.broken = False
        self.visited, self.seen = set(), {kind: set() for kind in ('flags', 'strings', 'resources', 'structs', 'aliases')}

    def faults(self):
        self.names()
        for name in self.d.resources:
            if not self.d.base(name):
                self.d.fault(f'resource {name} is not made of an integer, or of itself')
        for call in self.d.calls.values():
            for arg in call.args:
                self.type(arg.type, call.name, is_arg=True)
                self.lens(arg, call.args, [(None, call.args)])
            if call.result:
                self.use(call.result)
                if call.result.name not in self.d.resources and call.result.name not in EXTERNAL:
                    self.d.fault(f'{call.name} returns {call.result}, which is no resource')
        self.recursion()
        if not self.broken:
            self.sizes()
            self.resources()
        self.unused()
        return self.d.faults

    def names(self):
        for name, struct in self.d.structs.items():
            if not struct.fields:
                self.d.fault(f'{name} has no fields')
            self.fields(struct.fields, name)
            for parameter in struct.parameters:
                if not re.fullmatch('[A-Z0-9_]+', parameter):
                    self.d.fault(f'{name}: parameter {parameter} is not in capitals')
                if not any(re.search(rf'\b{parameter}\b', str(field.type)) for field in struct.fields):
                    self.d.fault(f'{name}: parameter {parameter} is not used')
            for at, field in enumerate(struct.fields):
                directions = [word for word in field.attributes if word in DIRECTIONS]
                if len(directions) > 1:
                    self.d.fault(f'{name}.{field.name} has several directions')
                if struct.is_union and directions:
                    self.d.fault(f'{name}.{field.name}: a member of a union has no direction of its own')
                if struct.is_union and field.condition() and at + 1 == len(struct.fields):
                    self.d.fault(f'{name}.{field.name}: the last member of a union has no condition')
        for call in self.d.calls.values():
            self.fields(call.args, call.name)
        for name, values in self.d.flags.items():
            known = [number(value, self.values) for value in values if is_number(value, self.values)]
            for value in values:
                if not is_number(value, self.values):
                    self.d.fault(f'{name}: {value} is no constant')
            if len(values) > 1 and len(set(known)) == 1:
                self.d.fault(f'{name}: all its values are equal')
            if name in self.values:
                self.d.fault(f'{name} is a constant and a set of flags')

    def fields(self, fields, where):
        names = [field.name for field in fields]
        for name in names:
            if names.count(name) > 1:
                self.d.fault(f'{where} has {name} twice')
            if name in ('parent', 'syscall'):
                self.d.fault(f'{where}.{name} is a reserved name')

    def use(self, kind):
        """Notes what a type uses."""
        while kind.name in self.d.aliases:
            self.seen['aliases'].add(kind.name)
            parameters, target = self.d.aliases[kind.name]
            values = self.d.template(kind, parameters)
            if values is None:
                return Type('int64')
            if len(parameters) == 0 and target.name in NEVER_ALIAS:
                self.d.fault(f'{kind.name}: {target.name} cannot have another name')
            kind = target.with_arguments(values)
        if kind.name in self.d.structs:
            self.seen['structs'].add(kind.name)
        if kind.name in self.d.resources:
            self.seen['resources'].update(self.d.ancestors(kind.name))
        return kind

    def type(self, kind, where, is_arg=False):
        given = kind
        kind = self.use(kind)
        name, args = kind.name, kind.plain()
        if kind is not given and is_arg and name in WANT_BASE:
            args = args[:-1]
        where = f'{where}: {given}'
        struct = self.d.struct(kind)
        if struct:
            if is_arg and not struct.is_union:
                self.d.fault(f'{where}: a structure is no argument')
            if kind.optional():
                self.d.fault(f'{where}: cannot be optional')
            if struct.name not in self.visited:
                self.visited.add(struct.name)
                for field in struct.fields:
                    self.type(field.type, f'{struct.name}.{field.name}')
                    self.field(struct, field)
            return
        if name in self.d.resources or name in EXTERNAL:
            return
        if name not in ARGUMENTS:
            self.d.fault(f'{where}: there is no type {name}')
            self.broken = True
            return
        least, most = ARGUMENTS[name]
        extra = name in WANT_BASE and not is_arg
        if not least + extra <= len(args) <= most + extra:
            self.d.fault(f'{where}: takes {least} to {most} arguments{" and an integer type" if extra else ""}')
            self.broken = True
            return
        if extra and args[-1].name not in INTS:
            self.d.fault(f'{where}: {args[-1]} is no integer type')
            self.broken = True
            return
        if is_arg and name in NEVER_ARGUMENT:
            self.d.fault(f'{where}: is no argument')
        if kind.optional() and name in NEVER_OPTIONAL:
            self.d.fault(f'{where}: cannot be optional')
        self.arguments(kind, args, where)

    def field(self, struct, field):
        resolved = self.d.resolve(field.type)
        if field.direction() in ('out', 'inout') and resolved.name in NEVER_OUT:
            self.d.fault(f'{struct.name}.{field.name}: the kernel cannot write {resolved.name}')
        if field.condition() and resolved.colon:
            self.d.fault(f'{struct.name}.{field.name}: bits have no condition')
        for path in re.findall(r'value\[([\w:]+)\]', field.condition() or ''):
            target = next((other for other in struct.fields if other.name == path.split(':')[0]), None)
            if not target and path.split(':')[0] not in ('parent', 'syscall'):
                self.d.fault(f'{struct.name}.{field.name}: there is no {path}')
            elif target and ':' not in path and self.d.resolve(target.type).name not in ('flags', *INTS):
                self.d.fault(f'{struct.name}.{field.name}: {path} is neither an integer nor flags')

    def value(self, word, where):
        if not is_number(word, self.values):
            self.d.fault(f'{where}: {word} is no constant')
            return 0
        return number(word, self.values)

    def fits(self, value, size, where):
        if not -(1 << size * 8 - 1) <= value < 1 << size * 8:
            self.d.fault(f'{where}: {value} does not fit {size} bytes')

    def arguments(self, kind, args, where):
        name = kind.name
        size = INTS.get(args[-1].name if args and name in WANT_BASE else name, 8)
        if name in ('ptr', 'ptr64'):
            if args[0].name not in DIRECTIONS:
                self.d.fault(f'{where}: {args[0]} is no direction')
            self.type(args[1], where.split(':')[0])
        elif name == 'array':
            self.type(args[0], where.split(':')[0])
            if len(args) > 1:
                begin = self.value(args[1].name, where)
                end = self.value(args[1].colon[0].name, where) if args[1].colon else begin
                if not end:
                    self.d.fault(f'{where}: an array of no element')
                elif not 0 <= begin <= end <= LONGEST_ARRAY:
                    self.d.fault(f'{where}: bad range')
        elif name in INTS and args and args[0].colon:
            begin, end = self.value(args[0].name, where), self.value(args[0].colon[0].name, where)
            if begin > end:
                self.d.fault(f'{where}: bad range')
            self.fits(begin, size, where)
            self.fits(end, size, where)
        elif name == 'const':
            self.fits(self.value(args[0].name, where), size, where)
        elif name == 'flags':
            self.seen['flags'].add(args[0].name)
            for value in self.d.flags.get(args[0].name, []):
                if is_number(value, self.values):
                    self.fits(number(value, self.values), size, where)
            if args[0].name not in self.d.flags:
                self.d.fault(f'{where}: there are no flags {args[0]}')
        elif name in ('string', 'stringnoz') and args:
            if args[0].name[0] != '"':
                self.seen['strings'].add(args[0].name)
                if args[0].name not in self.d.strings and args[0].name != 'filename':
                    self.d.fault(f'{where}: there are no strings {args[0]}')
            if len(args) > 1:
                room = self.value(args[1].name, where)
                if any(len(word) > room for word in self.d.words_of_string(args, name)):
                    self.d.fault(f'{where}: a string is longer than its room')

    def lens(self, field, siblings, parents):
        """Are the targets of all lengths there? parents: (name, fields), the nearest last; those of a union are none."""
        kind = self.d.resolve(field.type)
        struct = self.d.struct(kind)
        if struct:
            if any(name == struct.name for name, _ in parents):
                return
            fields = [] if struct.is_union else struct.fields
            for inner in struct.fields:
                self.lens(inner, fields, parents + [(struct.name, fields)])
        elif kind.name in ('ptr', 'ptr64', 'array'):
            args = kind.plain()
            inner = args[0] if kind.name == 'array' else args[-1]
            self.lens(Field(field.name, inner), siblings, parents)
        elif kind.name in LENS:
            path = [kind.args[0].name] + [colon.name for colon in kind.args[0].colon]
            self.target(path, field, siblings, parents)

    def target(self, path, field, fields, parents):
        where = f'{parents[-1][0] or "a call"}.{field.name}'
        if path[0] == 'parent':
            if not parents[-1][0]:
                self.d.fault(f'{where}: a call has no parent')
            return
        if path[0] == 'syscall':
            path, fields = path[1:], parents[0][1]
        elif not any(other.name == path[0] for other in fields):
            for name, others in reversed(parents):
                if name and name.split('[')[0] == path[0]:
                    path, fields = path[1:], others
                    break
        for at, name in enumerate(path):
            found = next((other for other in fields if other.name == name), None)
            if not found:
                self.d.fault(f'{where}: there is no {name}')
                return
            if found is field or found.name == field.name and fields is parents[-1][1]:
                self.d.fault(f'{where}: {name} is the length itself')
                return
            if at + 1 < len(path):
                kind = self.d.resolve(found.type)
                while kind.name in ('ptr', 'ptr64'):
                    kind = self.d.resolve(kind.plain()[1])
                struct = self.d.struct(kind)
                if not struct or struct.is_union:
                    self.d.fault(f'{where}: {name} is no structure')
                    return
                fields = struct.fields

    def recursion(self):
        def walk(kind, path):
            kind = self.d.resolve(kind)
            struct = self.d.struct(kind)
            if struct:
                if struct.name in path:
                    self.d.fault(f'{struct.name} contains itself: mark a pointer as opt')
                    self.broken = True
                    return
                for field in struct.fields:
                    walk(field.type, path + [struct.name])
            elif kind.name == 'array' and kind.args:
                walk(kind.args[0], path)
            elif kind.name in ('ptr', 'ptr64') and not kind.optional() and len(kind.args) > 1:
                walk(kind.args[1], path)

        for call in self.d.calls.values():
            for arg in call.args:
                walk(arg.type, [])

    def sizes(self):
        for struct in list(self.d.instances.values()):
            if 'packed' in struct.attributes or 'varlen' in struct.attributes:
                continue
            for at, field in enumerate(struct.fields):
                if not struct.is_union and at + 1 == len(struct.fields):
                    continue
                if self.d.layout(field.type, self.values)[0] is None or field.condition() and not struct.is_union:
                    self.d.fault(f'{struct.name}.{field.name} is of varying size')

    def walk(self, kind, direction, visit, optional=False, in_union=False, path=()):
        """Shows each resource below a type to visit(name, direction, optional, in_union)."""
        kind = self.d.resolve(kind)
        struct = self.d.struct(kind)
        optional |= kind.optional()
        if struct:
            if struct.name not in path:
                for field in struct.fields:
                    self.walk(field.type, field.direction() or direction, visit, optional, in_union or struct.is_union,
                              (*path, struct.name))
        elif kind.name in ('ptr', 'ptr64'):
            self.walk(kind.args[1], kind.args[0].name, visit, optional, in_union, path)
        elif kind.name == 'array':
            self.walk(kind.args[0], direction, visit, optional, in_union, path)
        elif kind.name in self.d.resources or kind.name in EXTERNAL:
            visit(kind.name, direction, optional, in_union)

    def resources(self):
        """Can each resource be made, is it used, and can each call ever be made?"""
        makes, wants, inputs = {}, {}, set()
        for call in self.d.calls.values():
            made, wanted = makes.setdefault(call.name, set()), wants.setdefault(call.name, set())

            def visit(name, direction, optional, in_union, made=made, wanted=wanted):
                if direction != 'in' and not optional and not in_union:
                    made.update(self.d.ancestors(name))
                if direction != 'out':
                    inputs.update(self.d.ancestors(name))
                    if not optional:
                        wanted.add(name)

            for arg in call.args:
                self.walk(arg.type, 'in', visit)
            if call.result:
                self.walk(call.result, 'out', visit)
        anywhere = set().union(*makes.values())
        for name in self.d.resources:
            if name not in self.seen['resources']:
                continue
            if name not in anywhere:
                self.d.fault(f'resource {name} cannot be made: no call returns it, or fills it in outside of a union')
            if name not in inputs:
                self.d.fault(f'resource {name} is never used')
        can, done = set(EXTERNAL), set()
        while True:
            more = {name for name in wants if name not in done and wants[name] <= can}
            if not more:
                break
            done |= more
            can = can.union(*(makes[name] for name in more))
        for name in sorted(set(wants) - done):
            self.d.fault(f'{name} can never be called: {", ".join(sorted(wants[name] - can))} is made by nothing that can be '
                         'called before')

    def unused(self):
        for what in self.seen:
            for name in getattr(self.d, what):
                if name not in self.seen[what]:
                    self.d.fault(f'{name} is not used')
