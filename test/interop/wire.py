# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""The wire: a thread that forwards Ethernet frames between two sockets, keeps a copy of each, and drops, duplicates,
swaps or corrupts chosen RoCEv2 frames. It chooses frames by their kind, not by their number on the wire, so that a
retransmission on a busy machine does not shift the fault."""

import select
import socket
import struct
import threading
import time
import zlib

SOL_PACKET, PACKET_AUXDATA, PACKET_OUTGOING, TP_STATUS_VLAN_VALID = 263, 8, 4, 0x10
VLAN_TPID = b'\x81\x00'
UROCE_MARK = 0x75                               # lib/wire/sack.h
ROCE_UDP_PORT = 4791
BTH_BYTES, ICRC_BYTES = 12, 4
OPCODES = (
    'SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM '
    'WRITE_FIRST WRITE_MIDDLE WRITE_LAST WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM '
    'READ_REQUEST READ_FIRST READ_MIDDLE READ_LAST READ_ONLY ACK ATOMIC_ACK CAS FAA').split()
MAD_ATTRIBUTE = 12 + 8 + 16     # offset in a datagram with a MAD, behind BTH and DETH
CM_REQUESTS = (0x10, 0x17)      # REQ, SIDR_REQ
REQUESTS = set(OPCODES[:13] + OPCODES[19:] + ['FLUSH', 'ATOMIC_WRITE'])
OPCODES += ['roce-0x15', 'SEND_LAST_INV', 'SEND_ONLY_INV']
NAMES = dict(enumerate(OPCODES))
NAMES.update({0x20 + code: 'UC_' + name for code, name in enumerate(OPCODES[:12])})
NAMES.update({0x1c: 'FLUSH', 0x1d: 'ATOMIC_WRITE'})
NAMES.update({0x64: 'UD_SEND_ONLY', 0x65: 'UD_SEND_ONLY_IMM'})


def icrc(packet):
    """The ICRC of an IP packet, which comes without its last four bytes. @return the bytes on the wire"""
    b = bytearray(packet)
    if b[0] >> 4 == 4:
        udp = (b[0] & 15) * 4
        b[1] = b[8] = b[10] = b[11] = 0xff      # TOS, TTL, checksum
    else:
        udp = 40
        b[0] |= 0x0f                            # traffic class, flow label, hop limit
        b[1] = b[2] = b[3] = b[7] = 0xff
    b[udp + 6] = b[udp + 7] = b[udp + 12] = 0xff
    return struct.pack('<I', zlib.crc32(b'\xff' * 8 + b))


def icrc_twice(packet, bth):
    """The ICRC that rxe computes for a FLUSH: over the packet, then over the BTH and its extension headers again."""
    return struct.pack('<I', zlib.crc32(packet[bth:], struct.unpack('<I', icrc(packet))[0]))


def receive(s):
    """@return the next frame, or None for one that this socket itself has sent"""
    data, ancillary, _, address = s.recvmsg(65536, 64, socket.MSG_DONTWAIT)
    if isinstance(address, tuple) and address[2] == PACKET_OUTGOING:
        return None
    for level, kind, aux in ancillary:
        # the kernel strips VLAN tags, and passes them in struct tpacket_auxdata
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, tci = struct.unpack_from('=I12xH', aux)
            if status & TP_STATUS_VLAN_VALID:
                data = data[:12] + VLAN_TPID + struct.pack('>H', tci) + data[12:]
    return data


def checksum16(b):
    total = sum(struct.unpack('>%dH' % (len(b) // 2), b))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


class Frame:
    """A frame with its time, its side, and its kind: an opcode's name for RoCEv2, or else 'arp-request', 'arp-reply',
    'ns', 'na', 'echo', 'echo-reply', 'igmp' or 'other'."""

    def __init__(self, side, data):
        self.side, self.data = side, data
        self.time, self.clock = time.monotonic(), time.time()
        self.kind, self.bth, self.psn, self.qpn, self.syndrome = 'other', 0, 0, 0, 0
        self.vlan, self.twice = 0, False
        try:
            self.classify()
        except (IndexError, struct.error):
            self.kind = 'truncated'

    def classify(self):
        d, self.l3 = self.data, 14
        if d[12:14] == VLAN_TPID:
            self.vlan, self.l3 = int.from_bytes(d[14:16], 'big') & 0xfff, 18
        ethertype = d[self.l3 - 2:self.l3]
        if ethertype == b'\x08\x06':
            self.kind = {1: 'arp-request', 2: 'arp-reply'}.get(d[self.l3 + 7], 'other')
        elif ethertype == b'\x08\x00':
            self.classify_ip(d[self.l3 + 9], self.l3 + (d[self.l3] & 15) * 4)
        elif ethertype == b'\x86\xdd':
            self.classify_ip(d[self.l3 + 6], self.l3 + 40)

    def classify_ip(self, protocol, at):
        d = self.data
        if protocol == 1:
            self.kind = {8: 'echo', 0: 'echo-reply'}.get(d[at], 'other')
        elif protocol == 2:
            self.kind = 'igmp'
        elif protocol == 58:
            self.kind = {128: 'echo', 129: 'echo-reply', 135: 'ns', 136: 'na'}.get(d[at], 'other')
        elif protocol == 17 and struct.unpack_from('>H', d, at + 2)[0] == ROCE_UDP_PORT:
            self.bth = at + 8
            opcode = d[self.bth]
            self.kind = NAMES.get(opcode, 'roce-0x%02x' % opcode)
            self.qpn = int.from_bytes(d[self.bth + 5:self.bth + 8], 'big')
            self.psn = int.from_bytes(d[self.bth + 9:self.bth + 12], 'big')
            if self.kind in ('ACK', 'ATOMIC_ACK', 'READ_FIRST', 'READ_LAST', 'READ_ONLY'):
                self.syndrome = d[self.bth + 12]

    @property
    def body(self):
        """The bytes between the BTH and the ICRC: extension headers, payload and pad."""
        udp = self.bth - 8
        end = udp + struct.unpack_from('>H', self.data, udp + 4)[0]
        return self.data[self.bth + BTH_BYTES:end - ICRC_BYTES]

    @property
    def ack_requested(self):
        return self.data[self.bth + 8] & 0x80 != 0

    @property
    def rnr_nak(self):
        return self.kind == 'ACK' and self.syndrome >> 5 == 1

    @property
    def nak(self):
        return self.kind == 'ACK' and self.syndrome >> 5 == 3

    @property
    def connects(self):
        """True for a CM request, for a connection or a datagram service."""
        at = self.bth + MAD_ATTRIBUTE
        attribute = int.from_bytes(self.data[at:at + 2], 'big')
        return self.kind == 'UD_SEND_ONLY' and self.qpn == 1 and attribute in CM_REQUESTS

    def wrong(self):
        """@return a text about the first wrong field outside the payload of this RoCEv2 frame, or None"""
        if not self.bth:
            return None
        packet = self.data[self.l3:]
        if packet[0] >> 4 == 4:
            packet = packet[:struct.unpack_from('>H', packet, 2)[0]]
            if checksum16(packet[:(packet[0] & 15) * 4]) != 0xffff:
                return 'IPv4 header checksum'
        else:
            packet = packet[:40 + struct.unpack_from('>H', packet, 4)[0]]
        udp = self.bth - self.l3 - 8
        if struct.unpack_from('>H', packet, udp + 4)[0] != len(packet) - udp:
            return 'UDP length'
        if packet[udp] < 0xc0:
            return 'UDP source port'
        # uroce identifies itself by a mark in NAKs with code 0
        marks = (0, UROCE_MARK) if self.nak and self.syndrome & 0x1f == 0 else (0,)
        if packet[udp + 9] & 0x0f or packet[udp + 12] & 0x3f or packet[udp + 16] & 0x7f not in marks:
            return 'TVer or reserved bits'
        if packet[udp + 10:udp + 12] != b'\xff\xff':
            return 'P_Key'
        if (len(packet) - udp) % 4 != 0:
            return 'length is no multiple of 4'
        wanted = icrc_twice(packet[:-4], udp + 8) if self.twice else icrc(packet[:-4])
        return 'ICRC' if wanted != packet[-4:] else None

    def with_icrc(self, twice):
        """@return this frame's data with another ICRC"""
        end = self.bth + BTH_BYTES + len(self.body)
        packet = self.data[self.l3:end]
        crc = icrc_twice(packet, self.bth - self.l3) if twice else icrc(packet)
        return self.data[:end] + crc + self.data[end + ICRC_BYTES:]

    def __str__(self):
        if not self.bth:
            return '%.6f %-5s %s' % (self.time, self.side, self.kind)
        return '%.6f %-5s %s psn %06x to %06x syndrome %02x' % (
            self.time, self.side, self.kind, self.psn, self.qpn, self.syndrome)


