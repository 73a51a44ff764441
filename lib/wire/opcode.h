/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The opcode table: for each BTH opcode its transport, its operation, its place in a message and
 * the extension headers that follow, from which lengths and offsets are derived. Constant.
 */

#ifndef UROCE_WIRE_OPCODE_H
#define UROCE_WIRE_OPCODE_H

#include <stdint.h>

enum uroce_transport {
	UROCE_TRANSPORT_NONE, /* the opcode does not exist */
	UROCE_TRANSPORT_RC,
	UROCE_TRANSPORT_UC,
	UROCE_TRANSPORT_UD,
	UROCE_TRANSPORT_XRC,
	UROCE_TRANSPORT_CNP,
};

enum uroce_op {
	UROCE_OP_NONE,
	UROCE_OP_SEND,
	UROCE_OP_WRITE,
	UROCE_OP_READ_REQUEST,
	UROCE_OP_READ_RESPONSE,
	UROCE_OP_ACK,
	UROCE_OP_ATOMIC_ACK,
	UROCE_OP_CMP_SWAP,
	UROCE_OP_FETCH_ADD,
	UROCE_OP_FLUSH,
	UROCE_OP_ATOMIC_WRITE,
	UROCE_OP_CNP,
	UROCE_OP_ASK,
	UROCE_OP_SACK,
};

/* Flags of an opcode, beginning with the place of a packet in its message. */
#define UROCE_OPF_FIRST   0x01
#define UROCE_OPF_LAST    0x02
#define UROCE_OPF_ONLY    (UROCE_OPF_FIRST | UROCE_OPF_LAST)
#define UROCE_OPF_REQUEST 0x04 /* for the responder; else for the requester */
#define UROCE_OPF_PAYLOAD 0x08 /* may carry payload */
#define UROCE_OPF_RECV    0x10 /* consumes a receive WQE: the first of a SEND, the last of a WRITE with immediate */

/* Extension headers, in the order in which they follow the BTH. */
enum uroce_ext {
	UROCE_EXT_XRCETH,
	UROCE_EXT_DETH,
	UROCE_EXT_FETH,
	UROCE_EXT_RETH,
	UROCE_EXT_ATOMICETH,
	UROCE_EXT_AETH,
	UROCE_EXT_ATOMICACKETH,
	UROCE_EXT_IMMDT,
	UROCE_EXT_IETH,
	UROCE_EXT_CNP, /* the reserved bytes of a CNP */
	UROCE_EXT_COUNT,
};

#define UROCE_EXT_BIT(e) (1u << (e))

enum uroce_opcode {
	UROCE_RC_SEND_FIRST = 0x00,
	UROCE_RC_SEND_MIDDLE = 0x01,
	UROCE_RC_SEND_LAST = 0x02,
	UROCE_RC_SEND_LAST_IMM = 0x03,
	UROCE_RC_SEND_ONLY = 0x04,
	UROCE_RC_SEND_ONLY_IMM = 0x05,
	UROCE_RC_WRITE_FIRST = 0x06,
	UROCE_RC_WRITE_MIDDLE = 0x07,
	UROCE_RC_WRITE_LAST = 0x08,
	UROCE_RC_WRITE_LAST_IMM = 0x09,
	UROCE_RC_WRITE_ONLY = 0x0a,
	UROCE_RC_WRITE_ONLY_IMM = 0x0b,
	UROCE_RC_READ_REQUEST = 0x0c,
	UROCE_RC_READ_RESPONSE_FIRST = 0x0d,
	UROCE_RC_READ_RESPONSE_MIDDLE = 0x0e,
	UROCE_RC_READ_RESPONSE_LAST = 0x0f,
	UROCE_RC_READ_RESPONSE_ONLY = 0x10,
	UROCE_RC_ACKNOWLEDGE = 0x11,
	UROCE_RC_ATOMIC_ACKNOWLEDGE = 0x12,
	UROCE_RC_CMP_SWAP = 0x13,
	UROCE_RC_FETCH_ADD = 0x14,
	UROCE_RC_SEND_LAST_INV = 0x16,
	UROCE_RC_SEND_ONLY_INV = 0x17,
	UROCE_RC_FLUSH = 0x1c,
	UROCE_RC_ATOMIC_WRITE = 0x1d,
	UROCE_UC_SEND_FIRST = 0x20, /* other UC opcodes: SEND and WRITE of RC, + 0x20 */
	UROCE_UD_SEND_ONLY = 0x64,
	UROCE_UD_SEND_ONLY_IMM = 0x65,
	UROCE_CNP = 0x81,
	UROCE_XRC_SEND_FIRST = 0xa0, /* other XRC opcodes: those of RC, + 0xa0; requests have an XRCETH */
	/* manufacturer opcodes, only between two uroce peers (wire/sack.h) */
	UROCE_RC_ASK = 0xd0,
	UROCE_RC_SACK = 0xd1,
};

struct uroce_opcode_info {
	const char *name;             /* NULL: the opcode does not exist */
	uint8_t transport;            /* enum uroce_transport */
	uint8_t op;                   /* enum uroce_op */
	uint8_t flags;                /* UROCE_OPF_* */
	uint8_t header_bytes;         /* BTH and extension headers */
	uint16_t ext_set;             /* UROCE_EXT_BIT() of each extension header */
	uint8_t ext[UROCE_EXT_COUNT]; /* offset of each extension header from the BTH; 0: absent */
};

extern const struct uroce_opcode_info uroce_opcodes[256];

#endif /* UROCE_WIRE_OPCODE_H */
