/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replies of the peer: progress, retries, limits, errors (R34-R38).
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK(code) (UROCE_AETH_NAK | (code))

static enum uroce_verdict
ack(struct peer *p, uint8_t syndrome, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome };

	return peer_in(p, &in);
}

static enum uroce_verdict
response(struct peer *p, uint8_t opcode, uint32_t psn, const uint8_t *payload, uint32_t bytes)
{
	struct peer_packet in = { .opcode = opcode, .psn = psn, .syndrome = UNLIMITED, .payload = payload,
				  .payload_bytes = bytes };

	return peer_in(p, &in);
}

static void
drain(struct peer *p)
{
	struct peer_packet out;

	while (peer_out(p, &out))
		;
}

static void
r37_one_ack_for_all_before_it(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 4; i++)
		peer_post(&p, i & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	drain(&p);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 2), UROCE_OK);
	for (uint64_t i = 0; i < 3; i++) {
		struct ibv_wc wc = peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);

		assert_int_equal(wc.opcode, i & 1 ? IBV_WC_SEND : IBV_WC_RDMA_WRITE);
		assert_int_equal(wc.qp_num, p.qp->qp_num);
	}
	peer_expect_no_wc(p.send_cq);
	peer_stop(&p);
}

static void
r37_answers_to_nothing_are_dropped(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN), UROCE_DROP_ACK_UNEXPECTED);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	drain(&p);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 1), UROCE_DROP_ACK_UNEXPECTED);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN - 1), UROCE_DROP_ACK_UNEXPECTED);
	assert_int_equal(ack(&p, NAK(UROCE_NAK_REMOTE_ACCESS_ERROR), PEER_SQ_PSN + 1), UROCE_DROP_ACK_UNEXPECTED);
	assert_int_equal(ack(&p, 0x40, PEER_SQ_PSN), UROCE_DROP_ACK_SYNDROME);
	assert_int_equal(ack(&p, NAK(5), PEER_SQ_PSN), UROCE_DROP_ACK_SYNDROME);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN), UROCE_DROP_ACK_UNEXPECTED);
	peer_stop(&p);
}

static void
read_responses_are_placed(void **state)
{
	uint8_t data[2100];
	struct ibv_wc wc;
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 3 + 1);
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_post(&p, IBV_WR_RDMA_READ, 100, 2100, 2, 0);
	drain(&p);
	/* the first response acknowledges the SEND before it */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_SQ_PSN + 1, data, 1024), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_SQ_PSN + 1, data, 1024),
			 UROCE_DROP_RESPONSE_DUPLICATE);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN + 2, data + 1024, 1024), UROCE_OK);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_SQ_PSN + 3, data + 2048, 52), UROCE_OK);
	wc = peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_READ);
	assert_int_equal(wc.byte_len, 2100);
	assert_memory_equal(p.buffer + 100, data, 2100);
	assert_int_equal(p.buffer[2200], 0);
	peer_stop(&p);
}

static void
atomic_answers_are_placed(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_ATOMIC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .syndrome = UNLIMITED,
				  .original = 0x1234567890abcdef };
	struct ibv_wc wc;
	uint64_t value;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 16, 8, 1, 0);
	drain(&p);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	wc = peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(wc.opcode, IBV_WC_FETCH_ADD);
	assert_int_equal(wc.byte_len, 8);
	memcpy(&value, p.buffer + 16, 8);
	assert_int_equal(value, 0x1234567890abcdef);
	peer_stop(&p);
}

static void
a_lost_response_is_asked_for_from_the_gap(void **state)
{
	const struct peer_conf conf = { .go_back_n = true };
	uint8_t data[1024] = { 1 };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 4096, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	drain(&p);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_SQ_PSN, data, 1024), UROCE_OK);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN + 2, data, 1024),
			 UROCE_RESPONSE_GAP);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 1);
	assert_int_equal(out.va, 0x7000 + 1024);
	assert_int_equal(out.dma_len, 3072);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 4);
	/* replies that were in flight request nothing more; an ACK does not complete the READ (R37) */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_SQ_PSN + 3, data, 1024), UROCE_RESPONSE_GAP);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 4), UROCE_RESPONSE_GAP);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	/* the response may continue with MIDDLE or begin with FIRST */
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN + 1, data, 1024), UROCE_OK);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_SQ_PSN + 2, data, 1024), UROCE_OK);
	assert_int_equal(response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 3, data, 1024), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(ack(&p, UNLIMITED, PEER_SQ_PSN + 4), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_stop(&p);
}

