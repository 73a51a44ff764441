/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A QP moves to another engine: what the engine kept for it is there, and nothing stays behind. If a table of the other
 * engine is full, the QP does without. The test "moved" runs other tests of lib/transport with a move at each step.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "gaps.h"
#include "groups.h"
#include "losses.h"
#include "transport/responder/responder.h"
#include "uroce_config.h"

static struct uroce_qp *
qp_of(struct peer *p)
{
	return uroce_qp_of(p->qp);
}

static void
expect_left(const struct uroce_engine *e)
{
	assert_true(TAILQ_EMPTY(&e->active));
	assert_true(TAILQ_EMPTY(&e->later));
	assert_true(TAILQ_EMPTY(&e->reorder.holders));
	assert_int_equal(e->reorder.frames_free, e->reorder.frames_count);
	assert_int_equal(e->recoveries.lent, 0);
	assert_int_equal(e->rated, 0);
	assert_int_equal(e->acks.reply_count, 0);
	assert_true(TAILQ_EMPTY(&e->acks.overflow));
	assert_null(e->doorbells);
	for (uint32_t i = e->acks.head; i != e->acks.tail; i++)
		assert_null(e->acks.ring[i % UROCE_ACK_RING_SIZE]);
	assert_int_equal(uroce_wheel_next(&e->wheel), UINT64_MAX);
	assert_int_equal(uroce_wheel_next(&e->pacer.wheel), UINT64_MAX);
}

static void
move_away(struct peer *p)
{
	peer_move(p, &p->other);
	assert_ptr_equal(qp_of(p)->engine, &p->other);
	assert_int_equal(qp_of(p)->listed & UROCE_QP_ACTIVE, UROCE_QP_ACTIVE);
	expect_left(&p->engine);
}

static void
move_back(struct peer *p)
{
	peer_move(p, &p->engine);
	expect_left(&p->other);
}

static void
an_idle_qp_gets_a_turn_for_nothing(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_expect_nothing(&p);
	move_away(&p);
	assert_ptr_equal(TAILQ_FIRST(&p.other.active), qp_of(&p));
	move_back(&p);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
the_transport_timeout_keeps_its_deadline(void **state)
{
	struct peer p;
	uint64_t deadline_ns;

	(void)state;
	peer_start(&p, NULL);
	peer_post_writes(&p, 1, PEER_SQ_PSN, 1);
	deadline_ns = peer_requester(&p)->timer.deadline_ns;
	p.now_ns += 1000;
	move_away(&p);
	assert_int_equal(peer_requester(&p)->timer.deadline_ns, deadline_ns);
	assert_true(uroce_wheel_next(&p.other.wheel) <= deadline_ns + UROCE_TICK_NS);
	move_back(&p);
	peer_expect_nothing(&p);
	p.now_ns = deadline_ns + UROCE_TICK_NS;
	peer_expect_write(&p, PEER_SQ_PSN, true);
	peer_stop(&p);
}

/* Engines may have been called at different times. */
static void
the_engines_have_one_time(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	p.other.now_ns = p.now_ns - 500;
	peer_post_writes(&p, 1, PEER_SQ_PSN, 1);
	peer_move(&p, &p.other);
	assert_int_equal(p.other.now_ns, p.now_ns);
	assert_true(peer_requester(&p)->rtt_timed);
	assert_true(peer_requester(&p)->rtt_sent_ns <= p.other.now_ns);
	peer_move(&p, &p.engine);
	peer_stop(&p);
}

/* Three of four WRITEs arrive. */
static void
lose_one(struct peer *p, uint32_t psn)
{
	static const uint16_t runs[][2] = { { 1, 2 } };

	peer_post_writes(p, 0, psn, 3);
	assert_int_equal(peer_sack(p, psn, psn + 3, runs, 1), UROCE_OK);
	assert_non_null(peer_requester(p)->recovery);
}

static void
a_recovery_goes_on(void **state)
{
	uint64_t sacked[UROCE_PSN_SET_WORDS(UROCE_REORDER_WINDOW)];
	struct uroce_recovery before;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	lose_one(&p, PEER_SQ_PSN + 6);
	before = *peer_requester(&p)->recovery;
	memcpy(sacked, before.sacked.words, sizeof(sacked));
	move_away(&p);
	assert_memory_equal(peer_requester(&p)->recovery->sacked.words, sacked, sizeof(sacked));
	assert_memory_equal(&peer_requester(&p)->recovery->expected, &before.expected,
			    sizeof(before) - offsetof(struct uroce_recovery, expected));
	assert_int_equal(p.other.recoveries.lent, 1);
	move_back(&p);
	/* only the lost packet */
	peer_expect_write(&p, PEER_SQ_PSN + 6, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 8), UROCE_OK);
	peer_expect_writes_done(&p, 0, 3);
	peer_stop(&p);
}

