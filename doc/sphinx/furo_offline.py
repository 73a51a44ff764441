# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Extension of Sphinx: mends the files of Debian's furo, which come in parts. The script is a module that imports another,
and browsers refuse modules on pages from file://. The style sheet imports one by a URL that leads nowhere, and lacks the
rules that follow the system's preference for dark. Upstream's files are in one piece and stay as they are."""

import pathlib
import re

IMPORT_SCRIPT = re.compile(r'^import (?:\* as )?Gumshoe from "\./gumshoe-patched\.js";\n')
IMPORT_STYLE = re.compile(r'^@import (url\(/javascript/normalize\.css/normalize\.css\)|"~normalize\.css");\n')
DARK = re.compile(r'\n  body\[data-theme="dark"\] \{([^}]*)\}')
NORMALIZE = pathlib.Path('/usr/share/javascript/normalize.css/normalize.css')


def replace(path, pattern, source):
    text = path.read_text(encoding='utf-8')
    if pattern.match(text):
        head = source.read_text(encoding='utf-8') if source.is_file() else ''
        path.write_text(head + '\n' + pattern.sub('', text), encoding='utf-8')


def follow_the_system(path):
    text = path.read_text(encoding='utf-8')
    dark = DARK.search(text)
    if dark and 'prefers-color-scheme' not in text:
        path.write_text(text + '\n@media screen and (prefers-color-scheme: dark) {\n'
                        '  body:not([data-theme="light"]) {' + dark[1] + '} }\n', encoding='utf-8')


def make_whole(app, error):
    static = pathlib.Path(app.outdir, '_static')
    if error is None and app.builder.name == 'html':
        replace(static / 'scripts/furo.js', IMPORT_SCRIPT, static / 'scripts/gumshoe-patched.js')
        replace(static / 'styles/furo.css', IMPORT_STYLE, NORMALIZE)
        follow_the_system(static / 'styles/furo.css')


def load_as_script(app, pagename, templatename, context, doctree):   # pylint: disable=unused-argument
    """Scripts with `defer` run when modules do: after the page was parsed."""
    for script in context.get('script_files', []):
        attributes = getattr(script, 'attributes', {})
        if attributes.get('type') == 'module':
            del attributes['type']
            attributes['defer'] = 'defer'


def setup(app):
    app.connect('html-page-context', load_as_script)
    app.connect('build-finished', make_whole)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
