# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Connections by the RDMA CM: uroce's programs with those of rdma-core in the guest. uroce's interface serves one
program at a time, so the probe stops for each test, and is started again later."""

import contextlib
import os
import signal
import subprocess
import time

import rig
from rig import Failure, address, cidr

LIMIT_S = 1200 # longer means a hang, even on a busy machine
ROUNDS = 1000
SIZE = 1000
LISTENING = "for i in $(seq 4000); do rdma resource show cm_id | grep -q LISTEN && exit 0; usleep 50000; done; exit 1"


class Pair:
    """The programs of uroce and of the guest, for one test."""

    def __init__(self, the_rig, uroce, guest, family, builddir, limit=LIMIT_S):
        self.rig, self.uroce, self.guest, self.family, self.builddir = the_rig, uroce, guest, family, builddir
        self.ours, self.lines, self.job, self.limit = None, None, None, limit

    def address(self, end):
        return address(end.number, self.family)

    def start_ours(self, program, arguments):
        path = os.path.join(self.builddir, program)
        self.uroce.transcript.append('%s $ %s %s' % (self.uroce.side, program, ' '.join(arguments)))
        self.ours = self.uroce.launch(path, arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
        self.lines = rig.Lines(self.ours.stdout.fileno(), -1)

    def rping(self, *arguments):
        self.start_ours('app/uroce-rping', ['--addr', cidr(self.uroce.number, self.family), *arguments])

    def sidr(self, *arguments):
        self.start_ours('test/interop/sidr', [cidr(self.uroce.number, self.family), *arguments])

    def wait_for_line(self, text):
        """Wait until the output of uroce's program contains the text."""
        line = ''
        while text not in line:
            line = self.lines.read()
            self.uroce.transcript.append('%s > %s' % (self.uroce.side, line))

    def note(self, output):
        self.uroce.transcript += ['%s > %s' % (self.uroce.side, line) for line in output.splitlines()]

    def end_ours(self, status=0):
        try:
            output, _ = self.ours.communicate(timeout=self.limit)
        except subprocess.TimeoutExpired as e:
            raise Failure('the program on uroce does not end') from e
        self.note(output)
        if self.ours.returncode != status:
            raise Failure('the program on uroce: exit code %d, expected %d: %s' % (
                self.ours.returncode, status, output[-300:]))
        return output

    def guest_run(self, command):
        return self.guest.sh('timeout %d %s' % (self.limit, command))

    def guest_start(self, command, listens=True):
        rc, output = self.guest.sh('timeout %d %s >/tmp/job 2>&1 & echo $!' % (self.limit, command))
        self.job = output.split()[-1]
        if rc != 0 or (listens and self.guest.sh('(' + LISTENING + ')')[0] != 0):
            raise Failure('the guest does not listen: %s' % self.guest.sh('cat /tmp/job')[1])

    def guest_end(self):
        rc, _ = self.guest.sh('wait %s' % self.job)
        self.job = None
        return rc, self.guest.sh('cat /tmp/job; echo')[1]

    def close(self):
        if self.ours is not None and self.ours.returncode is None:
            self.ours.kill()
            self.note(self.ours.communicate()[0])
        if self.job is not None:
            self.guest.sh('kill %s; wait %s; cat /tmp/job; echo' % (self.job, self.job))


def expect_rc(what, result, wanted):
    rc, output = result
    if (rc == 0) != (wanted == 0):
        raise Failure('%s: exit code %d: %s' % (what, rc, output[-300:]))


def without_race(result):
    """At its end, rdma-core's rping closes its channel, which its other thread may still read. If that thread comes
    first, rping ends with another status, and prints exactly these lines."""
    rc, output = result
    said = [line for line in output.splitlines() if not line.startswith('ping data: ')]
    if said == ['client DISCONNECT EVENT...', 'rdma_get_cm_event: Bad file descriptor']:
        rc = 0
    return rc, output


def ping(pair, count):
    """Ping with rdma-core's client, which prints each ping once it is verified."""
    result = without_race(pair.guest_run('rping -c -a %s -C %d -V -v' % (pair.address(pair.uroce), count)))
    expect_rc('rping -c', result, 0)
    shown = result[1].count('ping data: ')
    if shown != count:
        raise Failure('rping has printed %d of %d pings' % (shown, count))


def rping_server(pair):
    """rdma-core's client with uroce's server."""
    pair.rping('-s', '-a', pair.address(pair.uroce), '-C', str(ROUNDS), '-V', '-d')
    pair.wait_for_line('waiting for a client')
    expect_rc('rping -c', without_race(pair.guest_run(
        'rping -c -a %s -C %d -V -S %d' % (pair.address(pair.uroce), ROUNDS, SIZE))), 0)
    pair.end_ours()             # fails unless the server got all pings


def rping_client(pair):
    pair.guest_start('rping -s -a %s -C %d -V -S %d' % (pair.address(pair.guest), ROUNDS, SIZE))
    pair.rping('-c', '-a', pair.address(pair.guest), '-C', str(ROUNDS), '-V', '-S', str(SIZE))
    pair.end_ours()
    pair.guest_end()            # rdma-core's server ends with an error when any client disconnects


