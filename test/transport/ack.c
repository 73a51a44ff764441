/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests ACKs that are deferred to the next round: which ACKs are deferred, when they leave, and what ends the wait
 * early.
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

static struct peer_packet
write_request(const struct peer *p, uint32_t psn)
{
	return (struct peer_packet){ .opcode = UROCE_RC_WRITE_ONLY, .psn = psn, .ack_req = true, .rkey = p->mr->rkey,
				     .va = (uintptr_t)p->buffer, .dma_len = 8, .payload_bytes = 8 };
}

static void
start(struct peer *p, const struct peer_conf *conf)
{
	peer_start(p, conf);
	peer_expect_nothing(p); /* consumes the turn that the QP got when it became RTS */
	peer_next_round(p);
}

static void
take_write(struct peer *p, uint32_t psn)
{
	struct peer_packet in = write_request(p, psn);

	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

static void
take_read(struct peer *p, uint32_t psn)
{
	struct peer_packet in = {
		.opcode = UROCE_RC_READ_REQUEST,
		.psn = psn,
		.ack_req = true,
		.rkey = p->mr->rkey,
		.va = (uintptr_t)p->buffer,
		.dma_len = 8,
	};

	assert_int_equal(peer_in(p, &in), UROCE_OK);
}

/* Create another QP, with which the peer exchanges packets from now on. */
static struct ibv_qp *
another_qp(struct peer *p, uint32_t rq_psn)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = p->send_cq,
		.recv_cq = p->recv_cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	p->qp = uroce_create_qp(p->pd, &init);
	assert_non_null(p->qp);
	peer_connect(p->qp, &(struct peer_conf){ .rq_psn = rq_psn });
	peer_expect_nothing(p);
	return p->qp;
}

static void
expect_no_deferred(struct peer *p)
{
	struct peer_packet out;

	assert_false(peer_out_due(p, &out));
}

static void
expect_deferred_ack(struct peer *p, uint32_t psn, uint32_t msn)
{
	struct peer_packet out;

	assert_true(peer_out_due(p, &out));
	assert_int_equal(out.opcode, UROCE_RC_ACKNOWLEDGE);
	assert_int_equal(out.psn, psn);
	assert_int_equal(out.syndrome, PEER_UNLIMITED);
	assert_int_equal(out.msn, msn);
}

static void
it_waits_for_one_round(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	peer_expect_nothing(&p);
	expect_no_deferred(&p);
	assert_false(uroce_acks_are_due(&p.engine));
	assert_int_equal(uroce_engine_deadline(&p.engine), p.now_ns);

	peer_next_round(&p);
	assert_true(uroce_acks_are_due(&p.engine));
	expect_deferred_ack(&p, PEER_RQ_PSN, 1);
	expect_no_deferred(&p);
	assert_false(uroce_acks_are_due(&p.engine));
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	peer_stop(&p);
}

/* Requests of two rounds: the older one decides when the ACK leaves, the newer one its PSN. */
static void
one_stands_for_all(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	peer_next_round(&p);
	take_write(&p, PEER_RQ_PSN + 1);
	take_write(&p, PEER_RQ_PSN + 2);
	expect_deferred_ack(&p, PEER_RQ_PSN + 2, 3);
	peer_next_round(&p);
	expect_no_deferred(&p);
	take_write(&p, PEER_RQ_PSN + 3);
	peer_next_round(&p);
	expect_deferred_ack(&p, PEER_RQ_PSN + 3, 4);
	peer_stop(&p);
}

/* If the port is full for a whole round, the due ACKs leave before all other frames of the next round. */
static void
acks_that_found_no_room_lead(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	peer_next_round(&p);
	peer_next_round(&p);
	take_write(&p, PEER_RQ_PSN + 1);
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN + 1, 2);
	peer_next_round(&p);
	expect_no_deferred(&p);

	take_write(&p, PEER_RQ_PSN + 2);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	expect_deferred_ack(&p, PEER_RQ_PSN + 2, 3);
	peer_stop(&p);
}

/* A WRITE leaves before a deferred ACK, even if the QP has its turn for another reason: no completion shows the
 * order. */
static void
writes_go_first(void **state)
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
	take_write(&p, PEER_RQ_PSN);
	assert_int_equal(peer_in(&p, &ack), UROCE_OK);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	expect_deferred_ack(&p, PEER_RQ_PSN, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
a_nak_does_not_wait(void **state)
{
	struct peer_packet in;
	struct peer p;

	(void)state;
	start(&p, NULL);
	in = write_request(&p, PEER_RQ_PSN + 1);
	take_write(&p, PEER_RQ_PSN);
	in.rkey ^= 0x100;
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	peer_expect_ack(&p, UROCE_AETH_NAK | 2, PEER_RQ_PSN + 1, 1);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_expect_nothing(&p);
	assert_false(uroce_acks_are_due(&p.engine));
	peer_stop(&p);
}

/* An acknowledgement that reports a gap is not deferred: the peer needs it to retransmit. */
static void
nor_does_a_report_of_a_gap(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	assert_int_equal(gap_in_write(&p, PEER_RQ_PSN + 2, true), UROCE_EARLY);
	peer_expect_ack(&p, UROCE_AETH_SEQUENCE_NAK, PEER_RQ_PSN + 1, 1);
	assert_int_equal(gap_in_write(&p, PEER_RQ_PSN, true), UROCE_DUPLICATE);
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN, 1);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_stop(&p);
}

