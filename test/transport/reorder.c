/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the reorder buffer: it keeps requests within its bounds, executes them in order, and drops them when it must,
 * for all sequences of packets from the peer.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "gaps.h"
#include "groups.h"

#define NAK(code) (UROCE_AETH_NAK | (code))

static void
the_window_has_an_end(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(gap_in_write(&p, PSN(UROCE_REORDER_WINDOW), false), UROCE_NAK_SEQUENCE);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(gap_in_write(&p, PSN(UROCE_REORDER_WINDOW), false), UROCE_DROP_AHEAD);
	assert_int_equal(gap_in_write(&p, PSN(0x7fffff), false), UROCE_DROP_AHEAD);
	assert_int_equal(gap_kept(&p), 0);
	assert_int_equal(gap_in_write(&p, PSN(UROCE_REORDER_WINDOW - 1), false), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(UROCE_REORDER_WINDOW), false), UROCE_DROP_AHEAD);
	assert_int_equal(gap_kept(&p), 1);
	/* the window moves */
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);
	assert_int_equal(gap_in_write(&p, PSN(UROCE_REORDER_WINDOW), false), UROCE_EARLY);
	for (uint32_t i = 1; i < UROCE_REORDER_WINDOW - 1; i++)
		assert_int_equal(gap_in_write(&p, PSN(i), false), UROCE_OK);
	assert_int_equal(gap_kept(&p), 0);
	gap_drain(&p);
	assert_int_equal(uroce_responder_of(uroce_qp_of(p.qp))->psn, PSN(UROCE_REORDER_WINDOW + 1));
	peer_stop(&p);
}

static void
an_engine_keeps_so_many_frames(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.engine.reorder.frames_free -= UROCE_REORDER_FRAMES - 3;	/* as if other QPs used them */
	for (uint32_t i = 1; i <= 3; i++)
		assert_int_equal(gap_in_write(&p, PSN(i), false), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(4), false), UROCE_DROP_AHEAD);
	assert_int_equal(gap_in_write(&p, PSN(5), false), UROCE_DROP_AHEAD);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	/* a request that arrived and was not kept is reported missing at once */
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(4), 4);
	assert_int_equal(p.engine.reorder.frames_free, 3);
	p.engine.reorder.frames_free += UROCE_REORDER_FRAMES - 3;
	peer_stop(&p);
}

static void
an_engine_keeps_of_so_many_qps(void **state)
{
	struct uroce_reorder_list others;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	TAILQ_INIT(&others);
	TAILQ_CONCAT(&others, &p.engine.reorder.free, link);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_NAK_SEQUENCE);
	assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_DROP_AHEAD);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	TAILQ_CONCAT(&p.engine.reorder.free, &others, link);
	assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_EARLY);
	peer_stop(&p);
}

static void
a_pool_is_not_emptied(void **state)
{
	unsigned int least, n = 0;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 1; i < UROCE_REORDER_WINDOW; i++)
		n += gap_in_write(&p, PSN(i), false) == UROCE_EARLY;
	least = p.payloads->size / UROCE_REORDER_SPARE + 2 * UROCE_BURST;
	assert_int_equal(n, gap_kept(&p));
	assert_uint_in_range(rte_mempool_avail_count(p.payloads), least - UROCE_REORDER_SPARE_FRAMES - 1, least);
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);
	gap_drain(&p);
	assert_int_equal(uroce_responder_of(uroce_qp_of(p.qp))->psn, PSN(n + 1));
	assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
	peer_stop(&p);
}

