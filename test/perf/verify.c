/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests that --verify finds every wrong byte: a flipped bit anywhere, a message with another number or of another queue
 * pair, a shifted message, and a message that never arrived.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "measure/verify.h"

#define ROOM 8200

/* Bytes around the message, which must not be written. */
#define GUARD 0xa5

static uint8_t room[ROOM + 32];
static const size_t lengths[] = { 0, 1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 4096, 4097, 8191 };

static void
test_fill_then_check(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		for (unsigned int align = 0; align < 8; align++) {
			uint8_t *buf = room + 8 + align;
			uint64_t pattern = uroce_perf_pattern(3, i);

			memset(room, GUARD, sizeof(room));
			uroce_perf_fill(buf, lengths[i], pattern);
			assert_true(uroce_perf_check(buf, lengths[i], pattern) == PERF_VERIFIED);
			assert_int_equal(buf[-1], GUARD);
			assert_int_equal(buf[lengths[i]], GUARD);
		}
	}
}

static void
test_every_wrong_bit_is_found(void **state)
{
	const uint64_t pattern = uroce_perf_pattern(0, 7);

	for (unsigned int i = 0; i < RTE_DIM(lengths) && lengths[i] <= 4097; i++) {
		uroce_perf_fill(room, lengths[i], pattern);
		for (size_t at = 0; at < lengths[i]; at++) {
			room[at] ^= (uint8_t)(1u << (at % 8));
			assert_true(uroce_perf_check(room, lengths[i], pattern) == at);
			room[at] ^= (uint8_t)(1u << (at % 8));
		}
	}
}

static void
test_poison_is_wrong_everywhere(void **state)
{
	const uint64_t pattern = uroce_perf_pattern(1, 2);
	uint8_t message[257];

	uroce_perf_poison(room, sizeof(message), pattern);
	uroce_perf_fill(message, sizeof(message), pattern);
	for (size_t at = 0; at < sizeof(message); at++)
		assert_int_not_equal(room[at], message[at]);
	/* all but one byte arrives */
	for (size_t at = 0; at < sizeof(message); at++) {
		uint8_t got[sizeof(message)];

		memcpy(got, message, sizeof(got));
		got[at] = room[at];
		assert_true(uroce_perf_check(got, sizeof(got), pattern) == at);
	}
}

/* A message of another number, queue pair or offset. */
static void
test_stale_and_misplaced(void **state)
{
	for (uint64_t seq = 0; seq < 1000; seq++) {
		uroce_perf_fill(room, 64, uroce_perf_pattern(0, seq));
		assert_true(uroce_perf_check(room, 64, uroce_perf_pattern(0, seq + 1)) !=
			    PERF_VERIFIED);
		assert_true(uroce_perf_check(room, 64, uroce_perf_pattern(0, seq + 128)) !=
			    PERF_VERIFIED);
		assert_true(uroce_perf_check(room, 64, uroce_perf_pattern(1, seq)) !=
			    PERF_VERIFIED);
	}
	uroce_perf_fill(room, 4096 + 64, uroce_perf_pattern(0, 1));
	for (unsigned int shift = 1; shift <= 64; shift++)
		assert_true(uroce_perf_check(room + shift, 4096, uroce_perf_pattern(0, 1)) !=
			    PERF_VERIFIED);
}

/* An atomic's counter takes another value with every operation, on every queue pair. */
static void
test_patterns_differ(void **state)
{
	uint64_t seen[64 * 64];
	unsigned int n = 0;

	for (uint32_t qp = 0; qp < 64; qp++) {
		for (uint64_t seq = 0; seq < 64; seq++)
			seen[n++] = uroce_perf_pattern(qp, seq);
	}
	for (unsigned int i = 0; i < n; i++) {
		for (unsigned int j = 0; j < i; j++)
			assert_true(seen[i] != seen[j]);
	}
}

UROCE_TESTS(perf_verify)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fill_then_check),
		cmocka_unit_test(test_every_wrong_bit_is_found),
		cmocka_unit_test(test_poison_is_wrong_everywhere),
		cmocka_unit_test(test_stale_and_misplaced),
		cmocka_unit_test(test_patterns_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
