/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The opcode table, all 256 rows: compared with a list of the specification's packets in another notation, and with the
 * rules that every row follows.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "groups.h"
#include "wire/headers.h"
#include "wire/opcode.h"

static const uint8_t ext_bytes[UROCE_EXT_COUNT] = {
	[UROCE_EXT_XRCETH] = 4,       [UROCE_EXT_DETH] = 8,       [UROCE_EXT_FETH] = 4,
	[UROCE_EXT_RETH] = 16,        [UROCE_EXT_ATOMICETH] = 28, [UROCE_EXT_AETH] = 4,
	[UROCE_EXT_ATOMICACKETH] = 8, [UROCE_EXT_IMMDT] = 4,      [UROCE_EXT_IETH] = 4,
	[UROCE_EXT_CNP] = 16,
};

/* Each packet that exists, with the headers behind its BTH in bytes and by name (x: IETH, X: XRCETH, c: reserved
 * bytes). */
static const struct {
	uint8_t opcode;
	const char *name;
	const char *headers;
	uint8_t bytes;
} packets[] = {
	{ 0x00, "RC_SEND_FIRST", "", 0 },
	{ 0x01, "RC_SEND_MIDDLE", "", 0 },
	{ 0x02, "RC_SEND_LAST", "", 0 },
	{ 0x03, "RC_SEND_LAST_IMM", "i", 4 },
	{ 0x04, "RC_SEND_ONLY", "", 0 },
	{ 0x05, "RC_SEND_ONLY_IMM", "i", 4 },
	{ 0x06, "RC_WRITE_FIRST", "r", 16 },
	{ 0x07, "RC_WRITE_MIDDLE", "", 0 },
	{ 0x08, "RC_WRITE_LAST", "", 0 },
	{ 0x09, "RC_WRITE_LAST_IMM", "i", 4 },
	{ 0x0a, "RC_WRITE_ONLY", "r", 16 },
	{ 0x0b, "RC_WRITE_ONLY_IMM", "ri", 20 },
	{ 0x0c, "RC_READ_REQUEST", "r", 16 },
	{ 0x0d, "RC_READ_RESPONSE_FIRST", "a", 4 },
	{ 0x0e, "RC_READ_RESPONSE_MIDDLE", "", 0 },
	{ 0x0f, "RC_READ_RESPONSE_LAST", "a", 4 },
	{ 0x10, "RC_READ_RESPONSE_ONLY", "a", 4 },
	{ 0x11, "RC_ACKNOWLEDGE", "a", 4 },
	{ 0x12, "RC_ATOMIC_ACKNOWLEDGE", "ao", 12 },
	{ 0x13, "RC_CMP_SWAP", "t", 28 },
	{ 0x14, "RC_FETCH_ADD", "t", 28 },
	{ 0x16, "RC_SEND_LAST_INV", "x", 4 },
	{ 0x17, "RC_SEND_ONLY_INV", "x", 4 },
	{ 0x1c, "RC_FLUSH", "fr", 20 },
	{ 0x1d, "RC_ATOMIC_WRITE", "r", 16 },
	{ 0x20, "UC_SEND_FIRST", "", 0 },
	{ 0x21, "UC_SEND_MIDDLE", "", 0 },
	{ 0x22, "UC_SEND_LAST", "", 0 },
	{ 0x23, "UC_SEND_LAST_IMM", "i", 4 },
	{ 0x24, "UC_SEND_ONLY", "", 0 },
	{ 0x25, "UC_SEND_ONLY_IMM", "i", 4 },
	{ 0x26, "UC_WRITE_FIRST", "r", 16 },
	{ 0x27, "UC_WRITE_MIDDLE", "", 0 },
	{ 0x28, "UC_WRITE_LAST", "", 0 },
	{ 0x29, "UC_WRITE_LAST_IMM", "i", 4 },
	{ 0x2a, "UC_WRITE_ONLY", "r", 16 },
	{ 0x2b, "UC_WRITE_ONLY_IMM", "ri", 20 },
	{ 0x64, "UD_SEND_ONLY", "d", 8 },
	{ 0x65, "UD_SEND_ONLY_IMM", "di", 12 },
	{ 0x81, "CNP", "c", 16 },
	{ 0xa0, "XRC_SEND_FIRST", "X", 4 },
	{ 0xa1, "XRC_SEND_MIDDLE", "X", 4 },
	{ 0xa2, "XRC_SEND_LAST", "X", 4 },
	{ 0xa3, "XRC_SEND_LAST_IMM", "Xi", 8 },
	{ 0xa4, "XRC_SEND_ONLY", "X", 4 },
	{ 0xa5, "XRC_SEND_ONLY_IMM", "Xi", 8 },
	{ 0xa6, "XRC_WRITE_FIRST", "Xr", 20 },
	{ 0xa7, "XRC_WRITE_MIDDLE", "X", 4 },
	{ 0xa8, "XRC_WRITE_LAST", "X", 4 },
	{ 0xa9, "XRC_WRITE_LAST_IMM", "Xi", 8 },
	{ 0xaa, "XRC_WRITE_ONLY", "Xr", 20 },
	{ 0xab, "XRC_WRITE_ONLY_IMM", "Xri", 24 },
	{ 0xac, "XRC_READ_REQUEST", "Xr", 20 },
	{ 0xad, "XRC_READ_RESPONSE_FIRST", "a", 4 },
	{ 0xae, "XRC_READ_RESPONSE_MIDDLE", "", 0 },
	{ 0xaf, "XRC_READ_RESPONSE_LAST", "a", 4 },
	{ 0xb0, "XRC_READ_RESPONSE_ONLY", "a", 4 },
	{ 0xb1, "XRC_ACKNOWLEDGE", "a", 4 },
	{ 0xb2, "XRC_ATOMIC_ACKNOWLEDGE", "ao", 12 },
	{ 0xb3, "XRC_CMP_SWAP", "Xt", 32 },
	{ 0xb4, "XRC_FETCH_ADD", "Xt", 32 },
	{ 0xb6, "XRC_SEND_LAST_INV", "Xx", 8 },
	{ 0xb7, "XRC_SEND_ONLY_INV", "Xx", 8 },
	{ 0xd0, "RC_ASK", "", 0 },
	{ 0xd1, "RC_SACK", "a", 4 },
};

