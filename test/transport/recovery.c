/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests retransmission: of requests, responses, READs and atomics, after RNR NAKs, errors and lack of room.
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

/* A device that goes back N takes no SACK. */
static void
a_device_that_goes_back_n(void **state)
{
	const struct peer_conf conf = { .go_back_n = true };
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post_writes(&p, 0, PEER_SQ_PSN, 3);
	assert_int_equal(peer_sack(&p, PEER_SQ_PSN, PEER_SQ_PSN + 3, NULL, 0), UROCE_DROP_OPCODE);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_SQ_PSN + 1), UROCE_OK);
	peer_expect_write(&p, PEER_SQ_PSN + 1, true);
	peer_expect_write(&p, PEER_SQ_PSN + 2, true);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], 1);
	assert_int_equal(p.engine.counters[UROCE_PROBES], 0);
	peer_stop(&p);
}

/* With timeout 0 no timer would detect that a retransmission is lost, so the QP retransmits all packets after a
 * loss. */
static void
without_a_timer(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	uroce_qp_of(p.qp)->timeout = 0;
	peer_post_writes(&p, 0, PEER_SQ_PSN, 4);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_SQ_PSN + 1), UROCE_OK);
	for (uint32_t i = 1; i < 4; i++)
		peer_expect_write(&p, PEER_SQ_PSN + i, true);
	peer_expect_nothing(&p);
	assert_null(peer_requester(&p)->recovery);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 3), UROCE_OK);
	peer_expect_writes_done(&p, 0, 4);
	peer_stop(&p);
}

static void
nothing_left_to_recover_with(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct uroce_recovery *all;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	all = p.engine.recoveries.free;
	p.engine.recoveries.free = NULL;
	peer_post_writes(&p, 0, psn, 3);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, psn), UROCE_OK);
	for (uint32_t i = 0; i < 3; i++)
		peer_expect_write(&p, psn + i, true);
	assert_int_equal(peer_sack(&p, psn, psn, runs, 1), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 2), UROCE_OK);
	peer_expect_writes_done(&p, 0, 3);
	p.engine.recoveries.free = all;
	peer_stop(&p);
}

/* The requester places responses behind a lost one, and requests only the lost one. */
static void
a_response_in_the_middle(void **state)
{
	struct peer_conf conf = { .sq_psn = WRAPPING };
	struct peer_packet out;
	uint8_t data[6000];
	struct peer p;

	(void)state;
	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 1000);
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_READ, 100, 6000, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, WRAPPING);
	peer_expect(&p, UROCE_RC_SEND_ONLY, 0);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_FIRST, WRAPPING, data, 1024), UROCE_OK);
	/* two responses are lost */
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, WRAPPING + 3, data + 3072, 1024),
			 UROCE_RESPONSE_GAP);
	assert_memory_equal(p.buffer + 100 + 3072, data + 3072, 1024);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, WRAPPING + 1);
	assert_int_equal(out.va, 0x7000 + 1024);
	assert_int_equal(out.dma_len, 2048);
	peer_expect_nothing(&p);
	/* each response is placed once */
	memset(p.buffer + 100 + 3072, 0xee, 1024);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, WRAPPING + 3, data + 3072, 1024),
			 UROCE_DROP_RESPONSE_DUPLICATE);
	assert_int_equal(p.buffer[100 + 3072], 0xee);
	memcpy(p.buffer + 100 + 3072, data + 3072, 1024);
	/* one more packet; the ACK of the SEND behind the READ completes nothing (R37) */
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_LAST, WRAPPING + 5, data + 5120, 880),
			 UROCE_RESPONSE_GAP);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, WRAPPING + 6), UROCE_RESPONSE_GAP);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, WRAPPING + 4);
	assert_int_equal(out.dma_len, 1024);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_FIRST, WRAPPING + 1, data + 1024, 1024), UROCE_OK);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_LAST, WRAPPING + 2, data + 2048, 1024), UROCE_OK);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, WRAPPING + 4, data + 4096, 1024), UROCE_OK);
	peer_expect_writes_done(&p, 1, 2);
	assert_memory_equal(p.buffer + 100, data, 6000);
	assert_null(peer_requester(&p)->recovery);
	peer_stop(&p);
}

