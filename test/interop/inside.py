# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Builds the guest, and runs the calling program again in a network namespace of its own."""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
CANNOT_RUN = 77
VARIABLE = 'UROCE_INTEROP_INSIDE'


def cannot_run(test, reason):
    print('SKIP %s: %s' % (test, reason))
    sys.exit(CANNOT_RUN)


def guest_image(test, arguments):
    build = subprocess.run([os.path.join(HERE, 'build-guest'), *arguments], stdout=subprocess.PIPE, text=True)
    if build.returncode == CANNOT_RUN:
        cannot_run(test, 'no guest (see above)')
    if build.returncode != 0:
        sys.exit('test/%s/run: build-guest failed' % test)
    return build.stdout.strip()


def enter(test, *arguments):
    """Build the guest with these arguments of build-guest, then run this program again in a new network namespace, which
    ends with the program.
    @return in the namespace, the directory of the guest"""
    pid, _, image = os.environ.get(VARIABLE, '').partition(' ')
    if pid == str(os.getpid()):
        return image
    if os.geteuid() != 0:
        cannot_run(test, 'needs root')
    if subprocess.run(['unshare', '--net', 'true'], stderr=subprocess.DEVNULL).returncode != 0:
        cannot_run(test, 'cannot make a network namespace')
    os.environ[VARIABLE] = '%d %s' % (os.getpid(), guest_image(test, arguments))
    os.execvp('unshare', ['unshare', '--net', sys.executable, *sys.argv])
