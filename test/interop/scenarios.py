# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The scenarios. Each one is a function of a Link, which has a requester and a responder; it returns on success, and
raises Failure otherwise. matrix() at the end lists them all.

No result depends on timing: scenarios wait for frames on the wire, and the transport timeouts are long enough for a
busy machine."""

import socket
import time

from rig import VLAN, Failure, address, cidr, gid
from wire import REQUESTS, Fault

SUCCESS, LOC_LEN_ERR, LOC_QP_OP_ERR, FLUSHED = 0, 1, 2, 5
REM_INV_REQ, REM_ACCESS, REM_OP, RETRY_EXC, RNR_RETRY_EXC = 9, 10, 11, 12, 13
LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ = 1, 2, 4        # enum ibv_access_flags
GRH_BYTES = 40
QKEY = 0x1234567
WC_OPCODE = {'send-inv': 0, 'local-inv': 6, 'bind': 5, 'send': 0, 'send-imm': 0, 'write': 1, 'write-imm': 1, 'read': 2,
             'cas': 3, 'faa': 4}
WC_RECV, WC_RECV_WITH_IMM = 128, 129
TAKES_RECEIVE = ('send', 'send-imm', 'write-imm')
IMM = 0xfedcba00
GUARD = 8                       # bytes after each item that must stay zero
RNR_CODE, RNR_SECONDS = 22, 0.02048
FENCE, INLINE = 1, 8            # enum ibv_send_flags
QUICK_TIMEOUT, TIMEOUT = 15, 19         # 4.096 us * 2^n: 134 ms if it must expire, or 2.1 s


class Completion:
    def __init__(self, text):
        self.id, self.status, self.opcode, self.bytes, self.imm, self.qpn, self.src_qpn = (
            int(x) for x in text.split(':'))

    def __repr__(self):
        return 'wr %d status %d opcode %d bytes %d imm %x' % (
            self.id, self.status, self.opcode, self.bytes, self.imm)


def expect(what, seen, wanted):
    if seen != wanted:
        raise Failure('%s: %s, not %s' % (what, seen, wanted))


class Link:
    """A requester, a responder, and after connect() a connection between them. Their memories have the same size, and
    are zero at first."""

    def __init__(self, wire, requester, responder, family, mtu, vlan):
        self.vlan = vlan
        self.wire, self.requester, self.responder = wire, requester, responder
        self.family, self.mtu, self.faults = family, mtu, []
        self.responder_number = responder.number

    def fault(self, what, who, kind, nth=1, until=None):
        """To be called before connect(). `who` is 'requester' or 'responder'."""
        self.faults.append(Fault(what, getattr(self, who).side, kind, nth, until))

    def connect(self, size=4096, psn=0x123456, own=0, timeout=None, retry=7, rnr=7, min_rnr=14, service='rc',
                qps=1, srq=0, placement=0, flushed=0):
        timeout = timeout or (QUICK_TIMEOUT if self.faults else TIMEOUT)
        self.wire.reset(self.faults)
        numbers = {self.requester: self.requester.number, self.responder: self.responder_number}
        psns = {self.requester: psn, self.responder: 0x654321}
        self.info = {e: e('qp', sgid=gid(n, self.family, self.vlan), size=size, psn=psns[e], own=own, type=service,
                          qps=qps, srq=srq if e == self.responder else 0, qkey=QKEY, placement=placement,
                          flushed=flushed)
                     for e, n in numbers.items()}
        for end, peer in ((self.responder, self.requester), (self.requester, self.responder)):
            for q in range(qps):
                end('connect', q=q, dgid=gid(numbers[peer], self.family, self.vlan), qpn=self.qpn(peer, q),
                    psn=psns[peer], mtu=self.mtu, timeout=timeout, retry=retry, rnr=rnr, min_rnr=min_rnr)
        self.remote, self.rkey = self.info[self.responder]['addr'], self.info[self.responder]['rkey']

    def qpn(self, end, q=0):
        return self.info[end]['qpn%d' % q if q else 'qpn']

    def send(self, op, **arguments):
        arguments.setdefault('rkey', self.rkey)
        arguments['remote'] = self.remote + arguments.pop('remote_at', 0)
        self.requester('send', op=op, **arguments)

    def poll(self, end, n, ms=30000):
        return [Completion(w) for w in end('poll', n=n, ms=ms)]

    def sent(self, op, n=1):
        """The requester's next n completions are successful and in order."""
        seen = self.poll(self.requester, n)
        expect('requester\'s completions', [(c.id, c.status, c.opcode) for c in seen],
               [(i, SUCCESS, WC_OPCODE[op]) for i in range(n)])

    def received(self, op, length, n=1):
        """The responder's next n completions are receives in order, and no others follow."""
        opcode = WC_RECV_WITH_IMM if op == 'write-imm' else WC_RECV
        imm = [IMM + i if op.endswith('imm') else 0 for i in range(n)]
        seen = self.poll(self.responder, n)
        # the byte_len of a receive that a WRITE consumed is the length of the WRITE
        expect('responder\'s completions', [(c.id, c.status, c.opcode, c.bytes, c.imm) for c in seen],
               [(i, SUCCESS, opcode, length, imm[i]) for i in range(n)])
        expect('responder\'s further completions', self.poll(self.responder, 1, ms=0), [])

    def statuses(self, end, n):
        return [c.status for c in self.poll(end, n)]

    def check_faults(self):
        for fault in self.faults:
            if not fault.applied:
                raise Failure('the fault "%s" never occurred' % fault)
            if fault.until == 'retry' and not fault.retried:
                raise Failure('no request was retransmitted')

    def check_frames(self):
        for frame in list(self.wire.frames):
            wrong = frame.wrong()
            if frame.bth and frame.vlan != self.vlan:
                wrong = 'VLAN %d' % frame.vlan
            if wrong is not None:
                raise Failure('%s in %s' % (wrong, frame))

    def word(self, end, at=0):
        return end('get', at=at)['value']


