/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Round-trip time measurements, and the probes that depend on them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "transport/requester/recovery.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define NAK_SEQUENCE (UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR)

static struct uroce_requester *
requester(struct peer *p)
{
	return uroce_requester_of(uroce_qp_of(p->qp));
}

static void
ack(struct peer *p, uint8_t syndrome, uint32_t psn)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = psn, .syndrome = syndrome };

	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

static void
write_answered_after(struct peer *p, uint32_t psn, uint64_t ns)
{
	peer_post(p, IBV_WR_RDMA_WRITE, 0, 8, psn, 0);
	peer_expect(p, UROCE_RC_WRITE_ONLY, psn);
	p->now_ns += ns;
	ack(p, UNLIMITED, psn);
	peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, psn);
}

/* RFC 6298, and the resulting interval of probes. */
static void
round_trips_are_smoothed(void **state)
{
	const struct uroce_requester *req;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	req = requester(&p);
	assert_int_equal(req->probe_ns, UROCE_PROBE_INITIAL_NS);
	write_answered_after(&p, PEER_SQ_PSN, 80000);
	assert_int_equal(req->srtt_ns, 80000);
	assert_int_equal(req->rttvar_ns, 40000);
	assert_int_equal(req->probe_ns, 2 * 80000 + 4 * 40000);
	write_answered_after(&p, PEER_SQ_PSN + 1, 160000);
	assert_int_equal(req->srtt_ns, 90000);
	assert_int_equal(req->rttvar_ns, 50000);
	write_answered_after(&p, PEER_SQ_PSN + 2, 10000);
	assert_int_equal(req->srtt_ns, 80000);
	assert_int_equal(req->rttvar_ns, 57500);
	for (uint32_t i = 3; i < 60; i++)
		write_answered_after(&p, PEER_SQ_PSN + i, 10);
	assert_int_equal(req->probe_ns, UROCE_PROBE_MIN_NS);
	peer_stop(&p);
}

/* Karn's algorithm: an ACK of a retransmitted packet is ambiguous. */
static void
what_was_sent_twice_is_not_measured(void **state)
{
	const struct uroce_requester *req;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	req = requester(&p);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 0; i < 3; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	p.now_ns += 50000;
	ack(&p, NAK_SEQUENCE, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	p.now_ns += 50000;
	ack(&p, UNLIMITED, PEER_SQ_PSN + 2);
	assert_int_equal(req->srtt_ns, 0);
	for (uint64_t i = 0; i < 3; i++)
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
	write_answered_after(&p, PEER_SQ_PSN + 3, 30000);
	assert_int_equal(req->srtt_ns, 30000);
	peer_stop(&p);
}

/* A response measures the round trip as well as an ACK. */
static void
responses_are_measured(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_RESPONSE_ONLY, .psn = PEER_SQ_PSN, .syndrome = UNLIMITED,
				  .payload_bytes = 8 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	p.now_ns += 25000;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(requester(&p)->srtt_ns, 25000);
	peer_stop(&p);
}

/* The requester probes an unclassified peer by retransmitting the oldest packet alone, with exponential backoff.
 * Probes cost no retries. */
static void
an_unknown_peer_is_probed(void **state)
{
	uint64_t start, before = 0, apart;
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	write_answered_after(&p, PEER_SQ_PSN, 100000);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 1; i < 4; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	for (unsigned int i = 0; i < 5; i++) {
		start = p.now_ns;
		while (!peer_out(&p, &out))
			peer_wait(&p);
		assert_int_equal(out.psn, PEER_SQ_PSN + 1);
		assert_true(out.ack_req);
		apart = p.now_ns - start;
		assert_true(apart + 2 * UROCE_TICK_NS >= 2 * before);
		before = apart;
	}
	assert_int_equal(p.engine.counters[UROCE_PROBES], 5);
	assert_int_equal(requester(&p)->retries_left, 7);
	/* the reply does not show whether the other packets were lost; the newest packet makes the peer send a NAK
	 * that does */
	ack(&p, UNLIMITED, PEER_SQ_PSN + 1);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 3);
	peer_expect_nothing(&p);
	ack(&p, NAK_SEQUENCE, PEER_SQ_PSN + 2);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 2);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 3);
	peer_expect_nothing(&p);
	/* a loss after a probe neither classifies the peer nor costs a retry */
	assert_int_equal(requester(&p)->doubts, 0);
	assert_int_equal(requester(&p)->retries_left, 7);
	ack(&p, UNLIMITED, PEER_SQ_PSN + 3);
	peer_stop(&p);
}

/* The ACKs were only late when the probe was sent: the ACK of the oldest packet's first transmission must not make
 * the requester retransmit the others. */
static void
a_late_answer_after_a_probe(void **state)
{
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 8; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 0; i < 8; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.psn, PEER_SQ_PSN);
	ack(&p, UNLIMITED, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 7);
	for (uint32_t i = 1; i < 8; i++) {
		peer_expect_nothing(&p);
		ack(&p, UNLIMITED, PEER_SQ_PSN + i);
	}
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_RETRANSMITTED_PACKETS], 2);
	assert_int_equal(p.engine.counters[UROCE_PROBES], 1);
	for (uint64_t i = 0; i < 8; i++)
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
	assert_null(requester(&p)->recovery);
	peer_stop(&p);
}

