# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
#
# Sphinx's configuration of the site. sphinx/build passes the release and the folder of Doxygen's XML.

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / 'sphinx'))

project = 'uroce'
author = 'The uroce authors'
copyright = '2026 The uroce authors'    # pylint: disable=redefined-builtin

extensions = ['breathe', 'site_extension', 'furo_offline']
exclude_patterns = ['sphinx', 'pictures']

primary_domain = 'c'
highlight_language = 'none'     # blocks after '::' are commands, output and sketches
breathe_default_project = 'uroce'
breathe_domain_by_extension = {'h': 'c'}
breathe_default_members = ('members', 'undoc-members')     # the fields of structs

html_theme = 'furo'
html_title = 'uroce'
html_static_path = ['sphinx/site.css']
html_css_files = ['site.css']
html_copy_source = False
html_show_sphinx = False
html_show_search_summary = False    # the summaries are requests, which fail on pages from file://
