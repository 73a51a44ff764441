/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The counters of an engine and the history of a QP after failures: failed requests by reason, retransmissions, and
 * refused requests of either end.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "transport/qp/qp.h"

static const struct {
	enum ibv_wc_status status;
	enum uroce_engine_counter counter;
} send_errors[] = {
	{ IBV_WC_WR_FLUSH_ERR, UROCE_REQ_CQE_FLUSH_ERROR },
	{ IBV_WC_REM_INV_REQ_ERR, UROCE_REQ_REMOTE_INVALID_REQUEST },
	{ IBV_WC_REM_ACCESS_ERR, UROCE_REQ_REMOTE_ACCESS_ERRORS },
	{ IBV_WC_RETRY_EXC_ERR, UROCE_REQ_TRANSPORT_RETRIES_EXCEEDED },
	{ IBV_WC_RNR_RETRY_EXC_ERR, UROCE_REQ_RNR_RETRIES_EXCEEDED },
}, recv_errors[] = {
	{ IBV_WC_WR_FLUSH_ERR, UROCE_RESP_CQE_FLUSH_ERROR },
	{ IBV_WC_LOC_LEN_ERR, UROCE_RESP_LOCAL_LENGTH_ERROR },
};

static uint64_t
total(const struct uroce_engine *e)
{
	uint64_t n = 0;

	for (unsigned int i = 0; i < UROCE_ENGINE_COUNTER_COUNT; i++)
		n += e->counters[i];
	return n;
}

/* Each error status counts once as an error, and once in a counter of its own if it has one. */
static void
test_statuses(void **state)
{
	static struct uroce_engine e;

	for (unsigned int s = IBV_WC_LOC_LEN_ERR; s <= IBV_WC_TM_RNDV_INCOMPLETE; s++) {
		uroce_count_send_error(&e, s);
		uroce_count_recv_error(&e, s);
	}
	assert_int_equal(e.counters[UROCE_REQ_CQE_ERROR], IBV_WC_TM_RNDV_INCOMPLETE);
	assert_int_equal(e.counters[UROCE_RESP_CQE_ERROR], IBV_WC_TM_RNDV_INCOMPLETE);
	for (unsigned int i = 0; i < RTE_DIM(send_errors); i++)
		assert_int_equal(e.counters[send_errors[i].counter], 1);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(e.counters[recv_errors[i].counter], 1);
	assert_int_equal(total(&e), 2 * IBV_WC_TM_RNDV_INCOMPLETE + RTE_DIM(send_errors) + 2);
}

static const struct uroce_qp_history *
history(const struct peer *p)
{
	return &uroce_qp_of(p->qp)->history;
}

