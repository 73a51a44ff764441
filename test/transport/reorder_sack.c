/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the reports of out-of-order requests: NAKs and SACKs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>
#include <rte_common.h>

#include "gaps.h"
#include "groups.h"

static void
a_gap_that_closes_in_the_burst_is_not_named(void **state)
{
	struct peer_packet in[2];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in[0] = gap_write_only(&p, PSN(1), 0);
	in[1] = gap_write_only(&p, PSN(0), 8);
	peer_in_burst(&p, in, 2);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(1), 2);
	peer_expect_nothing(&p);
	assert_int_equal(gap_counter(&p, UROCE_SENT_NAKS), 0);
	peer_stop(&p);
}

static void
each_gap_is_named_once(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(gap_in_write(&p, PSN(1), true), UROCE_EARLY);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(gap_in_write(&p, PSN(4), true), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(4), true), UROCE_DUPLICATE);
	peer_expect_nothing(&p);
	assert_false(gap_is_written(&p, PSN(1)));
	assert_int_equal(gap_in_write(&p, PSN(0), true), UROCE_OK);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(2), 2);
	assert_int_equal(gap_in_write(&p, PSN(5), false), UROCE_EARLY);
	peer_expect_nothing(&p);
	/* one packet of a gap of two arrives: the peer knows the other one already */
	assert_int_equal(gap_in_write(&p, PSN(2), true), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(2), 3);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(5), 6);	/* no packet had AckReq */
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* A peer that goes back N reaches the next gap by itself: a NAK would only make it go back once more. */
static void
a_peer_that_goes_back_is_not_sent_back_again(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 1; i < 8; i += 2)
		assert_int_equal(gap_in_write(&p, PSN(i), false), UROCE_EARLY);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_DUPLICATE);	/* in one burst: it goes back N */
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(1), 2);
	assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(3), 4);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_DUPLICATE);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(3), 4);
	/* a retransmitted packet is lost again */
	assert_int_equal(gap_in_write(&p, PSN(5), false), UROCE_DUPLICATE);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(4), 4);
	assert_int_equal(gap_in_write(&p, PSN(4), false), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(5), 6);
	/* here it does not */
	assert_int_equal(gap_in_write(&p, PSN(8), false), UROCE_EARLY);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(6), 6);
	assert_int_equal(gap_in_write(&p, PSN(10), false), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(6), false), UROCE_OK);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(9), 9);
	peer_stop(&p);
}

static void
go_back_n_keeps_nothing(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.dev.go_back_n = true;
	assert_int_equal(gap_in_ask(&p, PSN(0)), UROCE_DROP_OPCODE);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_NAK_SEQUENCE);
	assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_DROP_AHEAD);
	assert_int_equal(gap_kept(&p), 0);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(gap_in_write(&p, PSN(0), true), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(0), 1);
	peer_stop(&p);
}

/* The next packet is a SACK with exactly these fields: asked, then offset and count of each run. */
static void
expect_sack(struct peer *p, uint32_t psn, uint32_t msn, uint32_t asked, unsigned int runs, const uint16_t *run)
{
	struct peer_packet out = peer_expect(p, UROCE_RC_SACK, psn);
	uint8_t bytes[UROCE_SACK_BYTES(UROCE_SACK_RUNS)] = { 0, (uint8_t)(asked >> 16), (uint8_t)(asked >> 8),
							     (uint8_t)asked };

	for (unsigned int i = 0; i < 2 * runs; i++) {
		bytes[4 + 2 * i] = (uint8_t)(run[i] >> 8);
		bytes[5 + 2 * i] = (uint8_t)run[i];
	}
	assert_int_equal(out.syndrome, PEER_UNLIMITED);
	assert_int_equal(out.msn, msn);
	assert_int_equal(out.payload_bytes, UROCE_SACK_BYTES(runs));
	assert_memory_equal(out.bytes, bytes, out.payload_bytes);
}

#define EXPECT_SACK(p, psn, msn, asked, ...) \
	expect_sack(p, psn, msn, asked, RTE_DIM(((uint16_t[]){ __VA_ARGS__ })) / 2, (uint16_t[]){ __VA_ARGS__ })

static void
a_sack_reports_kept_requests(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(gap_in_ask(&p, PSN(9)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(9), 0, NULL);
	peer_expect_nothing(&p);
	assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_EARLY);	/* a gap: no NAK */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 1);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_EARLY);	/* the run grows */
	peer_expect_nothing(&p);
	assert_int_equal(gap_in_write(&p, PSN(4), true), UROCE_EARLY);	/* AckReq */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 3);
	assert_int_equal(gap_in_write(&p, PSN(7), false), UROCE_EARLY);	/* another gap */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 3, 7, 1);
	assert_int_equal(gap_in_write(&p, PSN(5), false), UROCE_EARLY);	/* part of it is filled */
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 4, 7, 1);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_DUPLICATE);
	EXPECT_SACK(&p, PSN(0), 0, PSN(9), 2, 4, 7, 1);
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);	/* the expected one */
	EXPECT_SACK(&p, PSN(1), 1, PSN(9), 1, 4, 6, 1);
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_DUPLICATE);
	EXPECT_SACK(&p, PSN(1), 1, PSN(9), 1, 4, 6, 1);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_OK);
	EXPECT_SACK(&p, PSN(6), 6, PSN(9), 1, 1);
	assert_int_equal(gap_in_write(&p, PSN(6), false), UROCE_OK);	/* no gap is left: a plain ACK */
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(7), 8);
	assert_int_equal(gap_counter(&p, UROCE_SENT_SACKS), 9);
	assert_int_equal(gap_counter(&p, UROCE_SENT_NAKS), 0);
	/* an ASK that packets have overtaken requests nothing */
	assert_int_equal(gap_in_ask(&p, PSN(3)), UROCE_OK);
	expect_sack(&p, PSN(8), 8, PSN(8), 0, NULL);
	peer_stop(&p);
}