static void
without_a_free_record_it_goes_back_n(void **state)
{
	struct uroce_recovery *all;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_learn_sacks(&p, PEER_SQ_PSN);
	lose_one(&p, PEER_SQ_PSN + 6);
	all = p.other.recoveries.free;
	p.other.recoveries.free = NULL;
	move_away(&p);
	assert_null(peer_requester(&p)->recovery);
	move_back(&p);
	p.other.recoveries.free = all;
	for (uint32_t i = 6; i < 9; i++)
		peer_expect_write(&p, PEER_SQ_PSN + i, true);
	peer_expect_nothing(&p);
	assert_int_equal(peer_ack(&p, PEER_UNLIMITED, PEER_SQ_PSN + 8), UROCE_OK);
	peer_expect_writes_done(&p, 0, 3);
	peer_stop(&p);
}

static void
an_rnr_wait_lasts_as_long(void **state)
{
	const struct peer_conf conf = { .rnr_retry = 3 };
	struct peer p;
	uint64_t end_ns;

	(void)state;
	peer_start(&p, &conf);
	peer_post_writes(&p, 1, PEER_SQ_PSN, 1);
	assert_int_equal(peer_ack(&p, UROCE_AETH_RNR_NAK | 14, PEER_SQ_PSN), UROCE_OK);
	end_ns = peer_requester(&p)->timer.deadline_ns;
	assert_true(end_ns > p.now_ns);
	move_away(&p);
	move_back(&p);
	peer_expect_nothing(&p);
	p.now_ns = end_ns + UROCE_TICK_NS;
	peer_expect_write(&p, PEER_SQ_PSN, true);
	peer_stop(&p);
}

static void
get_rate(struct peer *p)
{
	struct peer_packet cnp = { .opcode = UROCE_CNP };

	assert_int_equal(peer_in(p, &cnp), UROCE_CNP_RECEIVED);
	peer_expect_nothing(p);
	qp_of(p)->rate->credit = -5;
}

static void
a_rate_moves_with_its_credit_and_timer(void **state)
{
	struct uroce_rate before;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	get_rate(&p);
	before = *qp_of(&p)->rate;
	/* the wheel of an engine that has paced no QP is far behind */
	p.now_ns += 1000000000;
	move_away(&p);
	assert_int_equal(p.other.rated, 1);
	assert_true(uroce_qp_is_rated(qp_of(&p)));
	assert_ptr_equal(qp_of(&p)->rate->qp, qp_of(&p));
	assert_int_equal(qp_of(&p)->rate->credit, before.credit);
	assert_int_equal(qp_of(&p)->rate->earned_ns, before.earned_ns);
	assert_int_equal(qp_of(&p)->rate->timer.deadline_ns, before.timer.deadline_ns);
	assert_memory_equal(&qp_of(&p)->rate->dcqcn, &before.dcqcn, sizeof(before.dcqcn));
	move_back(&p);
	peer_stop(&p);
}

/* The timer has given the QP a turn that it has not had yet. */
static void
a_rate_moves_after_its_timer(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	get_rate(&p);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	uroce_wheel_disarm(&qp_of(&p)->rate->timer);
	move_away(&p);
	move_back(&p);
	qp_of(&p)->rate->credit = 1000000;
	peer_expect_write(&p, PEER_SQ_PSN, true);
	peer_stop(&p);
}

static void
without_a_free_rate_it_is_not_paced(void **state)
{
	struct uroce_rate *all;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	get_rate(&p);
	all = SLIST_FIRST(&p.other.pacer.free);
	SLIST_FIRST(&p.other.pacer.free) = NULL;
	move_away(&p);
	assert_null(qp_of(&p)->rate);
	assert_false(uroce_qp_is_rated(qp_of(&p)));
	SLIST_FIRST(&p.other.pacer.free) = all;
	move_back(&p);
	peer_stop(&p);
}