static void
test_timeout(void **state)
{
	const struct peer_conf conf = { .go_back_n = true, .retry_cnt = 2 };
	struct peer p;

	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	peer_expect_nothing(&p);
	for (unsigned int i = 1; i <= 2; i++) {
		while (history(&p)->counters[UROCE_QP_TIMEOUTS] < i) {
			peer_wait(&p);
			(void)uroce_engine_send(&p.engine, NULL, 0, p.now_ns);
		}
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
		peer_expect_nothing(&p);
		assert_int_equal(history(&p)->counters[UROCE_QP_RETRIES], i);
		assert_int_equal(history(&p)->counters[UROCE_QP_RETRANSMITTED], i);
		assert_int_equal(history(&p)->cause, UROCE_CAUSE_NONE);
	}
	while (uroce_qp_of(p.qp)->state != IBV_QPS_ERR) {
		peer_wait(&p);
		(void)uroce_engine_send(&p.engine, NULL, 0, p.now_ns);
	}
	peer_expect_wc(p.send_cq, IBV_WC_RETRY_EXC_ERR, 1);
	assert_int_equal(history(&p)->counters[UROCE_QP_TIMEOUTS], 3);
	assert_int_equal(history(&p)->counters[UROCE_QP_RETRIES], 2);
	assert_int_equal(history(&p)->cause, UROCE_CAUSE_SEND);
	assert_int_equal(history(&p)->status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(history(&p)->cause_ns, p.now_ns);
	assert_int_equal(p.engine.counters[UROCE_COMPLETER_RETRY_ERR], 2);
	assert_int_equal(p.engine.counters[UROCE_REQ_TRANSPORT_RETRIES_EXCEEDED], 1);
	assert_int_equal(p.engine.counters[UROCE_REQ_CQE_ERROR], 1);
	peer_stop(&p);
}

/* NAKs from the peer, by kind. */
static void
test_naks_received(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN };
	const struct peer_conf conf = { .go_back_n = true };
	struct peer p;

	peer_start(&p, &conf);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	in.syndrome = UROCE_AETH_SEQUENCE_NAK;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	in.syndrome = UROCE_AETH_RNR_NAK | 1;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in.syndrome = UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(history(&p)->counters[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_PSN_SEQUENCE_ERROR], 1);
	assert_int_equal(history(&p)->counters[UROCE_QP_NAKS_RECEIVED + UROCE_NAK_REMOTE_ACCESS_ERROR], 1);
	assert_int_equal(history(&p)->counters[UROCE_QP_RNR_NAKS_RECEIVED], 1);
	assert_int_equal(history(&p)->counters[UROCE_QP_RETRANSMITTED], 1);
	assert_int_equal(history(&p)->cause, UROCE_CAUSE_SEND);
	assert_int_equal(history(&p)->status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(p.engine.counters[UROCE_PACKET_SEQ_ERR], 1);
	assert_int_equal(p.engine.counters[UROCE_REQ_REMOTE_ACCESS_ERRORS], 1);
	peer_stop(&p);
}

/* Refused requests of the peer, by reason. */
static void
test_refused(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY, .psn = PEER_RQ_PSN, .payload_bytes = 8 };
	struct peer p;

	peer_start(&p, NULL);
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_RNR);
	peer_expect(&p, UROCE_RC_ACKNOWLEDGE, PEER_RQ_PSN);
	assert_int_equal(history(&p)->counters[UROCE_QP_RNR_NAKS_SENT], 1);
	assert_int_equal(history(&p)->cause, UROCE_CAUSE_NONE);
	in = (struct peer_packet){
		.opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN, .payload_bytes = 8, .dma_len = 8,
		.va = (uintptr_t)p.buffer, .rkey = p.mr->rkey ^ 0x100,
	};
	assert_int_equal(peer_in(&p, &in), UROCE_NAK_ACCESS);
	peer_expect(&p, UROCE_RC_ACKNOWLEDGE, PEER_RQ_PSN);
	assert_int_equal(history(&p)->counters[UROCE_QP_NAKS_SENT + UROCE_NAK_REMOTE_ACCESS_ERROR], 1);
	assert_int_equal(history(&p)->counters[UROCE_QP_NOT_OK], 2);
	assert_int_equal(history(&p)->last_verdict, UROCE_NAK_ACCESS);
	assert_int_equal(history(&p)->cause, UROCE_CAUSE_REFUSED);
	assert_int_equal(history(&p)->verdict, UROCE_NAK_ACCESS);
	assert_int_equal(uroce_qp_of(p.qp)->state, IBV_QPS_ERR);
	assert_int_equal(p.engine.counters[UROCE_RX_WRITE_REQUESTS], 1);
	peer_stop(&p);
}

/* Errors that the application causes; RESET clears the history. */
static void
test_modified(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct peer p;

	peer_start(&p, NULL);
	peer_post_recv(&p, 0, 8, 2);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 2);
	assert_int_equal(history(&p)->cause, UROCE_CAUSE_MODIFIED);
	assert_int_equal(p.engine.counters[UROCE_RESP_CQE_ERROR], 1);
	assert_int_equal(p.engine.counters[UROCE_RESP_CQE_FLUSH_ERROR], 1);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(history(&p)->cause, UROCE_CAUSE_NONE);
	assert_int_equal(history(&p)->cause_ns, 0);
	peer_stop(&p);
}

/* Successful requests, by kind. */
static void
test_messages(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY, .psn = PEER_RQ_PSN, .payload_bytes = 8 };
	struct peer p;

	peer_start(&p, NULL);
	peer_post_recv(&p, 0, 8, 1);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in = (struct peer_packet){
		.opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN + 1, .dma_len = 8, .rkey = p.mr->rkey,
		.va = (uintptr_t)p.buffer,
	};
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	in.opcode = UROCE_RC_FETCH_ADD;
	in.psn++;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	while (p.engine.counters[UROCE_SENT_PACKETS] < 2) {
		struct peer_packet out;

		assert_true(peer_out(&p, &out));
	}
	peer_post(&p, IBV_WR_SEND, 0, 8, 2, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, 0);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 1);
	in = (struct peer_packet){ .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN + 1,
				   .syndrome = UROCE_AETH_CREDITS_UNLIMITED };
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(p.engine.counters[UROCE_RDMA_RECVS], 1);
	assert_int_equal(p.engine.counters[UROCE_RX_READ_REQUESTS], 1);
	assert_int_equal(p.engine.counters[UROCE_RX_ATOMIC_REQUESTS], 1);
	assert_int_equal(p.engine.counters[UROCE_RX_WRITE_REQUESTS], 0);
	assert_int_equal(p.engine.counters[UROCE_RDMA_SENDS], 1);
	peer_stop(&p);
}

UROCE_TESTS(errors)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_naks_received),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_modified),
		cmocka_unit_test(test_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