/* PSNs wrap: an old ASK would seem to be ahead of packets that were sent since. */
static void
an_old_ask_is_forgotten(void **state)
{
	const size_t most = UROCE_MAX_MSG_BYTES;
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	struct uroce_sack sack;
	struct ibv_mr *mr;
	struct peer p;
	uint8_t *memory = mmap(NULL, most, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			       -1, 0);

	(void)state;
	assert_ptr_not_equal(memory, MAP_FAILED);
	peer_start(&p, &conf);
	mr = uroce_reg_mr(p.pd, memory, most, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(gap_in_ask(&p, PSN(0)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(0), 0, NULL);
	assert_int_equal(gap_in_write(&p, PSN(0), true), UROCE_OK);	/* with each ACK that is owed */
	assert_int_equal(uroce_responder_of(uroce_qp_of(p.qp))->asked, PSN(1));
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(0), 1);
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = PSN(1), .rkey = mr->rkey,
				  .va = (uintptr_t)memory, .dma_len = UROCE_MAX_MSG_BYTES };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);	/* and each response: half of the space */
	assert_int_equal(gap_in_write(&p, PSN(1 + UROCE_PSN_HALF), false), UROCE_OK);
	assert_int_equal(gap_in_write(&p, PSN(3 + UROCE_PSN_HALF), false), UROCE_EARLY);
	assert_int_equal(uroce_reorder_sack(uroce_qp_of(p.qp), &sack), 1);
	assert_int_equal(uroce_get24(sack.asked), PSN(2 + UROCE_PSN_HALF));
	assert_int_equal(uroce_dereg_mr(mr), 0);
	peer_stop(&p);
	munmap(memory, most);
}

static void
one_sack_for_a_burst(void **state)
{
	struct peer_packet in[4];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in[0] = (struct peer_packet){ .opcode = UROCE_RC_ASK, .psn = PSN(6) };
	in[1] = gap_write_only(&p, PSN(1), 0);
	in[2] = gap_write_only(&p, PSN(3), 0);
	in[3] = gap_write_only(&p, PSN(5), 0);
	peer_in_burst(&p, in, 4);
	EXPECT_SACK(&p, PSN(0), 0, PSN(6), 1, 1, 3, 1, 5, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* A SACK does not report packets beyond its last run as missing. */
static void
a_sack_with_too_many_runs(void **state)
{
	uint16_t run[2 * UROCE_SACK_RUNS];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 0; i < UROCE_SACK_RUNS; i++) {
		run[2 * i] = (uint16_t)(2 * i + 1);
		run[2 * i + 1] = 1;
		assert_int_equal(gap_in_write(&p, PSN(2 * i + 1), false), UROCE_EARLY);
	}
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(gap_in_ask(&p, PSN(200)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(200), UROCE_SACK_RUNS, run);
	assert_int_equal(gap_in_write(&p, PSN(100), false), UROCE_EARLY);
	expect_sack(&p, PSN(0), 0, PSN(2 * UROCE_SACK_RUNS), UROCE_SACK_RUNS, run);
	assert_int_equal(gap_in_ask(&p, PSN(20)), UROCE_OK);
	expect_sack(&p, PSN(0), 0, PSN(20), UROCE_SACK_RUNS, run);
	peer_stop(&p);
}

/* A READ response acknowledges all before it, but does not report out-of-order requests: the SACK stays owed. */
static void
a_read_does_not_swallow_the_sack(void **state)
{
	struct peer_packet read;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	read = gap_read(&p, PSN(0), 8);
	assert_int_equal(gap_in_ask(&p, PSN(4)), UROCE_OK);
	assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_EARLY);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PSN(0));
	EXPECT_SACK(&p, PSN(1), 1, PSN(4), 1, 1);
	/* the SACK also reports all PSNs of an out-of-order READ */
	read = gap_read(&p, PSN(4), 3 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
	EXPECT_SACK(&p, PSN(1), 1, PSN(4), 1, 1, 3, 3);
	peer_stop(&p);
}

/* An owed NAK leaves before the SACK. */
static void
a_nak_and_a_sack(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_EARLY);
	assert_int_equal(gap_in_ask(&p, PSN(2)), UROCE_OK);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	EXPECT_SACK(&p, PSN(0), 0, PSN(2), 1, 1);
	peer_expect_nothing(&p);
	/* no request can be kept, so there is nothing to report in a SACK */
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);
	gap_drain(&p);
	assert_int_equal(gap_in_write(&p, PSN(2 + UROCE_REORDER_WINDOW), false), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(2), 2);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

UROCE_TESTS(reorder_sack)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_that_closes_in_the_burst_is_not_named),
		cmocka_unit_test(each_gap_is_named_once),
		cmocka_unit_test(a_peer_that_goes_back_is_not_sent_back_again),
		cmocka_unit_test(go_back_n_keeps_nothing),
		cmocka_unit_test(a_sack_reports_kept_requests),
		cmocka_unit_test(an_old_ask_is_forgotten),
		cmocka_unit_test(one_sack_for_a_burst),
		cmocka_unit_test(a_sack_with_too_many_runs),
		cmocka_unit_test(a_read_does_not_swallow_the_sack),
		cmocka_unit_test(a_nak_and_a_sack),
	};

	gap_pattern_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
