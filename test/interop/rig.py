# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The two ends and the wire between them. An end is a probe (probe.c) that this program controls by lines of text:
uroce on net_af_packet in this network namespace, or libibverbs over Soft-RoCE in a QEMU guest, whose network card is a
UNIX datagram socket. The ends are connected by the wire (wire.py) only: no bridge, no tap."""

import os
import select
import shutil
import socket
import subprocess
import time

from wire import Wire

REPLY_SECONDS = 600
BOOT_SECONDS = 1200
GUEST_MTU = 4200        # RoCE path MTU 4096
PREFIX = {4: 24, 6: 64}
VLAN = 7                # the guest has an interface in it, with other addresses


class Failure(Exception):
    """A scenario failed; the text says what was seen."""


def address(number, family, vlan=0):
    net = 78 if vlan else 77
    return '10.%d.0.%d' % (net, number) if family == 4 else 'fd%d::%x' % (net, number)


def cidr(number, family, vlan=0):
    return '%s/%d' % (address(number, family, vlan), PREFIX[family])


def gid(number, family, vlan=0):
    return ('::ffff:' if family == 4 else '') + address(number, family, vlan)


class Lines:
    """A connection by lines of text over a pair of file descriptors."""

    def __init__(self, fd_in, fd_out):
        self.fd_in, self.fd_out, self.buffer = fd_in, fd_out, b''

    def write(self, text):
        try:
            os.write(self.fd_out, text.encode() + b'\n')
        except OSError as e:
            raise Failure('the other end has closed the connection (%s)' % e) from e

    def read(self, seconds=REPLY_SECONDS):
        deadline = time.monotonic() + seconds
        while b'\n' not in self.buffer:
            if not wait_readable(self.fd_in, deadline - time.monotonic()):
                raise Failure('no answer within %d s' % seconds)
            data = os.read(self.fd_in, 65536)
            if not data:
                raise Failure('the other end has closed the connection')
            self.buffer += data
        line, self.buffer = self.buffer.split(b'\n', 1)
        return line.decode(errors='replace')


def wait_readable(fd, seconds):
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    return seconds > 0 and bool(poller.poll(seconds * 1000))


class End:
    """A probe. `number` is the last part of its addresses, `side` its name on the wire."""

    def __init__(self, side, kind, number, state):
        self.side, self.kind, self.number, self.state = side, kind, number, state
        self.lines, self.process, self.transcript = None, None, []
        self.linux = None       # (major, minor) of the kernel that has Soft-RoCE

    def __call__(self, command, **arguments):
        """Send a command. @return the words of the answer; with '=' in it, a dictionary of numbers"""
        line = command + ''.join(' %s=%s' % (k, v) for k, v in arguments.items() if v is not None)
        self.transcript.append('%s < %s' % (self.side, line))
        try:
            self.lines.write(line)
            answer = self.lines.read()
        except Failure as e:
            raise Failure('%s (%s): %s: %s' % (self.side, self.kind, command, e)) from e
        self.transcript.append('%s > %s' % (self.side, answer))
        words = answer.split()
        if not words or words[0] != 'ok':
            raise Failure('%s (%s): %s: %s' % (self.side, self.kind, command, answer))
        if '=' in answer:
            return {k: int(v) for k, v in (w.split('=') for w in words[1:])}
        return words[1:]

    def log_path(self):
        return os.path.join(self.state, self.side + '.log')

    def log_tail(self):
        try:
            with open(self.log_path(), errors='replace') as f:
                return ''.join(f.readlines()[-20:])
        except OSError:
            return ''

    def look_after_failure(self):
        """Record the counters; restart an end that does not answer."""
        try:
            self('counters')
        except Failure as e:
            self.transcript.append('%s: %s' % (self.side, e))
            self.stop()
            self.start()
            self.wait_ready()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class UroceEnd(End):
    """uroce in this network namespace, on its half of a veth pair."""

    def __init__(self, side, number, state, program):
        super().__init__(side, 'uroce', number, state)
        self.program, self.interface, self.vlan = program, 'uroce0', 0

    def attach(self, wire):
        peer = self.interface + 'w'
        ip('link', 'add', self.interface, 'type', 'veth', 'peer', 'name', peer)
        for name in (self.interface, peer):
            # the kernel must not send IPv6 packets of its own on this wire
            with open('/proc/sys/net/ipv6/conf/%s/disable_ipv6' % name, 'w') as f:
                f.write('1')
            ip('link', 'set', name, 'mtu', '9000', 'up')
        wire.attach_interface(self.side, peer)

    def launch(self, program, arguments, mib=256, eal=('--no-telemetry',), **streams):
        """Start a program on uroce's half of the pair, with this much memory."""
        device = 'net_af_packet0,iface=%s,framesz=4352,blocksz=69632,framecnt=512' % self.interface
        command = [program, '--no-huge', '-m', str(mib), '--no-pci', '--no-shconf', *eal,
                   '--lcores', '0@(0-%d)' % (os.cpu_count() - 1), '--log-level=lib.eal:warning',
                   '--vdev=' + device, '--', *arguments]
        return subprocess.Popen(command, **streams)

    def start(self):
        addresses = [cidr(self.number, v, self.vlan) for v in (4, 6)]
        with open(self.log_path(), 'a') as log:
            self.process = self.launch(self.program, [str(self.vlan), *addresses], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=log)
        self.lines = Lines(self.process.stdout.fileno(), self.process.stdin.fileno())

    def wait_ready(self):
        while self.lines.read() != 'ok ready':
            pass

    def enter_vlan(self, vlan):
        """A device is in one VLAN only: restart the probe in the other."""
        if self.vlan != vlan:
            self.vlan = vlan
            self.stop()
            self.start()
            self.wait_ready()


