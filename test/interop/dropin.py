# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Unmodified verbs programs of other projects: one end runs on uroce by uroce-run, the other in the guest. Programs
that exchange their addresses over TCP do so on the same wire: the host's kernel has an address of its own there,
besides uroce's."""

import array
import contextlib
import fcntl
import functools
import os
import re
import shlex
import signal
import socket
import struct
import subprocess
import time

import rig
from connections import LISTENING, Pair, expect_rc
from rig import Failure, address, cidr, gid
from wire import Fault

KERNEL = 3              # last part of the address of the host's kernel on the wire
LIMIT_S = 400           # for a program; the wait for its end is longer
LISTEN_S = 300
ATTEMPTS = 5
GIVES_UP = 'transport retry count'      # the words of both libibverbs
LISTENS = 'listens on port'
DATAGRAMS = 10          # that mckey sends
LOSES_LINUX = (6, 12)   # from here on Soft-RoCE may send only the first, since mckey destroys its QP at once
TIMEOUT = 19            # timeout of perftest's QPs, 2.1 s: the guest is slow
PERF_N = 20             # perftest's iterations
TCP_PORT = 18515        # of the pingpongs and of perftest
TCP_LISTENS = ':%04X [0-9A-F]*:0000 0A ' % TCP_PORT
TCP_TABLES = '/proc/net/tcp /proc/net/tcp6'
CRASHES = {signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSEGV, signal.SIGSYS, signal.SIGTRAP}
GUEST_TCP = 'for i in $(seq 4000); do grep -q "%s" %s && exit 0; usleep 50000; done; exit 1' % (
    TCP_LISTENS, TCP_TABLES)
SIOCETHTOOL, IFNAMSIZ = 0x8946, 16
ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO = 0x17, 0x1f, 0x24


def without_offload(interface):
    """The kernel must send whole frames with checksums: the wire neither splits frames nor adds checksums."""
    with socket.socket() as s:
        for command in (ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO):
            value = array.array('B', struct.pack('II', command, 0))
            fcntl.ioctl(s, SIOCETHTOOL, struct.pack('%dsP' % IFNAMSIZ, interface.encode(), value.buffer_info()[0]))


@functools.cache
def gid_index(guest, family):
    number = struct.unpack('>8H', socket.inet_pton(socket.AF_INET6, gid(guest.number, family)))
    text = ':'.join('%04x' % n for n in number)
    rc, output = guest.sh('grep -lx %s /sys/class/infiniband/rxe0/ports/1/gids/*' % text)
    if rc != 0:
        raise Failure('the guest has no GID %s' % text)
    return int(output.split()[0].rsplit('/', 1)[1])


def address_of_the_kernel(interface):
    rig.ip('address', 'replace', cidr(KERNEL, 4), 'dev', interface)
    # without any IPv6 address on the host, getaddrinfo() refuses IPv6 addresses
    rig.ip('address', 'replace', address(KERNEL, 6), 'dev', 'lo')
    without_offload(interface)


class Program:
    """A program of another project, with its command lines as a server and as a client. {server} is the server's
    address for the RDMA CM, {tcp} its address for TCP, {own} the program's own address for the RDMA CM, {gid} the index
    of the latter's GID, and {count} the number of datagrams."""

    def __init__(self, name, server, client, family=4, tcp=False, stays=False, again=False, joins=False, hasty=False,
                 changed=None):
        self.name, self.server, self.client, self.family = name, server, client, family
        self.changed = changed  # Linux of the first Debian whose program does not understand Debian 12's
        self.hasty = hasty      # its retries last half a second, which no option changes
        self.tcp = tcp          # the server listens on TCP, not for the RDMA CM
        self.stays = stays      # the server does not end by itself
        self.again = again      # the server listens twice, and the client connects twice
        self.joins = joins      # the server joins a group, and does not listen


