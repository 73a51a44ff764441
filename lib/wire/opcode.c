/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The opcode table, with a row for each opcode. The header length and the offsets of the extension headers are derived
 * from the row's set of extension headers. Constant; any thread.
 */

#include "wire/headers.h"
#include "wire/opcode.h"

/* Sets of extension headers. */
#define E_NONE         0u
#define E_XRCETH       UROCE_EXT_BIT(UROCE_EXT_XRCETH)
#define E_DETH         UROCE_EXT_BIT(UROCE_EXT_DETH)
#define E_FETH         UROCE_EXT_BIT(UROCE_EXT_FETH)
#define E_RETH         UROCE_EXT_BIT(UROCE_EXT_RETH)
#define E_ATOMICETH    UROCE_EXT_BIT(UROCE_EXT_ATOMICETH)
#define E_AETH         UROCE_EXT_BIT(UROCE_EXT_AETH)
#define E_ATOMICACKETH UROCE_EXT_BIT(UROCE_EXT_ATOMICACKETH)
#define E_IMMDT        UROCE_EXT_BIT(UROCE_EXT_IMMDT)
#define E_IETH         UROCE_EXT_BIT(UROCE_EXT_IETH)
#define E_CNP          UROCE_EXT_BIT(UROCE_EXT_CNP)

/* The end of each header, if the set has it, in the order of enum uroce_ext. */
#define HAS(set, e)         (((set) >> UROCE_EXT_##e) & 1u)
#define END_BTH             sizeof(struct uroce_bth)
#define END_XRCETH(s)       (END_BTH + HAS(s, XRCETH) * sizeof(struct uroce_xrceth))
#define END_DETH(s)         (END_XRCETH(s) + HAS(s, DETH) * sizeof(struct uroce_deth))
#define END_FETH(s)         (END_DETH(s) + HAS(s, FETH) * sizeof(struct uroce_feth))
#define END_RETH(s)         (END_FETH(s) + HAS(s, RETH) * sizeof(struct uroce_reth))
#define END_ATOMICETH(s)    (END_RETH(s) + HAS(s, ATOMICETH) * sizeof(struct uroce_atomiceth))
#define END_AETH(s)         (END_ATOMICETH(s) + HAS(s, AETH) * sizeof(struct uroce_aeth))
#define END_ATOMICACKETH(s) (END_AETH(s) + HAS(s, ATOMICACKETH) * sizeof(struct uroce_atomicacketh))
#define END_IMMDT(s)        (END_ATOMICACKETH(s) + HAS(s, IMMDT) * sizeof(struct uroce_immdt))
#define END_IETH(s)         (END_IMMDT(s) + HAS(s, IETH) * sizeof(struct uroce_ieth))
#define END_CNP(s)          (END_IETH(s) + HAS(s, CNP) * UROCE_CNP_BYTES)

static_assert(UROCE_EXT_COUNT == UROCE_EXT_CNP + 1, "END_CNP must be the end of all headers");

/* clang-format off */
#define OFFSETS(s) { \
	[UROCE_EXT_XRCETH] = HAS(s, XRCETH) * END_BTH, \
	[UROCE_EXT_DETH] = HAS(s, DETH) * END_XRCETH(s), \
	[UROCE_EXT_FETH] = HAS(s, FETH) * END_DETH(s), \
	[UROCE_EXT_RETH] = HAS(s, RETH) * END_FETH(s), \
	[UROCE_EXT_ATOMICETH] = HAS(s, ATOMICETH) * END_RETH(s), \
	[UROCE_EXT_AETH] = HAS(s, AETH) * END_ATOMICETH(s), \
	[UROCE_EXT_ATOMICACKETH] = HAS(s, ATOMICACKETH) * END_AETH(s), \
	[UROCE_EXT_IMMDT] = HAS(s, IMMDT) * END_ATOMICACKETH(s), \
	[UROCE_EXT_IETH] = HAS(s, IETH) * END_IMMDT(s), \
	[UROCE_EXT_CNP] = HAS(s, CNP) * END_IETH(s), \
}

#define ROW(opcode, name, transport, op, flags, set) \
	[opcode] = { name, UROCE_TRANSPORT_##transport, UROCE_OP_##op, flags, END_CNP(set), \
		     set, OFFSETS(set) }
