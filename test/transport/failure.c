/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The error state: flushing, CQ overrun, events (R41-R43).
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "wire/psn.h"

static void
r41_posting_in_error_is_accepted_and_flushed(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_post_recv(&p, 0, 8, 2);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 1);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 2);
	peer_post(&p, IBV_WR_RDMA_READ, 0, 8, 3, 0);
	peer_post_recv(&p, 0, 8, 4);
	peer_expect_nothing(&p);
	peer_expect_wc(p.send_cq, IBV_WC_WR_FLUSH_ERR, 3);
	peer_expect_wc(p.recv_cq, IBV_WC_WR_FLUSH_ERR, 4);
	peer_stop(&p);
}

static void
r43_a_full_cq_stops_the_qp_and_is_reported(void **state)
{
	struct peer_conf conf = { .cqe = 4 };
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .syndrome = UROCE_AETH_CREDITS_UNLIMITED };
	struct ibv_qp_init_attr init;
	struct ibv_async_event event;
	struct ibv_qp_attr attr;
	struct peer_packet out;
	struct ibv_wc wc[8];
	struct peer p;
	int n;

	(void)state;
	peer_start(&p, &conf);
	n = p.send_cq->cqe;
	for (int i = 0; i <= n; i++)
		peer_post(&p, IBV_WR_SEND, 0, 8, (uint64_t)i, 0);
	while (peer_out(&p, &out))
		;
	in.psn = PEER_SQ_PSN + (uint32_t)n;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_int_equal(p.engine.counters[UROCE_CQ_OVERRUNS], 1);
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(uroce_get_async_event(&p.dev.vctx.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, p.send_cq);
	uroce_ack_async_event(&event);
	/* earlier completions are still there */
	for (int i = 0; i < n; i++) {
		assert_int_equal(uroce_poll_cq(p.send_cq, 1, wc), 1);
		assert_int_equal(wc[0].wr_id, i);
		assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	}
	peer_stop(&p);
}

static void
reset_forgets_everything(void **state)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_SEND, 0, 8, 1, 0);
	peer_post_recv(&p, 0, 8, 2);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect_nothing(&p);
	peer_expect_no_wc(p.send_cq);
	peer_expect_no_wc(p.recv_cq);
	p.now_ns += 10000000000ull;
	peer_expect_nothing(&p);
	assert_int_equal(p.engine.counters[UROCE_TIMEOUTS], 0);
	peer_stop(&p);
}

static void
expect_event(struct peer *p, enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_int_equal(uroce_get_async_event(&p->dev.vctx.context, &event), 0);
	assert_string_equal(uroce_event_type_str(event.event_type), uroce_event_type_str(type));
	if (type == IBV_EVENT_CQ_ERR)
		assert_ptr_equal(event.element.cq, p->recv_cq);
	else
		assert_ptr_equal(event.element.qp, p->qp);
	uroce_ack_async_event(&event);
}