/* The request of a READ is lost: the requester must repeat it unchanged. */
static void
the_request_of_a_read(void **state)
{
	static const uint16_t runs[][2] = { { 3, 1 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	static const uint8_t data[1024];
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 3000, 1, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	peer_expect_write(&p, psn + 3, true);
	assert_int_equal(peer_sack(&p, psn, psn, runs, 1), UROCE_OK);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	assert_int_equal(out.dma_len, 3000);
	assert_int_equal(out.va, 0x7000);
	peer_expect_nothing(&p);
	/* from then on, only one response after the other is missing */
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_FIRST, psn, data, 1024), UROCE_OK);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, psn + 1, data, 1024), UROCE_OK);
	peer_expect_nothing(&p);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_LAST, psn + 2, data, 952), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 3), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_stop(&p);
}

/* A NAK for a request behind a missing response still counts. */
static void
a_nak_behind_a_missing_response(void **state)
{
	static const uint8_t data[1024];
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 4; i++)
		peer_post(&p, IBV_WR_RDMA_READ, 1024 * (uint32_t)i, 8, i, 0);
	for (uint32_t i = 0; i < 4; i++)
		peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + i);
	/* the first response and the third request are lost */
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 1, data, 8), UROCE_RESPONSE_GAP);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_SQ_PSN + 2), UROCE_RESPONSE_GAP);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_SQ_PSN + 2), UROCE_RESPONSE_GAP);
	out = peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 2);
	assert_int_equal(out.dma_len, 8);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	assert_int_equal(peer_requester(&p)->retries_left, 7);
	for (uint32_t i = 2; i < 4; i++)
		assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + i, data, 8),
				 UROCE_RESPONSE_GAP);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN, data, 8), UROCE_OK);
	peer_expect_writes_done(&p, 0, 4);
	assert_null(peer_requester(&p)->recovery);
	peer_stop(&p);
}

/* While a response is missing, each of several NAKs names another gap at the peer. All of them answer packets sent
 * before the requester went back, and count as one loss: only the first is charged. */
static void
naks_of_a_plain_peer_behind_a_missing_response(void **state)
{
	const struct peer_conf conf = { .retry_cnt = 2 };
	const uint32_t psn = PEER_SQ_PSN;
	static const uint8_t data[1024];
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_requester(&p)->peer = UROCE_PEER_PLAIN;
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 0, 0);
	for (uint64_t i = 1; i < 10; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 8, 8, i, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	for (uint32_t i = 1; i < 10; i++)
		peer_expect_write(&p, psn + i, true);
	for (uint32_t i = 2; i < 9; i++) {
		assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, psn + i), UROCE_RESPONSE_GAP);
		if (i == 2) {
			peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
			for (uint32_t j = 1; j < 10; j++)
				peer_expect_write(&p, psn + j, true);
		}
		peer_expect_nothing(&p);
		assert_int_equal(peer_requester(&p)->retries_left, 1);
	}
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, psn, data, 8), UROCE_OK);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 9), UROCE_OK);
	peer_expect_writes_done(&p, 0, 10);
	assert_null(peer_requester(&p)->recovery);
	peer_stop(&p);
}

/* The peer loses most packets of each burst, and always the oldest: after the second timeout in a row, the requester
 * sends fewer packets at a time until it makes progress. */
static void
few_packets_after_timeouts_in_a_row(void **state)
{
	const struct peer_conf conf = { .timeout = 8 };
	const uint32_t psn = PEER_SQ_PSN, n = 3 * UROCE_RETRY_WINDOW;
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post_writes(&p, 0, psn, n);
	for (unsigned int timeouts = 1; timeouts <= 4; timeouts++) {
		uint32_t most = timeouts == 1 ? n : UROCE_RETRY_WINDOW;

		while (!peer_out(&p, &out))
			peer_wait(&p);
		assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], timeouts);
		assert_int_equal(out.psn, psn);
		for (uint32_t i = 1; i < most; i++)
			peer_expect_write(&p, psn + i, true);
		peer_expect_nothing(&p);
	}
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn), UROCE_OK);
	for (uint32_t i = UROCE_RETRY_WINDOW; i < n; i++)
		peer_expect_write(&p, psn + i, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + n - 1), UROCE_OK);
	peer_expect_writes_done(&p, 0, n);
	peer_stop(&p);
}