# ---- operations ------------------------------------------------------------------------------------------

def transfer(link, op, length, n=3, sges=1, psn=0x123456, own=0, flags=0):
    """n messages of this length, each with data and a place of its own. Each byte is compared, and the bytes behind
    each message must not change."""
    stride = (length + GUARD + 63) & ~63
    link.connect(size=n * stride, psn=psn, own=own)
    source, sink = link.requester, link.responder
    if op == 'read':
        source, sink = sink, source
    for i in range(n):
        source('fill', at=i * stride, len=length, seed=i + 1)
    if op in TAKES_RECEIVE:
        recv_length = 0 if op == 'write-imm' else length
        link.responder('recv', n=n, len=recv_length, stride=stride, sges=sges)
        link.responder('recv', n=1, len=recv_length)    # for a message that must not arrive
    link.send(op, n=n, len=length, stride=stride, sges=sges, imm=IMM, flags=flags)
    link.sent(op, n)
    if op in TAKES_RECEIVE:
        link.received(op, length, n)
    for i in range(n):
        sink('check', at=i * stride, len=length, seed=i + 1)
        expect('bytes behind message %d' % i, link.word(sink, i * stride + length), 0)


def one_byte(link, op):
    transfer(link, op, 1)


def zero(link, op):
    transfer(link, op, 0)


def odd(link, op):
    transfer(link, op, link.mtu + 3)


def one_mtu(link, op):
    transfer(link, op, link.mtu)


def several(link, op):
    transfer(link, op, 5 * link.mtu + 1)


def many(link, op):
    transfer(link, op, 300001, n=2)


def scattered(link, op):
    transfer(link, op, 3 * link.mtu + 7, sges=16)


def zero_copy(link, op):
    """Transfers from and to memory that uroce can send without copying."""
    transfer(link, op, 4 * link.mtu + 11, own=1)


def inline(link, op):
    transfer(link, op, 99, flags=INLINE)


def psn_wrap(link, op):
    transfer(link, op, 8 * link.mtu, psn=0xfffffa)


def faa(link, n=8, psn=0x123456):
    """n fetch-and-adds of one word, which wraps."""
    start, add = 2**64 - 17, 5
    link.connect(size=4096, psn=psn)
    link.responder('put', at=8, value=start)
    link.send('faa', n=n, len=8, remote_at=8, remote_stride=0, compare=add)
    link.sent('faa', n)
    expect('original values', [link.word(link.requester, 8 * i) for i in range(n)],
           [(start + add * i) % 2**64 for i in range(n)])
    expect('final value', link.word(link.responder, 8), (start + add * n) % 2**64)
    expect('word before', link.word(link.responder, 0), 0)
    expect('word after', link.word(link.responder, 16), 0)


def cas(link, n=6):
    """A chain of compare-and-swaps that each match the result of the one before, and one that does not match."""
    start = 0x0123456789abcdef
    link.connect()
    link.responder('put', at=16, value=start)
    link.send('cas', n=n, len=8, remote_at=16, remote_stride=0, compare=start, swap=start + 1, step=1)
    link.sent('cas', n)
    expect('original values', [link.word(link.requester, 8 * i) for i in range(n)],
           [start + i for i in range(n)])
    link.send('cas', len=8, remote_at=16, compare=start, swap=0)
    link.sent('cas')
    expect('original value of the compare-and-swap that does not match', link.word(link.requester), start + n)
    expect('final value', link.word(link.responder, 16), start + n)