def release_of(image):
    """@return (major, minor) of the guest's kernel, or None without a guest"""
    if not image:
        return None
    with open(os.path.join(image, 'release')) as f:
        return tuple(int(n) for n in f.read().split('.')[:2])


class GuestEnd(End):
    """Linux Soft-RoCE and libibverbs in a QEMU guest."""

    def __init__(self, side, number, state, image, cpus=1, mib=384):
        super().__init__(side, 'rxe', number, state)
        self.image, self.shell, self.listeners = image, None, {}
        self.cpus, self.mib = cpus, mib
        self.linux = release_of(image)

    def path(self, name):
        return os.path.join(self.state, '%s-%s' % (self.side, name))

    def attach(self, wire):
        wire.attach_unix(self.side, self.path('wire'), self.path('nic'))

    def start(self):
        for name in ('probe', 'shell', 'nic'):
            if os.path.exists(self.path(name)):
                os.unlink(self.path(name))
        for name in ('probe', 'shell'):
            s = socket.socket(socket.AF_UNIX)
            s.bind(self.path(name))
            s.listen(1)
            self.listeners[name] = s
        append = ('console=ttyS0 quiet panic=-1 mitigations=off nokaslr tsc=reliable no_timer_check '
                  'random.trust_cpu=on audit=0 cryptomgr.notests mtu=%d addresses=%s,%s '
                  'vlan=%d vlan_addresses=%s,%s' % (
                      GUEST_MTU, cidr(self.number, 4), cidr(self.number, 6),
                      VLAN, cidr(self.number, 4, VLAN), cidr(self.number, 6, VLAN)))
        command = ['qemu-system-x86_64', '-nodefaults', '-no-user-config', '-no-reboot', '-display', 'none',
                   '-machine', 'q35', '-accel', os.environ.get('UROCE_INTEROP_ACCEL', 'tcg'),
                   '-cpu', 'max', '-smp', str(self.cpus), '-m', str(self.mib), '-append', append,
                   '-kernel', os.path.join(self.image, 'vmlinux'),
                   '-initrd', os.path.join(self.image, 'initramfs'),
                   '-serial', 'file:' + self.log_path(),
                   '-netdev', 'dgram,id=n0,local.type=unix,local.path=%s,remote.type=unix,remote.path=%s' % (
                       self.path('nic'), self.path('wire')),
                   '-device', 'virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:77:00:%02x' % self.number,
                   '-device', 'virtio-serial-pci']
        for number, name in enumerate(('probe', 'shell'), 1):
            command += ['-chardev', 'socket,id=%s,path=%s' % (name, self.path(name)),
                        '-device', 'virtserialport,chardev=%s,nr=%d' % (name, number)]
        with open(self.path('qemu.log'), 'w') as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait_ready(self):
        connections = {}
        for name, listener in self.listeners.items():
            listener.settimeout(300)
            try:
                connections[name] = listener.accept()[0]
            except TimeoutError as e:
                raise Failure('QEMU does not start: see %s' % self.path('qemu.log')) from e
        self.connections = connections
        self.lines, self.shell = (Lines(connections[n].fileno(), connections[n].fileno())
                                  for n in ('probe', 'shell'))
        while self.lines.read(BOOT_SECONDS) != 'ok ready':
            pass

    def enter_vlan(self, vlan):
        """The guest is in both."""

    def sh(self, command):
        """Run a command line in the guest. @return its exit code and output"""
        self.transcript.append('%s $ %s' % (self.side, command))
        self.shell.write(command)
        output = []
        while True:
            line = self.shell.read()
            self.transcript.append('%s   %s' % (self.side, line))
            if line.startswith('rc '):
                return int(line[3:]), '\n'.join(output)
            output.append(line)


def ip(*arguments):
    subprocess.run(['ip', *arguments], check=True)


class Rig:
    """Both ends, started, and the wire between them."""

    def __init__(self, state, ends):
        self.state, self.ends, self.wire = state, ends, Wire()

    def start(self):
        ip('link', 'set', 'lo', 'up')
        # QEMU's datagram socket must hold a window of frames
        with open('/proc/sys/net/unix/max_dgram_qlen', 'w') as f:
            f.write('512')
        for end in self.ends:
            end.attach(self.wire)
            if end.linux is not None:
                self.wire.twice.add(end.side)
        self.wire.start()
        for end in self.ends:
            end.start()
        for end in self.ends:
            end.wait_ready()

    def stop(self):
        for end in self.ends:
            end.stop()
        shutil.rmtree(self.state, ignore_errors=True)