/* A READ is the only outstanding request, and each of its replies lacks the first response. After a timeout, such a
 * reply answers the retransmitted request, and the requester requests the missing response at once. It must not wait
 * for the reply to a later packet: there is none, and the retries would run out. */
static void
the_first_response_lost_after_each_timeout(void **state)
{
	const struct peer_conf conf = { .timeout = 8, .retry_cnt = 2 };
	const uint32_t psn = PEER_SQ_PSN, n = 3 * UROCE_RETRY_WINDOW;
	static const uint8_t data[1024];
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_READ, 0, n * 1024, 1, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	for (unsigned int timeouts = 1; timeouts <= 2; timeouts++) {
		while (p.engine.counters[UROCE_TIMEOUTS] < timeouts) {
			peer_wait(&p);
			while (peer_out(&p, &out))
				assert_int_equal(out.psn, psn);
		}
		assert_int_equal(out.dma_len, n * 1024);
		for (uint32_t i = 1; i < n; i++)
			assert_int_equal(peer_response(&p, i + 1 < n ? UROCE_RC_READ_RESPONSE_MIDDLE
								     : UROCE_RC_READ_RESPONSE_LAST, psn + i, data, 1024),
					 UROCE_RESPONSE_GAP);
		out = peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
		assert_int_equal(out.dma_len, 1024);
		peer_expect_nothing(&p);
	}
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, psn, data, 1024), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_null(peer_requester(&p)->recovery);
	peer_stop(&p);
}

/* After a NAK, responses to the first transmission are still in flight. A gap in them must not make the requester
 * request responses that it has just requested. */
static void
late_responses_after_a_nak(void **state)
{
	const uint32_t psn = PEER_SQ_PSN;
	static const uint8_t data[1024];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_requester(&p)->peer = UROCE_PEER_PLAIN;
	peer_post(&p, IBV_WR_RDMA_READ, 0, 4 * 1024, 1, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	peer_expect_write(&p, psn + 4, true);
	assert_int_equal(peer_ack(&p, UROCE_AETH_SEQUENCE_NAK, psn + 4), UROCE_RESPONSE_GAP);
	peer_expect(&p, UROCE_RC_READ_REQUEST, psn);
	peer_expect_write(&p, psn + 4, true);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, psn + 2, data, 1024), UROCE_RESPONSE_GAP);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* Atomics are retransmitted unchanged; a fence waits until they are answered. */
static void
atomics_and_fences(void **state)
{
	const uint32_t psn = PEER_SQ_PSN;
	struct peer_packet in = { .opcode = UROCE_RC_ATOMIC_ACKNOWLEDGE, .psn = psn + 1, .syndrome = PEER_UNLIMITED,
				  .original = 42 };
	struct peer_packet out;
	uint64_t value;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 8, 1, 0);
	peer_post(&p, IBV_WR_ATOMIC_CMP_AND_SWP, 8, 8, 2, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, IBV_SEND_FENCE);
	peer_expect(&p, UROCE_RC_FETCH_ADD, psn);
	peer_expect(&p, UROCE_RC_CMP_SWAP, psn + 1);
	peer_expect_nothing(&p);
	assert_int_equal(peer_in(&p, &in), UROCE_RESPONSE_GAP);
	memcpy(&value, p.buffer + 8, sizeof(value));
	assert_int_equal(value, 42);
	out = peer_expect(&p, UROCE_RC_FETCH_ADD, psn);
	assert_int_equal(out.swap_add, 0x0102030405060708);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	in.psn = psn;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_expect_write(&p, psn + 2, true);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 2), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 3);
	peer_stop(&p);
}

