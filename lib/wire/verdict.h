/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Verdicts: the outcomes of a received packet. Each has a counter of the same name (R9), and a row of uroce_verdicts[]
 * with the NAK and the responder's completion.
 */

#ifndef UROCE_WIRE_VERDICT_H
#define UROCE_WIRE_VERDICT_H

#include <stdint.h>

enum uroce_verdict {
	UROCE_OK, /* accepted */
	/* L2 to UDP */
	UROCE_DROP_L2_SHORT,    /* headers truncated, or not in the first segment */
	UROCE_DROP_L2_ADDRESS,  /* neither the port's MAC address nor one of its groups */
	UROCE_DROP_VLAN,        /* not the port's VLAN */
	UROCE_DROP_ETHERTYPE,   /* neither IPv4, IPv6 nor ARP */
	UROCE_DROP_IP_HEADER,   /* wrong version, header length, total length or checksum */
	UROCE_DROP_IP_FRAGMENT, /* an IP fragment; RoCEv2 forbids them */
	UROCE_DROP_IP_ADDRESS,  /* not an address of the device */
	UROCE_DROP_IP_PROTOCOL, /* not a protocol that the device receives */
	UROCE_DROP_UDP_PORT,    /* the UDP port is not 4791 */
	UROCE_DROP_UDP_LENGTH,  /* the UDP length does not match the IP length */
	UROCE_DROP_ARP,         /* malformed, or claims an address of the device */
	UROCE_DROP_ICMP,        /* malformed, or not expected; MLD too */
	UROCE_DROP_IGMP,        /* malformed */
	/* RoCEv2 packets of all transports */
	UROCE_DROP_TVER,      /* R1: the transport version is not 0 */
	UROCE_DROP_OPCODE,    /* R2: an unknown opcode */
	UROCE_DROP_LENGTH,    /* R3: too short for its opcode */
	UROCE_DROP_PAD,       /* R4: wrong pad count, or the padded payload is no multiple of 4 bytes */
	UROCE_DROP_ICRC,      /* R5: a bad ICRC: the packet was corrupted */
	UROCE_DROP_PKEY,      /* R6: a wrong P_Key */
	UROCE_DROP_QKEY,      /* R7: a wrong Q_Key of a datagram */
	UROCE_DROP_SOURCE,    /* R8: not from the address of the QP's peer */
	UROCE_DROP_QPN,       /* no such QP */
	UROCE_DROP_QP_STATE,  /* the QP is in a state in which it does not receive (R32) */
	UROCE_DROP_TRANSPORT, /* R2: an opcode of another transport */
	UROCE_DROP_HANDOVER,  /* the hand-off ring of the QP's worker is full */
	UROCE_DROP_CNP,       /* a CNP for a port without congestion control */
	UROCE_CNP_RECEIVED,   /* a CNP: the network has marked packets of the QP */
	/* responder */
	UROCE_DUPLICATE,           /* R26: a duplicate, acknowledged again */
	UROCE_DROP_DUPLICATE,      /* R27, R28: the response is not available any more */
	UROCE_DROP_REVOKED,        /* the sender's QP failed before the payload was copied from the sender's memory */
	UROCE_DROP_AHEAD,          /* R12: out of order, after the NAK: not kept */
	UROCE_EARLY,               /* out of order, kept in the reorder buffer */
	UROCE_NAK_SEQUENCE,        /* R12: an earlier packet is missing: lost, or late */
	UROCE_NAK_OPCODE_SEQUENCE, /* R13: FIRST, MIDDLE, LAST or ONLY in a wrong place */
	UROCE_NAK_PAYLOAD,         /* R14: a length that does not fit the opcode: the ends' path MTUs differ */
	UROCE_NAK_DMA_LEN,         /* R16: a WRITE's packets do not add up to its length, or it is too long */
	UROCE_NAK_RECV_LENGTH,     /* R17: the SEND is longer than its receive */
	UROCE_NAK_ACCESS,          /* R18, R20: the rkey is unknown or of another PD, or lacks the range or the right */
	UROCE_NAK_NOT_ALLOWED,     /* the QP's access flags or capabilities do not allow it */
	UROCE_NAK_RD_ATOMIC,       /* R22: more READs and atomics outstanding than max_dest_rd_atomic */
	UROCE_NAK_ATOMIC_ALIGNMENT, /* R23: an atomic's address is no multiple of 8 */
	UROCE_NAK_ATOMIC_WRITE,     /* R24: an ATOMIC_WRITE of other than 8 bytes, or not aligned */
	UROCE_NAK_FLUSH,            /* R25: unknown placement type or selectivity */
	UROCE_NAK_FLUSH_RESOURCES,  /* too many FLUSHes outstanding: the requester retries */
	UROCE_NAK_FLUSH_PENDING,    /* an ATOMIC_WRITE behind a pending FLUSH: the requester retries */
	UROCE_NAK_INVALIDATE,       /* R33: not the rkey of a window of this QP */
	UROCE_NAK_RNR,              /* R21: no receive is posted */
	UROCE_NAK_XRC_SRQ,          /* no such XRC SRQ in the QP's domain, or not the message's */
	UROCE_NAK_LOCAL_PROTECTION, /* an SGE of the receive WQE may not be written */
	/* requester */
	UROCE_DROP_ACK_UNEXPECTED,     /* R37: an ACK or response whose PSN is not outstanding */
	UROCE_DROP_ACK_SYNDROME,       /* R30: an ACK with a reserved syndrome */
	UROCE_DROP_RESPONSE_DUPLICATE, /* a response that has arrived before */
	UROCE_RESPONSE_GAP,            /* an earlier response was lost */
	UROCE_DROP_SACK,               /* malformed, or lists PSNs that were not sent */
	UROCE_BAD_RESPONSE,            /* opcode or length does not match the request */
	/* UC and UD, which send no NAK */
	UROCE_DROP_SEQUENCE,         /* R13: an earlier packet of the UC message was lost */
	UROCE_DROP_PAYLOAD,          /* R15: a length that the opcode, the path MTU or the receive does not allow */
	UROCE_DROP_NO_RECV,          /* no receive WQE */
	UROCE_DROP_ACCESS,           /* R18: a UC WRITE that the QP or the rkey does not allow */
	UROCE_DROP_LOCAL_PROTECTION, /* an SGE of the receive WQE may not be written: the QP enters the error state */
	UROCE_VERDICT_COUNT,
};

struct uroce_verdict_info {
	const char *name;  /* of the counter */
	const char *rule;  /* "R12", or "" */
	uint8_t syndrome;  /* AETH syndrome of the NAK; 0: none */
	uint8_t wc_status; /* enum ibv_wc_status of the receive that it completes; 0: none */
};

extern const struct uroce_verdict_info uroce_verdicts[UROCE_VERDICT_COUNT];

#endif /* UROCE_WIRE_VERDICT_H */