def atomic_psn_wrap(link):
    faa(link, n=10, psn=0xfffffa)


def mixed(link):
    """All operations are in flight at once; a fenced READ returns the bytes written before it."""
    n, length = 4, 2 * link.mtu + 5
    stride = (length + 63) & ~63
    link.connect(size=4 * n * stride)
    link.responder('put', at=0, value=7)
    link.responder('recv', n=n, len=length, at=n * stride, stride=stride)
    for i in range(n):
        link.requester('fill', at=i * stride, len=length, seed=i + 1)
    link.send('write', n=n, len=length, stride=stride, remote_at=2 * n * stride)
    link.send('faa', n=2, len=8, at=2 * n * stride, remote_stride=0, compare=1)
    link.send('read', n=n, len=length, at=3 * n * stride, stride=stride, remote_at=2 * n * stride,
              flags=FENCE)
    link.send('send-imm', n=n, len=length, stride=stride, imm=IMM)
    for op, count in (('write', n), ('faa', 2), ('read', n), ('send-imm', n)):
        link.sent(op, count)
    link.received('send-imm', length, n)
    for i in range(n):
        link.responder('check', at=(n + i) * stride, len=length, seed=i + 1)
        link.requester('check', at=(3 * n + i) * stride, len=length, seed=i + 1)
    expect('word after two fetch-and-adds', link.word(link.responder), 9)


# ---- other services --------------------------------------------------------------------------------------

def uc(link, op, length, n=3):
    """n messages on UC. A WRITE with immediate data behind WRITEs shows that they have arrived."""
    stride = (length + GUARD + 63) & ~63
    link.connect(size=n * stride, service='uc')
    for i in range(n):
        link.requester('fill', at=i * stride, len=length, seed=i + 1)
    if op != 'write':
        link.responder('recv', n=n, len=0 if op == 'write-imm' else length, stride=stride)
    link.send(op, n=n, len=length, stride=stride, imm=IMM)
    link.sent(op, n)
    if op == 'write':
        link.responder('recv', n=1)
        link.send('write-imm', len=0, imm=IMM)
        link.sent('write-imm')
        link.received('write-imm', 0)
    else:
        link.received(op, length, n)
    for i in range(n):
        link.responder('check', at=i * stride, len=length, seed=i + 1)
        expect('bytes behind message %d' % i, link.word(link.responder, i * stride + length), 0)


def uc_zero(link, op):
    uc(link, op, 0)


def uc_odd(link, op):
    uc(link, op, link.mtu + 3)


def uc_many(link, op):
    uc(link, op, 20 * link.mtu + 1)


def uc_loses(link):
    """A message that loses a packet is not delivered, and consumes no receive; the next one is delivered (R13)."""
    length = 3 * link.mtu
    link.fault('drop', 'requester', 'UC_SEND_MIDDLE')
    link.connect(size=4 * length, service='uc')
    link.responder('recv', n=3, len=length)
    link.requester('fill', len=length, seed=1)
    link.requester('fill', at=length, len=length, seed=2)
    link.send('send-imm', n=2, len=length, imm=IMM)
    link.sent('send-imm', 2)
    seen = link.poll(link.responder, 1)
    expect('the receive', [(c.id, c.status, c.bytes, c.imm) for c in seen], [(0, SUCCESS, length, IMM + 1)])
    link.responder('check', len=length, seed=2)
    expect('further receives', link.poll(link.responder, 1, ms=0), [])


def ud(link, op, length, n=3):
    """n datagrams: the payload follows 40 bytes of GRH, with the addresses of the sender and the receiver."""
    stride = (length + GRH_BYTES + GUARD + 63) & ~63
    link.connect(size=n * stride, service='ud')
    for i in range(n):
        link.requester('fill', at=i * stride, len=length, seed=i + 1)
    link.responder('recv', n=n, len=length + GRH_BYTES, stride=stride)
    link.send(op, n=n, len=length, stride=stride, imm=IMM)
    link.sent(op, n)
    seen = link.poll(link.responder, n)
    expect('responder\'s completions', [(c.id, c.status, c.opcode, c.bytes, c.imm, c.src_qpn) for c in seen],
           [(i, SUCCESS, WC_RECV, length + GRH_BYTES, IMM + i if op == 'send-imm' else 0, link.qpn(link.requester))
            for i in range(n)])
    for i in range(n):
        link.responder('check', at=i * stride + GRH_BYTES, len=length, seed=i + 1)
        grh = b''.join(link.word(link.responder, i * stride + at).to_bytes(8, 'little') for at in range(0, 40, 8))
        ends = [socket.inet_pton(socket.AF_INET6, gid(end.number, link.family, link.vlan))
                for end in (link.requester, link.responder)]
        if link.family == 4:
            expect('addresses in the IPv4 header', grh[32:], ends[0][12:] + ends[1][12:])
            expect('first byte of the IPv4 header', grh[20], 0x45)
        else:
            expect('addresses in the GRH', grh[8:], ends[0] + ends[1])
        expect('bytes behind message %d' % i, link.word(link.responder, i * stride + GRH_BYTES + length), 0)


