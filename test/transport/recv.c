/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Receive WQEs of several QPs that share a queue: order, RNR (R21), the limit, protection domains, and which receives
 * the error state flushes (R41).
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
#include "verbs/qp/qp.h"
#include "wire/psn.h"

#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)
#define MTU 1024
#define QPS 3

static uint8_t pattern[4096];

/* A peer whose QPs use an SRQ; the QP of peer_start() has none, and stays unused. */
struct shared {
	struct peer p;
	struct ibv_qp *own;
	struct ibv_srq *srq;
	struct ibv_qp *qps[QPS];
	uint32_t psn[QPS];		/* next PSN of each QP */
};

static void
start(struct shared *s)
{
	static const struct peer_conf conf;
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 8, .max_sge = 2 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 8, .max_send_sge = 1 } };

	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + (i >> 8));
	peer_start(&s->p, NULL);
	s->own = s->p.qp;
	s->srq = uroce_create_srq(s->p.pd, &srq_init);
	assert_non_null(s->srq);
	init.srq = s->srq;
	init.send_cq = s->p.send_cq;
	init.recv_cq = s->p.recv_cq;
	for (int i = 0; i < QPS; i++) {
		s->qps[i] = uroce_create_qp(s->p.pd, &init);
		assert_non_null(s->qps[i]);
		peer_connect(s->qps[i], &conf);
		s->psn[i] = PEER_RQ_PSN;
	}
}

static void
finish(struct shared *s)
{
	for (int i = 0; i < QPS; i++)
		assert_int_equal(uroce_destroy_qp(s->qps[i]), 0);
	assert_int_equal(uroce_destroy_srq(s->srq), 0);
	s->p.qp = s->own;
	peer_stop(&s->p);
}

static void
post(struct shared *s, uint32_t offset, uint32_t length, uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = (uintptr_t)s->p.buffer + offset, .length = length,
			       .lkey = s->p.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_srq_recv(s->srq, &wr, &bad), 0);
}

static enum uroce_verdict
in(struct shared *s, int qp, uint8_t opcode, uint32_t from, uint32_t length)
{
	struct peer_packet packet = {
		.opcode = opcode, .psn = s->psn[qp], .payload = pattern + from, .payload_bytes = length,
		.ack_req = uroce_opcodes[opcode].flags & UROCE_OPF_LAST,
	};
	enum uroce_verdict verdict;

	s->p.qp = s->qps[qp];
	verdict = peer_in(&s->p, &packet);
	if (verdict == UROCE_OK)
		s->psn[qp] = uroce_psn_add(s->psn[qp], 1);
	return verdict;
}

static struct ibv_wc
expect_recv(struct shared *s, int qp, uint64_t wr_id, uint32_t length)
{
	struct ibv_wc wc = peer_expect_wc(s->p.recv_cq, IBV_WC_SUCCESS, wr_id);

	assert_int_equal(wc.qp_num, s->qps[qp]->qp_num);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, length);
	return wc;
}

static void
expect_event(struct shared *s, enum ibv_event_type type, void *element)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(&s->p.dev.vctx.context, &event), 0);
	assert_string_equal(uroce_event_type_str(event.event_type), uroce_event_type_str(type));
	assert_ptr_equal(event.element.qp, element);
	uroce_ack_async_event(&event);
}

static void
expect_no_event(struct shared *s)
{
	assert_int_equal(s->p.dev.events.backlog_head, s->p.dev.events.backlog_tail);
	for (int i = 0; i < QPS; i++)
		assert_int_equal(uroce_qp_of(s->qps[i])->events.queued, 0);
}

/* The message that begins first takes the oldest receive; the message that ends first completes first. */
static void
messages_take_in_the_order_in_which_they_begin(void **state)
{
	struct shared s;

	(void)state;
	start(&s);
	for (uint32_t i = 0; i < 4; i++)
		post(&s, i * 4096, 4096, 10 + i);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_FIRST, 0, MTU), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_FIRST, 5, MTU), UROCE_OK);
	assert_int_equal(in(&s, 2, UROCE_RC_SEND_ONLY, 9, 100), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_MIDDLE, 5 + MTU, MTU), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_LAST, 5 + 2 * MTU, 7), UROCE_OK);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_LAST, MTU, 1), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_ONLY, 3, 0), UROCE_OK);
	expect_recv(&s, 2, 12, 100);
	expect_recv(&s, 1, 11, 2 * MTU + 7);
	expect_recv(&s, 0, 10, MTU + 1);
	expect_recv(&s, 1, 13, 0);
	assert_memory_equal(s.p.buffer, pattern, MTU + 1);
	assert_memory_equal(s.p.buffer + 4096, pattern + 5, 2 * MTU + 7);
	assert_memory_equal(s.p.buffer + 8192, pattern + 9, 100);
	peer_expect_no_wc(s.p.recv_cq);
	finish(&s);
}

