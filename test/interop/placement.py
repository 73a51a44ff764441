# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Scenarios of FLUSH and ATOMIC_WRITE, the memory placement extensions (IBA annex A19). Each compares the headers and
the payload of all requests and responses byte by byte, with headers that it computes itself."""

import struct

from scenarios import FLUSHED, QUICK_TIMEOUT, REM_ACCESS, REM_INV_REQ, RETRY_EXC, SUCCESS, Test, expect
from rig import Failure

SINCE = (6, 2)                  # the first Linux whose Soft-RoCE has both
WC_FLUSH, WC_ATOMIC_WRITE = 8, 9
GLOBAL = 1                      # the type of FLUSH; the kernel grants PERSISTENT for persistent memory only
RANGE, WHOLE = 0, 1             # the levels of FLUSH
FLUSH_DATA = 3000
VALUE = 0x0123456789abcdef
STEP = 0x1010101010101010 + 1
PSN = 0x123456
PSN_MASK = 0xffffff
WRONG_RKEY = 0x5ca1ab1e
LEVEL_SHIFT = 4


def value(i):
    return (VALUE + i * STEP) % 2**64


def reth(link, remote, length, rkey=None):
    return struct.pack('>QII', link.remote + remote, link.rkey if rkey is None else rkey, length)


def flush_bytes(link, remote, length, level, rkey=None):
    """FETH and RETH of a FLUSH."""
    return struct.pack('>I', GLOBAL | level << LEVEL_SHIFT) + reth(link, remote, length, rkey)


def atomic_bytes(link, remote, i):
    """RETH and payload of an ATOMIC_WRITE. The payload has the order of the bytes in memory."""
    return reth(link, remote, 8) + value(i).to_bytes(8, 'little')


def without_address(kind, body):
    """rxe retransmits FLUSH and ATOMIC_WRITE with the address 0."""
    at = 4 if kind == 'FLUSH' else 0
    return body[:at] + bytes(8) + body[at + 8:]


def check_requests(link, kind, bodies, psn=PSN, complete=True):
    """Each request, and each retransmission, has these headers and this payload, by its PSN."""
    wanted = {(psn + i) & PSN_MASK: body for i, body in bodies.items()}
    seen = set()
    again = {}
    if link.requester.kind == 'rxe':
        again = {p: without_address(kind, b) for p, b in wanted.items()}
    for frame in list(link.wire.frames):
        if frame.side == link.requester.side and frame.kind == kind:
            if frame.psn not in wanted:
                raise Failure('%s has the PSN of another request' % frame)
            body = again.get(frame.psn, wanted[frame.psn]) if frame.psn in seen else wanted[frame.psn]
            expect('headers and payload of %s' % frame, frame.body.hex(), body.hex())
            expect('destination QP of %s' % frame, frame.qpn, link.qpn(link.responder))
            expect('AckReq of %s' % frame, frame.ack_requested, True)
            seen.add(frame.psn)
    if complete:
        expect('PSNs of %s requests' % kind, sorted(seen), sorted(wanted))


def check_responses(link, first, n, psn=PSN):
    """Requests first .. first + n - 1 are answered by READ RESPONSE ONLY with an AETH and no payload, and with the
    number of completed requests in the AETH (R29)."""
    wanted = {(psn + i) & PSN_MASK: i + 1 for i in range(first, first + n)}
    seen = set()
    for frame in list(link.wire.frames):
        if frame.side == link.responder.side and frame.kind == 'READ_ONLY' and frame.psn in wanted:
            expect('bytes behind the BTH of %s' % frame, len(frame.body), 4)
            expect('syndrome of %s' % frame, frame.syndrome >> 5, 0)
            msn = int.from_bytes(frame.body[1:], 'big')
            # rxe writes the newest MSN into the response to a duplicate
            if msn != wanted[frame.psn] and not (link.responder.kind == 'rxe' and frame.psn in seen):
                raise Failure('MSN of %s: %d, not %d' % (frame, msn, wanted[frame.psn]))
            seen.add(frame.psn)
    expect('PSNs of READ RESPONSE ONLY', sorted(seen), sorted(wanted))


def completed(link, n, opcode):
    seen = link.poll(link.requester, n)
    expect('requester\'s completions', [(c.id, c.status, c.opcode) for c in seen],
           [(i, SUCCESS, opcode) for i in range(n)])


def place(link, flush, remote_at=0, rkey=None, **arguments):
    link.requester('place', flush=flush, remote=link.remote + remote_at, rkey=link.rkey if rkey is None else rkey,
                   **arguments)


def connect(link, **arguments):
    link.connect(placement=1, flushed=arguments.pop('flushed', 1), **arguments)


# ---- ATOMIC_WRITE ----------------------------------------------------------------------------------------

def atomic_write(link, n=6, psn=PSN):
    """n words, each with a word of zeros behind it."""
    connect(link, psn=psn)
    for i in range(n):
        link.requester('put', at=8 * i, value=value(i))
    place(link, 0, n=n, remote_at=64, remote_stride=16)
    completed(link, n, WC_ATOMIC_WRITE)
    expect('word before', link.word(link.responder, 56), 0)
    for i in range(n):
        expect('word %d' % i, link.word(link.responder, 64 + 16 * i), value(i))
        expect('word behind word %d' % i, link.word(link.responder, 72 + 16 * i), 0)
    check_requests(link, 'ATOMIC_WRITE', {i: atomic_bytes(link, 64 + 16 * i, i) for i in range(n)}, psn)
    check_responses(link, 0, n, psn)


def atomic_write_psn_wrap(link):
    atomic_write(link, n=10, psn=0xfffffa)


def atomic_write_same(link, n=20):
    """More ATOMIC_WRITEs of one word than may be outstanding: the last one wins."""
    connect(link)
    for i in range(n):
        link.requester('put', at=8 * i, value=value(i))
    place(link, 0, n=n, remote_stride=0)
    completed(link, n, WC_ATOMIC_WRITE)
    expect('the word', link.word(link.responder), value(n - 1))
    expect('word behind it', link.word(link.responder, 8), 0)
    check_requests(link, 'ATOMIC_WRITE', {i: atomic_bytes(link, 0, i) for i in range(n)})
    check_responses(link, 0, n)


def refused(link, flush, status, **arguments):
    """The first request is refused, the next is flushed, and the memory does not change."""
    link.requester('put', at=0, value=VALUE)
    place(link, flush, n=2, remote_stride=0, stride=0, **arguments)
    expect('requester\'s statuses', link.statuses(link.requester, 2), [status, FLUSHED])
    for at in range(0, 64, 8):
        expect('word at %d' % at, link.word(link.responder, at), 0)
    expect('READ RESPONSE ONLY', link.wire.count(lambda f: f.kind == 'READ_ONLY'), 0)


def atomic_write_lost(link, lost, n=6):
    """Request `lost` is lost. rxe retransmits it with the address 0, which the responder refuses (R18)."""
    if link.requester.kind != 'rxe':
        atomic_write(link, n)
        return
    connect(link)
    for i in range(n):
        link.requester('put', at=8 * i, value=value(i))
    place(link, 0, n=n, remote_at=64, remote_stride=16)
    expect('requester\'s statuses', link.statuses(link.requester, n),
           [SUCCESS] * (lost - 1) + [REM_ACCESS] + [FLUSHED] * (n - lost))
    for i in range(n):
        expect('word %d' % i, link.word(link.responder, 64 + 16 * i), value(i) if i < lost - 1 else 0)
    # after the NAK, rxe sends no further request
    check_requests(link, 'ATOMIC_WRITE', {i: atomic_bytes(link, 64 + 16 * i, i) for i in range(n)}, complete=False)
    if link.wire.count(lambda f: f.kind == 'ATOMIC_WRITE' and f.psn == PSN + lost - 1) < 2:
        raise Failure('the ATOMIC_WRITE was not retransmitted')


def atomic_write_misaligned(link):
    connect(link)
    refused(link, 0, REM_INV_REQ, remote_at=4)           # R24


def atomic_write_wrong_rkey(link):
    connect(link)
    refused(link, 0, REM_ACCESS, rkey=WRONG_RKEY)        # R18


def atomic_write_out_of_bounds(link):
    connect(link)
    refused(link, 0, REM_ACCESS, remote_at=4096)


# ---- FLUSH -----------------------------------------------------------------------------------------------

def flush(link, level=RANGE, n=3):
    """A WRITE, then FLUSHes of parts of its data: they complete after it, and the data have arrived."""
    connect(link, size=4096)
    link.requester('fill', len=FLUSH_DATA, seed=5)
    packets = -(-FLUSH_DATA // link.mtu)
    link.send('write', len=FLUSH_DATA)
    place(link, 1, n=n, len=100, remote_stride=200, level=level)
    link.sent('write')
    completed(link, n, WC_FLUSH)
    link.responder('check', len=FLUSH_DATA, seed=5)
    check_requests(link, 'FLUSH', {packets + i: flush_bytes(link, 200 * i, 100, level) for i in range(n)})
    flush_responses(link, packets, n)


def flush_responses(link, first, n):
    """As check_responses(), with one request for `first` packets before."""
    wanted = {PSN + first + i: 2 + i for i in range(n)}
    for frame in list(link.wire.frames):
        if frame.side == link.responder.side and frame.kind == 'READ_ONLY':
            expect('bytes behind the BTH of %s' % frame, len(frame.body), 4)
            expect('MSN and syndrome of %s' % frame, (int.from_bytes(frame.body[1:], 'big'), frame.syndrome >> 5),
                   (wanted.pop(frame.psn, None), 0))
    expect('FLUSHes without a response', sorted(wanted), [])


def flush_whole(link):
    flush(link, level=WHOLE)


def flush_many(link, n=40):
    """More FLUSHes than READs may be outstanding: Soft-RoCE does not count them as READs. Its own are of the whole
    region, because it retransmits a FLUSH with the address 0."""
    level = WHOLE if link.requester.kind == 'rxe' else RANGE
    connect(link, timeout=QUICK_TIMEOUT)
    place(link, 1, n=n, len=64, remote_stride=64, level=level)
    completed(link, n, WC_FLUSH)
    check_requests(link, 'FLUSH', {i: flush_bytes(link, 64 * i, 64, level) for i in range(n)})
    check_responses(link, 0, n)


def flush_unanswered(link, lost, n=40):
    """The response to request `lost` is lost. uroce answers the duplicate; rxe does not, and the retries run out."""
    if link.responder.kind != 'rxe':
        flush_many(link, n)
        return
    connect(link, timeout=QUICK_TIMEOUT, retry=2)
    place(link, 1, n=n, len=64, remote_stride=64)
    expect('requester\'s statuses', link.statuses(link.requester, n),
           [SUCCESS] * (lost - 1) + [RETRY_EXC] + [FLUSHED] * (n - lost))
    check_responses(link, 0, lost)
    expect('responses to the FLUSH', link.wire.count(lambda f: f.kind == 'READ_ONLY' and f.psn == PSN + lost - 1), 1)
    if link.wire.count(lambda f: f.kind == 'FLUSH' and f.psn == PSN + lost - 1) < 3:
        raise Failure('the FLUSH was not retransmitted twice')


def flush_zero(link):
    connect(link)
    place(link, 1, n=2, len=0)
    completed(link, 2, WC_FLUSH)
    check_responses(link, 0, 2)


def flush_wrong_rkey(link):
    connect(link)
    refused(link, 1, REM_ACCESS, rkey=WRONG_RKEY, len=64)


def flush_zero_wrong_rkey(link):
    """R19: the rkey of a FLUSH of no bytes is checked."""
    connect(link)
    refused(link, 1, REM_ACCESS, rkey=WRONG_RKEY, len=0)


def flush_out_of_bounds(link):
    connect(link)
    refused(link, 1, REM_ACCESS, remote_at=4000, len=97)


def flush_not_granted(link):
    """The QP allows FLUSH, the region does not."""
    connect(link, flushed=0)
    refused(link, 1, REM_ACCESS, len=64)


def flush_icrc(link):
    """Each end drops the other's FLUSH as corrupt (R5): rxe's ICRC covers the headers twice."""
    if len(link.wire.twice) != 1:
        flush(link)
        return
    link.wire.translates = False
    try:
        connect(link, timeout=QUICK_TIMEOUT, retry=2)
        place(link, 1, n=1, len=64)
        if not link.wire.wait_for(lambda f: f.kind == 'FLUSH' and f.psn == PSN, n=2):
            raise Failure('no retransmission of the FLUSH')
        if link.requester.kind == 'uroce':
            expect('requester\'s status', link.statuses(link.requester, 1), [RETRY_EXC])
        expect('responses', link.wire.count(lambda f: f.side == link.responder.side and f.bth), 0)
    finally:
        link.wire.translates = True


# ---- both ------------------------------------------------------------------------------------------------

def commit(link, n=4):
    """WRITE, FLUSH, ATOMIC_WRITE: the way to publish data, several times without a wait."""
    length = 2 * link.mtu + 5
    stride = (length + 63) & ~63
    connect(link, size=(n + 1) * stride)
    for i in range(n):
        link.requester('fill', at=i * stride, len=length, seed=i + 1)
        link.requester('put', at=n * stride + 8 * i, value=value(i))
    for i in range(n):
        link.send('write', at=i * stride, len=length, remote_at=i * stride)
        place(link, 1, n=1, remote_at=i * stride, len=length)
        place(link, 0, n=1, at=n * stride + 8 * i, remote_at=n * stride)
    for i in range(n):
        link.sent('write')
        completed(link, 1, WC_FLUSH)
        completed(link, 1, WC_ATOMIC_WRITE)
        link.responder('check', at=i * stride, len=length, seed=i + 1)
    expect('the word that publishes', link.word(link.responder, n * stride), value(n - 1))
    check_requests(link, 'FLUSH', {5 * i + 3: flush_bytes(link, i * stride, length, RANGE) for i in range(n)})
    check_requests(link, 'ATOMIC_WRITE', {5 * i + 4: atomic_bytes(link, n * stride, i) for i in range(n)})


def bad_network(link, function, what, who, kind, nth, until=None):
    # by PSN, because rxe also retransmits without cause
    link.fault(what, who, kind if until else lambda f: f.kind == kind and f.psn == PSN + nth - 1, 1, until)
    if function in (atomic_write_lost, flush_unanswered):
        function(link, nth)
    else:
        function(link)


FAULTS = (
    # name, function, fault, sender, kind of frame, number of the request, until
    ('lose-atomic-write', atomic_write_lost, 'drop', 'requester', 'ATOMIC_WRITE', 3),
    ('lose-atomic-write-response', atomic_write, 'drop', 'responder', 'READ_ONLY', 3),
    ('lose-last-atomic-write-response', atomic_write, 'drop', 'responder', 'READ_ONLY', 6),
    ('lose-atomic-write-responses', atomic_write, 'drop', 'responder', 'READ_ONLY', 1, 'retry'),
    ('double-atomic-write', atomic_write, 'dup', 'requester', 'ATOMIC_WRITE', 3),
    ('swap-atomic-writes', atomic_write_same, 'swap', 'requester', 'ATOMIC_WRITE', 3),
    ('corrupt-atomic-write', atomic_write_lost, 'corrupt', 'requester', 'ATOMIC_WRITE', 2),
    ('lose-flush', flush_many, 'drop', 'requester', 'FLUSH', 3),
    ('lose-flush-response', flush_unanswered, 'drop', 'responder', 'READ_ONLY', 3),
    ('lose-last-flush-response', flush_unanswered, 'drop', 'responder', 'READ_ONLY', 40),
    ('double-flush', flush_many, 'dup', 'requester', 'FLUSH', 3),
    ('swap-flushes', flush_many, 'swap', 'requester', 'FLUSH', 3),
    ('corrupt-flush', flush_many, 'corrupt', 'requester', 'FLUSH', 2),
)
SCENARIOS = (
    atomic_write, atomic_write_psn_wrap, atomic_write_same, atomic_write_misaligned, atomic_write_wrong_rkey,
    atomic_write_out_of_bounds, flush, flush_whole, flush_many, flush_zero, flush_wrong_rkey, flush_zero_wrong_rkey,
    flush_out_of_bounds, flush_not_granted, flush_icrc, commit)


class PlacementTest(Test):
    """A test that needs a kernel with FLUSH and ATOMIC_WRITE."""

    @property
    def lacking(self):
        for end in (self.requester, self.responder):
            if end.linux is not None and end.linux < SINCE:
                return 'Soft-RoCE of Linux %d.%d has neither FLUSH nor ATOMIC_WRITE' % end.linux
        return None


def pair_tests(requester, responder, v):
    prefix = 'ipv%d/%s-to-%s/' % (v, requester.side, responder.side)
    for function in SCENARIOS:
        yield PlacementTest(prefix + function.__name__.replace('_', '-'), function, requester, responder, v)
    for name, *fault in FAULTS:
        yield PlacementTest(prefix + name, bad_network, requester, responder, v, arguments=dict(zip(
            ('function', 'what', 'who', 'kind', 'nth', 'until'), fault)))


def matrix(first, guest):
    """All tests."""
    for v in (4, 6):
        yield from pair_tests(first, guest, v)
        yield from pair_tests(guest, first, v)
