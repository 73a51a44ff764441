/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Which packets reach a QP, the order of the QPs' turns, and doorbells from other threads.
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
#include "wire/psn.h"

#include <fcntl.h>
#include <pthread.h>

static void
a_packet_must_be_for_this_connection(void **state)
{
	const struct peer_packet good = { .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN, .ack_req = true };
	struct peer_packet in;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	in = good;
	in.pkey = 0x1234;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_PKEY);	/* R6 */
	in = good;
	in.last_ip_byte = 3;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_SOURCE);	/* R8 */
	in = good;
	in.opcode = UROCE_UC_SEND_FIRST + UROCE_RC_WRITE_ONLY;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_TRANSPORT);	/* R2 */
	in.opcode = UROCE_UD_SEND_ONLY;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_TRANSPORT);
	in.opcode = UROCE_CNP;
	in.last_ip_byte = 3;
	assert_int_equal(peer_in(&p, &in), UROCE_DROP_SOURCE);
	peer_expect_nothing(&p);
	in = good;
	in.pkey = 0x7fff;	/* a limited member may communicate with a full one */
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_stop(&p);
}

static void
r44_what_a_qp_receives_in_its_state(void **state)
{
	struct peer_packet request = { .opcode = UROCE_RC_WRITE_ONLY, .psn = PEER_RQ_PSN, .ack_req = true };
	struct peer_packet answer = { .opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN };
	struct peer_conf conf = { .state = IBV_QPS_INIT };
	struct peer p;

	(void)state;
	peer_start(&p, &conf);
	assert_int_equal(peer_in(&p, &request), UROCE_DROP_QP_STATE);
	peer_stop(&p);
	conf.state = IBV_QPS_RTR;
	peer_start(&p, &conf);
	assert_int_equal(peer_in(&p, &request), UROCE_OK);
	peer_expect(&p, UROCE_RC_ACKNOWLEDGE, PEER_RQ_PSN);
	assert_int_equal(peer_in(&p, &answer), UROCE_DROP_QP_STATE);
	peer_stop(&p);
}

static void
sqd_finishes_what_has_begun(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .syndrome = UROCE_AETH_CREDITS_UNLIMITED };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 2048, 1, 0);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 2, 0);
	peer_expect(&p, UROCE_RC_WRITE_FIRST, PEER_SQ_PSN);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect(&p, UROCE_RC_WRITE_LAST, PEER_SQ_PSN + 1);
	peer_expect_nothing(&p);
	in.psn = PEER_SQ_PSN + 1;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	peer_expect_wc(p.send_cq, IBV_WC_SUCCESS, 1);
	peer_expect_nothing(&p);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 2);
	peer_stop(&p);
}

static bool
drained(struct peer *p)
{
	int fd = p->dev.vctx.context.async_fd;
	struct ibv_async_event event;

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
	if (uroce_get_async_event(&p->dev.vctx.context, &event) != 0)
		return false;
	assert_int_equal(event.event_type, IBV_EVENT_SQ_DRAINED);
	assert_ptr_equal(event.element.qp, p->qp);
	uroce_ack_async_event(&event);
	return true;
}

static void
sqd_says_when_it_is_drained(void **state)
{
	struct peer_packet in = {
		.opcode = UROCE_RC_ACKNOWLEDGE, .psn = PEER_SQ_PSN, .syndrome = UROCE_AETH_CREDITS_UNLIMITED,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	struct ibv_qp_init_attr init;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (uint64_t i = 0; i < 3; i++)
		peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, i, 0);
	for (uint32_t i = 0; i < 3; i++)
		peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + i);
	peer_post(&p, IBV_WR_RDMA_WRITE, 0, 8, 3, 0);
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_false(drained(&p));
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.sq_draining, 1);
	in.psn = PEER_SQ_PSN + 2;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	assert_true(drained(&p));
	assert_int_equal(uroce_query_qp(p.qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.sq_draining, 0);
	/* the WQE behind it has not started */
	peer_expect_nothing(&p);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	peer_expect(&p, UROCE_RC_WRITE_ONLY, PEER_SQ_PSN + 3);
	in.psn = PEER_SQ_PSN + 3;
	assert_int_equal(peer_in(&p, &in), UROCE_OK);
	/* nothing is in flight: the event comes at once, and only on request */
	attr.qp_state = IBV_QPS_SQD;
	attr.en_sqd_async_notify = 1;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY), 0);
	assert_true(drained(&p));
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_SQD;
	assert_int_equal(uroce_modify_qp(p.qp, &attr, IBV_QP_STATE), 0);
	assert_false(drained(&p));
	peer_stop(&p);
}

#define POSTS 3000