static void
a_write_with_immediate_takes_one_at_its_end(void **state)
{
	struct shared s;
	struct ibv_wc wc;

	(void)state;
	start(&s);
	post(&s, 0, 64, 1);
	s.p.qp = s.qps[0];
	struct peer_packet write = {
		.opcode = UROCE_RC_WRITE_FIRST, .psn = PEER_RQ_PSN, .rkey = s.p.mr->rkey, .dma_len = MTU + 4,
		.va = (uintptr_t)s.p.buffer + 4096, .payload = pattern, .payload_bytes = MTU,
	};
	assert_int_equal(peer_in(&s.p, &write), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_ONLY, 0, 9), UROCE_OK);
	expect_recv(&s, 1, 1, 9);
	peer_expect_ack(&s.p, UNLIMITED, PEER_RQ_PSN, 1);
	write.opcode = UROCE_RC_WRITE_LAST_IMM;
	write.psn++;
	write.payload = pattern + MTU;
	write.payload_bytes = 4;
	write.imm = 0xabcd;
	s.p.qp = s.qps[0];
	assert_int_equal(peer_in(&s.p, &write), UROCE_NAK_RNR);
	peer_expect_ack(&s.p, UROCE_AETH_RNR_NAK | 12, PEER_RQ_PSN + 1, 0);
	post(&s, 0, 64, 2);
	assert_int_equal(peer_in(&s.p, &write), UROCE_OK);
	wc = peer_expect_wc(s.p.recv_cq, IBV_WC_SUCCESS, 2);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.byte_len, MTU + 4);
	assert_int_equal(rte_be_to_cpu_32(wc.imm_data), 0xabcd);
	finish(&s);
}

static void
r21_an_empty_srq_is_rnr_for_each_qp(void **state)
{
	struct shared s;

	(void)state;
	start(&s);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(in(&s, i, UROCE_RC_SEND_ONLY, 0, 8), UROCE_NAK_RNR);
		peer_expect_ack(&s.p, UROCE_AETH_RNR_NAK | 12, PEER_RQ_PSN, 0);
	}
	post(&s, 0, 64, 1);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	peer_expect_ack(&s.p, UNLIMITED, PEER_RQ_PSN, 1);
	expect_recv(&s, 1, 1, 8);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_ONLY, 0, 8), UROCE_NAK_RNR);
	peer_expect_ack(&s.p, UROCE_AETH_RNR_NAK | 12, PEER_RQ_PSN, 0);
	expect_no_event(&s);
	finish(&s);
}

static void
the_limit_is_reported_once_by_whoever_crosses_it(void **state)
{
	struct ibv_srq_attr attr = { .srq_limit = 2 };
	struct shared s;

	(void)state;
	start(&s);
	for (uint64_t i = 0; i < 4; i++)
		post(&s, 0, 64, i);
	assert_int_equal(uroce_modify_srq(s.srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	/* the begin of a message suffices */
	assert_int_equal(in(&s, 2, UROCE_RC_SEND_FIRST, 0, MTU), UROCE_NAK_RECV_LENGTH);
	expect_event(&s, IBV_EVENT_SRQ_LIMIT_REACHED, s.srq);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	expect_event(&s, IBV_EVENT_QP_REQ_ERR, s.qps[2]);
	finish(&s);
}

/* R41: a receive taken by a QP in error completes with it; queued receives stay for other QPs. */
static void
an_error_flushes_what_was_taken_and_nothing_else(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct shared s;
	struct ibv_wc wc;

	(void)state;
	start(&s);
	for (uint64_t i = 0; i < 3; i++)
		post(&s, 0, 4096, i);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_FIRST, 0, MTU), UROCE_OK);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_FIRST, 0, MTU), UROCE_OK);
	assert_int_equal(uroce_modify_qp(s.qps[0], &attr, IBV_QP_STATE), 0);
	wc = peer_expect_wc(s.p.recv_cq, IBV_WC_WR_FLUSH_ERR, 0);
	assert_int_equal(wc.qp_num, s.qps[0]->qp_num);
	peer_expect_no_wc(s.p.recv_cq);
	expect_event(&s, IBV_EVENT_QP_LAST_WQE_REACHED, s.qps[0]);
	/* one event only */
	assert_int_equal(uroce_modify_qp(s.qps[0], &attr, IBV_QP_STATE), 0);
	expect_no_event(&s);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_LAST, 0, 8), UROCE_DROP_QP_STATE);
	/* other QPs do not notice */
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_LAST, 0, 8), UROCE_OK);
	expect_recv(&s, 1, 1, MTU + 8);
	assert_int_equal(in(&s, 2, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	expect_recv(&s, 2, 2, 8);
	finish(&s);
}

static void
a_refused_message_ends_with_its_receive_and_the_last_wqe(void **state)
{
	struct shared s;
	struct ibv_wc wc;

	(void)state;
	start(&s);
	post(&s, 0, MTU + 4, 1);
	post(&s, 0, 64, 2);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_FIRST, 0, MTU), UROCE_OK);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_LAST, 0, 5), UROCE_NAK_RECV_LENGTH);
	wc = peer_expect_wc(s.p.recv_cq, IBV_WC_LOC_LEN_ERR, 1);
	assert_int_equal(wc.qp_num, s.qps[0]->qp_num);
	expect_event(&s, IBV_EVENT_QP_REQ_ERR, s.qps[0]);
	expect_no_event(&s);
	peer_expect_ack(&s.p, UROCE_AETH_NAK | UROCE_NAK_INVALID_REQUEST, PEER_RQ_PSN + 1, 0);
	expect_event(&s, IBV_EVENT_QP_LAST_WQE_REACHED, s.qps[0]);
	peer_expect_no_wc(s.p.recv_cq);
	assert_int_equal(in(&s, 1, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	expect_recv(&s, 1, 2, 8);
	finish(&s);
}

static void
reset_drops_what_was_taken(void **state)
{
	static const struct peer_conf conf;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct shared s;

	(void)state;
	start(&s);
	post(&s, 0, 4096, 1);
	post(&s, 0, 4096, 2);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_FIRST, 0, MTU), UROCE_OK);
	assert_int_equal(uroce_modify_qp(s.qps[0], &attr, IBV_QP_STATE), 0);
	peer_expect_no_wc(s.p.recv_cq);
	peer_connect(s.qps[0], &conf);
	s.psn[0] = PEER_RQ_PSN;
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_ONLY, 0, 8), UROCE_OK);
	expect_recv(&s, 0, 2, 8);
	expect_no_event(&s);
	finish(&s);
}