static void
nothing_is_kept_for_ever(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint32_t i = 2; i < 5; i++)
		assert_int_equal(gap_in_write(&p, PSN(i), false), UROCE_EARLY);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns + UROCE_REORDER_NS);
	p.now_ns += UROCE_REORDER_NS / 2;
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);	/* a request arrives: the clock starts here */
	gap_drain(&p);
	assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns + UROCE_REORDER_NS);
	p.now_ns += UROCE_REORDER_NS - 1;
	gap_drain(&p);
	assert_int_equal(gap_kept(&p), 3);
	p.now_ns++;
	gap_drain(&p);
	assert_int_equal(gap_kept(&p), 0);
	assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
	assert_int_equal(gap_counter(&p, UROCE_EARLY_EXPIRED), 3);
	assert_int_equal(gap_counter(&p, UROCE_EARLY_DROPPED), 3);
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	/* all arrive again */
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(gap_in_write(&p, PSN(i), i == 4), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(4), 5);
	peer_stop(&p);
}

static void
modify_state(struct peer *p, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = { .qp_state = to };

	assert_int_equal(uroce_modify_qp(p->qp, &attr, IBV_QP_STATE), 0);
}

static void
kept_frames_are_dropped_with_the_qp(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_RESET, IBV_QPS_ERR };
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(states); i++) {
		peer_start(&p, NULL);
		assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_EARLY);
		assert_int_equal(gap_in_ask(&p, PSN(2)), UROCE_OK);
		modify_state(&p, states[i]);
		assert_int_equal(gap_kept(&p), 0);
		assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
		assert_false(uroce_responder_of(uroce_qp_of(p.qp))->selective);
		assert_int_equal(gap_in_ask(&p, PSN(2)), UROCE_DROP_QP_STATE);
		peer_stop(&p);
	}
	peer_start(&p, NULL);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_EARLY);
	peer_stop(&p);	/* destroys the QP */
}

static void
the_first_of_two_with_one_psn_counts(void **state)
{
	struct peer_packet other;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_EARLY);
	other = gap_write_only(&p, PSN(1), 8 * 600);
	assert_int_equal(peer_in(&p, &other), UROCE_DUPLICATE);
	other.opcode = UROCE_RC_FETCH_ADD;
	other.payload_bytes = 0;
	assert_int_equal(peer_in(&p, &other), UROCE_DUPLICATE);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(gap_in_write(&p, PSN(0), false), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(1), 2);
	assert_true(gap_is_written(&p, PSN(1)));
	assert_false(gap_is_written(&p, 600));
	peer_stop(&p);
}

static void
a_read_of_any_length_is_bounded(void **state)
{
	static const uint32_t lengths[] = { UINT32_MAX, 0x80000001, UROCE_MAX_MSG_BYTES, 1 << 20 };
	struct peer_packet read;
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(lengths); i++) {
		peer_start(&p, NULL);
		read = gap_read(&p, PSN(1), lengths[i]);
		assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
		/* the rest of the window is its own again */
		assert_int_equal(gap_in_write(&p, PSN(UROCE_REORDER_WINDOW - 1), false), UROCE_DUPLICATE);
		assert_int_equal(gap_in_write(&p, PSN(2), false), UROCE_DUPLICATE);
		peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
		assert_int_equal(gap_kept(&p), 1);
		gap_close(&p, PSN(0));
		assert_int_equal(p.engine.verdicts[lengths[i] > UROCE_MAX_MSG_BYTES ? UROCE_NAK_DMA_LEN
										    : UROCE_NAK_ACCESS], 1);
		assert_int_equal(gap_kept(&p), 0);
		gap_drain(&p);
		assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
		peer_stop(&p);
	}
}