static const char ext_letters[UROCE_EXT_COUNT + 1] = "Xdfrtaoixc";

static void
test_exactly_these_exist(void **state)
{
	unsigned int next = 0;

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		const struct uroce_opcode_info *info = &uroce_opcodes[op];

		if (next < RTE_DIM(packets) && packets[next].opcode == op) {
			assert_non_null(info->name);
			assert_string_equal(info->name, packets[next].name);
			assert_int_equal(info->header_bytes,
					 sizeof(struct uroce_bth) + packets[next].bytes);
			next++;
		} else {
			static const struct uroce_opcode_info none;

			assert_memory_equal(info, &none, sizeof(none));
		}
	}
	assert_int_equal(next, RTE_DIM(packets));
}

static void
test_offsets(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(packets); i++) {
		const struct uroce_opcode_info *info = &uroce_opcodes[packets[i].opcode];
		uint8_t at = sizeof(struct uroce_bth);

		for (unsigned int e = 0; e < UROCE_EXT_COUNT; e++) {
			if (strchr(packets[i].headers, ext_letters[e]) == NULL) {
				assert_int_equal(info->ext[e], 0);
				continue;
			}
			assert_int_equal(info->ext[e], at);
			at = (uint8_t)(at + ext_bytes[e]);
		}
		assert_int_equal(info->header_bytes, at);
	}
}

static int
name_has(const struct uroce_opcode_info *info, const char *part)
{
	return strstr(info->name, part) != NULL;
}

/* The position of a packet in its message, from the opcode's name. */
static uint8_t
place_by_name(const struct uroce_opcode_info *info)
{
	if (name_has(info, "_FIRST"))
		return UROCE_OPF_FIRST;
	if (name_has(info, "_MIDDLE"))
		return 0;
	if (name_has(info, "_LAST"))
		return UROCE_OPF_LAST;
	return UROCE_OPF_ONLY;
}

static void
test_place(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(packets); i++) {
		const struct uroce_opcode_info *info = &uroce_opcodes[packets[i].opcode];

		assert_int_equal(info->flags & UROCE_OPF_ONLY, place_by_name(info));
	}
}

static void
test_direction_and_payload(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(packets); i++) {
		const struct uroce_opcode_info *info = &uroce_opcodes[packets[i].opcode];
		bool sack = packets[i].opcode == UROCE_RC_SACK;
		bool answer = name_has(info, "RESPONSE") || name_has(info, "ACKNOWLEDGE") ||
			      name_has(info, "CNP") || sack;
		bool payload = name_has(info, "SEND") || name_has(info, "WRITE") ||
			       name_has(info, "RESPONSE") || sack;

		assert_int_equal((info->flags & UROCE_OPF_REQUEST) == 0, answer);
		assert_int_equal((info->flags & UROCE_OPF_PAYLOAD) != 0, payload);
	}
}

/* The first packet of a SEND consumes a receive; of a WRITE with immediate, the last packet does. */
static void
test_recv(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(packets); i++) {
		const struct uroce_opcode_info *info = &uroce_opcodes[packets[i].opcode];
		int takes = 0;

		if (info->op == UROCE_OP_SEND)
			takes = (info->flags & UROCE_OPF_FIRST) != 0;
		else if (info->op == UROCE_OP_WRITE)
			takes = info->ext[UROCE_EXT_IMMDT] != 0;
		assert_int_equal((info->flags & UROCE_OPF_RECV) != 0, takes);
	}
}

