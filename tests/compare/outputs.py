#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""outputs.py FOLDER RENAMED: compares what compare left in FOLDER; RENAMED has lines of an old and a new key,
and of a plus sign and a key that is new.

Of JSON the keys and values are compared, of text the sequence of numbers and paths, in JSON strings of several words as
well. Values that measure, the folders of a build and line numbers of profiles, for which the text of the line stands,
are taken out before. Of the reasons of a profile (`because`) the cited lines of documents are compared."""
import json, pathlib, re, sys

folder, renamed, added = pathlib.Path(sys.argv[1]), {}, set()
for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
    if line and not line.startswith('#'):
        old, new = line.split('\t') if '\t' in line else line.split()
        if old == '+':
            added.add(new)
        else:
            renamed[old] = new
MEASURED = re.compile(r'changed|begun|free|memory[._](available|usable)|time|.*_ns|.*seconds|vm_hwm|driver_libraries|'
                      r'resident_weights|read_bytes_per_step|build_id|hash|(memory|cache)_(read|copy)|rate|clock_drift|bound|limit|fraction|noise|warnings')
CITED = re.compile(r'\bS\d+:[\d,-]+')
UNSTEADY = re.compile(r'.*(MemAvailable|VmHWM).*')
TIMED = re.compile(r'([munµ]?s|[kKMGT]?i?B/s|[GM]mac/s|tokens/s)[.,;:)]*$')
FILE = re.compile(r'[\w$.~-]*/[\w$./-]*|[\w-]+\.(yaml|json|gguf|safetensors|csv|so|html|md)\b')


class Side:
    def __init__(self, name):
        self.name = name
        build, source = (folder / (name + '.folders')).read_text().splitlines()
        self.folders = [(build, '/BUILD'), (source, '/SOURCE'), (str(folder / name), '/WORK')]
        self.profiles = {f.name: f.read_text().splitlines() for f in pathlib.Path(source, 'profiles').rglob('*.yaml')}

    def line_of(self, file, number):
        lines = self.profiles.get(file.rsplit('/', 1)[-1], [])
        return '<' + lines[number - 1].strip() + '>' if 0 < number <= len(lines) else str(number)

    def paths(self, text):
        for path, name in self.folders:
            text = text.replace(path, name)
        return text

    def word(self, text):
        """A word of JSON, with its place in a profile as the text of that line."""
        text = re.sub(r'([\w./-]+\.yaml):(\d+)', lambda m: m[1] + ':' + self.line_of(m[1], int(m[2])), text)
        return renamed.get(text, text) if self.name == 'old' else text

    def text(self, text):
        """The numbers, paths and names with digits of a text in their order, without what was measured."""
        words = [word.strip('()[]{}<>,;:\'"!?').rstrip('.') for word in self.paths(UNSTEADY.sub('', text)).split()]
        after = words[1:] + ['']
        return [self.word(word) for word, unit in zip(words, after) if (re.search(r'\d', word) or FILE.fullmatch(word))
                and not (re.fullmatch(r'[\d.]+', word) and TIMED.match(unit))]

    def tree(self, value):
        if isinstance(value, dict):
            file, unsteady = value.get('file'), 'seconds' in value or UNSTEADY.match(str(value.get('origin')))
            return {self.word(key): 'measured' if MEASURED.fullmatch(key) or key in ('value', 'text') and unsteady else
                    sorted(CITED.findall(item)) if key == 'because' and isinstance(item, str) else
                    self.line_of(file, item) if key == 'line' and isinstance(file, str) else self.tree(item)
                    for key, item in value.items()}
        if isinstance(value, list):
            return [self.tree(item) for item in value]
        if isinstance(value, str):
            return self.text(value) if re.search(r'\s', value) else self.word(self.paths(value))
        return value

    def help(self, text):
        """Names in the first column of lists, and options with their other names."""
        names = re.findall(r'^ {2,6}(-[^ ,]+|[\w./]+)(?:,? (--[\w-]+))?', text, re.M)
        also = re.findall(r'\(also ([^)]*)\)', text)
        return sorted({name for pair in names for name in pair if name} | {name for names in also for name in names.split()})

    def output(self, number, way):
        def read(kind):
            return (folder / self.name / f'{number}.{kind}').read_bytes().decode('utf-8', 'replace')
        out = read('out')
        if way == 'json':
            try:
                out = [self.tree(json.loads(out))]
            except ValueError:
                out = [self.tree(json.loads(line)) for line in out.splitlines()]
        else:
            out = {'bytes': lambda text: self.paths(text).splitlines(), 'text': self.text, 'help': self.help}[way](out)
        return {'status': read('status').strip(), 'out': out, 'err': self.text(read('err'))}


def differences(old, new, where=''):
    if isinstance(old, dict) and isinstance(new, dict):
        for key in list(old) + [key for key in new if key not in old and key not in added]:
            yield from differences(old.get(key, 'nothing'), new.get(key, 'nothing'), f'{where}.{key}' if where else key)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, pair in enumerate(zip(old, new)):
            yield from differences(*pair, f'{where}.{place}')
    elif isinstance(old, list) and isinstance(new, list) and all(isinstance(item, str) for item in old + new):
        same = next((i for i, pair in enumerate(zip(old, new)) if pair[0] != pair[1]), min(len(old), len(new)))
        yield f'{where}.{same}: {old[same:same + 6]} became {new[same:same + 6]} ({len(old)} and {len(new)} in all)'
    elif old != new or type(old) != type(new):
        yield f'{where}: {json.dumps(old)[:300]} became {json.dumps(new)[:300]}'


sides, different = [Side('old'), Side('new')], 0
lines = (folder / 'lines').read_text().splitlines()
for number, line in enumerate(lines, 1):
    way, command = line.split(maxsplit=1)
    try:
        found = list(differences(*(side.output(number, way) for side in sides)))
    except ValueError as error:
        found = [f'no JSON: {error}']
    if found:
        different += 1
        print(f'{command}\n' + ''.join(f'    {text}\n' for text in found[:8]), end='')
        print(f'    and {len(found) - 8} more\n' if len(found) > 8 else '', end='')
print(f'{len(lines)} command lines, {different} differ')
sys.exit(different > 0)
