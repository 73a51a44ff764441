# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Extension of Sphinx for the site. The pages are plain reStructuredText, which is readable in the source tree, too:

- a link to a file, `text <../reference/perf.rst#options>`_, becomes a link to its page; if the text is the name of the
  file, the page's title replaces it. A page or section that does not exist is a warning. A file of the source tree
  outside doc/ has no page: its path stands in place of the link.
- a function of the API, ``uroce_reg_mr()``, becomes a link to its description.
- a struct may have the name of a function, as in C.
- a page has one title.
- `.. scenarios::` is the table of the rules and the scenarios of test/conformance that show each.
- `.. code-table:: NAME` is a table that test/doc/tables makes from the code."""

import logging as standard_logging
import os
import pathlib
import posixpath
import re
import subprocess

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from sphinx import addnodes
from sphinx.util import logging

log = logging.getLogger(__name__)

FILE_NAME = re.compile(r'[\w./-]+\.\w+')
FUNCTION = re.compile(r'(uroce_\w+)\(\)')
# Sphinx's domain of C has one name space for structs and functions.
SAME_NAME = re.compile(r"Duplicate C declaration, [^\n]*\nDeclaration is '\.\. c:struct:: \w+'\.")


def anchors(env, docname):
    """@return the targets in a page"""
    cache = env.temp_data.setdefault('uroce_anchors', {})
    if docname not in cache:
        cache[docname] = {name for node in env.get_doctree(docname).findall(nodes.Element) for name in node['ids']}
    return cache[docname]


def link_to_page(app, node, docname, target, fragment):
    if fragment and fragment not in anchors(app.env, target):
        log.warning('%s.rst has no section #%s', target, fragment, location=node)
    node['refuri'] = app.builder.get_relative_uri(docname, target) + (f'#{fragment}' if fragment else '')
    node['internal'] = True
    node['classes'] += ['reference', 'internal']
    if FILE_NAME.fullmatch(node.astext()) and node.astext().endswith('.rst'):
        node.clear()
        node += nodes.Text(app.env.titles[target].astext())


def name_file(node, path):
    """Replaces the link to a file of the source tree."""
    text = [nodes.literal('', path)]
    if not FILE_NAME.fullmatch(node.astext()):
        text = [*node.children, nodes.Text(' ('), *text, nodes.Text(')')]
    node.replace_self(text)


def resolve_links(app, doctree, docname):
    for node in list(doctree.findall(nodes.reference)):
        path, _, fragment = node.get('refuri', '').partition('#')
        if not path and fragment and fragment not in anchors(app.env, docname):
            log.warning('this page has no section #%s; a link in the words of a title needs `__ at its end', fragment,
                        location=node)
        if not path or ':' in path or node.get('internal'):
            continue
        path = posixpath.normpath(posixpath.join('doc', posixpath.dirname(docname), path))
        target = path[len('doc/'):-len('.rst')]
        if path.startswith('doc/') and target in app.env.found_docs:
            link_to_page(app, node, docname, target, fragment)
        elif not path.startswith('doc/') and pathlib.Path(app.srcdir, '..', path).exists():
            name_file(node, path)
        else:
            log.warning('there is no %s', path, location=node)


def check_title(app, doctree):
    titles = [node for node in doctree.children if isinstance(node, nodes.section)]
    if len(titles) != 1:
        log.warning('%s.rst has %d titles: a page has one, and its sections are below it', app.env.docname, len(titles))


def link_functions(_, doctree):
    for node in list(doctree.findall(nodes.literal)):
        function = FUNCTION.fullmatch(node.astext())
        if function and isinstance(node.parent, (nodes.paragraph, nodes.term)):
            link = addnodes.pending_xref('', node.deepcopy(), refdomain='c', reftype='func', reftarget=function[1],
                                         refexplicit=True, refwarn=False)
            node.replace_self(link)


class Table(Directive):
    """A table that a program prints."""

    def root(self):
        return pathlib.Path(self.state.document.settings.env.srcdir).parent

    def show(self, command, files):
        env = self.state.document.settings.env
        for path in [command[0], *files]:
            env.note_dependency(os.path.relpath(path, env.srcdir))
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        container = nodes.Element()
        self.state.nested_parse(StringList(lines, str(command[0])), 0, container)
        return container.children


class Scenarios(Table):
    """The table that test/conformance/table makes."""

    def run(self):
        folder, rules = self.root() / 'test/conformance', self.root() / 'doc/reference/rules.rst'
        return self.show([folder / 'table', rules, folder], [rules, folder, *folder.glob('*.test')])


class CodeTable(Table):
    """A table that test/doc/tables makes. The citations of rules change seldom: only the tables' own files count."""

    required_arguments = 1

    def run(self):
        lib = self.root() / 'lib'
        files = [lib / f'{name}.{kind}' for kind in 'ch'
                 for name in ('wire/verdict', 'transport/engine', 'port/counters', 'verbs/qp/history',
                              'port/telemetry/hw_counters')]
        return self.show([self.root() / 'test/doc/tables', self.root(), self.arguments[0]], files)


def setup(app):
    standard_logging.getLogger('sphinx.sphinx.domains.c').addFilter(
        lambda record: not SAME_NAME.fullmatch(record.getMessage()))
    app.add_directive('scenarios', Scenarios)
    app.add_directive('code-table', CodeTable)
    app.connect('doctree-read', check_title)
    app.connect('doctree-read', link_functions)
    app.connect('doctree-resolved', resolve_links)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
