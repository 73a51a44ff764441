/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The turns of a QP that both sends requests and answers READs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "transport/congestion/pacer.h"
#include "uroce_config.h"
#include "wire/psn.h"

#define READ_PACKETS 16
#define READS 4			/* outstanding at once */
#define MANY_FRAMES 1000

/* A peer that posts a READ for each completed one, and a SEND behind it if `sends`. */
struct reader {
	struct peer p;
	bool sends;
	uint32_t psn;		/* of the next READ */
	uint32_t answered;	/* PSN after the last response */
};

static void
post_send(struct reader *r)
{
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY, .psn = r->psn, .ack_req = true };

	peer_post_recv(&r->p, 4096, 64, 1);
	assert_int_equal(peer_in(&r->p, &in), UROCE_OK);
	peer_expect_wc(r->p.recv_cq, IBV_WC_SUCCESS, 1);
	r->psn = uroce_psn_add(r->psn, 1);
}

static void
post_reads(struct reader *r)
{
	while (uroce_psn_distance(r->psn, r->answered) <= (READS - 1) * (READ_PACKETS + (r->sends ? 1u : 0u))) {
		struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = r->psn, .ack_req = true,
					  .rkey = r->p.mr->rkey, .va = (uintptr_t)r->p.buffer,
					  .dma_len = READ_PACKETS * 1024 };

		assert_int_equal(peer_in(&r->p, &in), UROCE_OK);
		r->psn = uroce_psn_add(r->psn, READ_PACKETS);
		if (r->sends)
			post_send(r);
	}
}

static void
reader_start(struct reader *r, const struct peer_conf *conf)
{
	peer_start(&r->p, conf);
	r->sends = false;
	r->psn = r->answered = PEER_RQ_PSN;
}

/* The QP's next frame; the peer continues to read. @return the frame's opcode */
static uint8_t
next_opcode(struct reader *r, struct peer_packet *out)
{
	post_reads(r);
	assert_true(peer_out(&r->p, out));
	if (out->opcode >= UROCE_RC_READ_RESPONSE_FIRST && out->opcode <= UROCE_RC_READ_RESPONSE_ONLY)
		r->answered = uroce_psn_add(out->psn, 1);
	return out->opcode;
}

/* @return the number of frames before one of this opcode */
static unsigned int
frames_before(struct reader *r, uint8_t opcode)
{
	struct peer_packet out;

	for (unsigned int n = 0; n < MANY_FRAMES; n++) {
		if (next_opcode(r, &out) == opcode)
			return n;
	}
	return MANY_FRAMES;
}

/* Each turn has room for one frame. */
static void
requests_have_every_second_turn_while_the_peer_reads(void **state)
{
	struct reader r;

	(void)state;
	reader_start(&r, NULL);
	assert_int_equal(frames_before(&r, UROCE_RC_READ_RESPONSE_FIRST), 0);
	peer_post(&r.p, IBV_WR_RDMA_WRITE, 0, 3 * 1024, 1, 0);
	assert_int_equal(frames_before(&r, UROCE_RC_WRITE_FIRST), 0);
	assert_int_equal(frames_before(&r, UROCE_RC_WRITE_MIDDLE), 1);
	assert_int_equal(frames_before(&r, UROCE_RC_WRITE_LAST), 1);
	peer_stop(&r.p);
}

/* The application may post the request in reply to the SEND; the first response of the READ behind the SEND
 * acknowledges the SEND. */
static void
a_request_waits_for_the_answer_to_a_send_before_it(void **state)
{
	struct peer_packet out;
	struct reader r;
	uint32_t send;

	(void)state;
	reader_start(&r, NULL);
	post_reads(&r);
	assert_int_equal(next_opcode(&r, &out), UROCE_RC_READ_RESPONSE_FIRST);
	send = r.psn;
	post_send(&r);
	peer_post(&r.p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	while (next_opcode(&r, &out) != UROCE_RC_WRITE_ONLY) {
		assert_true(out.opcode >= UROCE_RC_READ_RESPONSE_FIRST && out.opcode <= UROCE_RC_READ_RESPONSE_ONLY);
		assert_true(uroce_psn_diff(out.psn, uroce_psn_add(send, 2)) < 0);
	}
	assert_int_equal(r.answered, uroce_psn_add(send, 2));
	peer_stop(&r.p);
}

/* The request waits only for the SENDs before it, of which up to READS are in flight. */
static void
a_request_leaves_while_the_peer_reads_and_sends(void **state)
{
	static const struct {
		enum ibv_wr_opcode op;
		uint8_t opcode;
	} cases[] = { { IBV_WR_RDMA_WRITE, UROCE_RC_WRITE_ONLY }, { IBV_WR_SEND, UROCE_RC_SEND_ONLY } };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		struct reader r;

		reader_start(&r, NULL);
		r.sends = true;
		post_reads(&r);
		peer_post(&r.p, cases[i].op, 0, 8, 2, 0);
		assert_uint_in_range(frames_before(&r, cases[i].opcode), 0, (READS + 1) * (READ_PACKETS + 1));
		peer_stop(&r.p);
	}
}