def ud_zero(link, op):
    ud(link, op, 0)


def ud_odd(link, op):
    ud(link, op, 301)


def ud_one_mtu(link, op):
    ud(link, op, link.mtu)


def ud_wrong_qkey(link):
    """A datagram with a wrong Q_Key is dropped (R7); the next one is not."""
    link.connect(service='ud')
    link.responder('recv', n=2, len=100)
    link.send('send-imm', len=8, imm=IMM, qkey=QKEY + 1)
    link.send('send-imm', len=8, imm=IMM + 1)
    expect('requester\'s statuses', link.statuses(link.requester, 2), [SUCCESS, SUCCESS])
    expect('immediate data', [c.imm for c in link.poll(link.responder, 1)], [IMM + 1])
    expect('further receives', link.poll(link.responder, 1, ms=0), [])


def shared_receives(link):
    """Two queue pairs take receives from one SRQ, in the order in which messages arrive."""
    n, length = 4, link.mtu + 5
    link.connect(size=2 * n * length, qps=2, srq=1)
    link.responder('recv', n=2 * n, len=length)
    for i in range(n):
        for q in range(2):
            at = (2 * i + q) * length
            link.requester('fill', at=at, len=length, seed=2 * i + q + 1)
            link.send('send-imm', q=q, at=at, len=length, imm=IMM + 2 * i + q)
            link.sent('send-imm')
    seen = link.poll(link.responder, 2 * n)
    expect('receives', [(c.id, c.status, c.bytes, c.imm, c.qpn) for c in seen],
           [(i, SUCCESS, length, IMM + i, link.qpn(link.responder, i % 2)) for i in range(2 * n)])
    for i in range(2 * n):
        link.responder('check', at=i * length, len=length, seed=i + 1)


def shared_receives_late(link):
    """An empty SRQ causes RNR NAKs, until receives are posted (R21)."""
    link.connect(qps=2, srq=1, min_rnr=RNR_CODE)
    link.requester('fill', len=100, seed=1)
    link.send('send', q=1, len=100)
    if not link.wire.wait_for(lambda f: f.rnr_nak):
        raise Failure('no RNR NAK')
    link.responder('recv', n=2, len=100)
    link.sent('send')
    expect('receives', [(c.id, c.status, c.bytes, c.qpn) for c in link.poll(link.responder, 1)],
           [(0, SUCCESS, 100, link.qpn(link.responder, 1))])
    link.responder('check', len=100, seed=1)


# ---- memory windows --------------------------------------------------------------------------------------

def bound(link, kind, at, length, access, key=0):
    """@return the window's rkey"""
    rkey = link.responder('bind', type=kind, at=at, len=length, access=access, key=key)['rkey']
    expect('status of the bind', link.statuses(link.responder, 1), [SUCCESS])
    return rkey


def window(link, kind):
    """WRITE and READ by a window's key work within its bounds and rights only."""
    length = 2 * link.mtu + 3
    link.connect(size=4 * length)
    rkey = bound(link, kind, length, length, REMOTE_WRITE | REMOTE_READ, key=7)
    if rkey == link.rkey:
        raise Failure('the window has the key of its region')
    link.requester('fill', len=length, seed=1)
    link.send('write', len=length, rkey=rkey, remote_at=length)
    link.send('read', at=2 * length, len=length, rkey=rkey, remote_at=length)
    link.sent('write')
    link.sent('read')
    link.responder('check', at=length, len=length, seed=1)
    link.requester('check', at=2 * length, len=length, seed=1)
    link.send('write', len=length, rkey=rkey, remote_at=length + 1)
    # rxe checks the bounds of the region, not those of the window
    wanted = SUCCESS if link.responder.kind == 'rxe' else REM_ACCESS
    expect('requester\'s status beyond the window', link.statuses(link.requester, 1), [wanted])