static void
nor_does_a_sack(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	assert_int_equal(gap_in_ask(&p, PEER_RQ_PSN + 3), UROCE_OK);
	peer_expect(&p, UROCE_RC_SACK, PEER_RQ_PSN);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_stop(&p);
}

/* A READ response replaces the ACK of requests before it, and leaves before the ACK of requests behind it. */
static void
a_response_does_not_wait(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	take_read(&p, PEER_RQ_PSN + 1);
	take_write(&p, PEER_RQ_PSN + 2);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 1);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	expect_deferred_ack(&p, PEER_RQ_PSN + 2, 3);

	take_write(&p, PEER_RQ_PSN + 3);
	take_read(&p, PEER_RQ_PSN + 4);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN + 4);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* A READ is still unanswered when the ACK is due: the ACK follows the response, in the QP's turn. */
static void
it_waits_for_a_response(void **state)
{
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_read(&p, PEER_RQ_PSN);
	take_write(&p, PEER_RQ_PSN + 1);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, PEER_RQ_PSN);
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN + 1, 2);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

static void
no_mbuf(void **state)
{
	static struct rte_mbuf *mbufs[1023];
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	peer_next_round(&p);
	assert_int_equal(rte_pktmbuf_alloc_bulk(p.headers, mbufs, RTE_DIM(mbufs)), 0);
	expect_no_deferred(&p);
	peer_expect_nothing(&p);
	rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN, 1);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* The peer sees the completion of its SEND before the memory of the reply. */
static void
expect_write_behind_response(uint32_t read_psn, uint32_t send_psn)
{
	static struct rte_mbuf *mbufs[1023];
	struct peer_packet read = { .opcode = UROCE_RC_READ_REQUEST, .psn = read_psn, .ack_req = true, .dma_len = 1024 };
	struct peer_packet send = { .opcode = UROCE_RC_SEND_ONLY, .psn = send_psn, .ack_req = true };
	struct peer p;

	start(&p, &(struct peer_conf){ .copy = true });
	peer_post_recv(&p, 0, 64, 1);
	read.rkey = p.mr->rkey;
	read.va = (uintptr_t)p.buffer;
	assert_int_equal(peer_in(&p, read_psn < send_psn ? &read : &send), UROCE_OK);
	assert_int_equal(peer_in(&p, read_psn < send_psn ? &send : &read), UROCE_OK);
	assert_int_equal(rte_pktmbuf_alloc_bulk(p.payloads, mbufs, RTE_DIM(mbufs)), 0);
	peer_expect_wc(p.recv_cq, IBV_WC_SUCCESS, 1);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, IBV_SEND_INLINE);
	peer_expect_nothing(&p);
	rte_pktmbuf_free_bulk(mbufs, RTE_DIM(mbufs));
	peer_expect(&p, UROCE_RC_READ_RESPONSE_ONLY, read_psn);
	if (read_psn < send_psn)
		peer_expect_ack(&p, PEER_UNLIMITED & ~UROCE_AETH_VALUE_MASK, send_psn, 2);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_stop(&p);
}

static void
a_write_leaves_behind_the_ack_of_a_send_that_awaits_a_response(void **state)
{
	(void)state;
	expect_write_behind_response(PEER_RQ_PSN, PEER_RQ_PSN + 1);
}

static void
a_write_leaves_behind_the_response_that_acknowledges_a_send(void **state)
{
	(void)state;
	expect_write_behind_response(PEER_RQ_PSN + 1, PEER_RQ_PSN);
}

/* The RNR NAK would have acknowledged the SEND before the refused one. */
static void
an_rnr_nak_that_is_withdrawn_leaves_the_ack(void **state)
{
	struct peer_packet first = { .opcode = UROCE_RC_SEND_ONLY, .psn = PEER_RQ_PSN, .ack_req = true };
	struct peer_packet refused = { .opcode = UROCE_RC_SEND_FIRST, .psn = PEER_RQ_PSN + 1, .payload_bytes = 1024 };
	struct peer_packet out;
	struct peer p;

	(void)state;
	start(&p, NULL);
	peer_post_recv(&p, 0, 64, 1);
	assert_int_equal(peer_in(&p, &first), UROCE_OK);
	assert_int_equal(peer_in(&p, &refused), UROCE_NAK_RNR);
	peer_post_recv(&p, 0, 2048, 2);
	assert_int_equal(peer_in(&p, &refused), UROCE_OK);
	peer_next_round(&p);
	assert_true(peer_out_due(&p, &out) || peer_out(&p, &out));
	assert_int_equal(out.opcode, UROCE_RC_ACKNOWLEDGE);
	assert_int_equal(out.syndrome & UROCE_AETH_CLASS_MASK, UROCE_AETH_ACK);
	assert_int_equal(out.psn, PEER_RQ_PSN + 1);
	assert_int_equal(out.msn, 1);
	peer_stop(&p);
}

