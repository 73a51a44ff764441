# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The cost of random loss: the time and the frames that the same messages take on the same lossy wire. A benchmark
with figures; the only check is that each byte arrives."""

import random
import time

from scenarios import TAKES_RECEIVE, Link

MESSAGES, LENGTH = 32, 32768
TIMEOUT, RETRY = 14, 7          # 67 ms: the values of perftest and most programs
OPS = ('write', 'send', 'read')


class RandomLoss:
    """Used in place of a Fault: drops RoCEv2 frames of both sides at random, independently, from a seed."""

    what = 'drop'

    def __init__(self, rate, seed):
        self.rate, self.random, self.applied = rate, random.Random(seed), 0

    def matches(self, frame):
        lost = bool(frame.bth) and self.random.random() < self.rate
        self.applied += lost
        return lost


def measure(wire, requester, responder, op, rate, seed, mtu=1024):
    """@return seconds, payload bytes on the wire per byte of the messages, lost frames"""
    link = Link(wire, requester, responder, 4, mtu, 0)
    loss = RandomLoss(rate, seed)
    link.faults.append(loss)
    link.connect(size=MESSAGES * LENGTH, timeout=TIMEOUT, retry=RETRY)
    source, sink = (responder, requester) if op == 'read' else (requester, responder)
    for i in range(MESSAGES):
        source('fill', at=i * LENGTH, len=LENGTH, seed=i + 1)
    if op in TAKES_RECEIVE:
        responder('recv', n=MESSAGES, len=LENGTH, stride=LENGTH)
    begun = time.monotonic()
    link.send(op, n=MESSAGES, len=LENGTH, stride=LENGTH)
    link.sent(op, MESSAGES)
    seconds = time.monotonic() - begun
    for i in range(MESSAGES):
        sink('check', at=i * LENGTH, len=LENGTH, seed=i + 1)
    payload = sum(len(f.data) for f in list(wire.frames) if f.bth and len(f.data) > mtu // 2)
    for end in (requester, responder):
        end('close')
    return seconds, payload / (MESSAGES * LENGTH), loss.applied


def table(rig, rate, seeds):
    """Print a line per direction and operation, with the sums over the seeds."""
    first, second = rig.ends
    print('%-14s %-6s %6s %10s %12s %6s' % ('from to', 'op', 'loss', 'seconds', 'sent/needed', 'lost'))
    for requester, responder in ((first, second), (second, first)):
        for op in OPS:
            rows = [measure(rig.wire, requester, responder, op, rate, seed) for seed in seeds]
            print('%-14s %-6s %5.2f%% %10.2f %12.2f %6d' % (
                '%s %s' % (requester.kind, responder.kind), op, 100 * rate, sum(r[0] for r in rows),
                sum(r[1] for r in rows) / len(rows), sum(r[2] for r in rows)), flush=True)