/* A peer that was only slow acknowledges packets that were not retransmitted. Later probes wait as long as it was
 * silent, for some time. */
static void
a_slow_peer_gets_more_time(void **state)
{
	const struct uroce_requester *req;
	struct peer_packet out;
	uint64_t start;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	req = requester(&p);
	for (uint32_t i = 0; i < 40; i++)
		write_answered_after(&p, PEER_SQ_PSN + i, 1000);
	assert_int_equal(req->probe_ns, UROCE_PROBE_MIN_NS);
	for (uint64_t i = 0; i < 4; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 40; i < 44; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	start = p.now_ns;
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.psn, PEER_SQ_PSN + 40);
	p.now_ns = start + 350000;
	ack(&p, UNLIMITED, PEER_SQ_PSN + 43);
	for (uint64_t i = 0; i < 4; i++)
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
	assert_int_equal(req->probe_ns, 350000);
	write_answered_after(&p, PEER_SQ_PSN + 44, 1000);
	assert_int_equal(req->probe_ns, 350000);
	p.now_ns += UROCE_PROBE_FORGET_NS;
	write_answered_after(&p, PEER_SQ_PSN + 45, 1000);
	assert_int_equal(req->probe_ns, UROCE_PROBE_MIN_NS);
	peer_stop(&p);
}

/* @return the time until the next probe, which has this PSN */
static uint64_t
next_probe(struct peer *p, uint32_t psn)
{
	uint64_t start = p->now_ns;
	struct peer_packet out;

	while (!peer_out(p, &out))
		peer_wait(p);
	assert_int_equal(out.psn, psn);
	return p->now_ns - start;
}

/* Karn's algorithm: ACKs of retransmitted packets measure nothing, so they do not reset the probes' backoff. */
static void
the_backoff_stays_until_a_round_trip_is_measured(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	write_answered_after(&p, PEER_SQ_PSN, 100000);
	for (uint64_t i = 1; i < 4; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 1; i < 4; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	assert_true(next_probe(&p, PEER_SQ_PSN + 1) < requester(&p)->probe_ns + 2 * UROCE_TICK_NS);
	ack(&p, UNLIMITED, PEER_SQ_PSN + 1);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 3);
	assert_true(next_probe(&p, PEER_SQ_PSN + 2) >= 2 * requester(&p)->probe_ns - 2 * UROCE_TICK_NS);
	ack(&p, UNLIMITED, PEER_SQ_PSN + 3);
	for (uint64_t i = 1; i < 4; i++)
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
	write_answered_after(&p, PEER_SQ_PSN + 4, 100000);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 5, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 5);
	assert_true(next_probe(&p, PEER_SQ_PSN + 5) < requester(&p)->probe_ns + 2 * UROCE_TICK_NS);
	ack(&p, UNLIMITED, PEER_SQ_PSN + 5);
	peer_stop(&p);
}

/* An ACK was lost: the ACK that answers the probe replaces it, and does not classify the peer. */
static void
a_leap_after_a_probe_proves_nothing(void **state)
{
	struct peer_packet out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 0; i < 3; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_int_equal(out.psn, PEER_SQ_PSN);
	ack(&p, UNLIMITED, PEER_SQ_PSN + 2);
	for (uint64_t i = 0; i < 3; i++)
		peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, i);
	assert_int_equal(requester(&p)->peer, UROCE_PEER_UNKNOWN);
	assert_null(requester(&p)->recovery);
	peer_stop(&p);
}

/* R35: no probe during an RNR wait; R36: no probe with timeout 0. */
static void
when_there_are_no_probes(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct peer_packet out;
	uint64_t start;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	ack(&p, UROCE_AETH_RNR_NAK | 24, PEER_SQ_PSN);
	start = p.now_ns;
	while (!peer_out(&p, &out))
		peer_wait(&p);
	assert_true(p.now_ns - start >= 40960000);
	assert_int_equal(p.engine.counters[UROCE_PROBES], 0);
	ack(&p, UNLIMITED, PEER_SQ_PSN);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	attr.timeout = 0;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_TIMEOUT), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 1);
	p.now_ns += 1000000000000ull;
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_PROBES], 0);
	peer_stop(&p);
}

UROCE_TESTS(rtt)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips_are_smoothed),
		cmocka_unit_test(what_was_sent_twice_is_not_measured),
		cmocka_unit_test(responses_are_measured),
		cmocka_unit_test(an_unknown_peer_is_probed),
		cmocka_unit_test(a_late_answer_after_a_probe),
		cmocka_unit_test(a_slow_peer_gets_more_time),
		cmocka_unit_test(the_backoff_stays_until_a_round_trip_is_measured),
		cmocka_unit_test(a_leap_after_a_probe_proves_nothing),
		cmocka_unit_test(when_there_are_no_probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
