/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A QP with a rate limit: the bytes that it sends in virtual time, which packets wait, and how the limit ends.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "transport/congestion/pacer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/psn.h"

#define MESSAGE_BYTES (60 * 1024)
#define FOREVER_US UROCE_CONGESTION_MAX_US

static struct uroce_qp *
qp_of(struct peer *p)
{
	return uroce_qp_of(p->qp);
}

/* The first CNP sets this rate, and without another CNP it stays for a second. */
static void
hold_to(struct peer *p, uint32_t mbps)
{
	struct uroce_congestion conf = {
		.size = sizeof(conf),
		.rpg_max_rate = UROCE_CONGESTION_MAX_RATE, .rate_to_set_on_first_cnp = 2 * mbps,
		.rpg_min_rate = 1, .rpg_time_reset = FOREVER_US, .rpg_byte_reset = UINT32_MAX,
	};
	struct peer_packet cnp = { .opcode = UROCE_CNP };

	assert_int_equal(uroce_set_congestion(p->qp->context, &conf), 0);
	assert_int_equal(peer_in(p, &cnp), UROCE_CNP_RECEIVED);
	assert_non_null(qp_of(p)->rate);
	assert_int_equal(qp_of(p)->rate->dcqcn.current_bps, mbps * UINT64_C(1000000));
}

/* Send all that may leave now, and refill the send queue. @return wire bytes */
static uint64_t
send_now(struct peer *p)
{
	struct rte_mbuf *frames[UROCE_BURST];
	struct ibv_wc wc[16];
	uint64_t bytes = 0;
	unsigned int n;

	do {
		n = uroce_engine_send(&p->engine, frames, RTE_DIM(frames), p->now_ns);
		for (unsigned int i = 0; i < n; i++)
			bytes += frames[i]->pkt_len + UROCE_BACKOFF_FRAME_BYTES;
		rte_pktmbuf_free_bulk(frames, n);
		for (int done; (done = uroce_poll_cq(p->send_cq, RTE_DIM(wc), wc)) > 0;)
			while (done-- > 0)
				peer_post(p, IBV_WR_RDMA_WRITE, 0, MESSAGE_BYTES, 0, 0);
	} while (n != 0);
	return bytes;
}

/* Measure the rate of a flow that is polled whenever the engine's deadline comes, but at least step_ns after the
 * last poll. */
static void
assert_rate(uint32_t mbps, uint64_t run_ns, uint64_t step_ns)
{
	struct peer_conf conf = { .type = IBV_QPT_UC, .mtu = IBV_MTU_4096, .copy = true };
	uint64_t bytes = 0, begin_ns, want;
	struct peer p;

	peer_start(&p, &conf);
	hold_to(&p, mbps);
	for (int i = 0; i < 32; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, MESSAGE_BYTES, 0, 0);
	for (begin_ns = p.now_ns; p.now_ns < begin_ns + run_ns;) {
		uint64_t deadline_ns;

		bytes += send_now(&p);
		deadline_ns = uroce_engine_deadline(&p.engine);
		assert_true(deadline_ns > p.now_ns || !uroce_pacer_waits(qp_of(&p)));
		p.now_ns = RTE_MAX(deadline_ns, p.now_ns + step_ns);
	}
	bytes += send_now(&p);
	want = mbps * (p.now_ns - begin_ns) / 8000;
	/* within half a percent, and a packet at each end */
	assert_uint_in_range(bytes, want - want / 200 - 4300, want + want / 200 + 4300);
	peer_stop(&p);
}

static void
a_rate_is_kept_from_slow_to_fast(void **state)
{
	static const uint32_t rates[] = { 10, 100, 1000, 10000, 25000, 100000, 400000 };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		assert_rate(rates[i], 20000000000 / (rates[i] + 50), 1);
}

static void
a_rate_is_kept_by_who_polls_rarely(void **state)
{
	static const uint32_t rates[] = { 1000, 10000, 100000 };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		assert_rate(rates[i], 100000000000 / rates[i], 20000);
}

static void
who_has_not_sent_for_long_has_a_burst(void **state)
{
	struct peer_conf conf = { .type = IBV_QPT_UC, .mtu = IBV_MTU_4096, .copy = true };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	hold_to(&p, 10000);
	p.now_ns += 40000000;
	send_now(&p);
	for (int i = 0; i < 32; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, MESSAGE_BYTES, 0, 0);
	/* 32 us at 10 Gb/s, and the packet that exceeds the credit */
	assert_uint_in_range(send_now(&p), 40000, 40000 + 4300);
	peer_stop(&p);
}

static void
acknowledgements_do_not_wait(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN, .ack_req = true }, out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	hold_to(&p, 1);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8192, 1, 0);
	p.now_ns += 10000;
	peer_expect(&p, UROCE_RC_WRITE_FIRST, PEER_SQ_PSN);
	peer_expect_nothing(&p);	/* 1 KiB takes 9 ms */
	for (unsigned int i = 0; i < 3; i++, in.psn++) {
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		peer_expect_ack(&p, UROCE_AETH_CREDITS_UNLIMITED, in.psn, i + 1);
		peer_expect_nothing(&p);
	}
	/* a deferred ACK gives no turn to packets that wait for the rate */
	peer_next_round(&p);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	assert_true(peer_out_due(&p, &out));
	assert_int_equal(out.psn, PEER_RQ_PSN + 3);
	in.psn += 6;
	in.ack_req = false;
	peer_in(&p, &in);
	peer_expect_ack(&p, UROCE_AETH_NAK, PEER_RQ_PSN + 4, 4);
	p.now_ns += 9100000;
	peer_expect(&p, UROCE_RC_WRITE_MIDDLE, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
responses_wait_and_the_queue_pair_is_at_rest(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN, .dma_len = 3 * 1024 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	hold_to(&p, 1);
	in.va = (uintptr_t)p.buffer;
	in.rkey = p.mr->rkey;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	p.now_ns += 10000;
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PEER_RQ_PSN);
	peer_expect_nothing(&p);
	assert_true(uroce_engine_deadline(&p.engine) > p.now_ns);
	/* requests behind it in order wait, too */
	in = (struct peer_packet){ .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN + 3, .ack_req = true };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_nothing(&p);
	p.now_ns += 9100000;
	peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PEER_RQ_PSN + 1);
	peer_expect_nothing(&p);
	p.now_ns += 9100000;
	peer_expect(&p, UROCE_RC_READ_RESPONSE_LAST, PEER_RQ_PSN + 2);
	/* the last response has used the credit, but an ACK needs none */
	peer_expect_ack(&p, UROCE_AETH_CREDITS_UNLIMITED, PEER_RQ_PSN + 3, 2);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
