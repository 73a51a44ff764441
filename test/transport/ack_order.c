/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the order of an ACK and the reply to the acknowledged request: the peer gets the completion of its SEND before
 * the completion of the receive that the reply takes.
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
#include "transport/responder/responder.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"

#define UC_SEND_ONLY (0x20 + UROCE_RC_SEND_ONLY)

static void
start(struct peer *p, const struct peer_conf *conf)
{
	peer_start(p, conf);
	peer_expect_nothing(p); /* consumes the turn that the QP got when it became RTS */
	peer_next_round(p);
}

/* Create another QP, with which the peer exchanges packets from now on. */
static struct ibv_qp *
another_qp(struct peer *p, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.send_cq = p->send_cq,
		.recv_cq = p->recv_cq,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	p->qp = uroce_create_qp(p->pd, &init);
	assert_non_null(p->qp);
	peer_connect(p->qp, &(struct peer_conf){ 0 });
	peer_expect_nothing(p);
	return p->qp;
}

static void
take(struct peer *p, uint8_t opcode, uint32_t psn)
{
	struct peer_packet in = { .opcode = opcode, .psn = psn, .ack_req = true, .rkey = p->mr->rkey,
				  .va = (uintptr_t)p->buffer, .dma_len = 8 };

	in.payload_bytes = opcode == UROCE_RC_READ_REQUEST ? 0 : 8;
	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

/* A message that completes a receive. */
static void
take_message(struct peer *p, uint8_t opcode, uint32_t psn)
{
	peer_post_recv(p, 0, 8, 1);
	take(p, opcode, psn);
	peer_expect_wc(p->recv_cq, IBV_WC_SUCCESS, 1);
}

static void
an_answer_follows_the_ack(void **state)
{
	static const uint8_t requests[] = { UROCE_RC_SEND_ONLY, UROCE_RC_WRITE_ONLY_IMM };
	static const enum ibv_wr_opcode answers[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE };
	static const uint8_t opcodes[] = { UROCE_RC_SEND_ONLY, UROCE_RC_WRITE_ONLY };
	struct peer p;
	uint32_t n = 0;

	(void)state;
	start(&p, NULL);
	for (unsigned int i = 0; i < 4; i++, n++) {
		take_message(&p, requests[i / 2], PEER_RQ_PSN + n);
		peer_expect_nothing(&p);
		if (i % 2 == 1)
			peer_next_round(&p);
		peer_post(&p, answers[i % 2], 0, 8, 2, 0);
		peer_expect_ack(&p, 0, PEER_RQ_PSN + n, n + 1);
		peer_expect(&p, opcodes[i % 2], PEER_SQ_PSN + n);
		peer_expect_nothing(&p);
	}
	assert_false(uroce_acks_are_due(&p.engine));
	peer_stop(&p);
}

/* In one burst, neither the ACK nor the message waits for the other. */
static void
both_leave_in_one_burst(void **state)
{
	struct rte_mbuf *frames[4];
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	assert_int_equal(uroce_engine_send(&p.engine, frames, RTE_DIM(frames), p.now_ns), 2);
	assert_true(rte_pktmbuf_pkt_len(frames[0]) < rte_pktmbuf_pkt_len(frames[1]));
	rte_pktmbuf_free_bulk(frames, 2);
	peer_stop(&p);
}

/* One of two messages is posted on another QP, which may be connected to the same peer. */
static void
so_it_does_on_any_qp(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC };
	struct peer_packet out;
	struct ibv_qp *first;
	struct peer p;

	(void)state;
	start(&p, NULL);
	first = p.qp;
	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		another_qp(&p, types[i]);
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 2048, 1, 0);
		assert_true(peer_out(&p, &out));	/* the QP stays in the list of QPs with a turn */

		struct ibv_qp *other = p.qp;
		p.qp = first;
		take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN + i);
		p.qp = other;
		peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
		peer_expect_ack(&p, 0, PEER_RQ_PSN + i, i + 1);
		assert_true(peer_out(&p, &out));	/* the rest of the WRITE */
		assert_true(out.opcode != UROCE_RC_SEND_ONLY && out.opcode != UC_SEND_ONLY);
		assert_true(peer_out(&p, &out));
		assert_true(out.opcode == UROCE_RC_SEND_ONLY || out.opcode == UC_SEND_ONLY);
		assert_int_equal(uroce_destroy_qp(p.qp), 0);
	}
	p.qp = first;
	peer_stop(&p);
}

static void
and_as_a_datagram(void **state)
{
	struct ibv_qp *first, *connected;
	struct peer p;

	(void)state;
	start(&p, &(struct peer_conf){ .type = IBV_QPT_UD });
	first = p.qp;
	connected = another_qp(&p, IBV_QPT_RC);
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	p.qp = first;
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	p.qp = connected;
	peer_expect_ack(&p, 0, PEER_RQ_PSN, 1);
	p.qp = first;
	peer_expect(&p, UROCE_UD_SEND_ONLY, PEER_SQ_PSN);
	assert_int_equal(uroce_destroy_qp(connected), 0);
	peer_stop(&p);
}