static void
test_transport_and_operation(void **state)
{
	static const struct {
		const char *part;
		enum uroce_op op;
	} ops[] = {
		{ "_SEND_", UROCE_OP_SEND },
		{ "C_WRITE_", UROCE_OP_WRITE },
		{ "_READ_REQUEST", UROCE_OP_READ_REQUEST },
		{ "_READ_RESPONSE", UROCE_OP_READ_RESPONSE },
		{ "RC_ACK", UROCE_OP_ACK },
		{ "_ATOMIC_ACK", UROCE_OP_ATOMIC_ACK },
		{ "_CMP_SWAP", UROCE_OP_CMP_SWAP },
		{ "_FETCH_ADD", UROCE_OP_FETCH_ADD },
		{ "_FLUSH", UROCE_OP_FLUSH },
		{ "_ATOMIC_WRITE", UROCE_OP_ATOMIC_WRITE },
		{ "CNP", UROCE_OP_CNP },
		{ "_ASK", UROCE_OP_ASK },
		{ "RC_SACK", UROCE_OP_SACK },
	};
	static const struct {
		const char *part;
		enum uroce_transport transport;
	} transports[] = {
		{ "RC_", UROCE_TRANSPORT_RC },
		{ "UC_", UROCE_TRANSPORT_UC },
		{ "UD_", UROCE_TRANSPORT_UD },
		{ "XRC", UROCE_TRANSPORT_XRC },
		{ "CNP", UROCE_TRANSPORT_CNP },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(packets); i++) {
		const struct uroce_opcode_info *info = &uroce_opcodes[packets[i].opcode];
		unsigned int matches = 0;

		for (unsigned int j = 0; j < RTE_DIM(ops); j++) {
			if (name_has(info, ops[j].part)) {
				assert_int_equal(info->op, ops[j].op);
				matches++;
			}
		}
		for (unsigned int j = 0; j < RTE_DIM(transports); j++) {
			if (strncmp(info->name, transports[j].part, 3) == 0) {
				assert_int_equal(info->transport, transports[j].transport);
				matches++;
			}
		}
		assert_int_equal(matches, 2);
	}
}

/* Each UC opcode is the RC opcode + 0x20, row by row. */
static void
test_uc_is_rc(void **state)
{
	(void)state;
	for (unsigned int op = UROCE_RC_SEND_FIRST; op <= UROCE_RC_WRITE_ONLY_IMM; op++) {
		const struct uroce_opcode_info *rc = &uroce_opcodes[op],
					       *uc = &uroce_opcodes[op + 0x20];

		assert_string_equal(rc->name + 2, uc->name + 2);
		assert_int_equal(rc->op, uc->op);
		assert_int_equal(rc->flags, uc->flags);
		assert_int_equal(rc->header_bytes, uc->header_bytes);
		assert_memory_equal(rc->ext, uc->ext, sizeof(rc->ext));
	}
}

/* Each XRC opcode is the RC opcode + 0xa0, and each request begins with an XRCETH. */
static void
test_xrc_is_rc(void **state)
{
	(void)state;
	for (unsigned int op = UROCE_RC_SEND_FIRST; op <= UROCE_RC_SEND_ONLY_INV; op++) {
		const struct uroce_opcode_info *rc = &uroce_opcodes[op],
					       *xrc = &uroce_opcodes[op + 0xa0];
		unsigned int more = rc->flags & UROCE_OPF_REQUEST ? 4 : 0;

		if (rc->name == NULL) {
			assert_null(xrc->name);
			continue;
		}
		assert_string_equal(rc->name + 2, xrc->name + 3);
		assert_int_equal(rc->op, xrc->op);
		assert_int_equal(rc->flags, xrc->flags);
		assert_int_equal(rc->header_bytes + more, xrc->header_bytes);
		assert_int_equal(xrc->ext[UROCE_EXT_XRCETH], more != 0 ? 12 : 0);
		for (unsigned int e = UROCE_EXT_XRCETH + 1; e < UROCE_EXT_COUNT; e++)
			assert_int_equal(xrc->ext[e], rc->ext[e] != 0 ? rc->ext[e] + more : 0);
	}
}

UROCE_TESTS(wire_opcode)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exactly_these_exist),
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_direction_and_payload),
		cmocka_unit_test(test_recv),
		cmocka_unit_test(test_transport_and_operation),
		cmocka_unit_test(test_uc_is_rc),
		cmocka_unit_test(test_xrc_is_rc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