def window_read_only(link, kind):
    link.connect()
    rkey = bound(link, kind, 0, 64, REMOTE_READ)
    link.send('read', len=64, rkey=rkey)
    link.sent('read')
    link.send('write', len=64, rkey=rkey)
    expect('requester\'s status', link.statuses(link.requester, 1), [REM_ACCESS])


def send_invalidates(link):
    """The receive's completion names the window's key, which is dead from then on (R33)."""
    link.connect()
    rkey = bound(link, 2, 0, 64, REMOTE_WRITE, key=0x5a)
    link.responder('recv', n=1, len=64)
    link.send('write', len=64, rkey=rkey)
    link.sent('write')
    link.requester('fill', len=64, seed=2)
    link.send('send-inv', len=64, inv=rkey)
    link.sent('send-inv')
    # rxe does not report the key that a SEND has invalidated
    named = rkey if link.responder.kind == 'uroce' else 0
    expect('the receive', [(c.status, c.bytes, c.imm) for c in link.poll(link.responder, 1)], [(SUCCESS, 64, named)])
    link.responder('check', len=64, seed=2)
    link.send('write', len=64, rkey=rkey)
    expect('requester\'s status', link.statuses(link.requester, 1), [REM_ACCESS])


def local_invalidate(link):
    link.connect()
    rkey = bound(link, 2, 0, 64, REMOTE_WRITE)
    link.responder('send', op='local-inv', inv=rkey)
    expect('status of the invalidation', link.statuses(link.responder, 1), [SUCCESS])
    link.send('write', len=64, rkey=rkey)
    expect('requester\'s status', link.statuses(link.requester, 1), [REM_ACCESS])


# ---- errors ----------------------------------------------------------------------------------------------

