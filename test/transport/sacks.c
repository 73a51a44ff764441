/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * SACKs from the peer: gaps, lost tails, lost retransmissions, and SACKs that must not be believed.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "losses.h"
#include "uroce_config.h"

#define WRAPPING 0xfffffa	/* a first PSN just before the wrap */

/* The requester retransmits the packets between the runs once, also across the wrap of the PSNs. */
static void
holes_between_runs(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 }, { 5, 3 } };
	static const uint16_t later[][2] = { { 1, 2 }, { 4, 4 } };
	struct peer_conf conf = { .sq_psn = WRAPPING };
	uint32_t psn = WRAPPING + 6;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_learn_sacks(&p, WRAPPING);
	peer_post_writes(&p, 0, psn, 10);
	/* psn, psn + 3 and psn + 4 are missing; nothing is known about packets behind the last run */
	assert_int_equal(peer_sack(&p, psn, psn, runs, 2), UROCE_OK);
	peer_expect_write(&p, psn, true);
	peer_expect_write(&p, psn + 3, true);
	peer_expect_write(&p, psn + 4, true);
	peer_expect_nothing(&p);
	/* the same SACK again requests nothing more */
	assert_int_equal(peer_sack(&p, psn, psn, runs, 2), UROCE_OK);
	assert_int_equal(peer_sack(&p, psn, psn, later, 2), UROCE_OK);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 9), UROCE_OK);
	peer_expect_writes_done(&p, 0, 10);
	assert_null(peer_requester(&p)->recovery);
	assert_int_equal(p.engine.recoveries.lent, 0);
	peer_stop(&p);
}

/* A retransmission counts as lost when a packet sent after it has arrived before it. */
static void
what_is_lost_again(void **state)
{
	static const uint16_t first[][2] = { { 1, 3 } }, second[][2] = { { 1, 4 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 4);
	assert_int_equal(peer_sack(&p, psn, psn, first, 1), UROCE_OK);
	peer_expect_write(&p, psn, true);
	peer_post_writes(&p, 4, psn + 4, 1);
	assert_int_equal(peer_sack(&p, psn, psn, second, 1), UROCE_OK);
	peer_expect_write(&p, psn, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_sack(&p, psn, psn, second, 1), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(peer_requester(&p)->retries_left, 7);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 4), UROCE_OK);
	peer_expect_writes_done(&p, 0, 5);
	peer_stop(&p);
}

/* The whole tail is lost: the reply to an ASK reports it. If that reply is lost too, further ASKs follow, and then a
 * timeout. */
static void
a_tail_is_asked_for(void **state)
{
	const struct peer_conf conf = { .retry_cnt = 1 };
	const uint32_t psn = PEER_SQ_PSN + 7;
	struct peer_packet out;
	uint64_t start;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn - 1, 1);	/* one measured round trip */
	p.now_ns += 10000;
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn - 1), UROCE_OK);
	peer_expect_writes_done(&p, 0, 1);
	peer_post_writes(&p, 0, psn, 3);
	start = p.now_ns;
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.opcode, UROCE_RC_ASK);
	assert_int_equal(out.psn, psn + 3);
	assert_true(p.now_ns - start >= UROCE_PROBE_MIN_NS);
	assert_true(p.now_ns - start <= 4 * UROCE_PROBE_MIN_NS);
	assert_int_equal(peer_sack(&p, psn + 1, psn + 3, NULL, 0), UROCE_OK);
	peer_expect_write(&p, psn + 1, true);
	peer_expect_write(&p, psn + 2, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_requester(&p)->retries_left, 1);
	/* all packets and ASKs are lost from here: ASKs back off until the timeout, which costs a retry */
	start = p.now_ns;
	for (unsigned int asks = 0;; asks++) {
		while (!peer_out(&p, &out))
			peer_wait(&p);
		if (out.opcode != UROCE_RC_ASK) {
			assert_true(asks > 3 && asks < 12);
			break;
		}
	}
	assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], 1);
	assert_true(p.now_ns - start >= 4096ull << 14);
	assert_int_equal(peer_requester(&p)->retries_left, 0);
	assert_int_equal(out.psn, psn + 1);
	peer_expect_write(&p, psn + 2, true);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 2), UROCE_OK);
	peer_expect_writes_done(&p, 0, 3);
	peer_stop(&p);
}

/* The peer discards packets that it has reported: the latest reply to an ASK counts, not earlier SACKs. */
static void
a_peer_that_reneges(void **state)
{
	static const uint16_t runs[][2] = { { 1, 3 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 4);
	assert_int_equal(peer_sack(&p, psn, psn, runs, 1), UROCE_OK);
	peer_expect_write(&p, psn, true);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.opcode, UROCE_RC_ASK);
	assert_int_equal(peer_sack(&p, psn + 1, psn + 4, NULL, 0), UROCE_OK);
	for (uint32_t i = 1; i < 4; i++)
		peer_expect_write(&p, psn + i, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 3), UROCE_OK);
	peer_expect_writes_done(&p, 0, 4);
	peer_stop(&p);
}