class Ends(Pair):
    """The program on uroce, and its peer in the guest."""

    def __init__(self, the_rig, uroce, guest, program, builddir):
        super().__init__(the_rig, uroce, guest, program.family, builddir, LIMIT_S)
        self.program = program

    def command(self, text, end, server):
        tcp = address(KERNEL if server is self.uroce else server.number, 4)
        # uroce's table begins with the link-local GID of its MAC; the kernel's has any order
        index = {4: 1, 6: 2}[self.family] if end is self.uroce else gid_index(end, self.family)
        loses = server is self.uroce and self.guest.linux >= LOSES_LINUX
        return text.format(server=self.address(server), own=self.address(end), tcp=tcp, gid=index,
                           count=1 if loses else DATAGRAMS)

    def environment(self):
        """The variables that uroce-run sets, and a log level that shows when a program listens."""
        launcher = os.path.join(self.builddir, 'drivers/verbs/uroce-run')
        addresses = ','.join(cidr(self.uroce.number, v) for v in (4, 6))
        done = subprocess.run([launcher, '--print', '--port', self.uroce.interface, '--addr', addresses],
                              stdout=subprocess.PIPE, text=True, check=True)
        found = dict(word.split('=', 1) for word in shlex.split(done.stdout))
        found['UROCE_EAL_ARGS'] += ' --log-level=uroce:debug'
        return os.environ | found

    def start_ours(self, command):
        self.uroce.transcript.append('%s $ %s' % (self.uroce.side, command))
        self.ours = subprocess.Popen(shlex.split(command), env=self.environment(), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = rig.Lines(self.ours.stdout.fileno(), -1)

    def wait_for_tcp(self):
        """Wait until the server listens in this network namespace."""
        deadline = time.monotonic() + LISTEN_S
        while subprocess.run(['grep', '-q', TCP_LISTENS, *TCP_TABLES.split()], check=False).returncode != 0:
            if self.ours.poll() is not None:
                raise Failure('the server on uroce has ended: %s' % self.ours.stdout.read()[-300:])
            if time.monotonic() > deadline:
                raise Failure('the server on uroce does not listen')
            time.sleep(0.02)

    def wait_for_group(self, end):
        """Wait until mckey joins. It then attaches its QP; the sender waits three seconds before it sends."""
        if not self.rig.wire.wait_for(lambda f: f.side == end.side and f.kind == 'igmp'):
            raise Failure('%s joins no group' % end.side)

    def keep(self, side):
        """Hold back the second connection request from this side, until come_again()."""
        self.rig.wire.reset([Fault('keep', side, lambda f: f.connects, nth=2, until='end')])

    def come_again(self, wait_for_listener):
        """Release the held request once the server listens: a client that is refused crashes, if it is perftest's."""
        if not self.rig.wire.wait_for(lambda f: f.connects, n=2):
            raise Failure('the client does not connect again')
        wait_for_listener()
        self.rig.wire.let_go()

    def serve(self):
        """Run uroce as the server."""
        if self.program.again:
            self.keep(self.guest.side)
        self.start_ours(self.command(self.program.server, self.uroce, self.uroce))
        if self.program.joins:
            self.wait_for_group(self.uroce)
        elif self.program.tcp:
            self.wait_for_tcp()
        else:
            self.wait_for_line(LISTENS)
        self.guest_start(self.command(self.program.client, self.guest, self.uroce), listens=False)
        if self.program.again:
            self.come_again(lambda: self.wait_for_line(LISTENS))
        expect_rc(self.program.name, self.guest_end(), 0)
        if self.program.stays:
            self.ours.send_signal(signal.SIGTERM)
            self.note(self.ours.communicate(timeout=LIMIT_S)[0])
        else:
            self.end_ours()

    def wait_for_guest(self, how):
        if self.guest.sh('(%s)' % how)[0] != 0:
            raise Failure('the guest does not listen: %s' % self.guest.sh('cat /tmp/job; echo')[1])

    def ask(self):
        """Run uroce as the client."""
        if self.program.again:
            self.keep(self.uroce.side)
        self.guest_start(self.command(self.program.server, self.guest, self.guest), listens=False)
        if self.program.joins:
            self.wait_for_group(self.guest)
        else:
            self.wait_for_guest(GUEST_TCP if self.program.tcp else LISTENING)
        self.start_ours(self.command(self.program.client, self.uroce, self.guest))
        if self.program.again:
            self.come_again(lambda: self.wait_for_guest(LISTENING))
        self.end_ours()
        if self.program.stays:
            self.guest.sh('kill %s' % self.job)
            self.guest_end()
        else:
            expect_rc(self.program.name, self.guest_end(), 0)


def name(program, options, family):
    return ' '.join([program, *options.split()] + (['ipv6'] if family == 6 else []))


def pingpong(kind, options='', family=4):
    command = 'ibv_%s_pingpong -g {gid} -n 100 %s' % (kind, options)
    return Program(name('ibv_%s_pingpong' % kind, options, family), command, command + ' {tcp}', family, tcp=True,
                   hasty=True)


def perf(test, options='', family=4):
    """perftest, with the exchange of addresses over TCP"""
    command = 'ib_%s -F -x {gid} -u %d -n %d %s' % (test, TIMEOUT, PERF_N, options)
    return Program(name('ib_' + test, options, family), command, command + ' {tcp}', family, tcp=True)


def perf_cm(test, options=''):
    command = 'ib_%s -F -R -u %d -n %d %s' % (test, TIMEOUT, PERF_N, options)
    return Program(name('ib_' + test, options + ' -R', 4), command, command + ' {server}', again=True)


def programs():
    for kind in ('rc', 'uc', 'srq'):
        yield pingpong(kind)
    yield pingpong('ud', '-s 1024')
    yield pingpong('rc', '-e -c')
    yield pingpong('rc', '-s 65536 -m 4096 -c', family=6)
    for op in ('write', 'read', 'send', 'atomic'):
        yield perf(op + '_bw')
    for op in ('write', 'send'):
        yield perf(op + '_lat')
    for op in ('write', 'read'):
        yield perf_cm(op + '_bw')
    yield perf('write_bw', '-b -q 4')
    yield perf('send_bw', '-e', family=6)
    yield perf('write_bw', '-c UC')
    yield perf('send_lat', '-c UC')
    yield perf('send_bw', '-c UD -s 1024')
    yield perf('send_bw', '--use-srq')
    yield perf_cm('send_bw', '-c UD -s 1024')
    yield Program('rping', 'rping -s -a {own} -V -C 20', 'rping -c -a {server} -V -C 20')
    yield Program('rping ipv6', 'rping -s -a {own} -V -C 20', 'rping -c -a {server} -V -C 20', 6)
    yield Program('ucmatose', 'ucmatose -b {own} -c 3', 'ucmatose -s {server} -b {own} -c 3')
    yield Program('udaddy', 'udaddy -b {own}', 'udaddy -s {server} -b {own}')
    yield Program('mckey', 'mckey -C {count} -m 239.1.2.3 -b {own}', 'mckey -C {count} -m 239.1.2.3 -b {own} -s',
                  joins=True)
    yield Program('rdma_server', 'rdma_server', 'rdma_client -s {server}')
    yield Program('cmtime', 'cmtime -b {own} -c 10', 'cmtime -s {server} -c 10', stays=True, changed=(6, 12))
    yield Program('rstream', 'rstream -S 4096 -C 20 -T v', 'rstream -s {server} -S 4096 -C 20 -T v')
    yield Program('rcopy', 'rcopy', 'rcopy /etc/libibverbs.d/rxe.driver {server}:/tmp/copy', stays=True)


def is_crash(failure):
    """True if an end was killed by a signal that a defect raises: -11 in subprocess, 139 in the guest's shell."""
    code = re.search(r'exit code (-?\d+)', failure)
    return code is not None and (-int(code[1]) in CRASHES or int(code[1]) - 128 in CRASHES)


class Test:
    """One test of the matrix."""

    def __init__(self, program, role, uroce, guest, builddir):
        self.name = 'dropin %s %s' % (program.name, role)
        self.program, self.role, self.ends, self.builddir = program, role, (uroce, guest), builddir

    @property
    def lacking(self):
        changed, guest = self.program.changed, self.ends[1]
        if changed is not None and guest.linux is not None and guest.linux >= changed:
            return "the guest's %s needs TCP between the ends, which have none" % self.program.name
        return None

    def gives_up(self):
        """True if the program's retries ran out: its peer or the wire has stalled for longer than they last."""
        return self.program.hasty and any(GIVES_UP in line for end in self.ends for line in end.transcript)

    def run(self, the_rig):
        """@return None, or the failure"""
        for attempt in range(ATTEMPTS):
            failure = self.attempt(the_rig)
            if failure is None or is_crash(failure) or not self.gives_up() or attempt == ATTEMPTS - 1:
                break
            print('RETRY %s: %s exceeded' % (self.name, GIVES_UP), flush=True)
        return failure

    def attempt(self, the_rig):
        uroce, guest = self.ends
        for end in self.ends:
            end.transcript = []
        uroce.stop()            # no later test needs it
        address_of_the_kernel(uroce.interface)
        the_rig.wire.reset()
        ends = Ends(the_rig, uroce, guest, self.program, self.builddir)
        try:
            with contextlib.closing(ends):
                (ends.serve if self.role == 'server' else ends.ask)()
            for frame in list(the_rig.wire.frames):
                if frame.wrong() is not None:
                    raise Failure('%s in %s' % (frame.wrong(), frame))
        except (Failure, subprocess.TimeoutExpired) as e:
            return str(e)
        return None


def is_built(builddir):
    return os.path.exists(os.path.join(builddir, 'drivers/verbs/libibverbs.so.1'))


def matrix(first, guest, builddir):
    """All tests. They run last, because they stop the probe for good."""
    if first.kind != 'uroce':
        return
    for program in programs():
        for role in ('server', 'client'):
            yield Test(program, role, first, guest, builddir)
