/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests ACKs that wait for the application's reply: which ACKs wait, and what ends the wait.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gaps.h"
#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"

#define SOON_NS (UROCE_ACK_REPLY_NS / 4)
#define LATE_NS (UROCE_ACK_REPLY_NS + 1)

/* The state of the dialog between the two ends. */
struct game {
	struct peer peer;
	uint32_t in;	/* PSN of the peer's next request */
	uint32_t out;	/* PSN of the QP's next request */
	uint32_t msn;
};

static void
start(struct game *g)
{
	*g = (struct game){ .in = PEER_RQ_PSN, .out = PEER_SQ_PSN };
	peer_start(&g->peer, NULL);
	peer_expect_nothing(&g->peer); /* consumes the turn that the QP got when it became RTS */
	peer_next_round(&g->peer);
	g->peer.engine.acks.reply_ns = UROCE_ACK_REPLY_NS;
}

static enum uroce_verdict
take(struct game *g, uint8_t opcode)
{
	struct peer *p = &g->peer;
	struct peer_packet in = {
		.opcode = opcode,
		.psn = g->in++,
		.ack_req = true,
		.rkey = p->mr->rkey,
		.va = (uintptr_t)p->buffer,
		.dma_len = 8,
		.payload_bytes = opcode == UROCE_RC_READ_REQUEST ? 0 : 8,
	};

	g->msn++;
	return peer_in(p, &in);
}

static void
take_write(struct game *g)
{
	assert_int_equal(take(g, UROCE_RC_WRITE_ONLY), UROCE_OK);
}

static void
expect_no_ack(struct game *g)
{
	struct peer_packet out;

	peer_next_round(&g->peer);
	peer_expect_nothing(&g->peer);
	assert_false(peer_out_due(&g->peer, &out));
}

static void
expect_ack_next_round(struct game *g)
{
	struct peer_packet out;

	peer_next_round(&g->peer);
	assert_true(peer_out_due(&g->peer, &out));
	assert_int_equal(out.opcode, UROCE_RC_ACKNOWLEDGE);
	assert_int_equal(out.psn, g->in - 1);
	assert_int_equal(out.msn, g->msn);
	assert_false(peer_out_due(&g->peer, &out));
}

/* The application replies with a WRITE: a deferred ACK leaves before it. The peer acknowledges the WRITE. */
static void
answer_with(struct game *g, bool ack)
{
	struct peer_packet in = {
		.opcode = UROCE_RC_ACKNOWLEDGE,
		.psn = g->out,
		.syndrome = PEER_UNLIMITED,
		.msn = g->out - PEER_SQ_PSN + 1,
	};
	struct peer *p = &g->peer;

	peer_post(p, IBV_WR_RDMA_WRITE, 0, 8, 1, IBV_SEND_SIGNALED);
	if (ack)
		peer_expect_ack(p, PEER_UNLIMITED, g->in - 1, g->msn);
	peer_expect(p, UROCE_RC_WRITE_ONLY, g->out++);
	assert_int_equal(peer_in(p, &in), UROCE_OK);
	peer_expect_wc(p->send_cq, IBV_WC_SUCCESS, 1);
	expect_no_ack(g);
}

static void
answer(struct game *g)
{
	answer_with(g, false);
}

static void
answer_and_ack(struct game *g)
{
	answer_with(g, true);
}

/* A WRITE from the peer whose ACK leaves before the reply. */
static void
play(struct game *g, uint64_t after_ns)
{
	take_write(g);
	expect_ack_next_round(g);
	g->peer.now_ns += after_ns;
	answer(g);
}

static void
play_often(struct game *g, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		play(g, SOON_NS);
}

static void
finish(struct game *g)
{
	assert_int_equal(g->peer.engine.acks.reply_count, 0);
	peer_stop(&g->peer);
}