/* Another thread has posted a message, but not yet rung the doorbell, while the QP has its turn for another reason. */
static void
so_does_a_message_posted_without_a_doorbell(void **state)
{
	struct peer_packet ack = {
		.opcode = UROCE_RC_ACKNOWLEDGE,
		.psn = PEER_SQ_PSN,
		.syndrome = PEER_UNLIMITED,
		.msn = 1,
	};
	struct peer p;

	(void)state;
	start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	uroce_qp_of(p.qp)->sq.rung = 1;
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	uroce_qp_of(p.qp)->sq.rung = 0;
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_expect_ack(&p, 0, PEER_RQ_PSN, 1);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 1);
	peer_stop(&p);
}

/* After a large burst, an ACK leaves before the messages of QPs that already had a turn coming. */
static void
among_streams_it_leads(void **state)
{
	struct ibv_qp *first, *stream;
	struct peer p;

	(void)state;
	start(&p, NULL);
	p.engine.heard_ns = UINT64_MAX;	/* the caller reports no rounds: no ACK is deferred */
	first = p.qp;
	stream = another_qp(&p, IBV_QPT_RC);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 4096, 1, 0);
	peer_expect(&p, UROCE_RC_WRITE_FIRST, PEER_SQ_PSN);
	p.qp = first;
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	p.qp = stream;
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect_ack(&p, 0, PEER_RQ_PSN, 1);
	peer_expect(&p, UROCE_RC_WRITE_MIDDLE, PEER_SQ_PSN + 1);
	peer_expect(&p, UROCE_RC_WRITE_MIDDLE, PEER_SQ_PSN + 2);
	peer_expect(&p, UROCE_RC_WRITE_LAST, PEER_SQ_PSN + 3);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 4);
	assert_int_equal(uroce_destroy_qp(stream), 0);
	p.qp = first;
	peer_stop(&p);
}

/* The order also holds for the completion of a WRITE, if the reply completes a receive. */
static void
a_send_follows_the_ack_of_a_write(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take(&p, UROCE_RC_WRITE_ONLY, PEER_RQ_PSN);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN, 1);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* The order also holds for an ACK that waits for the reply of an application which polls memory. */
static void
and_one_that_awaits_it(void **state)
{
	struct peer_packet ack = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .syndrome = PEER_UNLIMITED,
				   .msn = 1 };
	struct peer p;

	(void)state;
	start(&p, NULL);
	p.engine.acks.reply_ns = UROCE_ACK_REPLY_NS;
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	uroce_qp_of(p.qp)->reply_score = UROCE_REPLY_SCORE;
	take(&p, UROCE_RC_WRITE_ONLY, PEER_RQ_PSN);
	assert_int_equal(p.engine.acks.reply_count, 1);
	uroce_qp_of(p.qp)->sq.rung = 1;		/* posted, but the doorbell is not rung yet */
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	uroce_qp_of(p.qp)->sq.rung = 0;
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN, 1);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN + 1);
	assert_int_equal(p.engine.acks.reply_count, 0);
	peer_stop(&p);
}

/* If there is no mbuf for the ACK, the reply waits with it, although its own pool has mbufs. */
static void
it_waits_for_an_mbuf(void **state)
{
	static struct rte_mbuf *mbufs[1023];
	struct peer p;

	(void)state;
	start(&p, &(struct peer_conf){ .copy = true });
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	peer_post(&p, IBV_WR_SEND, 0, 1024, 2, 0);
	assert_int_equal(rte_pktmbuf_alloc_bulk(p.headers, mbufs, RTE_DIM(mbufs)), 0);
	for (unsigned int i = 0; i < 3; i++)
		peer_expect_nothing(&p);
	rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));
	peer_expect_ack(&p, 0, PEER_RQ_PSN, 1);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_stop(&p);
}

/* Neither a message on another QP nor a WRITE on the same one passes an ACK for which there was no mbuf. */
static void
so_does_every_other_message(void **state)
{
	static struct rte_mbuf *mbufs[1023];
	struct ibv_qp *first;
	struct peer p;

	(void)state;
	start(&p, &(struct peer_conf){ .copy = true });
	first = p.qp;
	for (unsigned int i = 0; i < 4; i++) {
		struct ibv_qp *sender = i < 2 ? first : another_qp(&p, IBV_QPT_RC);
		const uint32_t psn = PEER_SQ_PSN + (i < 2 ? i : 0);

		p.qp = first;
		take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN + i);
		p.qp = sender;
		if (i % 2 == 1)
			peer_next_round(&p);
		assert_int_equal(rte_pktmbuf_alloc_bulk(p.headers, mbufs, RTE_DIM(mbufs)), 0);
		peer_post(&p, i % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, 0, 1024, 2, 0);
		for (unsigned int round = 0; round < 3; round++) {
			peer_expect_nothing(&p);
			peer_next_round(&p);
		}
		rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));
		p.qp = first;
		peer_expect_ack(&p, 0, PEER_RQ_PSN + i, i + 1);
		p.qp = sender;
		peer_expect(&p, i % 2 == 0 ? UROCE_RC_WRITE_ONLY : UROCE_RC_SEND_ONLY, psn);
		peer_expect_nothing(&p);
		assert_false(uroce_acks_are_due(&p.engine));
		if (sender != first)
			assert_int_equal(uroce_destroy_qp(sender), 0);
	}
	p.qp = first;
	peer_stop(&p);
}

