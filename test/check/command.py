# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The command lines of the programs in test/check: a wrong one ends them with a usage line and status 2. The usage is
what a program's docstring has before its first ': '."""

import os
import pathlib
import sys

FOLDERS = ('lib', 'drivers', 'app', 'test', 'doc')  # of every source tree


def refuse(doc, problem):
    """Exit with the problem and the usage."""
    usage = 'test/check/' + ' '.join(doc.partition(': ')[0].split())
    print(f'{usage.split()[0]}: {problem}\nusage: {usage}', file=sys.stderr)
    sys.exit(2)


def arguments(doc, least, most=sys.maxsize):
    """@return the arguments, if there are as many as the program takes"""
    given = sys.argv[1:]
    if given == ['--help']:
        print(doc)
        sys.exit(0)
    if not least <= len(given) <= most:
        refuse(doc, f'{len(given)} arguments')
    return given


def source_root(doc, argument):
    missing = [name for name in FOLDERS if not (pathlib.Path(argument) / name).is_dir()]
    if missing:
        refuse(doc, f'{argument} is not the source tree of uroce: it has no {missing[0]}')
    return pathlib.Path(argument)


def objects(doc, argument):
    """@return OBJECTS and FOLDER of an argument OBJECTS:FOLDER"""
    path, _, folder = argument.rpartition(':')
    if not path or not folder:
        refuse(doc, f'{argument} is not OBJECTS:FOLDER')
    if not pathlib.Path(path).exists():
        sys.exit(f'FAIL {path} has not been built: ninja -C BUILD')
    return pathlib.Path(path), folder


def executable(doc, argument):
    if not os.path.isfile(argument) or not os.access(argument, os.X_OK):
        refuse(doc, f'{argument} is not a program')
    return argument
