/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the digest of a seed: all bytes that a peer or an application can see change it, virtual addresses do not.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "digest.h"
#include "groups.h"
#include "wire/headers.h"
#include "wire/opcode.h"

#define BTH   (14 + 20 + 8)
#define BYTES (BTH + sizeof(struct uroce_bth) + 16 + 5 + UROCE_ICRC_BYTES) /* a RETH and 5 bytes of payload */

static const struct ibv_wc sent = { .wr_id = 1, .qp_num = 2, .opcode = IBV_WC_SEND };

/* A WRITE ONLY over IPv4, with a payload of ones. */
static void
make_write(uint8_t *frame)
{
	memset(frame, 1, BYTES);
	frame[14] = 0x45;
	((struct uroce_bth *)(frame + BTH))->opcode = 0x0a;
}

static uint64_t
of_frame(const uint8_t *frame, uint32_t bytes)
{
	digest_reset();
	digest_frame(1, 0, 1, frame, bytes);
	return digest_get();
}

static uint64_t
of_completion(const struct ibv_wc *wc)
{
	digest_reset();
	digest_completion(1, 0, wc);
	return digest_get();
}

/* The exceptions are the first 8 bytes of the RETH, an address, and the last 4 bytes of the frame, the ICRC. */
static void
every_byte_counts_but_addresses(void **state)
{
	uint32_t va = BTH + sizeof(struct uroce_bth);
	uint8_t frame[BYTES];
	uint64_t whole;

	make_write(frame);
	whole = of_frame(frame, BYTES);
	for (uint32_t i = BTH + 1; i < BYTES; i++) {
		frame[i] ^= 0x80;
		if ((i >= va && i < va + 8) || i >= BYTES - UROCE_ICRC_BYTES)
			assert_int_equal(of_frame(frame, BYTES), whole);
		else
			assert_int_not_equal(of_frame(frame, BYTES), whole);
		frame[i] ^= 0x80;
	}
	assert_int_not_equal(of_frame(frame, BYTES - 1), whole);
}

static void
ends_and_times_of_frames_count(void **state)
{
	uint8_t frame[BYTES];
	uint64_t whole;

	make_write(frame);
	whole = of_frame(frame, BYTES);
	digest_reset();
	digest_frame(2, 0, 1, frame, BYTES);
	assert_int_not_equal(digest_get(), whole);
	digest_reset();
	digest_frame(1, 1, 0, frame, BYTES);
	assert_int_not_equal(digest_get(), whole);
}

static void
truncated_frames_are_within_bounds(void **state)
{
	uint8_t frame[BYTES];

	make_write(frame);
	for (uint32_t bytes = 15; bytes < BYTES; bytes++)
		assert_int_not_equal(of_frame(frame, bytes), of_frame(frame, bytes + 1));
}

static void
completions_count(void **state)
{
	struct ibv_wc wc = sent;

	wc.wr_id++;
	assert_int_not_equal(of_completion(&wc), of_completion(&sent));
	wc = sent;
	wc.status = IBV_WC_WR_FLUSH_ERR;
	assert_int_not_equal(of_completion(&wc), of_completion(&sent));
	wc = sent;
	wc.byte_len++; /* undefined for a SEND */
	assert_int_equal(of_completion(&wc), of_completion(&sent));
	wc.opcode = IBV_WC_RECV;
	assert_int_not_equal(of_completion(&wc), of_completion(&sent));
}

UROCE_TESTS(sim_digest)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_counts_but_addresses),
		cmocka_unit_test(ends_and_times_of_frames_count),
		cmocka_unit_test(truncated_frames_are_within_bounds),
		cmocka_unit_test(completions_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
