/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Turns of a QP that both sends requests and answers READs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"

#define READ_PACKETS 16
#define READS 4			/* outstanding at a time */
#define MANY_FRAMES 1000

/* A peer that posts a READ whenever one is answered. */
struct reader {
	struct peer p;
	uint32_t psn;		/* of the next READ */
	uint32_t answered;	/* PSN that follows the last response */
};

static void
post_reads(struct reader *r)
{
	while (uroce_psn_distance(r->psn, r->answered) <= (READS - 1) * READ_PACKETS) {
		struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = r->psn, .ack_req = true,
					  .rkey = r->p.mr->rkey, .va = (uintptr_t)r->p.buffer,
					  .dma_len = READ_PACKETS * 1024 };

		assert_int_equal(peer_in(&r->p, &in), UROCE_OK);
		r->psn = uroce_psn_add(r->psn, READ_PACKETS);
	}
}

static void
reader_start(struct reader *r, const struct peer_conf *conf)
{
	peer_start(&r->p, conf);
	r->psn = r->answered = PEER_RQ_PSN;
}

/* The QP's next frame; the peer goes on reading. @return the frame's opcode */
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

/* The application may have posted the request in reply to the SEND. The first response of the READ behind the SEND
 * acknowledges it. */
static void
a_request_waits_for_the_answer_to_a_send_before_it(void **state)
{
	struct peer_packet send = { .opcode = UROCE_RC_SEND_ONLY, .ack_req = true }, out;
	struct reader r;

	(void)state;
	reader_start(&r, NULL);
	peer_post_recv(&r.p, 4096, 64, 1);
	post_reads(&r);
	assert_int_equal(next_opcode(&r, &out), UROCE_RC_READ_RESPONSE_FIRST);
	send.psn = r.psn;
	assert_int_equal(peer_in(&r.p, &send), UROCE_OK);
	r.psn = uroce_psn_add(r.psn, 1);
	peer_expect_wc(r.p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_post(&r.p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	while (next_opcode(&r, &out) != UROCE_RC_WRITE_ONLY) {
		assert_true(out.opcode >= UROCE_RC_READ_RESPONSE_FIRST && out.opcode <= UROCE_RC_READ_RESPONSE_ONLY);
		assert_true(uroce_psn_diff(out.psn, uroce_psn_add(send.psn, 2)) < 0);
	}
	assert_int_equal(r.answered, uroce_psn_add(send.psn, 2));
	peer_stop(&r.p);
}

/* The port takes nothing after the packet was lost: the retries are for packets that were sent. */
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

UROCE_TESTS(turns)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_have_every_second_turn_while_the_peer_reads),
		cmocka_unit_test(a_request_waits_for_the_answer_to_a_send_before_it),
		cmocka_unit_test(r34_no_retry_is_counted_for_a_packet_that_has_not_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
