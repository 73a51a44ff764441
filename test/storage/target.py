# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The target, the host in the guest, and the steps of tests that use both."""

import json
import os
import signal
import socket
import time

import rig
from rig import Failure, address, cidr

NQN = 'nqn.2026-11.org.uroce:target'
HOST_NQN = 'nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555'
HOST_ID = '11111111-2222-3333-4444-555555555555'
DISK_MIB = 512
TARGET_MIB = 512        # memory of the target
GUEST_MIB = 1280        # memory of the guest, whose files are in it
WAIT_S = 1200           # for anything that takes seconds on a machine without other load
POLL_S = 0.2
KEEP_ALIVE_S = 60       # the emulated guest may send late
RECONNECT_S = 1


class Skipped(Exception):
    """The guest cannot run the test; the text says why."""


class Target(rig.UroceEnd):
    """uroce-nvmf in this network namespace, with one file as its namespace."""

    def __init__(self, state, program):
        super().__init__('uroce', 2, state, program)
        self.kind, self.disk = 'uroce-nvmf', os.path.join(state, 'disk')
        self.prefix = 'uroce-storage-%d' % os.getpid()
        self.arguments = []     # beside the usual ones
        self.create(self.disk)

    @staticmethod
    def create(path):
        with open(path, 'wb') as f:
            f.truncate(DISK_MIB << 20)

    def start(self):
        arguments = ['--addr', cidr(self.number, 4), '--namespace', self.disk, *self.arguments]
        self.transcript.append('uroce $ uroce-nvmf %s' % ' '.join(arguments))
        with open(self.log_path(), 'a') as log:
            self.process = self.launch(self.program, arguments, mib=TARGET_MIB, eal=('--file-prefix', self.prefix),
                                       stdin=-3, stdout=-1, stderr=log)
        self.lines = rig.Lines(self.process.stdout.fileno(), -1)

    def wait_ready(self):
        while 'serving' not in self.lines.read():
            pass

    def restart(self):
        """Kill it as a crash or a power cut would, and start it again."""
        self.transcript.append('uroce: kill -9')
        self.stop()
        self.start()
        self.wait_ready()

    def restart_with(self, *arguments):
        self.arguments = list(arguments)
        self.restart()

    def ask(self, command):
        """@return the answer of the target's telemetry to the command"""
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.settimeout(WAIT_S)
            s.connect('/var/run/dpdk/%s/dpdk_telemetry.v2' % self.prefix)
            s.recv(65536)   # the greeting
            s.send(command.encode())
            return json.loads(s.recv(65536))[command.split(',')[0]]

    def open_files(self):
        directory = '/proc/%d/fd/' % self.process.pid
        return [os.readlink(directory + fd) for fd in os.listdir(directory)]

    def hang_up(self):
        self.process.send_signal(signal.SIGHUP)

    def log(self):
        with open(self.log_path(), errors='replace') as f:
            return f.read()

    def bytes_at(self, offset, count):
        """@return the bytes of the file there, read from the disk"""
        with open(self.disk, 'rb') as f:
            return os.pread(f.fileno(), count, offset)


class Bench:
    """Target, guest and wire, as the tests see them."""

    def __init__(self, state, program, image):
        self.target = Target(state, program)
        self.guest = rig.GuestEnd('rxe', 1, state, image, cpus=2, mib=GUEST_MIB)
        self.rig = rig.Rig(state, (self.target, self.guest))
        self.wire = self.rig.wire
        self.wire.keeps = False

    def sh(self, command):
        """Run a command line in the guest. @return its output"""
        rc, output = self.guest.sh(command)
        if rc != 0:
            raise Failure('%s: exit code %d: %s' % (command, rc, output[-500:]))
        return output

    def wait(self, what, condition, seconds=WAIT_S):
        """Wait until this function returns something true. @return that"""
        deadline = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise Failure('%s: not within %d s' % (what, seconds))
            time.sleep(POLL_S)

    def wait_in_guest(self, what, command, seconds=WAIT_S):
        """Wait until this command of the guest succeeds."""
        self.wait(what, lambda: self.guest.sh(command)[0] == 0, seconds)

    def try_connect(self, queues=1, keep_alive=KEEP_ALIVE_S, options=''):
        """@return exit code and output of nvme connect"""
        return self.guest.sh('nvme connect -t rdma -a %s -s 4420 -n %s -q %s -I %s -i %d -k %d -c %d -l -1 %s' % (
            address(self.target.number, 4), NQN, HOST_NQN, HOST_ID, queues, keep_alive, RECONNECT_S, options))

    def connect(self, *arguments, **named):
        rc, output = self.try_connect(*arguments, **named)
        if rc != 0:
            raise Failure('nvme connect: exit code %d: %s' % (rc, output[-500:]))
        self.wait_in_guest('the block device', 'test -b /dev/nvme0n1')

    def disconnect(self):
        self.sh('nvme disconnect -n %s' % NQN)
        self.wait_in_guest('the end of the block device', 'test ! -e /dev/nvme0n1')

    def is_live(self):
        return self.guest.sh('cat /sys/class/nvme/nvme0/state')[1].strip() == 'live'

    def wait_live(self):
        self.wait('the controller is live', self.is_live)

    def no_io_error(self):
        """Check that no file system and no program of the guest saw an error of the disk. A path (nvme0c0n1) may have some,
        which the kernel hides by trying again."""
        rc, output = self.guest.sh('dmesg | grep -iE "i/o.*error|identifiers changed|corrupt|remount.*read-only" | '
                                   'grep -v nvme0c')
        if rc == 0:
            raise Failure('the guest reports: %s' % output[-500:])

    def reboot(self):
        """Power the guest off and on."""
        self.guest.stop()
        self.guest.start()
        self.guest.wait_ready()

    def recover(self):
        """Reset both ends after a failed test."""
        self.wire.cut = False
        self.wire.reset()
        self.target.restart_with()
        self.reboot()