/* A WRITE, a READ and a WRITE wait for the PSN before them. */
static void
keep_three(struct peer *p)
{
	const struct peer_packet read = {
		.opcode = UROCE_RC_READ_REQUEST, .psn = PSN(2), .ack_req = true, .rkey = p->mr->rkey,
		.va = (uintptr_t)p->buffer, .dma_len = 3000,
	};

	assert_int_equal(gap_in_write(p, PSN(1), false), UROCE_EARLY);
	peer_expect_ack(p, UROCE_AETH_SEQUENCE_NAK, PSN(0), 0);
	assert_int_equal(peer_in(p, &read), UROCE_EARLY);
	assert_int_equal(gap_in_write(p, PSN(5), true), UROCE_EARLY);
	assert_int_equal(gap_kept(p), 3);
}

static void
kept_requests_move(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	keep_three(&p);
	move_away(&p);
	assert_int_equal(p.other.reorder.frames_free, UROCE_REORDER_FRAMES - 3);
	move_back(&p);
	assert_int_equal(gap_kept(&p), 3);
	assert_int_equal(p.engine.counters[UROCE_EARLY_DROPPED], 0);
	gap_close(&p, PSN(0));
	assert_int_equal(gap_kept(&p), 0);
	assert_int_equal(uroce_responder_of(qp_of(&p))->psn, PSN(6));
	gap_drain(&p);
	peer_stop(&p);
}

static void
kept_requests_are_dropped_if_there_is_no_room(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	keep_three(&p);
	p.other.reorder.frames_free -= UROCE_REORDER_FRAMES - 2;	/* as if other QPs used them */
	move_away(&p);
	p.other.reorder.frames_free += UROCE_REORDER_FRAMES - 2;
	assert_null(uroce_responder_of(qp_of(&p))->reorder);
	assert_int_equal(p.engine.counters[UROCE_EARLY_DROPPED], 3);
	move_back(&p);
	/* the peer retransmits them */
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(gap_in_write(&p, PSN(i), true), UROCE_OK);
	gap_drain(&p);
	peer_stop(&p);
}

static void
and_if_no_buffer_is_free(void **state)
{
	struct uroce_reorder_list others;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	keep_three(&p);
	TAILQ_INIT(&others);
	TAILQ_CONCAT(&others, &p.other.reorder.free, link);
	move_away(&p);
	TAILQ_CONCAT(&p.other.reorder.free, &others, link);
	assert_int_equal(gap_kept(&p), 0);
	assert_int_equal(p.engine.counters[UROCE_EARLY_DROPPED], 3);
	move_back(&p);
	peer_stop(&p);
}

static struct ibv_qp *
another_qp(struct peer *p)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = p->send_cq, .recv_cq = p->recv_cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	p->qp = uroce_create_qp(p->pd, &init);
	assert_non_null(p->qp);
	peer_connect(p->qp, &(struct peer_conf){ .sq_psn = 0 });
	return p->qp;
}

/* The reorder buffers stay ordered by the time of their last progress, in which they expire. */
static void
kept_requests_expire_in_order(void **state)
{
	struct ibv_qp *qps[3];
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	qps[0] = p.qp;
	qps[1] = another_qp(&p);
	qps[2] = another_qp(&p);
	for (unsigned int i = 0; i < 3; i++) {
		p.qp = qps[i];
		p.now_ns += 1000;
		assert_int_equal(gap_in_write(&p, PSN(1), false), UROCE_EARLY);
	}
	for (unsigned int i = 0; i < 3; i++) {
		p.qp = qps[(i + 1) % 3];
		peer_move(&p, &p.other);
	}
	for (unsigned int i = 0; i < 3; i++) {
		struct uroce_reorder *first = TAILQ_FIRST(&p.other.reorder.holders);

		assert_ptr_equal(first->qp, uroce_qp_of(qps[i]));
		p.qp = qps[i];
		peer_move(&p, &p.engine);
	}
	expect_left(&p.other);
	assert_int_equal(uroce_destroy_qp(qps[1]), 0);
	assert_int_equal(uroce_destroy_qp(qps[2]), 0);
	p.qp = qps[0];
	peer_stop(&p);
}

static void
take_write(struct peer *p, uint32_t psn)
{
	assert_int_equal(gap_in_write(p, psn, true), UROCE_OK);
}