static void
responses_that_were_not_asked_for(void **state)
{
	static const struct { uint8_t opcode; uint32_t bytes; } wrong[] = {
		{ UROCE_RC_READ_RESPONSE_FIRST, 1023 }, { UROCE_RC_READ_RESPONSE_LAST, 1024 },
		{ UROCE_RC_READ_RESPONSE_ONLY, 1024 }, { UROCE_RC_READ_RESPONSE_MIDDLE, 0 },
		{ UROCE_RC_READ_RESPONSE_FIRST, 2048 }, { UROCE_RC_ATOMIC_ACKNOWLEDGE, 0 },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		struct peer p;

		peer_start(&p, NULL);
		peer_post(&p, IBV_WR_RDMA_READ, 0, 2048, 1, 0);
		drain(&p);
		p.buffer[0] = 0xee;
		assert_int_equal(response(&p, wrong[i].opcode, PEER_SQ_PSN, NULL, wrong[i].bytes),
				 UROCE_BAD_RESPONSE);
		peer_expect_wc(p.send_cq, IBV_WC_BAD_RESP_ERR, 1);
		assert_int_equal(p.buffer[0], 0xee);
		peer_stop(&p);
	}
}

static void
r36_timeouts_and_their_end(void **state)
{
	struct peer_conf conf = { .timeout = 10, .retry_cnt = 2 };
	uint64_t start;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	for (int i = 0; i < 3; i++) {
		start = p.now_ns;
		peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
		peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 1);
		peer_expect_nothing(&p);
		while (p.engine.counters[UROCE_TIMEOUTS] == (uint64_t)i) {
			struct rte_mbuf *m;

			peer_wait(&p);
			uroce_engine_send(&p.engine, &m, 0, p.now_ns);
		}
		assert_true(p.now_ns - start >= 4096ull << 10);
		assert_true(p.now_ns - start <= (4096ull << 10) * 2);
	}
	peer_expect_wc(p.send_cq, IBV_WC_RETRY_EXC_ERR, 1);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 2);
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	peer_stop(&p);
}

static void
r34_progress_resets_the_retries(void **state)
{
	struct peer_conf conf = { .retry_cnt = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (uint64_t i = 0; i < 8; i++)
		peer_post(&p, IBV_WR_SEND, 0, 8, i, 0);
	for (uint32_t i = 0; i < 8; i++) {
		drain(&p);
		assert_int_equal(ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_SQ_PSN + i), UROCE_OK);
	}
	drain(&p);
	for (uint64_t i = 0; i < 7; i++)
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
	peer_expect_no_wc(p.send_cq);
	/* progress restores one retry; the second NAK without progress exceeds the limit */
	assert_int_equal(ack(&p, NAK(UROCE_NAK_PSN_SEQUENCE_ERROR), PEER_SQ_PSN + 7), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_RETRY_EXC_ERR, 7);
	peer_stop(&p);
}

/* The network duplicates a NAK: its packets are already queued for retransmission, and it costs no second retry. */
static void
r34_a_doubled_nak_is_charged_once(void **state)
{
	struct peer_packet in[2] = {
		{ .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN,
		  .syndrome = NAK(UROCE_NAK_PSN_SEQUENCE_ERROR) },
	};
	struct peer_conf conf = { .retry_cnt = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	drain(&p);
	in[1] = in[0];
	peer_in_burst(&p, in, 2);
	peer_expect_no_wc(p.send_cq);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	peer_in_burst(&p, in, 1);
	peer_expect_wc(p.send_cq, IBV_WC_RETRY_EXC_ERR, 1);
	peer_stop(&p);
}

static void
r35_rnr_waits_at_least_its_timer(void **state)
{
	static const struct { uint8_t code; uint64_t us; } timers[] = {
		{ 0, 655360 }, { 1, 10 }, { 5, 60 }, { 12, 640 }, { 18, 5120 }, { 24, 40960 }, { 31, 491520 },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(timers); i++) {
		struct peer p;
		uint64_t start;
		struct peer_packet out;

		peer_start(&p, NULL);
		peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
		drain(&p);
		start = p.now_ns;
		assert_int_equal(ack(&p, UROCE_AETH_RNR_NAK | timers[i].code, PEER_SQ_PSN), UROCE_OK);
		peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
		peer_expect_nothing(&p);
		while (!peer_out(&p, &out))
			peer_wait(&p);
		assert_true(p.now_ns - start >= timers[i].us * 1000);
		assert_true(p.now_ns - start <= timers[i].us * 1000 + 3 * UROCE_TICK_NS);
		assert_int_equal(out.psn, PEER_SQ_PSN);
		peer_stop(&p);
	}
}

/* After the wait of the RNR NAK, the requester retransmits all packets anyway, so a lost response costs no retry. */
static void
r34_a_lost_response_is_not_charged_during_an_rnr_wait(void **state)
{
	struct peer_conf conf = { .go_back_n = true };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 2, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 3, 0);
	drain(&p);
	assert_int_equal(ack(&p, UROCE_AETH_RNR_NAK | 12, PEER_SQ_PSN), UROCE_OK);
	assert_int_equal(ack(&p, UROCE_AETH_ACK, PEER_SQ_PSN + 2), UROCE_RESPONSE_GAP);
	assert_int_equal(uroce_qp_of(p.qp)->history.counters[UROCE_QP_RETRIES], 0);
	peer_expect_nothing(&p);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.psn, PEER_SQ_PSN + 1);
	peer_stop(&p);
}