class Fault:
    """Do `what` ('drop', 'dup', 'swap', 'corrupt', 'keep') to the nth frame from this side that has this kind, or for
    which this function returns true. With until='retry', also to later ones until the other side retransmits a request;
    with until='end', to all later ones. Kept frames are forwarded by let_go()."""

    def __init__(self, what, side, kind, nth=1, until=None):
        self.what, self.side, self.kind, self.nth, self.until = what, side, kind, nth, until
        self.seen = self.applied = 0
        self.requests, self.retried = set(), False

    def matches(self, frame):
        if frame.side != self.side and frame.kind in REQUESTS:
            self.retried |= frame.psn in self.requests
            self.requests.add(frame.psn)
        if frame.side != self.side or not frame.bth:
            return False
        if not (self.kind(frame) if callable(self.kind) else self.kind in (frame.kind, 'any')):
            return False
        self.seen += 1
        if self.seen < self.nth or not (self.applied == 0 or self.until == 'end' or
                                        self.until == 'retry' and not self.retried):
            return False
        self.applied += 1
        return True

    def __str__(self):
        return '%s %s from %s, number %d' % (self.what, self.kind, self.side, self.nth)


class Wire(threading.Thread):
    """Sides are names; each has a socket, and a function that sends a frame to that side."""

    def __init__(self):
        super().__init__(daemon=True)
        self.sockets, self.senders = {}, {}
        self.changed = threading.Condition()    # protects all fields below
        self.frames, self.faults, self.held, self.kept = [], [], {}, []
        self.twice, self.translates = set(), True       # sides whose FLUSHes have the ICRC of icrc_twice()
        self.keeps = True       # all frames, in `frames`
        self.cut = False        # no frame passes

    def attach_interface(self, side, name):
        s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        s.setsockopt(socket.SOL_SOCKET, 33, 16 << 20)           # SO_RCVBUFFORCE
        s.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        s.bind((name, 0))
        self.sockets[side], self.senders[side] = s, s.send

    def attach_unix(self, side, here, there):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind(here)
        self.sockets[side] = s
        self.senders[side] = lambda data: s.sendto(data, there)

    def run(self):
        a, b = self.sockets
        other = {a: b, b: a}
        poller = select.poll()
        for s in self.sockets.values():
            poller.register(s, select.POLLIN)
        while True:
            poller.poll()
            for side, s in self.sockets.items():
                for _ in range(64):
                    try:
                        data = receive(s)
                    except BlockingIOError:
                        break
                    if data is not None:
                        for out in self.pass_on(Frame(side, data)):
                            self.send(other[side], out)

    def send(self, side, data):
        try:
            self.senders[side](data)
        except (ConnectionRefusedError, FileNotFoundError):
            pass                                # the other end does not run

    def pass_on(self, frame):
        """@return the frames to forward in place of this one"""
        with self.changed:
            frame.twice = frame.kind == 'FLUSH' and frame.side in self.twice
            if self.keeps:
                self.frames.append(frame)
            if self.cut:
                return []
            what, data = None, self.translated(frame)
            for fault in self.faults:
                if what is None and fault.matches(frame):
                    what = fault.what
            self.changed.notify_all()
            if what == 'swap' and frame.side not in self.held:
                self.held[frame.side] = data
                return []
            if what == 'keep':
                self.kept.append(frame)
                return []
            after = [self.held.pop(frame.side)] if frame.bth and frame.side in self.held else []
        if what == 'drop':
            return after
        if what == 'corrupt':                   # the last byte before the ICRC
            data = data[:-5] + bytes([data[-5] ^ 0x10]) + data[-4:]
        return [data] * (2 if what == 'dup' else 1) + after

    def translated(self, frame):
        """@return the data of this frame with the ICRC that the other side accepts"""
        if frame.kind != 'FLUSH' or not self.translates or len(self.twice) != 1:
            return frame.data
        return frame.with_icrc(not frame.twice)

    def reset(self, faults=()):
        with self.changed:
            self.frames, self.faults, self.held, self.kept = [], list(faults), {}, []

    def let_go(self):
        """Forward the kept frames, and all later ones."""
        a, b = self.sockets
        with self.changed:
            kept, self.kept, self.faults = self.kept, [], []
        for frame in kept:
            self.send(b if frame.side == a else a, frame.data)

    def count(self, predicate):
        with self.changed:
            return sum(1 for f in self.frames if predicate(f))

    def wait_for(self, predicate, n=1, seconds=300):
        """Wait until n frames satisfy the predicate. @return False after the time limit"""
        with self.changed:
            return self.changed.wait_for(
                lambda: sum(1 for f in self.frames if predicate(f)) >= n, seconds)

    def save(self, path):
        """Write all frames, as they were before any fault, to a pcap file."""
        with self.changed:
            frames = list(self.frames)
        with open(path, 'wb') as f:
            f.write(struct.pack('<IHHiIII', 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
            for frame in frames:
                seconds = int(frame.clock)
                f.write(struct.pack('<IIII', seconds, int((frame.clock - seconds) * 1e6),
                                    len(frame.data), len(frame.data)) + frame.data)