/* The keys of a receive belong to the SRQ's domain, those of the peer to the QP's. */
static void
memory_is_of_the_srqs_domain(void **state)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	static const struct peer_conf conf;
	struct ibv_pd *other;
	struct ibv_mr *mr;
	struct shared s;

	(void)state;
	start(&s);
	other = uroce_alloc_pd(&s.p.dev.vctx.context);
	mr = uroce_reg_mr(other, s.p.buffer, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_int_equal(uroce_destroy_qp(s.qps[0]), 0);
	init.srq = uroce_create_srq(other, &srq_init);
	init.send_cq = init.recv_cq = s.p.recv_cq;
	s.qps[0] = uroce_create_qp(s.p.pd, &init);
	assert_non_null(s.qps[0]);
	peer_connect(s.qps[0], &conf);
	for (uint64_t i = 0; i < 2; i++) {
		struct ibv_sge sge = { (uintptr_t)s.p.buffer, 64, i == 0 ? mr->lkey : s.p.mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		assert_int_equal(uroce_post_srq_recv(init.srq, &wr, &bad), 0);
	}
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_ONLY, 11, 8), UROCE_OK);
	expect_recv(&s, 0, 0, 8);
	assert_memory_equal(s.p.buffer, pattern + 11, 8);
	assert_int_equal(in(&s, 0, UROCE_RC_SEND_ONLY, 0, 8), UROCE_NAK_LOCAL_PROTECTION);
	peer_expect_wc(s.p.recv_cq, IBV_WC_LOC_PROT_ERR, 1);
	assert_int_equal(uroce_destroy_qp(s.qps[0]), 0);
	assert_int_equal(uroce_destroy_srq(init.srq), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	assert_int_equal(uroce_dealloc_pd(other), 0);
	s.qps[0] = uroce_create_qp(s.p.pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
				   .send_cq = s.p.send_cq, .recv_cq = s.p.recv_cq });
	finish(&s);
}

/* A QP with its own queue is not affected. */
static void
a_qp_without_one_keeps_its_own(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct peer_packet send = { .opcode = UROCE_RC_SEND_ONLY, .psn = PEER_RQ_PSN, .payload_bytes = 8 };
	struct shared s;

	(void)state;
	start(&s);
	post(&s, 0, 64, 1);
	s.p.qp = s.own;
	assert_int_equal(peer_in(&s.p, &send), UROCE_NAK_RNR);
	peer_post_recv(&s.p, 0, 64, 2);
	peer_post_recv(&s.p, 0, 64, 3);
	assert_int_equal(peer_in(&s.p, &send), UROCE_OK);
	peer_expect_wc(s.p.recv_cq, IBV_WC_SUCCESS, 2);
	assert_int_equal(uroce_modify_qp(s.own, &attr, IBV_QP_STATE), 0);
	peer_expect_wc(s.p.recv_cq, IBV_WC_WR_FLUSH_ERR, 3);
	assert_int_equal(uroce_qp_of(s.own)->events.queued, 0);
	finish(&s);
}

UROCE_TESTS(recv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_take_in_the_order_in_which_they_begin),
		cmocka_unit_test(a_write_with_immediate_takes_one_at_its_end),
		cmocka_unit_test(r21_an_empty_srq_is_rnr_for_each_qp),
		cmocka_unit_test(the_limit_is_reported_once_by_whoever_crosses_it),
		cmocka_unit_test(an_error_flushes_what_was_taken_and_nothing_else),
		cmocka_unit_test(a_refused_message_ends_with_its_receive_and_the_last_wqe),
		cmocka_unit_test(reset_drops_what_was_taken),
		cmocka_unit_test(memory_is_of_the_srqs_domain),
		cmocka_unit_test(a_qp_without_one_keeps_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
