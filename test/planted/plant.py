#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Plants the faults of test/planted/faults: checks that each of them fits the library, or writes copies of the files
that have faults. A copy contains the right and the wrong code; the environment chooses when the program starts."""

import argparse
import bisect
import dataclasses
import pathlib
import re
import sys

FAULTS = pathlib.Path(__file__).resolve().parent / 'faults'
NAME = re.compile(r'[a-z][a-z0-9]*(-[a-z0-9]+)*')
KEYS = ('fault', 'breaks', 'found by', 'code', 'becomes')
TOKEN = re.compile(r'\.\.\.|\w+|"(?:\\.|[^"\\])*"|\S')
GAP = r'(?:\s|/\*(?:[^*]|\*(?!/))*\*/)*'    # white space and comments, none included
NESTED = r'[^()]*'                          # '...': anything with its parentheses in pairs
for _ in range(4):
    NESTED = rf'(?:[^()]|\({NESTED}\))*'
HEADER = 'uroce_planted_faults.h'
MANIFEST = 'planted.files'


class Mistake(Exception):
    """The message names the fault, the reason and the remedy."""


@dataclasses.dataclass
class Edit:
    code: str       # code of the library; backticks mark the replaced part, if it is not all of the code
    becomes: str = None


@dataclasses.dataclass
class Fault:
    name: str
    breaks: str = None
    found_by: str = 'simulation'
    edits: list = dataclasses.field(default_factory=list)

    @property
    def constant(self):
        return 'UROCE_PLANTED_' + self.name.upper().replace('-', '_')


@dataclasses.dataclass
class Match:
    """The place where a fault replaces code: begin .. end of the file."""
    path: pathlib.Path
    begin: int
    end: int
    fault: Fault
    edit: Edit


def read_pairs(text):
    """@return (line, key, value) of each 'key: value'; a line that is indented continues the one before"""
    pairs = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith('#'):
            continue
        if line[0].isspace():
            if not pairs:
                raise Mistake(f'line {number} continues nothing')
            pairs[-1][2] += '\n' + line.strip()
            continue
        key, colon, value = line.partition(':')
        if not colon or key not in KEYS:
            raise Mistake(f"line {number}: '{line}' does not begin with one of: " + ', '.join(KEYS))
        pairs.append([number, key, value.strip()])
    return pairs


def read_faults(text):
    faults = []
    for number, key, value in read_pairs(text):
        if key == 'fault':
            if not NAME.fullmatch(value) or value == 'none' or value in [fault.name for fault in faults]:
                raise Mistake(f"line {number}: '{value}' is no name, or the name of two faults")
            faults.append(Fault(value))
        elif not faults:
            raise Mistake(f"line {number}: '{key}' before the first fault")
        elif key == 'code':
            faults[-1].edits.append(Edit(value))
        elif key == 'becomes':
            if not faults[-1].edits or faults[-1].edits[-1].becomes is not None:
                raise Mistake(f"line {number}: 'becomes' without a 'code' before it")
            faults[-1].edits[-1].becomes = ' '.join(value.split())
        else:
            setattr(faults[-1], key.replace(' ', '_'), value)
    for fault in faults:
        if not fault.breaks or not fault.edits or any(edit.becomes is None for edit in fault.edits):
            raise Mistake(f"fault {fault.name}: it needs 'breaks', and 'code' and 'becomes' in pairs")
    return faults


def pattern_of(code):
    """Tokens, with any space and comments between them. The group is the replaced part."""
    marked = code.count('`')
    if marked not in (0, 2):
        raise Mistake('backticks mark one part of the code, from one to the other')
    before, part, after = code.split('`') if marked else ('', code, '')
    words = [[NESTED if token == '...' else re.escape(token) for token in TOKEN.findall(text)]
             for text in (before, part, after)]
    if not words[1]:
        raise Mistake('there is nothing to replace')
    groups = [GAP.join(tokens) for tokens in words]
    pattern = GAP.join(group for group in (groups[0], f'({groups[1]})', groups[2]) if group)
    flat = sum(words, [])
    return re.compile((r'\b' if flat[0][0].isalnum() else '') + pattern + (r'\b' if flat[-1][-1].isalnum() else ''))


def find_edit(fault, edit, texts):
    """@return the one place where the library has the code"""
    try:
        pattern = pattern_of(edit.code)
    except Mistake as mistake:
        raise Mistake(f'fault {fault.name}: {mistake}: {edit.code}') from None
    words = re.findall(r'\w+', edit.code)
    found = [Match(path, *match.span(1), fault, edit) for path, text in texts.items()
             if all(word in text for word in words)     # a quick look before the thorough one
             for match in pattern.finditer(text)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise Mistake(f'fault {fault.name}: no file of the library has its code any more:\n    {edit.code}\n'
                      f'  it stands for: {fault.breaks}\n'
                      f'  in {FAULTS}, change "code" to what the library has in its place now')
    places = ', '.join(f'{match.path}:{texts[match.path].count(chr(10), 0, match.begin) + 1}' for match in found)
    raise Mistake(f'fault {fault.name}: its code stands in {len(found)} places, {places}:\n    {edit.code}\n'
                  f'  in {FAULTS}, add what precedes or follows it in the right place, outside of backticks')


def find_all(faults, texts):
    """@return the places in each file, in order; faults that share one are neighbors"""
    matches, mistakes = {}, []
    for fault in faults:
        for edit in fault.edits:
            try:
                match = find_edit(fault, edit, texts)
                bisect.insort(matches.setdefault(match.path, []), match, key=lambda m: (m.begin, m.end))
            except Mistake as mistake:
                mistakes.append(str(mistake))
    for path, places in matches.items():
        mistakes += [f'faults {a.fault.name} and {b.fault.name}: the code that they replace in {path} overlaps; '
                     'let both replace the same, or less' for a, b in zip(places, places[1:])
                     if b.begin < a.end and (a.begin, a.end) != (b.begin, b.end)]
    if mistakes:
        raise Mistake('\n'.join(mistakes))
    return matches


def replacement(original, matches):
    """@return code that behaves as the active fault, or, without one, as the original"""
    for match in matches:
        if original.endswith(';') != match.edit.becomes.endswith((';', '}')):
            raise Mistake(f'fault {match.fault.name}: a statement becomes statements, and an expression an '
                          f'expression: {match.edit.becomes}')
    if original.endswith(';'):
        return '{ ' + ''.join(f'if (uroce_planted == {match.fault.constant}) {{ {match.edit.becomes} }} else '
                              for match in matches) + f'{{ {original} }} }}'
    return '(' + ''.join(f'uroce_planted == {match.fault.constant} ? ({match.edit.becomes}) : '
                         for match in matches) + f'({original}))'


def plant(path, text, places):
    """@return the file with its faults; each line keeps its number, for the compiler's and the debugger's messages"""
    parts, done = [f'#include "uroce_planted.h"\n#line 1 "{path}"\n'], 0
    for begin, end in sorted({(match.begin, match.end) for match in places}):
        parts += [text[done:begin], replacement(text[begin:end], [match for match in places if match.begin == begin])]
        done = end
    return ''.join(parts) + text[done:]


def header_of(faults):
    rows = ' \\\n'.join(f'\tFAULT({fault.constant}, "{fault.name}", "{fault.breaks}")' for fault in faults)
    return ('/* Made by test/planted/plant.py of test/planted/faults: constant, name, what is broken. */\n\n'
            f'#define UROCE_PLANTED_FAULTS(FAULT) \\\n{rows}\n')


def write(path, text):
    """writes a file only if it has changed, so that the build does not compile it again"""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def write_overlay(directory, root, faults, texts, matches):
    """@return the copy of each file that has a fault"""
    copies = {path: directory / path.relative_to(root) for path in matches}
    written = [directory / HEADER, *copies.values()]
    manifest = directory / MANIFEST
    for name in manifest.read_text().splitlines() if manifest.exists() else []:
        if pathlib.Path(name) not in written:
            pathlib.Path(name).unlink(missing_ok=True)
    write(directory / HEADER, header_of(faults))
    for path, copy in copies.items():
        write(copy, plant(path, texts[path], matches[path]))
    write(manifest, ''.join(f'{path}\n' for path in written))
    return copies


def run(lib, faults, overlay=None):
    """@return the faults, and the copy of each file that has one; without an overlay, the files"""
    root = lib.resolve()
    faults = read_faults(faults.read_text())
    texts = {path: path.read_text() for path in sorted(root.rglob('*.[ch]'))}
    matches = find_all(faults, texts)
    for path in matches:
        plant(path, texts[path], matches[path])
    return faults, write_overlay(overlay.resolve(), root, faults, texts, matches) if overlay else matches


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--lib', type=pathlib.Path, required=True, help='the directory of the library')
    parser.add_argument('--overlay', type=pathlib.Path, help='where copies of files with faults are written')
    parser.add_argument('--faults', type=pathlib.Path, default=FAULTS)
    parser.add_argument('sources', type=pathlib.Path, nargs='*',
                        help='printed again, the copy for what has one; headers are not')
    args = parser.parse_args()

    try:
        faults, copies = run(args.lib, args.faults, args.overlay)
    except Mistake as mistake:
        sys.exit(f'plant: {mistake}')
    if args.overlay:
        print(*(copies.get(path.resolve(), path) for path in args.sources if path.suffix == '.c'), sep='\n')
    else:
        print(f'{len(faults)} faults fit, in {len(copies)} files')


if __name__ == '__main__':
    main()