/* ACKs that were deferred leave in the turn. */
static void
deferred_acks_leave_in_the_turn(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	take_write(&p, PSN(0));
	assert_int_equal(qp_of(&p)->ack_place, UROCE_ACK_RING);
	move_away(&p);
	move_back(&p);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(0), 1);

	/* the ring is full */
	peer_next_round(&p);
	p.engine.acks.tail = p.engine.acks.head + UROCE_ACK_RING_SIZE;
	take_write(&p, PSN(1));
	assert_int_equal(qp_of(&p)->ack_place, UROCE_ACK_OVERFLOW);
	move_away(&p);
	move_back(&p);
	p.engine.acks.head = p.engine.acks.due = p.engine.acks.next = p.engine.acks.tail;
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(1), 2);

	/* the application replies to WRITEs */
	peer_next_round(&p);
	uroce_engine_wait_for_replies(&p.engine, 1000000);
	qp_of(&p)->reply_score = UROCE_REPLY_SCORE;
	take_write(&p, PSN(2));
	assert_int_equal(qp_of(&p)->ack_place, UROCE_ACK_REPLY);
	move_away(&p);
	assert_int_equal(qp_of(&p)->reply_score, UROCE_REPLY_SCORE);
	move_back(&p);
	peer_expect_ack(&p, PEER_UNLIMITED, PSN(2), 3);
	peer_stop(&p);
}

/* READ responses that are still to be sent. */
static void
responses_go_on(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_READ_REQUEST, .psn = PSN(0), .ack_req = true, .dma_len = 3000 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in.rkey = p.mr->rkey;
	in.va = (uintptr_t)p.buffer;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_FIRST, PSN(0));
	move_away(&p);
	move_back(&p);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_MIDDLE, PSN(1));
	peer_expect(&p, UROCE_RC_READ_RESPONSE_LAST, PSN(2));
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
a_rung_doorbell_is_answered(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_expect_nothing(&p);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	assert_ptr_equal(p.engine.doorbells, qp_of(&p));
	move_away(&p);
	assert_int_equal(qp_of(&p)->sq.rung, 0);
	move_back(&p);
	peer_expect_write(&p, PEER_SQ_PSN, true);
	peer_stop(&p);
}

/* A thread has begun to ring the doorbell: it will put the QP onto the stack of the engine that it has read. */
static void
it_does_not_move_while_its_doorbell_is_being_rung(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_expect_nothing(&p);
	qp_of(&p)->sq.rung = 1;
	assert_false(uroce_engine_qp_move(qp_of(&p), &p.other, p.now_ns));
	assert_ptr_equal(qp_of(&p)->engine, &p.engine);
	expect_left(&p.other);
	p.engine.doorbells = qp_of(&p);
	move_away(&p);
	move_back(&p);
	peer_stop(&p);
}

static void
a_failed_qp_moves_and_flushes(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_post_recv(&p, 0, 8, 2);
	peer_move(&p, &p.other);
	expect_left(&p.engine);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 1);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 2);
	move_back(&p);
	peer_stop(&p);
}

static void
a_qp_in_any_state_moves_and_is_destroyed_there(void **state)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD };
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(types) * RTE_DIM(states); i++) {
		struct peer_conf conf = { .type = types[i / RTE_DIM(states)], .state = states[i % RTE_DIM(states)] };
		struct peer p;

		peer_start(&p, &conf);
		if (conf.state >= IBV_QPS_RTS)
			peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
		move_away(&p);
		peer_stop(&p);
		expect_left(&p.other);
	}
}

UROCE_TESTS(qp_move)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_qp_gets_a_turn_for_nothing),
		cmocka_unit_test(the_transport_timeout_keeps_its_deadline),
		cmocka_unit_test(the_engines_have_one_time),
		cmocka_unit_test(a_recovery_goes_on),
		cmocka_unit_test(without_a_free_record_it_goes_back_n),
		cmocka_unit_test(an_rnr_wait_lasts_as_long),
		cmocka_unit_test(a_rate_moves_with_its_credit_and_timer),
		cmocka_unit_test(a_rate_moves_after_its_timer),
		cmocka_unit_test(without_a_free_rate_it_is_not_paced),
		cmocka_unit_test(kept_requests_move),
		cmocka_unit_test(kept_requests_are_dropped_if_there_is_no_room),
		cmocka_unit_test(and_if_no_buffer_is_free),
		cmocka_unit_test(kept_requests_expire_in_order),
		cmocka_unit_test(deferred_acks_leave_in_the_turn),
		cmocka_unit_test(responses_go_on),
		cmocka_unit_test(a_rung_doorbell_is_answered),
		cmocka_unit_test(it_does_not_move_while_its_doorbell_is_being_rung),
		cmocka_unit_test(a_failed_qp_moves_and_flushes),
		cmocka_unit_test(a_qp_in_any_state_moves_and_is_destroyed_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