static void
it_waits_for_an_answer(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	for (unsigned int i = 0; i < 3; i++) {
		take_write(&g);
		expect_no_ack(&g);
		g.peer.now_ns += UROCE_ACK_REPLY_NS;
		expect_no_ack(&g);
		assert_int_equal(uroce_engine_deadline(&g.peer.engine), g.peer.now_ns + 1);
		answer_and_ack(&g);
	}
	finish(&g);
}

/* Replies in time raise the score up to its limit; each reply that does not come halves it. */
static void
but_not_for_long(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	for (unsigned int i = 0; i < 2 * UROCE_REPLY_SCORE_MAX; i++) {
		take_write(&g);
		answer_and_ack(&g);
	}
	for (unsigned int n = UROCE_REPLY_SCORE_MAX; n >= UROCE_REPLY_SCORE; n /= 2) {
		take_write(&g);
		expect_no_ack(&g);
		g.peer.now_ns += LATE_NS;
		peer_expect_ack(&g.peer, PEER_UNLIMITED, g.in - 1, g.msn);
		expect_no_ack(&g);
		answer(&g);
	}
	take_write(&g);
	expect_ack_next_round(&g);
	finish(&g);
}

static void
late_answers_do_not_count(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	for (unsigned int i = 0; i < 2 * UROCE_REPLY_SCORE; i++)
		play(&g, LATE_NS);
	play_often(&g, UROCE_REPLY_SCORE - 1);
	play(&g, LATE_NS);
	play(&g, SOON_NS);
	take_write(&g);
	expect_ack_next_round(&g);
	finish(&g);
}

/* A peer that sends again before the reply does not wait for it: the ACK waits for the next round only. */
static void
nor_for_who_sends_on(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	take_write(&g);
	expect_ack_next_round(&g);
	answer(&g);
	take_write(&g);
	expect_ack_next_round(&g);
	finish(&g);
}

/* A receive's completion goes to a CQ: the ACK does not wait for the reply. */
static void
nor_where_a_completion_tells(void **state)
{
	static const uint8_t opcodes[] = { UROCE_RC_SEND_ONLY, UROCE_RC_WRITE_ONLY_IMM };
	struct game g;

	(void)state;
	start(&g);
	for (unsigned int i = 0; i < RTE_DIM(opcodes); i++) {
		for (unsigned int n = 0; n <= UROCE_REPLY_SCORE; n++) {
			struct peer_packet out;

			peer_post_recv(&g.peer, 0, 8, 1);
			assert_int_equal(take(&g, opcodes[i]), UROCE_OK);
			peer_expect_wc(g.peer.recv_cq, IBV_WC_SUCCESS, 1);
			peer_next_round(&g.peer);
			assert_true(peer_out_due(&g.peer, &out));	/* the ACK carries credits */
			answer(&g);
		}
	}
	finish(&g);
}

/* A WRITE posted after a SEND arrived does not count as the reply to the WRITE before the SEND. */
static void
nor_for_who_answers_something_else(void **state)
{
	struct peer_packet out;
	struct game g;

	(void)state;
	start(&g);
	for (unsigned int n = 0; n < 2 * UROCE_REPLY_SCORE; n++) {
		take_write(&g);
		expect_ack_next_round(&g);
		peer_post_recv(&g.peer, 0, 8, 1);
		assert_int_equal(take(&g, UROCE_RC_SEND_ONLY), UROCE_OK);
		peer_expect_wc(g.peer.recv_cq, IBV_WC_SUCCESS, 1);
		peer_next_round(&g.peer);
		assert_true(peer_out_due(&g.peer, &out));
		answer(&g);
	}
	finish(&g);
}

/* The peer retransmits its request: the ACK waits no longer for the reply. */
static void
who_asks_again_has_waited(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	g.in--;
	assert_int_equal(take(&g, UROCE_RC_WRITE_ONLY), UROCE_DUPLICATE);
	g.msn--;
	expect_ack_next_round(&g);
	answer(&g);
	finish(&g);
}