/* If more QPs owe an ACK than the ring has room for, a message waits for all of them. */
static void
it_follows_acks_beyond_the_ring(void **state)
{
	struct ibv_qp *qps[UROCE_ACK_RING_SIZE + 3], *first, *stream;
	struct peer_packet out;
	struct peer p;

	(void)state;
	start(&p, &(struct peer_conf){ .log2_max_qp = 10 });
	first = p.qp;
	for (unsigned int i = 0; i < RTE_DIM(qps); i++)
		qps[i] = another_qp(&p, IBV_QPT_RC);
	stream = another_qp(&p, IBV_QPT_RC);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	assert_true(peer_out(&p, &out));	/* the QP stays in the list of QPs with a turn */
	for (unsigned int i = 0; i < RTE_DIM(qps); i++) {
		p.qp = qps[i];
		take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	}
	assert_int_equal(uroce_destroy_qp(qps[1]), 0);			/* a QP in the ring */
	assert_int_equal(uroce_destroy_qp(qps[UROCE_ACK_RING_SIZE + 1]), 0);	/* a QP beyond the ring */
	p.qp = stream;
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	p.qp = qps[UROCE_ACK_RING_SIZE];
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	for (unsigned int i = 0; i < RTE_DIM(qps) - 2;) {
		assert_true(peer_out(&p, &out));
		assert_int_not_equal(out.opcode, UROCE_RC_SEND_ONLY);
		i += out.opcode == UROCE_RC_ACKNOWLEDGE;
	}
	for (unsigned int i = 0; i < 2;) {
		assert_true(peer_out(&p, &out));
		assert_int_not_equal(out.opcode, UROCE_RC_ACKNOWLEDGE);
		i += out.opcode == UROCE_RC_SEND_ONLY;
	}
	peer_expect_nothing(&p);
	for (unsigned int i = 0; i < RTE_DIM(qps); i++)
		if (i != 1 && i != UROCE_ACK_RING_SIZE + 1)
			assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	assert_int_equal(uroce_destroy_qp(stream), 0);
	p.qp = first;
	peer_stop(&p);
}

/* A READ response leaves before the ACK of the SEND behind it, and both leave before the reply. */
static void
it_waits_for_a_response(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take(&p, UROCE_RC_READ_REQUEST, PEER_RQ_PSN);
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN + 1);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN);
	peer_expect_ack(&p, 0, PEER_RQ_PSN + 1, 2);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_stop(&p);
}

/* A message that must not start yet is no reason to send an ACK early. */
static void
a_closed_window_sends_no_ack(void **state)
{
	struct peer p;

	(void)state;
	start(&p, &(struct peer_conf){ .max_rd_atomic = 1 });
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_READ_REQUEST, PEER_SQ_PSN);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, IBV_SEND_FENCE);
	peer_expect_nothing(&p);
	take_message(&p, UROCE_RC_SEND_ONLY, PEER_RQ_PSN);
	peer_expect_nothing(&p);
	assert_false(uroce_acks_are_due(&p.engine));
	peer_stop(&p);
}

/* At the peer, an ACK and a message that arrive in one burst complete in order. */
static void
the_send_completes_before_the_receive(void **state)
{
	struct peer_packet in[] = {
		{ .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .syndrome = PEER_UNLIMITED, .msn = 1 },
		{ .opcode = UROCE_RC_SEND_ONLY, .psn = PEER_RQ_PSN, .ack_req = true, .payload_bytes = 8 },
	};
	struct peer p;

	(void)state;
	start(&p, NULL);
	peer_post_recv(&p, 0, 8, 1);
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_expect_no_wc(p.send_cq);
	peer_in_burst(&p, in, RTE_DIM(in));
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 2);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_stop(&p);
}

UROCE_TESTS(ack_order)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_follows_the_ack),
		cmocka_unit_test(both_leave_in_one_burst),
		cmocka_unit_test(so_it_does_on_any_qp),
		cmocka_unit_test(and_as_a_datagram),
		cmocka_unit_test(so_does_a_message_posted_without_a_doorbell),
		cmocka_unit_test(among_streams_it_leads),
		cmocka_unit_test(a_send_follows_the_ack_of_a_write),
		cmocka_unit_test(and_one_that_awaits_it),
		cmocka_unit_test(it_waits_for_an_mbuf),
		cmocka_unit_test(so_does_every_other_message),
		cmocka_unit_test(it_follows_acks_beyond_the_ring),
		cmocka_unit_test(it_waits_for_a_response),
		cmocka_unit_test(a_closed_window_sends_no_ack),
		cmocka_unit_test(the_send_completes_before_the_receive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