static void
r35_rnr_retries_end_unless_they_are_seven(void **state)
{
	struct peer_conf conf = { .rnr_retry = 2 };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	for (int i = 0; i < 3; i++) {
		while (!peer_out(&p, &out))
			peer_wait(&p);
		assert_int_equal(ack(&p, UROCE_AETH_RNR_NAK | 1, PEER_SQ_PSN), UROCE_OK);
	}
	peer_expect_wc(p.send_cq, IBV_WC_RNR_RETRY_EXC_ERR, 1);
	peer_stop(&p);

	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	for (int i = 0; i < 100; i++) {
		while (!peer_out(&p, &out))
			peer_wait(&p);
		assert_int_equal(ack(&p, UROCE_AETH_RNR_NAK | 1, PEER_SQ_PSN), UROCE_OK);
	}
	peer_expect_no_wc(p.send_cq);
	peer_stop(&p);
}

static void
r38_naks_complete_the_request_they_name(void **state)
{
	static const struct { uint8_t code; enum ibv_wc_status status; } naks[] = {
		{ UROCE_NAK_INVALID_REQUEST, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_REMOTE_ACCESS_ERROR, IBV_WC_REM_ACCESS_ERR },
		{ UROCE_NAK_REMOTE_OPERATIONAL_ERROR, IBV_WC_REM_OP_ERR },
		{ UROCE_NAK_INVALID_RD_REQUEST, IBV_WC_REM_INV_RD_REQ_ERR },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(naks); i++) {
		struct peer p;

		peer_start(&p, NULL);
		peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 3000, 2, 0);
		peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 3, 0);
		drain(&p);
		assert_int_equal(ack(&p, NAK(naks[i].code), PEER_SQ_PSN + 2), UROCE_OK);
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
		peer_expect_wc(p.send_cq, naks[i].status, 2);
		peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 3);
		peer_expect_nothing(&p);
		peer_stop(&p);
	}
}

/* An ACK that does not allow the QP to send more gives it no turn. */
static void
an_ack_gives_no_turn_for_nothing(void **state)
{
	struct peer_packet ack = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .syndrome = 0x1f, .msn = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 2, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, IBV_SEND_FENCE);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	assert_false(TAILQ_EMPTY(&p.engine.active));	/* a fenced request waits, so the QP gets a turn */
	peer_expect_nothing(&p);
	peer_stop(&p);

	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_true(TAILQ_EMPTY(&p.engine.active));
	peer_stop(&p);
}

UROCE_TESTS(completer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(r37_one_ack_for_all_before_it),
		cmocka_unit_test(r37_answers_to_nothing_are_dropped),
		cmocka_unit_test(read_responses_are_placed),
		cmocka_unit_test(atomic_answers_are_placed),
		cmocka_unit_test(a_lost_response_is_asked_for_from_the_gap),
		cmocka_unit_test(responses_that_were_not_asked_for),
		cmocka_unit_test(r36_timeouts_and_their_end),
		cmocka_unit_test(r34_progress_resets_the_retries),
		cmocka_unit_test(r34_a_doubled_nak_is_charged_once),
		cmocka_unit_test(r35_rnr_waits_at_least_its_timer),
		cmocka_unit_test(r34_a_lost_response_is_not_charged_during_an_rnr_wait),
		cmocka_unit_test(r35_rnr_retries_end_unless_they_are_seven),
		cmocka_unit_test(r38_naks_complete_the_request_they_name),
		cmocka_unit_test(an_ack_gives_no_turn_for_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