def refused(link, op, length, **arguments):
    """The first request is refused with a remote access error, the next is flushed (R18, R41), and the
    responder's memory does not change."""
    link.connect(size=4 * link.mtu)
    length = min(length, 4 * link.mtu)
    link.requester('fill', len=length, seed=1)
    link.send(op, n=2, len=length, stride=0, **arguments)
    expect('requester\'s statuses', link.statuses(link.requester, 2), [REM_ACCESS, FLUSHED])
    for at in range(0, 4 * link.mtu, link.mtu // 2):
        expect('responder\'s memory at %d' % at, link.word(link.responder, at), 0)


def wrong_rkey(link, op, length=None):
    refused(link, op, length or 2 * link.mtu + 1, rkey='%d' % 0x5ca1ab1e)


def out_of_bounds(link, op):
    refused(link, op, 2 * link.mtu, remote_at=2 * link.mtu + 1)


def zero_wrong_rkey(link, op):
    """R19: the rkey of a zero-length WRITE or READ is not checked."""
    link.connect()
    link.send(op, n=2, len=0, rkey=0x5ca1ab1e)
    link.sent(op, 2)


def misaligned_atomic(link):
    link.connect()
    link.send('faa', len=8, remote_at=4, compare=1)
    status = link.statuses(link.requester, 1)
    expect('requester\'s status', status, [REM_INV_REQ])         # R23
    expect('the word', link.word(link.responder), 0)


def send_too_long(link):
    link.connect(size=4096 + 4 * link.mtu)
    link.responder('recv', n=1, len=100)
    link.send('send', len=2 * link.mtu)
    # R17: NAK 1. rxe sends a remote operational error, and completes its receive with another status.
    wanted = (REM_INV_REQ, LOC_LEN_ERR) if link.responder.kind == 'uroce' else (REM_OP, LOC_QP_OP_ERR)
    expect('statuses of requester and responder', (link.statuses(link.requester, 1)[0],
                                                   link.statuses(link.responder, 1)[0]), wanted)
    expect('bytes behind the receive', link.word(link.responder, 104), 0)


def rnr_late(link, op):
    """Receives are posted only after two RNR NAKs; the requester waits each time for the NAK's time (R35)."""
    length = link.mtu + 9
    link.connect(size=2 * length, min_rnr=RNR_CODE)
    link.requester('fill', len=length, seed=3)
    link.send(op, len=length, imm=IMM)
    if not link.wire.wait_for(lambda f: f.rnr_nak, n=2):
        raise Failure('no second RNR NAK')
    link.responder('recv', n=2, len=length)
    link.sent(op)
    link.received(op, length)
    link.responder('check', len=length, seed=3)
    nak, early = None, 0
    for frame in link.wire.frames:
        if frame.rnr_nak:
            expect('RNR timer code', frame.syndrome & 0x1f, RNR_CODE)
            nak = nak or frame.time
        elif nak is not None and frame.side == link.requester.side and frame.kind in REQUESTS:
            if link.requester.kind != 'uroce' or frame.time - nak >= RNR_SECONDS:
                nak = None
            else:
                early += 1              # on a busy machine, a probe may be in flight when the NAK arrives
    if early > 1:
        raise Failure('%d requests within %.3f ms after an RNR NAK' % (early, RNR_SECONDS * 1e3))


def rnr_exhausted(link):
    """At least three RNR NAKs. On a busy machine, a probe or a retransmission after a sequence NAK may arrive during a
    wait: its RNR NAK does not count."""
    link.connect(rnr=2, min_rnr=16)
    link.send('send', n=2, len=100)
    expect('requester\'s statuses', link.statuses(link.requester, 2), [RNR_RETRY_EXC, FLUSHED])
    naks = link.wire.count(lambda f: f.rnr_nak)
    if not 3 <= naks <= 9:
        raise Failure('RNR NAKs: %d, not 3 to 9' % naks)


def peer_silent(link):
    link.fault('drop', 'requester', 'any', until='end')
    link.connect(timeout=14, retry=1)
    link.send('write', n=2, len=100)
    expect('requester\'s statuses', link.statuses(link.requester, 2), [RETRY_EXC, FLUSHED])


# ---- a bad network -----------------------------------------------------------------------------------------

def bad_network(link, what, who, kind, nth, op, until=None):
    """One fault during an operation with several messages of several packets."""
    link.fault(what, who, kind, nth, until)
    if op == 'faa':
        faa(link)
    elif op == 'cas':
        cas(link)
    else:
        transfer(link, op, 6 * link.mtu + 9 if '_ONLY' not in kind else 99, n=4)


FAULTS = (
    # name, fault, sender, kind of frame, number of the frame, operation, until
    ('lose-write-first', 'drop', 'requester', 'WRITE_FIRST', 2, 'write'),
    ('lose-write-middle', 'drop', 'requester', 'WRITE_MIDDLE', 3, 'write'),
    ('lose-write-last', 'drop', 'requester', 'WRITE_LAST', 4, 'write'),
    ('lose-write-imm-last', 'drop', 'requester', 'WRITE_LAST_IMM', 2, 'write-imm'),
    ('lose-send-middle', 'drop', 'requester', 'SEND_MIDDLE', 7, 'send'),
    ('lose-send-only', 'drop', 'requester', 'SEND_ONLY_IMM', 2, 'send-imm'),
    # drop all until a retry: a later ACK would replace a lost one
    ('lose-write-acks', 'drop', 'responder', 'ACK', 1, 'write', 'retry'),
    ('lose-write-imm-acks', 'drop', 'responder', 'ACK', 1, 'write-imm', 'retry'),
    ('lose-send-acks', 'drop', 'responder', 'ACK', 1, 'send', 'retry'),
    ('lose-read-request', 'drop', 'requester', 'READ_REQUEST', 2, 'read'),
    ('lose-read-first', 'drop', 'responder', 'READ_FIRST', 2, 'read'),
    ('lose-read-middle', 'drop', 'responder', 'READ_MIDDLE', 3, 'read'),
    ('lose-read-last', 'drop', 'responder', 'READ_LAST', 4, 'read'),
    ('lose-atomic', 'drop', 'requester', 'FAA', 3, 'faa'),
    ('lose-atomic-ack', 'drop', 'responder', 'ATOMIC_ACK', 3, 'faa'),
    ('lose-atomic-acks', 'drop', 'responder', 'ATOMIC_ACK', 3, 'faa', 'retry'),
    ('lose-last-atomic-ack', 'drop', 'responder', 'ATOMIC_ACK', 8, 'faa'),
    ('lose-cas-ack', 'drop', 'responder', 'ATOMIC_ACK', 2, 'cas'),
    ('double-send', 'dup', 'requester', 'SEND_ONLY_IMM', 2, 'send-imm'),
    ('double-send-last', 'dup', 'requester', 'SEND_LAST', 1, 'send'),
    ('double-write-middle', 'dup', 'requester', 'WRITE_MIDDLE', 3, 'write'),
    ('double-write-imm', 'dup', 'requester', 'WRITE_LAST_IMM', 2, 'write-imm'),
    ('double-atomic', 'dup', 'requester', 'FAA', 3, 'faa'),
    ('double-cas', 'dup', 'requester', 'CAS', 2, 'cas'),
    ('double-read-request', 'dup', 'requester', 'READ_REQUEST', 2, 'read'),
    ('double-read-middle', 'dup', 'responder', 'READ_MIDDLE', 3, 'read'),
    ('double-ack', 'dup', 'responder', 'ACK', 1, 'write'),
    ('double-atomic-ack', 'dup', 'responder', 'ATOMIC_ACK', 3, 'faa'),
    ('swap-write-middles', 'swap', 'requester', 'WRITE_MIDDLE', 3, 'write'),
    ('swap-sends', 'swap', 'requester', 'SEND_ONLY_IMM', 2, 'send-imm'),
    ('swap-read-middles', 'swap', 'responder', 'READ_MIDDLE', 3, 'read'),
    ('swap-atomics', 'swap', 'requester', 'FAA', 3, 'faa'),
    ('corrupt-write', 'corrupt', 'requester', 'WRITE_MIDDLE', 3, 'write'),
    ('corrupt-send-last', 'corrupt', 'requester', 'SEND_LAST', 2, 'send'),
    ('corrupt-read', 'corrupt', 'responder', 'READ_MIDDLE', 3, 'read'),
    ('corrupt-ack', 'corrupt', 'responder', 'ACK', 1, 'write'),
    ('corrupt-atomic', 'corrupt', 'requester', 'CAS', 2, 'cas'),
)


# ---- neighbors ------------------------------------------------------------------------------------------

def ping_from_guest(link):
    """The guest resolves the other end's MAC address, and gets an echo reply from it."""
    guest, other, v = link.responder, link.requester, link.family
    link.wire.reset()
    guest.sh('ip neigh flush dev eth0%s' % ('.%d' % link.vlan if link.vlan else ''))
    ask, answer = ('arp-request', 'arp-reply') if v == 4 else ('ns', 'na')
    rc, output = guest.sh('ping -c 3 -W 60 -s 1001 ' + address(other.number, v, link.vlan))
    expect('ping\'s exit code (%s)' % output.splitlines()[-1], rc, 0)
    for side, kind in ((guest.side, ask), (other.side, answer), (other.side, 'echo-reply')):
        if not link.wire.count(lambda f, s=side, k=kind: f.side == s and f.kind == k):
            raise Failure('no %s from %s' % (kind, side))


def ping_guest(link):
    """The other end resolves the guest's MAC address, and gets an echo reply from it."""
    link.wire.reset()
    for _ in range(3):
        link.requester('ping', address=address(link.responder.number, link.family, link.vlan))
    for side, kind in ((link.requester.side, 'echo'), (link.responder.side, 'echo-reply')):
        if link.wire.count(lambda f, s=side, k=kind: f.side == s and f.kind == k) < 3:
            raise Failure('no %s from %s' % (kind, side))


def resolve(link):
    """The requester resolves an address it has never seen: the guest gets a new address."""
    guest, v = link.responder, link.family
    link.responder_number = 0x40 + int(time.time() * 10) % 150
    new = cidr(link.responder_number, v)
    guest.sh('ip addr add %s dev eth0' % new)
    try:
        transfer(link, 'write', 2 * link.mtu)
    finally:
        guest.sh('ip addr del %s dev eth0' % new)
    ask, answer = ('arp-request', 'arp-reply') if v == 4 else ('ns', 'na')
    for side, kind in ((link.requester.side, ask), (guest.side, answer)):
        if not link.wire.count(lambda f, s=side, k=kind: f.side == s and f.kind == k):
            raise Failure('no %s from %s' % (kind, side))


# ---- all of them -----------------------------------------------------------------------------------------

def operations():
    """(name, function, arguments) to run for each address family and MTU."""
    for op in ('send', 'send-imm', 'write', 'write-imm', 'read'):
        for shape in (zero, one_byte, odd, one_mtu, several, scattered):
            yield '%s-%s' % (op, shape.__name__.replace('_', '-')), shape, {'op': op}
    for op in ('send', 'write', 'read'):
        yield '%s-many' % op, many, {'op': op}
        yield '%s-psn-wrap' % op, psn_wrap, {'op': op}
        yield '%s-zero-copy' % op, zero_copy, {'op': op}
    yield 'send-inline', inline, {'op': 'send'}
    yield 'write-inline', inline, {'op': 'write'}
    yield 'faa', faa, {}
    yield 'cas', cas, {}
    yield 'atomic-psn-wrap', atomic_psn_wrap, {}
    yield 'mixed', mixed, {}
    yield 'rnr-late-send', rnr_late, {'op': 'send-imm'}
    yield 'rnr-late-write-imm', rnr_late, {'op': 'write-imm'}


def services():
    """(name, function, arguments) of other services, SRQs and memory windows."""
    for op in ('send', 'send-imm', 'write', 'write-imm'):
        for shape in (uc_zero, uc_odd, uc_many):
            yield '%s-%s' % (shape.__name__.replace('_', '-'), op), shape, {'op': op}
    for op in ('send', 'send-imm'):
        for shape in (ud_zero, ud_odd, ud_one_mtu):
            yield '%s-%s' % (shape.__name__.replace('_', '-'), op), shape, {'op': op}
    yield 'ud-wrong-qkey', ud_wrong_qkey, {}
    yield 'srq', shared_receives, {}
    yield 'srq-late', shared_receives_late, {}
    for kind in (1, 2):
        yield 'window-%d' % kind, window, {'kind': kind}
        yield 'window-%d-read-only' % kind, window_read_only, {'kind': kind}
    yield 'send-inv', send_invalidates, {}
    yield 'local-inv', local_invalidate, {}


def errors():
    """(name, function, arguments) of errors and faults, which do not depend on the MTU."""
    for op in ('write', 'read'):
        yield 'wrong-rkey-' + op, wrong_rkey, {'op': op}
        yield 'out-of-bounds-' + op, out_of_bounds, {'op': op}
        yield 'zero-wrong-rkey-' + op, zero_wrong_rkey, {'op': op}
    yield 'wrong-rkey-faa', wrong_rkey, {'op': 'faa', 'length': 8}
    yield 'send-too-long', send_too_long, {}
    yield 'rnr-exhausted', rnr_exhausted, {}
    yield 'peer-silent', peer_silent, {}
    for name, *fault in FAULTS:
        yield name, bad_network, dict(zip(('what', 'who', 'kind', 'nth', 'op', 'until'), fault))


class Test:
    """One test of the matrix."""

    lacking = None          # why a kernel cannot run the test

    def __init__(self, name, function, requester, responder, family, mtu=1024, vlan=0, arguments=None):
        self.name, self.function, self.requester, self.responder = name, function, requester, responder
        self.family, self.mtu, self.vlan, self.arguments = family, mtu, vlan, arguments or {}

    def run(self, rig):
        """@return None, or the failure"""
        link = Link(rig.wire, self.requester, self.responder, self.family, self.mtu, self.vlan)
        for end in rig.ends:
            end.transcript = []
        try:
            for end in rig.ends:
                end.enter_vlan(self.vlan)
            self.function(link, **self.arguments)
            link.check_faults()
            link.check_frames()
            for end in rig.ends:
                end('close')
                end('counters')
        except Failure as e:
            for end in rig.ends:
                end.look_after_failure()
            return str(e)
        return None


def neighbor_tests(first, guest, v, vlan=0):
    prefix = '%sipv%d/' % ('vlan/' if vlan else '', v)
    yield Test(prefix + 'ping-from-' + guest.side, ping_from_guest, first, guest, v, vlan=vlan)
    if first.kind == 'uroce':
        yield Test(prefix + 'ping-from-' + first.side, ping_guest, first, guest, v, vlan=vlan)
    if not vlan:
        yield Test(prefix + 'resolve', resolve, first, guest, v)


def pair_tests(requester, responder, v):
    prefix = 'ipv%d/%s-to-%s/' % (v, requester.side, responder.side)
    for mtu in (1024, 4096):
        for name, function, arguments in operations():
            yield Test('%s%d/%s' % (prefix, mtu, name), function, requester, responder, v, mtu,
                       arguments=arguments)
    for name, function, arguments in services():
        yield Test(prefix + name, function, requester, responder, v, arguments=arguments)
    for name, function, arguments in errors():
        yield Test(prefix + name, function, requester, responder, v, arguments=arguments)
    if responder.kind == 'uroce':               # rxe delivers no further message on that QP
        yield Test(prefix + 'uc-loses', uc_loses, requester, responder, v)
    if requester.kind == 'uroce':               # libibverbs refuses the work request
        yield Test(prefix + 'misaligned-atomic', misaligned_atomic, requester, responder, v)


def vlan_tests(requester, responder, v):
    for op in ('send-imm', 'write', 'read'):
        name = 'vlan/ipv%d/%s-to-%s/%s' % (v, requester.side, responder.side, op)
        yield Test(name, several, requester, responder, v, vlan=VLAN, arguments={'op': op})


def matrix(first, guest):
    """All tests."""
    for v in (4, 6):
        yield from neighbor_tests(first, guest, v)
        yield from pair_tests(first, guest, v)
        yield from pair_tests(guest, first, v)
    for v in (4, 6):
        yield from neighbor_tests(first, guest, v, VLAN)
        yield from vlan_tests(first, guest, v)
        yield from vlan_tests(guest, first, v)