/* An invalid response ahead of the expected PSN has no effect; with the expected PSN it ends the QP. */
static void
bad_responses_that_are_early(void **state)
{
	static const uint8_t data[1024] = { 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 3072, 1, 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_post(&p, IBV_WR_RDMA_READ, 4096, 8, 3, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 3);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN + 4);
	memset(p.buffer, 0xee, 4200);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 3, data, 8), UROCE_BAD_RESPONSE);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN + 1, data, 1000),
			 UROCE_RESPONSE_GAP);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN + 4, data, 9), UROCE_RESPONSE_GAP);
	for (unsigned int i = 0; i < 4200; i++)
		assert_int_equal(p.buffer[i], 0xee);
	peer_expect_no_wc(p.send_cq);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_SQ_PSN, data, 1000), UROCE_BAD_RESPONSE);
	peer_expect_wc(p.send_cq, IBV_WC_BAD_RESP_ERR, 1);
	assert_null(peer_requester(&p)->recovery);
	peer_stop(&p);
}

/* An RNR NAK during recovery ends the recovery; after the wait the requester retransmits everything. */
static void
rnr_in_the_middle(void **state)
{
	static const uint16_t runs[][2] = { { 1, 1 }, { 3, 1 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 5);
	assert_int_equal(peer_sack(&p, psn, psn, runs, 2), UROCE_OK);
	peer_expect_write(&p, psn, true);
	peer_expect_write(&p, psn + 2, true);
	assert_int_equal(peer_ack(&p, UROCE_AETH_RNR_NAK | 12, psn + 1), UROCE_OK);
	assert_null(peer_requester(&p)->recovery);
	peer_expect_nothing(&p);
	assert_int_equal(peer_sack(&p, psn + 1, psn, runs, 1), UROCE_OK);
	peer_expect_nothing(&p);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.psn, psn + 1);
	for (uint32_t i = 2; i < 5; i++)
		peer_expect_write(&p, psn + i, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 4), UROCE_OK);
	peer_expect_writes_done(&p, 0, 5);
	peer_stop(&p);
}

/* A late response answers the probe; no other answer will come that would end it. */
static void
a_probed_read_that_is_the_last_request(void **state)
{
	static const uint8_t data[8];
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.opcode, UROCE_RC_READ_REQUEST);
	assert_int_equal(p.engine.recoveries.lent, 1);
	assert_int_equal(peer_response(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_SQ_PSN, data, 8), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(p.engine.recoveries.lent, 0);
	peer_stop(&p);
}

/* In SQD the QP finishes started WQEs, including their retransmissions. */
static void
a_queue_that_drains(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 3);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, 0);
	assert_int_equal(peer_sack(&p, psn, psn, runs, 1), UROCE_OK);
	peer_expect_write(&p, psn, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, psn + 2), UROCE_OK);
	peer_expect_writes_done(&p, 0, 3);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect_write(&p, psn + 3, true);
	peer_stop(&p);
}

/* The memory of a packet to retransmit is no longer registered: its WQE fails once it is the oldest. */
static void
memory_that_has_gone(void **state)
{
	static const uint16_t runs[][2] = { { 1, 2 } };
	const uint32_t psn = PEER_SQ_PSN + 6;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	peer_post_writes(&p, 0, psn, 3);
	assert_int_equal(uroce_dereg_mr(p.mr), 0);
	p.mr = NULL;
	assert_int_equal(peer_sack(&p, psn, psn, runs, 1), UROCE_OK);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_LOC_PROT_ERR, 0);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 1);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 2);
	peer_stop(&p);
}

UROCE_TESTS(recovery)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_that_goes_back_n),
		cmocka_unit_test(without_a_timer),
		cmocka_unit_test(nothing_left_to_recover_with),
		cmocka_unit_test(a_response_in_the_middle),
		cmocka_unit_test(the_request_of_a_read),
		cmocka_unit_test(a_nak_behind_a_missing_response),
		cmocka_unit_test(naks_of_a_plain_peer_behind_a_missing_response),
		cmocka_unit_test(few_packets_after_timeouts_in_a_row),
		cmocka_unit_test(the_first_response_lost_after_each_timeout),
		cmocka_unit_test(late_responses_after_a_nak),
		cmocka_unit_test(atomics_and_fences),
		cmocka_unit_test(bad_responses_that_are_early),
		cmocka_unit_test(rnr_in_the_middle),
		cmocka_unit_test(a_probed_read_that_is_the_last_request),
		cmocka_unit_test(a_queue_that_drains),
		cmocka_unit_test(memory_that_has_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