/* clang-format on */
#define RC(opcode, op, flags, set) ROW(UROCE_RC_##opcode, "RC_" #opcode, RC, op, flags, set)
#define UC(opcode, op, flags, set) \
	ROW(UROCE_UC_SEND_FIRST + UROCE_RC_##opcode, "UC_" #opcode, UC, op, flags, set)
#define XRC(opcode, op, flags, set)                                                            \
	ROW(UROCE_XRC_SEND_FIRST + UROCE_RC_##opcode, "XRC_" #opcode, XRC, op, flags, set)
#define UD(opcode, op, flags, set) ROW(UROCE_UD_##opcode, "UD_" #opcode, UD, op, flags, set)

/* Flags: place in the message, direction, payload, consumption of a receive WQE. */
#define FIRST  UROCE_OPF_FIRST
#define MIDDLE 0
#define LAST   UROCE_OPF_LAST
#define ONLY   UROCE_OPF_ONLY
#define REQ    UROCE_OPF_REQUEST
#define PAY    UROCE_OPF_PAYLOAD
#define RECV   UROCE_OPF_RECV

const struct uroce_opcode_info uroce_opcodes[256] = {
	RC(SEND_FIRST, SEND, FIRST | REQ | PAY | RECV, E_NONE),
	RC(SEND_MIDDLE, SEND, MIDDLE | REQ | PAY, E_NONE),
	RC(SEND_LAST, SEND, LAST | REQ | PAY, E_NONE),
	RC(SEND_LAST_IMM, SEND, LAST | REQ | PAY, E_IMMDT),
	RC(SEND_ONLY, SEND, ONLY | REQ | PAY | RECV, E_NONE),
	RC(SEND_ONLY_IMM, SEND, ONLY | REQ | PAY | RECV, E_IMMDT),
	RC(WRITE_FIRST, WRITE, FIRST | REQ | PAY, E_RETH),
	RC(WRITE_MIDDLE, WRITE, MIDDLE | REQ | PAY, E_NONE),
	RC(WRITE_LAST, WRITE, LAST | REQ | PAY, E_NONE),
	RC(WRITE_LAST_IMM, WRITE, LAST | REQ | PAY | RECV, E_IMMDT),
	RC(WRITE_ONLY, WRITE, ONLY | REQ | PAY, E_RETH),
	RC(WRITE_ONLY_IMM, WRITE, ONLY | REQ | PAY | RECV, E_RETH | E_IMMDT),
	RC(READ_REQUEST, READ_REQUEST, ONLY | REQ, E_RETH),
	RC(READ_RESPONSE_FIRST, READ_RESPONSE, FIRST | PAY, E_AETH),
	RC(READ_RESPONSE_MIDDLE, READ_RESPONSE, MIDDLE | PAY, E_NONE),
	RC(READ_RESPONSE_LAST, READ_RESPONSE, LAST | PAY, E_AETH),
	RC(READ_RESPONSE_ONLY, READ_RESPONSE, ONLY | PAY, E_AETH),
	RC(ACKNOWLEDGE, ACK, ONLY, E_AETH),
	RC(ATOMIC_ACKNOWLEDGE, ATOMIC_ACK, ONLY, E_AETH | E_ATOMICACKETH),
	RC(CMP_SWAP, CMP_SWAP, ONLY | REQ, E_ATOMICETH),
	RC(FETCH_ADD, FETCH_ADD, ONLY | REQ, E_ATOMICETH),
	RC(SEND_LAST_INV, SEND, LAST | REQ | PAY, E_IETH),
	RC(SEND_ONLY_INV, SEND, ONLY | REQ | PAY | RECV, E_IETH),
	RC(FLUSH, FLUSH, ONLY | REQ, E_FETH | E_RETH),
	RC(ATOMIC_WRITE, ATOMIC_WRITE, ONLY | REQ | PAY, E_RETH),

	UC(SEND_FIRST, SEND, FIRST | REQ | PAY | RECV, E_NONE),
	UC(SEND_MIDDLE, SEND, MIDDLE | REQ | PAY, E_NONE),
	UC(SEND_LAST, SEND, LAST | REQ | PAY, E_NONE),
	UC(SEND_LAST_IMM, SEND, LAST | REQ | PAY, E_IMMDT),
	UC(SEND_ONLY, SEND, ONLY | REQ | PAY | RECV, E_NONE),
	UC(SEND_ONLY_IMM, SEND, ONLY | REQ | PAY | RECV, E_IMMDT),
	UC(WRITE_FIRST, WRITE, FIRST | REQ | PAY, E_RETH),
	UC(WRITE_MIDDLE, WRITE, MIDDLE | REQ | PAY, E_NONE),
	UC(WRITE_LAST, WRITE, LAST | REQ | PAY, E_NONE),
	UC(WRITE_LAST_IMM, WRITE, LAST | REQ | PAY | RECV, E_IMMDT),
	UC(WRITE_ONLY, WRITE, ONLY | REQ | PAY, E_RETH),
	UC(WRITE_ONLY_IMM, WRITE, ONLY | REQ | PAY | RECV, E_RETH | E_IMMDT),

	UD(SEND_ONLY, SEND, ONLY | REQ | PAY | RECV, E_DETH),
	UD(SEND_ONLY_IMM, SEND, ONLY | REQ | PAY | RECV, E_DETH | E_IMMDT),

	XRC(SEND_FIRST, SEND, FIRST | REQ | PAY | RECV, E_XRCETH),
	XRC(SEND_MIDDLE, SEND, MIDDLE | REQ | PAY, E_XRCETH),
	XRC(SEND_LAST, SEND, LAST | REQ | PAY, E_XRCETH),
	XRC(SEND_LAST_IMM, SEND, LAST | REQ | PAY, E_XRCETH | E_IMMDT),
	XRC(SEND_ONLY, SEND, ONLY | REQ | PAY | RECV, E_XRCETH),
	XRC(SEND_ONLY_IMM, SEND, ONLY | REQ | PAY | RECV, E_XRCETH | E_IMMDT),
	XRC(WRITE_FIRST, WRITE, FIRST | REQ | PAY, E_XRCETH | E_RETH),
	XRC(WRITE_MIDDLE, WRITE, MIDDLE | REQ | PAY, E_XRCETH),
	XRC(WRITE_LAST, WRITE, LAST | REQ | PAY, E_XRCETH),
	XRC(WRITE_LAST_IMM, WRITE, LAST | REQ | PAY | RECV, E_XRCETH | E_IMMDT),
	XRC(WRITE_ONLY, WRITE, ONLY | REQ | PAY, E_XRCETH | E_RETH),
	XRC(WRITE_ONLY_IMM, WRITE, ONLY | REQ | PAY | RECV, E_XRCETH | E_RETH | E_IMMDT),
	XRC(READ_REQUEST, READ_REQUEST, ONLY | REQ, E_XRCETH | E_RETH),
	XRC(READ_RESPONSE_FIRST, READ_RESPONSE, FIRST | PAY, E_AETH),
	XRC(READ_RESPONSE_MIDDLE, READ_RESPONSE, MIDDLE | PAY, E_NONE),
	XRC(READ_RESPONSE_LAST, READ_RESPONSE, LAST | PAY, E_AETH),
	XRC(READ_RESPONSE_ONLY, READ_RESPONSE, ONLY | PAY, E_AETH),
	XRC(ACKNOWLEDGE, ACK, ONLY, E_AETH),
	XRC(ATOMIC_ACKNOWLEDGE, ATOMIC_ACK, ONLY, E_AETH | E_ATOMICACKETH),
	XRC(CMP_SWAP, CMP_SWAP, ONLY | REQ, E_XRCETH | E_ATOMICETH),
	XRC(FETCH_ADD, FETCH_ADD, ONLY | REQ, E_XRCETH | E_ATOMICETH),
	XRC(SEND_LAST_INV, SEND, LAST | REQ | PAY, E_XRCETH | E_IETH),
	XRC(SEND_ONLY_INV, SEND, ONLY | REQ | PAY | RECV, E_XRCETH | E_IETH),

	ROW(UROCE_CNP, "CNP", CNP, CNP, ONLY, E_CNP),

	RC(ASK, ASK, ONLY | REQ, E_NONE),
	RC(SACK, SACK, ONLY | PAY, E_AETH),
};