/* An ACK that is already deferred for another reason does not wait for the reply. */
static void
it_does_not_wait_twice(void **state)
{
	struct peer_packet out;
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	peer_post_recv(&g.peer, 0, 8, 1);
	assert_int_equal(take(&g, UROCE_RC_SEND_ONLY), UROCE_OK);
	peer_expect_wc(g.peer.recv_cq, IBV_WC_SUCCESS, 1);
	take_write(&g);
	assert_int_equal(g.peer.engine.acks.reply_count, 0);
	peer_next_round(&g.peer);
	assert_true(peer_out_due(&g.peer, &out));
	assert_int_equal(out.psn, g.in - 1);
	answer(&g);
	finish(&g);
}

/* After a burst of requests, throughput matters: ACKs do not wait for replies. */
static void
nor_when_many_come(void **state)
{
	struct peer_packet in;
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	g.peer.engine.acks.packets = UROCE_ACK_DEFER_PACKETS;	/* requests of other QPs in this round */
	in = (struct peer_packet){ .opcode = UROCE_RC_ACKNOWLEDGE, .psn = g.out, .syndrome = PEER_UNLIMITED };
	assert_int_equal(peer_in(&g.peer, &in), UROCE_DROP_ACK_UNEXPECTED);
	uroce_engine_heard(&g.peer.engine, g.peer.now_ns, true);
	peer_expect_ack(&g.peer, PEER_UNLIMITED, g.in - 1, g.msn);
	answer(&g);
	finish(&g);
}

static void
a_nak_does_not_wait(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_ONLY, .ack_req = true, .dma_len = 8, .payload_bytes = 8 };
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	in.psn = g.in;
	in.rkey = g.peer.mr->rkey ^ 0x100;
	assert_int_equal(peer_in(&g.peer, &in), UROCE_NAK_ACCESS);
	peer_expect_ack(&g.peer, UROCE_AETH_NAK | 2, g.in, g.msn);
	g.peer.now_ns += LATE_NS;
	expect_no_ack(&g);
	finish(&g);
}

/* A READ response replaces the ACK, and leaves at once. */
static void
nor_does_a_response(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	assert_int_equal(take(&g, UROCE_RC_READ_REQUEST), UROCE_OK);
	peer_expect(&g.peer, UROCE_RC_READ_RESPONSE_ONLY, g.in - 1);
	answer(&g);
	finish(&g);
}

/* The reply to a message of several packets counts from its last packet. */
static void
a_long_message_is_one(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_FIRST, .ack_req = true, .dma_len = 1032,
				  .payload_bytes = 1024 };
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	in.psn = g.in++;
	in.rkey = g.peer.mr->rkey;
	in.va = (uintptr_t)g.peer.buffer;
	assert_int_equal(peer_in(&g.peer, &in), UROCE_OK);
	expect_ack_next_round(&g);
	in = (struct peer_packet){ .opcode = UROCE_RC_WRITE_LAST, .psn = g.in++, .ack_req = true, .payload_bytes = 8 };
	assert_int_equal(peer_in(&g.peer, &in), UROCE_OK);
	g.msn++;
	expect_no_ack(&g);
	answer_and_ack(&g);
	finish(&g);
}

/* A control thread takes its turn, and may be about to destroy the QP. */
static void
it_is_released(void **state)
{
	struct peer_packet out;
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	assert_true(peer_out_owed(&g.peer, &out));
	assert_int_equal(out.opcode, UROCE_RC_ACKNOWLEDGE);
	assert_int_equal(out.psn, g.in - 1);
	assert_false(peer_out_owed(&g.peer, &out));
	answer(&g);
	finish(&g);
}

