/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Verdicts: the outcomes of a received packet. Each is also a counter of the same name (R9) and a row of
 * uroce_verdicts[]: what is sent, and the responder's own completion.
 */

#ifndef UROCE_WIRE_VERDICT_H
#define UROCE_WIRE_VERDICT_H

#include <stdint.h>

enum uroce_verdict {
	UROCE_OK,
	/* L2 to UDP, before anything is known of the transport */
	UROCE_DROP_L2_SHORT,   /* headers cut short, or not in the first segment */
	UROCE_DROP_L2_ADDRESS, /* not our MAC address, nor one that we listen to */
	UROCE_DROP_VLAN,       /* not our VLAN */
	UROCE_DROP_ETHERTYPE,  /* neither IPv4, IPv6 nor ARP */
	UROCE_DROP_IP_HEADER,  /* version, header length, total length, checksum */
	UROCE_DROP_IP_FRAGMENT,
	UROCE_DROP_IP_ADDRESS, /* not one of our addresses */
	UROCE_DROP_IP_PROTOCOL,
	UROCE_DROP_UDP_PORT,
	UROCE_DROP_UDP_LENGTH,
	UROCE_DROP_ARP,  /* malformed, or claims one of our addresses */
	UROCE_DROP_ICMP, /* malformed, or for nobody here; MLD too */
	UROCE_DROP_IGMP, /* malformed */
	/* every RoCEv2 packet */
	UROCE_DROP_TVER,      /* R1 */
	UROCE_DROP_OPCODE,    /* R2: unknown */
	UROCE_DROP_LENGTH,    /* R3 */
	UROCE_DROP_PAD,       /* R4 */
	UROCE_DROP_ICRC,      /* R5 */
	UROCE_DROP_PKEY,      /* R6 */
	UROCE_DROP_QKEY,      /* R7 */
	UROCE_DROP_SOURCE,    /* R8 */
	UROCE_DROP_QPN,       /* no such QP */
	UROCE_DROP_QP_STATE,  /* the QP does not receive in its state (R32) */
	UROCE_DROP_TRANSPORT, /* R2: an opcode of another transport */
	UROCE_DROP_HANDOVER,  /* the other worker's inbox is full */
	UROCE_DROP_CNP,       /* a CNP for a port without congestion control */
	UROCE_CNP_RECEIVED,
	/* responder */
	UROCE_DUPLICATE,            /* R26: acknowledged again */
	UROCE_DROP_DUPLICATE,       /* R27, R28: cannot be answered any more */
	UROCE_DROP_AHEAD,           /* R12: the NAK has been sent already */
	UROCE_EARLY,                /* ahead, and kept until what is before it has come */
	UROCE_NAK_SEQUENCE,         /* R12 */
	UROCE_NAK_OPCODE_SEQUENCE,  /* R13 */
	UROCE_NAK_PAYLOAD,          /* R14 */
	UROCE_NAK_DMA_LEN,          /* R16 */
	UROCE_NAK_RECV_LENGTH,      /* R17 */
	UROCE_NAK_ACCESS,           /* R18, R20 */
	UROCE_NAK_NOT_ALLOWED,      /* the QP's access flags or capabilities do not allow it */
	UROCE_NAK_RD_ATOMIC,        /* R22 */
	UROCE_NAK_ATOMIC_ALIGNMENT, /* R23 */
	UROCE_NAK_ATOMIC_WRITE,     /* R24 */
	UROCE_NAK_FLUSH,            /* R25: no type, or no selectivity, that there is */
	UROCE_NAK_FLUSH_RESOURCES,  /* more FLUSHes than can be remembered: asked for again */
	UROCE_NAK_FLUSH_PENDING,    /* an ATOMIC_WRITE behind a FLUSH that is not done: asked for again */
	UROCE_NAK_INVALIDATE,       /* R33: not the rkey of a window that is this QP's */
	UROCE_NAK_RNR,              /* R21 */
	UROCE_NAK_XRC_SRQ,          /* no such XRC SRQ in the QP's domain, or not the message's */
	UROCE_NAK_LOCAL_PROTECTION, /* a receive WQE's SGE may not be written */
	/* requester */
	UROCE_DROP_ACK_UNEXPECTED, /* R37: nothing outstanding that it could mean */
	UROCE_DROP_ACK_SYNDROME,   /* R30: a reserved syndrome */
	UROCE_DROP_RESPONSE_DUPLICATE,
	UROCE_RESPONSE_GAP, /* a response before it was lost */
	UROCE_DROP_SACK,    /* malformed, or names what was not sent */
	UROCE_BAD_RESPONSE, /* opcode or length is not what was asked for */
	/* UC and UD: nothing goes back on the wire */
	UROCE_DROP_SEQUENCE,    /* R13: a packet of a UC message before it was lost */
	UROCE_DROP_PAYLOAD,     /* R15: not what the opcode or the path MTU allows, or too long for the receive */
	UROCE_DROP_NO_RECV,     /* no receive WQE */
	UROCE_DROP_ACCESS,      /* R18: a UC WRITE that the QP or the rkey does not allow */
	UROCE_DROP_LOCAL_PROTECTION, /* a receive WQE's SGE may not be written: the QP is in error */
	UROCE_VERDICT_COUNT,
};

struct uroce_verdict_info {
	const char *name;  /* the counter's */
	const char *rule;  /* "R12", or "" */
	uint8_t syndrome;  /* AETH syndrome of the NAK that it causes; 0: none */
	uint8_t wc_status; /* enum ibv_wc_status of the receive that it ends; 0: none */
};

extern const struct uroce_verdict_info uroce_verdicts[UROCE_VERDICT_COUNT];

#endif /* UROCE_WIRE_VERDICT_H */