static void
r34_a_lost_request_is_repeated_while_the_peer_reads_and_sends(void **state)
{
	struct reader r;

	(void)state;
	reader_start(&r, NULL);
	r.sends = true;
	peer_post(&r.p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&r.p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	post_reads(&r);
	r.p.now_ns += 2 * (4096ull << 14);
	assert_uint_in_range(frames_before(&r, UROCE_RC_WRITE_ONLY), 0, 2);
	peer_stop(&r.p);
}

/* Congestion control does not charge ACKs, so a request must not leave in place of one. */
static void
a_request_keeps_to_the_rate_when_an_ack_is_owed(void **state)
{
	const struct uroce_congestion conf = {
		.size = sizeof(conf),
		.rpg_max_rate = UROCE_CONGESTION_MAX_RATE, .rate_to_set_on_first_cnp = 2, .rpg_min_rate = 1,
		.rpg_time_reset = UROCE_CONGESTION_MAX_US, .rpg_byte_reset = UINT32_MAX,
	};
	struct peer_packet cnp = { .opcode = UROCE_CNP }, in = { .ack_req = true, .psn = PEER_RQ_PSN }, out;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_set_congestion(p.qp->context, &conf), 0);
	assert_int_equal(peer_in(&p, &cnp), UROCE_CNP_RECEIVED);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 32 * 1024, 1, 0);
	in.va = (uintptr_t)p.buffer;
	in.rkey = p.mr->rkey;
	for (unsigned int i = 0; i < 8; i++) {
		bool answered = false, waits = false;

		in.opcode = UROCE_RC_READ_REQUEST;
		in.dma_len = 1024;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		in.psn++;
		in.opcode = UROCE_RC_WRITE_ONLY;
		in.dma_len = 0;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		in.psn++;
		while (!answered) {
			if (!peer_out(&p, &out)) {
				peer_wait(&p);
				waits = false;
				continue;
			}
			assert_true(!waits || out.opcode > UROCE_RC_WRITE_ONLY);
			answered = out.opcode == UROCE_RC_ACKNOWLEDGE;
			waits = uroce_pacer_waits(uroce_qp_of(p.qp));
		}
	}
	peer_stop(&p);
}

/* After the packet was lost, the port accepts no frame: only packets that were sent may cost a retry. */
static void
r34_no_retry_is_counted_for_a_packet_that_has_not_left(void **state)
{
	const struct peer_conf conf = { .retry_cnt = 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	for (unsigned int i = 0; i < 8; i++) {
		p.now_ns += 4096ull << 14;
		assert_int_equal(uroce_engine_send(&p.engine, NULL, 0, p.now_ns), 0);
	}
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect_no_wc(p.send_cq);
	p.now_ns += 2 * (4096ull << 14);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_RETRY_EXC_ERR, 1);
	peer_stop(&p);
}

/* A peer that repeats an old READ for ever gets its responses before the owed ACK. The request does not wait for both. */
static void
a_request_leaves_while_the_peer_repeats_a_read(void **state)
{
	struct peer_packet out, again;
	unsigned int frames = 0;
	struct reader r;

	(void)state;
	reader_start(&r, NULL);
	again = (struct peer_packet){ .opcode = UROCE_RC_READ_REQUEST, .psn = r.psn, .ack_req = true,
				      .rkey = r.p.mr->rkey, .va = (uintptr_t)r.p.buffer,
				      .dma_len = READ_PACKETS * 1024 };
	assert_int_equal(peer_in(&r.p, &again), UROCE_OK);
	r.psn = uroce_psn_add(r.psn, READ_PACKETS);
	for (unsigned int i = 0; i < READ_PACKETS; i++)
		assert_true(peer_out(&r.p, &out));
	peer_in(&r.p, &again);
	post_send(&r);
	peer_post(&r.p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	do {
		if (frames % (READ_PACKETS / 2) == 0)
			peer_in(&r.p, &again);
		assert_true(peer_out(&r.p, &out));
		assert_uint_in_range(++frames, 1, 4 * UROCE_HOLD_TURNS);
	} while (out.opcode != UROCE_RC_WRITE_ONLY);
	peer_stop(&r.p);
}

UROCE_TESTS(turns)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_have_every_second_turn_while_the_peer_reads),
		cmocka_unit_test(a_request_waits_for_the_answer_to_a_send_before_it),
		cmocka_unit_test(a_request_leaves_while_the_peer_reads_and_sends),
		cmocka_unit_test(r34_a_lost_request_is_repeated_while_the_peer_reads_and_sends),
		cmocka_unit_test(a_request_keeps_to_the_rate_when_an_ack_is_owed),
		cmocka_unit_test(a_request_leaves_while_the_peer_repeats_a_read),
		cmocka_unit_test(r34_no_retry_is_counted_for_a_packet_that_has_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