/* The number of QPs in the ring. */
static unsigned int
deferred(const struct uroce_engine *e)
{
	unsigned int n = 0;

	for (uint32_t i = e->acks.head; i != e->acks.tail; i++)
		n += e->acks.ring[i & (UROCE_ACK_RING_SIZE - 1)] != NULL;
	return n;
}

/* A reset drops the owed ACK; after it, the QP owes ACKs again. */
static void
the_qp_begins_anew(void **state)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct peer p;

	(void)state;
	start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	assert_int_equal(uroce_modify_qp(p.qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(deferred(&p.engine), 0);
	peer_next_round(&p);
	expect_no_deferred(&p);
	peer_expect_nothing(&p);

	peer_connect(p.qp, &(struct peer_conf){ .rq_psn = PEER_RQ_PSN });
	peer_expect_nothing(&p);
	take_write(&p, PEER_RQ_PSN);
	peer_next_round(&p);
	expect_deferred_ack(&p, PEER_RQ_PSN, 1);
	peer_stop(&p);
}

/* A destroyed QP leaves the ring; the ACK of another QP stays. */
static void
the_qp_goes(void **state)
{
	struct ibv_qp *first, *second;
	struct peer p;

	(void)state;
	start(&p, NULL);
	first = p.qp;
	for (unsigned int i = 0; i < 2; i++) {
		second = another_qp(&p, PEER_RQ_PSN);
		take_write(&p, PEER_RQ_PSN);
		another_qp(&p, PEER_RQ_PSN);
		take_write(&p, PEER_RQ_PSN);
		assert_int_equal(uroce_destroy_qp(second), 0);
		assert_int_equal(deferred(&p.engine), 1);
		peer_next_round(&p);
		if (i == 0) {
			expect_deferred_ack(&p, PEER_RQ_PSN, 1);
			expect_no_deferred(&p);
		} else {
			peer_next_round(&p);
			peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN, 1);
		}
		assert_int_equal(uroce_destroy_qp(p.qp), 0);
	}
	p.qp = first;
	peer_stop(&p);
}

/* The ring has room for UROCE_ACK_RING_SIZE QPs. With one more, all ACKs leave at once, in order. */
static void
too_many(void **state)
{
	const struct peer_conf conf = { .log2_max_qp = 10, .rq_psn = PEER_RQ_PSN - 1 };
	struct ibv_qp *qps[UROCE_ACK_RING_SIZE + 1], *first;
	struct peer p;

	(void)state;
	start(&p, &conf);
	first = p.qp;
	take_write(&p, PEER_RQ_PSN - 1);
	take_write(&p, PEER_RQ_PSN);
	for (unsigned int i = 0; i < RTE_DIM(qps); i++)
		qps[i] = another_qp(&p, PEER_RQ_PSN + 1 + i);
	for (unsigned int i = 0; i < RTE_DIM(qps); i++) {
		p.qp = qps[i];
		if (i < UROCE_ACK_RING_SIZE)
			peer_expect_nothing(&p);
		take_write(&p, PEER_RQ_PSN + 1 + i);
	}
	for (unsigned int i = 0; i < RTE_DIM(qps) + 1u; i++)
		peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN + i, i == 0 ? 2 : 1);
	peer_expect_nothing(&p);
	peer_next_round(&p);
	expect_no_deferred(&p);
	for (unsigned int i = 0; i < RTE_DIM(qps); i++)
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	p.qp = first;
	peer_stop(&p);
}

/* An engine whose caller reports no rounds defers nothing. */
static void
none_waits_without_rounds(void **state)
{
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	take_write(&p, PEER_RQ_PSN);
	peer_expect_ack(&p, PEER_UNLIMITED, PEER_RQ_PSN, 1);
	assert_false(uroce_acks_are_due(&p.engine));
	peer_stop(&p);
}

UROCE_TESTS(ack)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_for_one_round),
		cmocka_unit_test(one_stands_for_all),
		cmocka_unit_test(acks_that_found_no_room_lead),
		cmocka_unit_test(writes_go_first),
		cmocka_unit_test(a_nak_does_not_wait),
		cmocka_unit_test(nor_does_a_report_of_a_gap),
		cmocka_unit_test(nor_does_a_sack),
		cmocka_unit_test(a_response_does_not_wait),
		cmocka_unit_test(it_waits_for_a_response),
		cmocka_unit_test(no_mbuf),
		cmocka_unit_test(an_rnr_nak_that_is_withdrawn_leaves_the_ack),
		cmocka_unit_test(a_write_leaves_behind_the_ack_of_a_send_that_awaits_a_response),
		cmocka_unit_test(a_write_leaves_behind_the_response_that_acknowledges_a_send),
		cmocka_unit_test(the_qp_begins_anew),
		cmocka_unit_test(the_qp_goes),
		cmocka_unit_test(too_many),
		cmocka_unit_test(none_waits_without_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