def rejected_by_guest(pair):
    """Without a listener in the guest: REJ, invalid service ID."""
    pair.rping('-c', '-a', pair.address(pair.guest), '-C', '1', '-p', '7999')
    output = pair.end_ours(status=1)
    if 'reject' not in output.lower():
        raise Failure('the client on uroce prints: %s' % output[-300:])


def rejected_by_us(pair):
    pair.rping('-s', '-P', '-d')
    pair.wait_for_line('waiting for a client')
    result = pair.guest_run('rping -c -a %s -C 1 -p 7999' % pair.address(pair.uroce))
    expect_rc('rping to a port without a listener', result, 1)
    if 'REJECTED' not in result[1]:
        raise Failure('rping prints: %s' % result[1][-300:])
    # the port with a listener still works
    ping(pair, 10)


def many_clients(pair):
    """Several clients, one after the other, with a persistent server."""
    pair.rping('-s', '-P', '-d')
    pair.wait_for_line('waiting for a client')
    for _ in range(5):
        ping(pair, 10)
    pair.ours.send_signal(signal.SIGINT)
    pair.end_ours()


def client_is_killed(pair):
    """The kernel disconnects for a killed client."""
    pair.rping('-s', '-d')
    pair.wait_for_line('waiting for a client')
    pair.guest_start('rping -c -a %s -C 0 -V' % pair.address(pair.uroce), listens=False)
    if not pair.rig.wire.wait_for(lambda f: f.kind == 'WRITE_ONLY', n=10):
        raise Failure('no pings')
    pair.guest.sh('killall -9 rping')
    pair.guest_end()
    pair.ours.communicate(timeout=LIMIT_S)


def guest_stops(pair):
    """The guest stops for two seconds; the retries last longer."""
    pair.guest_start('rping -s -a %s -C 2000 -V' % pair.address(pair.guest))
    pair.rping('-c', '-a', pair.address(pair.guest), '-C', '2000', '-V')
    if not pair.rig.wire.wait_for(lambda f: f.kind == 'WRITE_ONLY', n=10):
        raise Failure('no pings')
    pair.guest.process.send_signal(signal.SIGSTOP)
    try:
        time.sleep(2)
    finally:
        pair.guest.process.send_signal(signal.SIGCONT)
    pair.end_ours()
    pair.guest_end()


def guest_dies(pair):
    """The guest loses its power. Without an outstanding request, uroce's client cannot notice it, so Ctrl-C ends the
    client: it disconnects, gets no reply, and ends anyway."""
    pair.guest_start('rping -s -a %s -C 0 -V' % pair.address(pair.guest))
    pair.rping('-c', '-a', pair.address(pair.guest), '-C', '0', '-V')
    if not pair.rig.wire.wait_for(lambda f: f.kind == 'WRITE_ONLY', n=10):
        raise Failure('no pings')
    pair.job = None
    pair.guest.stop()
    cut = time.monotonic()
    try:
        time.sleep(1)
        pair.ours.send_signal(signal.SIGINT)
        try:
            pair.ours.communicate(timeout=LIMIT_S)
        except subprocess.TimeoutExpired as e:
            raise Failure('the client on uroce does not end') from e
        if pair.ours.returncode not in (0, 1):
            raise Failure('the client on uroce: exit status %d, expected 0 or 1' % pair.ours.returncode)
        if not pair.rig.wire.count(lambda f: f.kind == 'UD_SEND_ONLY' and f.time > cut):
            raise Failure('the client on uroce does not disconnect')
    finally:
        pair.guest.start()
        pair.guest.wait_ready()


def sidr_server(pair):
    """udaddy finds uroce's datagram service."""
    pair.sidr()
    pair.wait_for_line('listening')
    expect_rc('udaddy -s', pair.guest_run('udaddy -s %s' % pair.address(pair.uroce)), 0)
    pair.end_ours()


def sidr_client(pair):
    pair.guest_start('udaddy -b %s' % pair.address(pair.guest))
    pair.sidr(pair.address(pair.guest))
    pair.end_ours()
    expect_rc('udaddy -b', pair.guest_end(), 0)


class Test:
    """One test of the matrix."""

    lacking = None

    def __init__(self, function, uroce, guest, family, builddir):
        self.name = 'cm/ipv%d/%s' % (family, function.__name__.replace('_', '-'))
        self.function, self.ends, self.family, self.builddir = function, (uroce, guest), family, builddir

    def run(self, the_rig):
        """@return None, or the failure"""
        uroce, guest = self.ends
        for end in self.ends:
            end.transcript = []
        uroce.stop()
        the_rig.wire.reset()
        pair = Pair(the_rig, uroce, guest, self.family, self.builddir)
        try:
            with contextlib.closing(pair):
                self.function(pair)
            for frame in list(the_rig.wire.frames):
                if frame.wrong() is not None:
                    raise Failure('%s in %s' % (frame.wrong(), frame))
        except (Failure, subprocess.TimeoutExpired) as e:
            return str(e)
        finally:
            uroce.start()
            uroce.wait_ready()
        return None


def matrix(first, guest, builddir):
    """All tests. They test uroce's programs, so there are none between two guests."""
    if first.kind != 'uroce':
        return
    for v in (4, 6):
        for function in (rping_server, rping_client, sidr_server, sidr_client):
            yield Test(function, first, guest, v, builddir)
    for function in (rejected_by_guest, rejected_by_us, many_clients, client_is_killed, guest_stops, guest_dies):
        yield Test(function, first, guest, 4, builddir)