static void
a_read_and_others_claim_the_same_psns(void **state)
{
	struct peer_packet read;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	/* a READ whose responses take PSNs of kept requests is not kept */
	assert_int_equal(gap_in_write(&p, PSN(4), false), UROCE_EARLY);
	read = gap_read(&p, PSN(2), 3 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_DROP_AHEAD);
	read = gap_read(&p, PSN(2), 2 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
	assert_int_equal(gap_kept(&p), 2);
	/* when it is executed, kept requests with PSNs of its responses are dropped */
	read = gap_read(&p, PSN(0), 4 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	assert_int_equal(gap_counter(&p, UROCE_EARLY_DROPPED), 1);
	assert_int_equal(gap_kept(&p), 0);
	assert_int_equal(uroce_responder_of(uroce_qp_of(p.qp))->psn, PSN(5));
	assert_true(gap_is_written(&p, PSN(4)));
	gap_drain(&p);
	/* after a kept READ is dropped, the PSNs of its responses do not count as kept */
	assert_int_equal(gap_in_write(&p, PSN(9), false), UROCE_EARLY);
	read = gap_read(&p, PSN(6), 3 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_EARLY);
	read = gap_read(&p, PSN(5), 2 * MTU);
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	assert_int_equal(gap_kept(&p), 1);
	assert_int_equal(gap_in_write(&p, PSN(7), false), UROCE_OK);
	assert_int_equal(gap_in_write(&p, PSN(8), false), UROCE_OK);
	assert_int_equal(uroce_responder_of(uroce_qp_of(p.qp))->psn, PSN(10));
	gap_drain(&p);
	peer_stop(&p);
}

static void
a_kept_request_that_is_refused_ends_the_qp(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in = gap_write_only(&p, PSN(2), 0);		/* R13: a message is in progress by then */
	in.opcode = UROCE_RC_WRITE_FIRST;
	in.payload_bytes = MTU;
	in.dma_len = 2 * MTU;
	assert_int_equal(peer_in(&p, &in), UROCE_EARLY);
	in.psn = PSN(1);
	assert_int_equal(peer_in(&p, &in), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_EARLY);
	gap_close(&p, PSN(0));
	assert_int_equal(p.engine.verdicts[UROCE_NAK_OPCODE_SEQUENCE], 1);
	assert_int_equal(gap_kept(&p), 0);
	assert_int_equal(gap_counter(&p, UROCE_EARLY_DROPPED), 1);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_DROP_QP_STATE);
	peer_expect_ack(&p, NAK(UROCE_NAK_INVALID_REQUEST), PSN(2), 1);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
	peer_stop(&p);
}

static void
no_receive_within_a_run(void **state)
{
	struct peer_packet send = { .opcode = UROCE_RC_SEND_ONLY, .psn = PSN(2), .ack_req = true,
				    .payload = gap_pattern, .payload_bytes = 8 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_EARLY);
	assert_int_equal(peer_in(&p, &send), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_EARLY);
	gap_close(&p, PSN(0));
	assert_int_equal(p.engine.verdicts[UROCE_NAK_RNR], 1);
	peer_expect_ack(&p, UROCE_AETH_RNR_NAK | 12, PSN(2), 2);
	assert_int_equal(gap_kept(&p), 0);
	/* the peer must retransmit all packets from there */
	assert_int_equal(gap_in_write(&p, PSN(4), false), UROCE_DROP_AHEAD);
	peer_expect_nothing(&p);
	peer_post_recv(&p, 4096, 64, 1);
	assert_int_equal(peer_in(&p, &send), UROCE_OK);
	assert_int_equal(gap_in_write(&p, PSN(4), false), UROCE_EARLY);
	assert_int_equal(gap_in_write(&p, PSN(3), false), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED & 0xe0, PSN(4), 5);
	peer_stop(&p);
}

UROCE_TESTS(reorder)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_has_an_end),
		cmocka_unit_test(an_engine_keeps_so_many_frames),
		cmocka_unit_test(an_engine_keeps_of_so_many_qps),
		cmocka_unit_test(a_pool_is_not_emptied),
		cmocka_unit_test(nothing_is_kept_for_ever),
		cmocka_unit_test(kept_frames_are_dropped_with_the_qp),
		cmocka_unit_test(the_first_of_two_with_one_psn_counts),
		cmocka_unit_test(a_read_of_any_length_is_bounded),
		cmocka_unit_test(a_read_and_others_claim_the_same_psns),
		cmocka_unit_test(a_kept_request_that_is_refused_ends_the_qp),
		cmocka_unit_test(no_receive_within_a_run),
	};

	gap_pattern_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
