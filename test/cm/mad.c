/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Each field of each message: written among neighbors that are all ones, it is at the specification's place, reads
 * back, and leaves its neighbors unchanged. No two fields share a bit. MADs of other classes are refused.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/mad.h"
#include "groups.h"

#define HEADER   24
#define MAD_BITS (UROCE_CM_MAD_BYTES * 8)

/* ---- fields ------------------------------------------------------------------------- */

static bool
bit_of(const uint8_t *mad, unsigned int i)
{
	return (mad[i / 8] >> (7 - i % 8) & 1) != 0;
}

/* The bits of the field hold value, most significant first; all other bits equal `others`. */
static void
check_bits(const uint8_t *mad, const struct uroce_cm_field_info *f, uint64_t value, bool others)
{
	unsigned int first = f->byte * 8u + f->bit, end = first + f->bits;

	for (unsigned int i = 0; i < MAD_BITS; i++) {
		bool expected = others;

		if (i >= first && i < end)
			expected = (value >> (end - 1 - i) & 1) != 0;
		if (bit_of(mad, i) != expected)
			fail_msg("%s: bit %u of byte %u", f->name, i % 8, i / 8);
	}
}

static void
fields_keep_to_their_bits(void **state)
{
	for (unsigned int field = 0; field < UROCE_CM_FIELD_COUNT; field++) {
		const struct uroce_cm_field_info *f = &uroce_cm_fields[field];
		uint64_t ones = f->bits <= 64 ? UINT64_MAX >> (64 - f->bits) : 0;
		const uint64_t values[] = { 0, 0x123456789abcdef1ull & ones, ones, 1 };

		if (f->bits > 64)
			continue;
		for (unsigned int i = 0; i < RTE_DIM(values) * 2; i++) {
			uint8_t mad[UROCE_CM_MAD_BYTES];
			uint64_t v = values[i / 2];
			bool others = i % 2 != 0;

			memset(mad, others ? 0xff : 0, sizeof(mad));
			uroce_cm_field_put(mad, field, v);
			check_bits(mad, f, v, others);
			assert_true(uroce_cm_field_get(mad, field) == v);
		}
	}
}

/* The specification's offsets of the fields that identify connections, independent of the code's table. */
static void
fields_are_where_the_specification_has_them(void **state)
{
	static const struct {
		enum uroce_cm_field field;
		unsigned int byte, bit, bits;
	} known[] = {
		{ UROCE_CM_F_REQ_SERVICE_ID, 8, 0, 64 },
		{ UROCE_CM_F_REQ_CA_GUID, 16, 0, 64 },
		{ UROCE_CM_F_REQ_QPN, 32, 0, 24 },
		{ UROCE_CM_F_REQ_RESPONDER_RESOURCES, 35, 0, 8 },
		{ UROCE_CM_F_REQ_STARTING_PSN, 44, 0, 24 },
		{ UROCE_CM_F_REQ_PKEY, 48, 0, 16 },
		{ UROCE_CM_F_REQ_MTU, 50, 0, 4 },
		{ UROCE_CM_F_REQ_PRIMARY_LOCAL_GID, 56, 0, 128 },
		{ UROCE_CM_F_REQ_PRIMARY_REMOTE_GID, 72, 0, 128 },
		{ UROCE_CM_F_REQ_ALTERNATE_ACK_TIMEOUT, 139, 0, 5 },
		{ UROCE_CM_F_REJ_REASON, 10, 0, 16 },
		{ UROCE_CM_F_REP_CA_GUID, 28, 0, 64 },
		{ UROCE_CM_F_DREQ_REMOTE_QPN, 8, 0, 24 },
		{ UROCE_CM_F_SIDR_REP_QKEY, 20, 0, 32 },
		{ UROCE_CM_F_LAP_ALTERNATE_REMOTE_GID, 40, 0, 128 },
		{ UROCE_CM_F_LAP_ALTERNATE_PACKET_RATE, 61, 2, 6 },
		{ UROCE_CM_F_APR_STATUS, 9, 0, 8 },
	};

	for (unsigned int i = 0; i < RTE_DIM(known); i++) {
		const struct uroce_cm_field_info *f = &uroce_cm_fields[known[i].field];

		assert_int_equal(f->byte, HEADER + known[i].byte);
		assert_int_equal(f->bit, known[i].bit);
		assert_int_equal(f->bits, known[i].bits);
	}
}