static void *
poster(void *arg)
{
	struct peer *p = arg;
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;

	for (int i = 0; i < POSTS; )
		i += uroce_post_send(p->qp, &wr, &bad) == 0;
	return NULL;
}

static void
no_doorbell_is_lost(void **state)
{
	struct peer_packet in = { .opcode = UROCE_RC_ACKNOWLEDGE, .syndrome = UROCE_AETH_CREDITS_UNLIMITED };
	struct peer_packet out;
	pthread_t threads[2];
	uint32_t sent = 0;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poster, &p), 0);
	/* ends only if the worker sees each post: unsignaled, 64 at a time */
	while (sent < 2 * POSTS) {
		if (!peer_out(&p, &out))
			continue;
		assert_int_equal(out.psn, uroce_psn_add(PEER_SQ_PSN, sent));
		in.psn = out.psn;
		assert_int_equal(peer_in(&p, &in), UROCE_OK);
		sent++;
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	peer_expect_nothing(&p);
	peer_stop(&p);
}

/* The engine's clock ends the period of a moderated CQ, and the engine's deadline includes it. */
static void
a_moderated_cq_is_told_of_in_time(void **state)
{
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 100, 50 } };
	struct ibv_wc wc = { .wr_id = 1 };
	struct ibv_comp_channel *channel;
	struct ibv_cq *cqs[2], *got;
	void *context;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	channel = uroce_create_comp_channel(&p.dev.vctx.context);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	for (unsigned int i = 0; i < 2; i++) {
		cqs[i] = uroce_create_cq(&p.dev.vctx.context, 4, NULL, channel, 0);
		assert_int_equal(uroce_modify_cq(cqs[i], &moderate), 0);
		uroce_req_notify_cq(cqs[i], 0);
	}
	/* the engine has not been called for long */
	p.now_ns += 1000000000;
	peer_expect_nothing(&p);
	for (unsigned int i = 0; i < 2; i++)
		assert_true(uroce_cq_push(uroce_cq_of(cqs[i]), &p.engine, &wc, false));
	assert_true(uroce_engine_deadline(&p.engine) <= p.now_ns + 50000 + UROCE_TICK_NS);
	p.now_ns += 50000 - UROCE_TICK_NS;
	peer_expect_nothing(&p);
	assert_int_equal(uroce_get_cq_event(channel, &got, &context), -1);
	p.now_ns += 2 * UROCE_TICK_NS;
	peer_expect_nothing(&p);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(uroce_get_cq_event(channel, &got, &context), 0);
		uroce_ack_cq_events(got, 1);
	}
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	/* and a CQ that is destroyed during its period */
	uroce_req_notify_cq(cqs[0], 0);
	assert_true(uroce_cq_push(uroce_cq_of(cqs[0]), &p.engine, &wc, false));
	assert_int_not_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_cq(cqs[i]), 0);
	assert_int_equal(uroce_engine_deadline(&p.engine), UINT64_MAX);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	peer_stop(&p);
}

/* Completions carry the time at which the engine received their packet. */
static void
completions_are_stamped_with_the_engines_time(void **state)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 4, .wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
				      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_wc wc = { .wr_id = 1 };
	struct ibv_cq_ex *cq;
	uint64_t then;
	struct peer p;

	(void)state;
	peer_start(&p, NULL);
	cq = uroce_create_cq_ex(&p.dev.vctx.context, &attr);
	p.now_ns += 12345;
	peer_expect_nothing(&p);
	assert_int_equal(ibv_query_rt_values_ex(&p.dev.vctx.context, &values), 0);
	then = p.now_ns;
	assert_int_equal(values.raw_clock.tv_nsec, then);
	assert_true(uroce_cq_push(uroce_cq_of(ibv_cq_ex_to_cq(cq)), &p.engine, &wc, false));
	p.now_ns += 1000;
	assert_int_equal(ibv_start_poll(cq, NULL), 0);
	assert_int_equal(ibv_wc_read_completion_ts(cq), then);
	assert_int_equal(ibv_wc_read_completion_wallclock_ns(cq), PEER_WALL_NS + then);
	ibv_end_poll(cq);
	assert_int_equal(uroce_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
	peer_stop(&p);
}

UROCE_TESTS(engine)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_must_be_for_this_connection),
		cmocka_unit_test(r44_what_a_qp_receives_in_its_state),
		cmocka_unit_test(sqd_finishes_what_has_begun),
		cmocka_unit_test(sqd_says_when_it_is_drained),
		cmocka_unit_test(no_doorbell_is_lost),
		cmocka_unit_test(a_moderated_cq_is_told_of_in_time),
		cmocka_unit_test(completions_are_stamped_with_the_engines_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