static void
expect_no_event(struct peer *p)
{
	int fd = p->dev.vctx.context.async_fd;
	struct ibv_async_event event;

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(uroce_get_async_event(&p->dev.vctx.context, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Requests that the responder refuses with a fatal NAK, by reason. */
static void
refused_requests_raise_events(void **state)
{
	static const struct {
		struct peer_packet in;
		enum uroce_verdict verdict;
		enum ibv_event_type type;
	} cases[] = {
		{ { .opcode = UROCE_RC_WRITE_ONLY, .dma_len = 8, .payload_bytes = 8 }, UROCE_NAK_ACCESS,
		  IBV_EVENT_QP_ACCESS_ERR },
		{ { .opcode = UROCE_RC_READ_REQUEST, .dma_len = 8 }, UROCE_NAK_ACCESS, IBV_EVENT_QP_ACCESS_ERR },
		{ { .opcode = UROCE_RC_FETCH_ADD, .va = 1 }, UROCE_NAK_ATOMIC_ALIGNMENT, IBV_EVENT_QP_REQ_ERR },
		{ { .opcode = UROCE_RC_SEND_LAST, .payload_bytes = 8 }, UROCE_NAK_OPCODE_SEQUENCE,
		  IBV_EVENT_QP_REQ_ERR },
		{ { .opcode = UROCE_RC_WRITE_ONLY, .dma_len = 9, .payload_bytes = 8 }, UROCE_NAK_DMA_LEN,
		  IBV_EVENT_QP_REQ_ERR },
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct peer_packet in = cases[i].in;
		struct peer p;

		peer_start(&p, NULL);
		in.psn = PEER_RQ_PSN;
		assert_int_equal(peer_in(&p, &in), cases[i].verdict);
		expect_event(&p, cases[i].type);
		expect_no_event(&p);
		peer_stop(&p);
	}
}

/* The region of an accepted READ is deregistered, and a WRITE behind it is refused before the READ is answered: the
 * NAK names the READ, and there is one event. */
static void
two_requests_refused_raise_one_event(void **state)
{
	struct peer_packet read = { .opcode = UROCE_RC_READ_REQUEST, .psn = PEER_RQ_PSN, .dma_len = 8 };
	struct peer_packet write = { .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN + 1, .dma_len = 8,
				     .payload_bytes = 8 };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	read.va = write.va = (uintptr_t)p.buffer;
	read.rkey = write.rkey = p.mr->rkey;
	assert_int_equal(peer_in(&p, &read), UROCE_OK);
	assert_int_equal(uroce_dereg_mr(p.mr), 0);
	p.mr = NULL;
	assert_int_equal(peer_in(&p, &write), UROCE_NAK_ACCESS);
	peer_expect(&p, UROCE_RC_ACKNOWLEDGE, PEER_RQ_PSN);
	peer_expect_nothing(&p);
	expect_event(&p, IBV_EVENT_QP_ACCESS_ERR);
	expect_no_event(&p);
	peer_stop(&p);
}

static void
a_failed_send_raises_an_event(void **state)
{
	struct peer_packet nak = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN,
				   .syndrome = UROCE_AETH_NAK | UROCE_NAK_REMOTE_ACCESS_ERROR };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN);
	expect_no_event(&p);
	assert_int_equal(peer_in(&p, &nak), UROCE_OK);
	/* one event, however many requests are flushed */
	expect_event(&p, IBV_EVENT_QP_FATAL);
	expect_no_event(&p);
	peer_stop(&p);
}

/* R43: an event for the CQ, and one for the QP that fails with it. */
static void
an_overrun_raises_events(void **state)
{
	struct peer_conf conf = { .cqe = 2 };
	struct peer_packet in = { .opcode = UROCE_RC_SEND_ONLY };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	for (uint64_t i = 0; i < 6; i++)
		peer_post_recv(&p, 0, 8, i);
	for (uint32_t i = 0; i < 3; i++) {
		expect_no_event(&p);
		in.psn = PEER_RQ_PSN + i;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
	}
	expect_event(&p, IBV_EVENT_CQ_ERR);
	expect_event(&p, IBV_EVENT_QP_FATAL);
	expect_no_event(&p);
	peer_stop(&p);
}

/* The first request to a QP in RTR raises one event; in RTS it raises none, because the application does not wait
 * for it. */
static void
the_first_request_raises_an_event(void **state)
{
	struct peer_conf rtr = { .state = IBV_QPS_RTR };
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN + 1 };
	struct peer p;

	(void)state;
	peer_start(&p, &rtr);
	assert_int_equal(peer_in(&p, &in), UROCE_EARLY);
	expect_no_event(&p);
	in.psn = PEER_RQ_PSN;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_event(&p, IBV_EVENT_COMM_EST);
	in.psn += 2;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_no_event(&p);
	peer_stop(&p);
	peer_start(&p, NULL);
	in.psn = PEER_RQ_PSN;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	expect_no_event(&p);
	peer_stop(&p);
}

UROCE_TESTS(failure)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(r41_posting_in_error_is_accepted_and_flushed),
		cmocka_unit_test(r43_a_full_cq_stops_the_qp_and_is_reported),
		cmocka_unit_test(reset_forgets_everything),
		cmocka_unit_test(refused_requests_raise_events),
		cmocka_unit_test(two_requests_refused_raise_one_event),
		cmocka_unit_test(a_failed_send_raises_an_event),
		cmocka_unit_test(an_overrun_raises_events),
		cmocka_unit_test(the_first_request_raises_an_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