/* Reserved bits by the specification's tables: all bits outside fields and private data. */
static void
fields_and_private_data_share_no_bit(void **state)
{
	static const unsigned int reserved[UROCE_CM_MESSAGE_COUNT] = {
		[UROCE_CM_REQ] = 8 + 32 + 2 * (4 + 2 + 3 + 3),
		[UROCE_CM_MRA] = 6 + 3,
		[UROCE_CM_REJ] = 6 + 1,
		[UROCE_CM_REP] = 4,
		[UROCE_CM_DREQ] = 8,
		[UROCE_CM_SIDR_REQ] = 16,
		[UROCE_CM_SIDR_REP] = 16 + 8,
		[UROCE_CM_LAP] = 32 + 3 + 32 + 4 + 2 + 3 + 3,
		[UROCE_CM_APR] = 16,
	};

	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
		const struct uroce_cm_message_info *info = &uroce_cm_messages[m];
		uint8_t taken[MAD_BITS] = { 0 };
		unsigned int free = 0;

		assert_int_equal(info->private_offset + info->private_bytes, UROCE_CM_MAD_BYTES);
		memset(taken, 1, HEADER * 8);
		memset(taken + info->private_offset * 8, 1, info->private_bytes * 8u);
		for (unsigned int field = 0; field < UROCE_CM_FIELD_COUNT; field++) {
			const struct uroce_cm_field_info *f = &uroce_cm_fields[field];

			for (unsigned int i = 0; f->message == m && i < f->bits; i++) {
				uint8_t *bit = &taken[f->byte * 8u + f->bit + i];

				if (*bit != 0)
					fail_msg("%s shares bits", f->name);
				*bit = 1;
			}
		}
		for (unsigned int i = 0; i < MAD_BITS; i++)
			free += taken[i] == 0;
		if (free != reserved[m])
			fail_msg("%s: %u bits belong to no field, expected %u", info->name, free, reserved[m]);
	}
}

/* ---- header ------------------------------------------------------------------------- */

static void
init_makes_what_message_recognizes(void **state)
{
	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
		uint8_t mad[UROCE_CM_MAD_BYTES], expected[UROCE_CM_MAD_BYTES] = {
			0x01, 0x07, 0x02, 0x03, 0,    0,    0,    0,    0x11,
			0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x00, (uint8_t)(0x10 + m),
		};

		memset(mad, 0xa5, sizeof(mad));
		uroce_cm_mad_init(mad, m, 0x1122334455667788ull);
		assert_memory_equal(mad, expected, sizeof(mad));
		assert_int_equal(uroce_cm_mad_message(mad, sizeof(mad)), m);
	}
}

static void
what_is_no_mad_of_ours_is_refused(void **state)
{
	static const struct {
		unsigned int byte;
		uint8_t value;
	} wrong[] = {
		{ 0, 0 },     { 0, 2 },     { 1, 0x03 },  { 1, 0x06 },  { 3, 0x01 },  { 3, 0x83 },
		{ 16, 0x01 }, { 16, 0xff }, { 17, 0x0f }, { 17, 0x1b }, { 17, 0x00 }, { 17, 0xff },
	};
	uint8_t mad[UROCE_CM_MAD_BYTES];

	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		uroce_cm_mad_init(mad, UROCE_CM_REQ, 1);
		mad[wrong[i].byte] = wrong[i].value;
		assert_int_equal(uroce_cm_mad_message(mad, sizeof(mad)), -EINVAL);
	}
	uroce_cm_mad_init(mad, UROCE_CM_REQ, 1);
	for (uint32_t bytes = 0; bytes < 2 * UROCE_CM_MAD_BYTES; bytes++)
		assert_int_equal(uroce_cm_mad_message(mad, bytes),
				 bytes == UROCE_CM_MAD_BYTES ? UROCE_CM_REQ : -EINVAL);
}

/* ---- private data ------------------------------------------------------------------- */

static void
private_data_fills_its_room_and_no_more(void **state)
{
	uint8_t data[256];

	memset(data, 0xff, sizeof(data));
	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
		const struct uroce_cm_message_info *info = &uroce_cm_messages[m];
		struct uroce_cm_private priv = { .data = data, .bytes = info->private_bytes }, got;
		uint8_t mad[UROCE_CM_MAD_BYTES];

		assert_int_equal(uroce_cm_private_check(m, &priv), 0);
		uroce_cm_mad_init(mad, m, 0);
		uroce_cm_private_put(mad, m, &priv);
		assert_int_equal(mad[info->private_offset - 1], 0);
		got = uroce_cm_private_get(mad, m);
		assert_int_equal(got.bytes, info->private_bytes);
		assert_memory_equal(got.data, data, got.bytes);

		priv.bytes++;
		assert_int_equal(uroce_cm_private_check(m, &priv), -EMSGSIZE);
		priv.data = NULL;
		assert_int_equal(uroce_cm_private_check(m, &priv), -EINVAL);
		priv.bytes = 0;
		assert_int_equal(uroce_cm_private_check(m, &priv), 0);
		assert_int_equal(uroce_cm_private_check(m, NULL), 0);
	}
}

UROCE_TESTS(cm_mad)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_keep_to_their_bits),
		cmocka_unit_test(fields_are_where_the_specification_has_them),
		cmocka_unit_test(fields_and_private_data_share_no_bit),
		cmocka_unit_test(init_makes_what_message_recognizes),
		cmocka_unit_test(what_is_no_mad_of_ours_is_refused),
		cmocka_unit_test(private_data_fills_its_room_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