/* A reset drops the owed ACK and the score of the application's replies. */
static void
the_qp_begins_anew(void **state)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct game g;

	(void)state;
	start(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	assert_int_equal(uroce_modify_qp(g.peer.qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(g.peer.engine.acks.reply_count, 0);
	assert_false(uroce_qp_of(g.peer.qp)->reply_pending);
	expect_no_ack(&g);
	peer_connect(g.peer.qp, &(struct peer_conf){ .rq_psn = PEER_RQ_PSN });
	peer_expect_nothing(&g.peer);
	g.in = PEER_RQ_PSN;
	g.msn = 0;
	take_write(&g);
	expect_ack_next_round(&g);
	finish(&g);
}

/* Another QP of the engine, connected to the same peer. */
static struct ibv_qp *
another_qp(struct game *g)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = g->peer.send_cq,
		.recv_cq = g->peer.recv_cq,
		.cap = { .max_send_wr = 2, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp(g->peer.pd, &init);

	assert_non_null(qp);
	peer_connect(qp, &(struct peer_conf){ .rq_psn = 0 });
	peer_expect_nothing(&g->peer);
	return qp;
}

/* A SEND on another QP of the engine completes a receive at the peer: the peer must get the completion of its WRITE
 * first. */
static void
a_send_of_another_qp_ends_the_wait(void **state)
{
	struct ibv_qp *first, *second;
	struct game g;

	(void)state;
	start(&g);
	first = g.peer.qp;
	second = another_qp(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	g.peer.qp = second;
	peer_post(&g.peer, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&g.peer, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&g.peer);
	peer_post(&g.peer, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect_ack(&g.peer, PEER_UNLIMITED, g.in - 1, g.msn);
	peer_expect(&g.peer, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 1);
	expect_no_ack(&g);
	assert_int_equal(uroce_destroy_qp(second), 0);
	g.peer.qp = first;
	finish(&g);
}

static void
the_qp_goes(void **state)
{
	struct ibv_qp *first;
	struct game g;

	(void)state;
	start(&g);
	first = g.peer.qp;
	g.peer.qp = another_qp(&g);
	play_often(&g, UROCE_REPLY_SCORE);
	take_write(&g);
	expect_no_ack(&g);
	assert_int_equal(uroce_destroy_qp(g.peer.qp), 0);
	assert_int_equal(g.peer.engine.acks.reply_count, 0);
	g.peer.now_ns += LATE_NS;
	expect_no_ack(&g);
	g.peer.qp = first;
	finish(&g);
}

/* The list of waiting ACKs has a limit; beyond it, an ACK waits for a round only. */
static void
too_many(void **state)
{
	struct uroce_engine *e;
	struct game g;

	(void)state;
	start(&g);
	e = &g.peer.engine;
	play_often(&g, UROCE_REPLY_SCORE);
	e->acks.reply_count = UROCE_ACK_REPLIES;
	take_write(&g);
	assert_int_equal(e->acks.reply_count, UROCE_ACK_REPLIES);
	e->acks.reply_count = 0;
	expect_ack_next_round(&g);
	answer(&g);
	take_write(&g);
	expect_no_ack(&g);
	answer_and_ack(&g);
	finish(&g);
}

/* If the caller does not report rounds, no ACK waits. */
static void
none_waits_unless_told(void **state)
{
	struct game g;

	(void)state;
	start(&g);
	g.peer.engine.acks.reply_ns = 0;
	play_often(&g, 2 * UROCE_REPLY_SCORE);
	finish(&g);
}

UROCE_TESTS(ack_reply)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_an_answer),
		cmocka_unit_test(but_not_for_long),
		cmocka_unit_test(late_answers_do_not_count),
		cmocka_unit_test(nor_for_who_sends_on),
		cmocka_unit_test(nor_where_a_completion_tells),
		cmocka_unit_test(nor_for_who_answers_something_else),
		cmocka_unit_test(who_asks_again_has_waited),
		cmocka_unit_test(it_does_not_wait_twice),
		cmocka_unit_test(nor_when_many_come),
		cmocka_unit_test(a_nak_does_not_wait),
		cmocka_unit_test(nor_does_a_response),
		cmocka_unit_test(a_long_message_is_one),
		cmocka_unit_test(it_is_released),
		cmocka_unit_test(the_qp_begins_anew),
		cmocka_unit_test(a_send_of_another_qp_ends_the_wait),
		cmocka_unit_test(the_qp_goes),
		cmocka_unit_test(too_many),
		cmocka_unit_test(none_waits_unless_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
