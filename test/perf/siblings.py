# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Imports the scripts of this folder, whose names do not end in .py. Set sys.dont_write_bytecode before importing this."""

import importlib.machinery
import importlib.util
import os

HERE = os.path.dirname(os.path.realpath(__file__))


def load(name):
    loader = importlib.machinery.SourceFileLoader(name, HERE + '/' + name)
    made = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(made)
    return made