a_datagram_waits_too(void **state)
{
	struct peer_conf conf = { .type = IBV_QPT_UD, .mtu = IBV_MTU_1024 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	hold_to(&p, 1);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_SEND, 0, 1024, i, 0);
	p.now_ns += 10000;
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	p.now_ns += 9300000;
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* From half of the line rate, nine steps lead back to it; an idle QP takes them, too. */
static void
a_rate_ends_at_the_line(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP };
	uint64_t begin_ns;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(peer_in(&p, &cnp), UROCE_CNP_RECEIVED);
	assert_int_equal(p.engine.rated, 1);
	for (begin_ns = p.now_ns; qp_of(&p)->rate != NULL;) {
		peer_wait(&p);
		peer_expect_nothing(&p);
		assert_true(p.now_ns < begin_ns + 2000000);
	}
	assert_true(p.now_ns > begin_ns + 9 * 55000);
	assert_int_equal(p.engine.rated, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8192, 1, 0);
	for (uint32_t i = 0; i < 8; i++) {
		struct peer_packet out;

		assert_true(peer_out(&p, &out));
		assert_int_equal(out.psn, PEER_SQ_PSN + i);
	}
	peer_stop(&p);
}

static void
a_rate_ends_when_it_is_switched_off(void **state)
{
	const struct uroce_congestion off = { .size = sizeof(off), .off = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	hold_to(&p, 1);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8192, 1, 0);
	p.now_ns += 10000;
	peer_expect(&p, UROCE_RC_WRITE_FIRST, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	assert_int_equal(uroce_set_congestion(p.qp->context, &off), 0);
	p.now_ns += 2 * UROCE_BACKOFF_LOOK_NS;
	for (uint32_t i = 1; i < 8; i++) {
		struct peer_packet out;

		assert_true(peer_out(&p, &out));
		assert_int_equal(out.psn, PEER_SQ_PSN + i);
	}
	assert_null(qp_of(&p)->rate);
	peer_stop(&p);
}

static void
a_rate_ends_with_what_it_is_of(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	hold_to(&p, 1);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_null(qp_of(&p)->rate);
	assert_int_equal(p.engine.rated, 0);
	peer_stop(&p);
	peer_start(&p, NULL);
	hold_to(&p, 1);		/* destroyed with the QP: peer_stop() checks for leaks */
	peer_stop(&p);
}

static void
who_finds_no_room_sends_as_before(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	while (!SLIST_EMPTY(&p.engine.pacer.free))
		SLIST_REMOVE_HEAD(&p.engine.pacer.free, free);
	assert_int_equal(peer_in(&p, &cnp), UROCE_DROP_CNP);
	assert_int_equal(p.engine.counters[UROCE_RP_CNP_IGNORED], 1);
	assert_int_equal(p.engine.counters[UROCE_RP_CNP_HANDLED], 0);
	assert_null(qp_of(&p)->rate);
	SLIST_INSERT_HEAD(&p.engine.pacer.free, &p.engine.pacer.rates[7], free);
	assert_int_equal(peer_in(&p, &cnp), UROCE_CNP_RECEIVED);
	assert_ptr_equal(qp_of(&p)->rate, &p.engine.pacer.rates[7]);
	peer_stop(&p);
}

/* An engine that was not called for an hour does not make up for all steps of that hour. */
static void
an_engine_that_slept_goes_on(void **state)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP };
	struct uroce_rate *rate;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (int i = 0; i < 20; i++, p.now_ns += 5000)
		peer_in(&p, &cnp);
	rate = qp_of(&p)->rate;
	p.now_ns += 3600 * UINT64_C(1000000000);
	peer_expect_nothing(&p);
	assert_ptr_equal(qp_of(&p)->rate, rate);
	assert_true(rate->dcqcn.time_stage <= 1);
	assert_true(uroce_dcqcn_due(&rate->dcqcn) > p.now_ns);
	peer_stop(&p);
}

UROCE_TESTS(pacer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rate_is_kept_from_slow_to_fast),
		cmocka_unit_test(a_rate_is_kept_by_who_polls_rarely),
		cmocka_unit_test(who_has_not_sent_for_long_has_a_burst),
		cmocka_unit_test(acknowledgements_do_not_wait),
		cmocka_unit_test(responses_wait_and_the_queue_pair_is_at_rest),
		cmocka_unit_test(a_datagram_waits_too),
		cmocka_unit_test(a_rate_ends_at_the_line),
		cmocka_unit_test(a_rate_ends_when_it_is_switched_off),
		cmocka_unit_test(a_rate_ends_with_what_it_is_of),
		cmocka_unit_test(who_finds_no_room_sends_as_before),
		cmocka_unit_test(an_engine_that_slept_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
