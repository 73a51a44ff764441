# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The style of the plots: no background, and grays and colors that can be read on a white page and on a black one."""

GRAY = '#808080'
BLUE, GREEN, ORANGE, PURPLE = '#3a87c8', '#2f9e58', '#d9622b', '#9a68c4'


def begin(width, height):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'font-family="sans-serif" font-size="12" fill="{GRAY}">')


def grid(path, strong=False):
    return f'<path d="{path}" stroke="{GRAY}" stroke-opacity="{1 if strong else 0.35}"/>'


def text(x, y, anchor, words):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'


def line(path, color, dash=''):
    dashes = f' stroke-dasharray="{dash}"' if dash else ''
    return f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>'