/* SACKs about packets that were never sent are dropped, and change nothing. */
static void
sacks_of_a_hostile_peer(void **state)
{
	static const struct { uint32_t psn, asked; uint16_t runs[2][2]; unsigned int n; } wrong[] = {
		{ 0, 0, { { 0, 1 } }, 1 },			/* no gap */
		{ 0, 0, { { 1, 0 } }, 1 },			/* an empty run */
		{ 0, 0, { { 1, 4 } }, 1 },			/* beyond the packets sent */
		{ 0, 0, { { 4, 1 } }, 1 },
		{ 0, 0, { { 1, UINT16_MAX } }, 1 },
		{ 0, 0, { { UINT16_MAX, UINT16_MAX } }, 1 },
		{ 0, 0, { { 1, 1 }, { 2, 1 } }, 2 },		/* no gap between the runs */
		{ 0, 0, { { 2, 1 }, { 1, 1 } }, 2 },		/* descending */
		{ 2, 0, { { 1, 2 } }, 1 },
		{ 5, 0, { { 0, 0 } }, 0 },			/* acknowledges packets that were not sent */
		{ 0, 5, { { 0, 0 } }, 0 },			/* replies to an ASK that was not sent */
		{ 0, 0x7ffff0, { { 0, 0 } }, 0 },
	};
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 4);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		assert_int_equal(peer_sack(&p, psn + wrong[i].psn, psn + wrong[i].asked, wrong[i].runs, wrong[i].n),
				 UROCE_DROP_SACK);
		assert_null(peer_requester(&p)->recovery);
	}
	struct peer_packet in = {
		.opcode = UROCE_RC_SACK, .psn = psn, .syndrome = UROCE_AETH_SEQUENCE_NAK, .payload_bytes = 4,
	};
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_SACK);
	/* late: before the acknowledged PSN */
	assert_int_equal(peer_sack(&p, psn - 1, psn, NULL, 0), UROCE_DROP_ACK_UNEXPECTED);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 3), UROCE_OK);
	peer_expect_writes_done(&p, 0, 4);
	peer_stop(&p);
}

/* During recovery, packets reported by SACKs leave room in the window for new ones. */
static void
the_window_goes_on(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	const uint32_t psn = PEER_SQ_PSN + 6;
	uint16_t run[1][2] = { { 1, 0 } };
	struct peer_packet out;
	uint32_t next = psn;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	for (uint64_t i = 0; i < 8; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES, i, 0);	/* 256 packets each */
	for (;;) {
		while (peer_out(&p, &out)) {
			if (out.psn == psn && next > psn)
				continue;
			assert_int_equal(out.psn, next++);
		}
		assert_true(next - psn <= UROCE_REORDER_WINDOW - 1);
		assert_true(next - psn - run[0][1] <= UROCE_WINDOW_PACKETS);
		if (next - psn == UROCE_REORDER_WINDOW - 1)
			break;
		assert_int_equal(next - psn - run[0][1], UROCE_WINDOW_PACKETS);
		run[0][1] = (uint16_t)(next - psn - 1);
		assert_int_equal(peer_sack(&p, psn, psn, run, 1), UROCE_OK);
	}
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, next - 1), UROCE_OK);
	assert_null(peer_requester(&p)->recovery);
	peer_stop(&p);
}

/* More gaps than may be retransmitted at once: the others follow when these have arrived. */
static void
more_holes_than_may_be_resent(void **state)
{
	struct peer_conf conf = { .mtu = IBV_MTU_256 };
	const uint32_t psn = PEER_SQ_PSN + 6;
	static const uint16_t run[][2] = { { 200, 1 } };
	static const uint16_t none[1][2];
	struct peer_packet out;
	struct peer p;
	uint32_t n;

	(void)state;
	peer_start(&p, &conf);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, PEER_BUFFER_BYTES, 0, 0);
	for (n = 0; peer_out(&p, &out); n++)
		;
	assert_int_equal(n, 256);
	assert_int_equal(peer_sack(&p, psn, psn, run, 1), UROCE_OK);
	for (n = 0; peer_out(&p, &out); n++)
		assert_int_equal(out.psn, psn + n);
	assert_int_equal(n, UROCE_RESENT);
	assert_int_equal(peer_sack(&p, psn + 100, psn, none, 0), UROCE_OK);
	for (; peer_out(&p, &out); n++)
		assert_int_equal(out.psn, psn + n);
	assert_int_equal(n, 200);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 255), UROCE_OK);
	peer_expect_writes_done(&p, 0, 1);
	peer_stop(&p);
}

UROCE_TESTS(sacks)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(holes_between_runs),
		cmocka_unit_test(what_is_lost_again),
		cmocka_unit_test(a_tail_is_asked_for),
		cmocka_unit_test(a_peer_that_reneges),
		cmocka_unit_test(sacks_of_a_hostile_peer),
		cmocka_unit_test(the_window_goes_on),
		cmocka_unit_test(more_holes_than_may_be_resent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
