/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QPs: creation and granted capabilities, QP numbers, look-ups by workers, queries, and destruction.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "transport/qp/state.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fixture.h"

static void
refused(struct ibv_qp_init_attr attr, int error)
{
	const struct ibv_qp_cap cap = attr.cap;

	errno = 0;
	assert_null(uroce_create_qp(pair.pd, &attr));
	assert_int_equal(errno, error);
	assert_memory_equal(&attr.cap, &cap, sizeof(cap));
	assert_int_equal(fake.dev.qp_count, 0);
	assert_int_equal(fake.attached, 0);
	assert_int_equal(uroce_cq_of(pair.cq)->refs, 0);
}

static void
test_refused(void **state)
{
	const struct ibv_qp_init_attr good = fake_init_attr(&pair);
	static const enum ibv_qp_type types[] = {
		IBV_QPT_RAW_PACKET, IBV_QPT_DRIVER, 0, 1000,
	};
	struct ibv_qp_init_attr bad;
	struct ibv_context elsewhere = { 0 };
	struct ibv_cq foreign = { .context = &elsewhere };
	struct ibv_srq srq = { .context = &elsewhere };

	for (size_t i = 0; i < RTE_DIM(types); i++) {
		bad = good;
		bad.qp_type = types[i];
		refused(bad, EOPNOTSUPP);
	}
	bad = good;
	bad.qp_type = IBV_QPT_XRC_RECV;	/* belongs to an XRCD, not to a PD */
	refused(bad, EINVAL);
	bad = good;
	bad.srq = &srq;
	refused(bad, EINVAL);
	bad = good;
	bad.send_cq = NULL;
	refused(bad, EINVAL);
	bad = good;
	bad.recv_cq = NULL;
	refused(bad, EINVAL);
	bad = good;
	bad.send_cq = &foreign;
	refused(bad, EINVAL);
	bad = good;
	bad.recv_cq = &foreign;
	refused(bad, EINVAL);
	bad = good;
	bad.cap.max_send_wr = UROCE_MAX_QP_WR + 1;
	refused(bad, EINVAL);
	bad = good;
	bad.cap.max_recv_wr = UROCE_MAX_QP_WR + 1;
	refused(bad, EINVAL);
	bad = good;
	bad.cap.max_send_sge = UROCE_MAX_SGE + 1;
	refused(bad, EINVAL);
	bad = good;
	bad.cap.max_recv_sge = UROCE_MAX_SGE + 1;
	refused(bad, EINVAL);
	bad = good;
	bad.cap.max_inline_data = UROCE_MAX_INLINE_BYTES + 1;
	refused(bad, EINVAL);
	bad = good;
	bad.cap.max_send_wr = UINT32_MAX;
	refused(bad, EINVAL);
}

static void
test_attach_fails(void **state)
{
	fake.attach_error = -ENOSPC;
	refused(fake_init_attr(&pair), ENOSPC);
	fake.attach_error = 0;
}

static void
check_grants(uint32_t wr, uint32_t sge, uint32_t inline_bytes)
{
	struct ibv_qp_init_attr attr = fake_init_attr(&pair);
	struct ibv_qp_cap asked = {
		.max_send_wr = wr,
		.max_recv_wr = wr,
		.max_send_sge = sge,
		.max_recv_sge = sge,
		.max_inline_data = inline_bytes,
	};
	struct uroce_qp *qp;

	attr.cap = asked;
	qp = uroce_qp_of(uroce_create_qp(pair.pd, &attr));
	assert_non_null(qp);
	assert_uint_in_range(attr.cap.max_send_wr, wr, UROCE_MAX_QP_WR);
	assert_uint_in_range(attr.cap.max_recv_wr, wr, UROCE_MAX_QP_WR);
	assert_uint_in_range(attr.cap.max_send_sge, sge, UROCE_MAX_SGE);
	assert_uint_in_range(attr.cap.max_recv_sge, sge, UROCE_MAX_SGE);
	assert_uint_in_range(attr.cap.max_inline_data, inline_bytes, UROCE_MAX_INLINE_BYTES);
	/* the granted sizes fit into the rings */
	assert_true(attr.cap.max_send_wr == 0 || attr.cap.max_send_wr <= qp->sq.mask + 1);
	assert_true(attr.cap.max_recv_wr == 0 || attr.cap.max_recv_wr <= qp->rq.mask + 1);
	assert_true(sizeof(struct uroce_sqe) + attr.cap.max_send_sge * sizeof(struct ibv_sge) <=
		    qp->sq.stride);
	assert_true(sizeof(struct uroce_sqe) + attr.cap.max_inline_data <= qp->sq.stride);
	assert_true(sizeof(struct uroce_rqe) + attr.cap.max_recv_sge * sizeof(struct ibv_sge) <=
		    qp->rq.stride);
	assert_int_equal(qp->sq.stride % 64, 0);
	assert_int_equal(qp->rq.stride % 16, 0);
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
}

static void
test_grants(void **state)
{
	static const uint32_t wrs[] = { 0, 1, 2, 3, 4, 5, 100, 1023, 1024, 1025 };

	for (size_t i = 0; i < RTE_DIM(wrs); i++)
		check_grants(wrs[i], 1, 0);
	for (uint32_t sge = 0; sge <= UROCE_MAX_SGE; sge++)
		check_grants(4, sge, 0);
	for (uint32_t bytes = 0; bytes <= UROCE_MAX_INLINE_BYTES; bytes++)
		check_grants(2, 1, bytes);
	check_grants(UROCE_MAX_QP_WR, 1, 0);
	check_grants(64, UROCE_MAX_SGE, UROCE_MAX_INLINE_BYTES);
}

/* Create QPs with the largest queues until memory runs out: the failed call leaks nothing, and freed memory can be
 * used again. */
static void
test_no_memory(void **state)
{
	struct ibv_qp_init_attr attr = fake_init_attr(&pair);
	const struct ibv_qp_cap most = {
		.max_send_wr = UROCE_MAX_QP_WR,
		.max_recv_wr = UROCE_MAX_QP_WR,
		.max_send_sge = UROCE_MAX_SGE,
		.max_recv_sge = UROCE_MAX_SGE,
		.max_inline_data = UROCE_MAX_INLINE_BYTES,
	};
	struct ibv_qp *qps[64];
	unsigned int n = 0;

	for (;; n++) {
		assert_true(n < RTE_DIM(qps));
		attr.cap = most;
		errno = 0;
		qps[n] = uroce_create_qp(pair.pd, &attr);
		if (qps[n] == NULL)
			break;
	}
	assert_int_equal(errno, ENOMEM);
	assert_true(n > 0);
	assert_int_equal(fake.dev.qp_count, n);
	assert_int_equal(uroce_cq_of(pair.cq)->refs, 2 * n);
	assert_int_equal(uroce_destroy_qp(qps[--n]), 0);
	attr.cap = most;
	qps[n] = uroce_create_qp(pair.pd, &attr);
	assert_non_null(qps[n]);
	for (unsigned int i = 0; i <= n; i++)
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
}

static void
test_created(void **state)
{
	struct ibv_qp_init_attr attr = fake_init_attr(&pair);
	struct ibv_cq *recv_cq = uroce_create_cq(fake.context, 4, NULL, NULL, 0);
	int cookie;
	struct ibv_qp *qp;

	attr.qp_context = &cookie;
	attr.recv_cq = recv_cq;
	qp = uroce_create_qp(pair.pd, &attr);
	assert_non_null(qp);
	assert_ptr_equal(qp->context, fake.context);
	assert_ptr_equal(qp->qp_context, &cookie);
	assert_ptr_equal(qp->pd, pair.pd);
	assert_ptr_equal(qp->send_cq, pair.cq);
	assert_ptr_equal(qp->recv_cq, recv_cq);
	assert_null(qp->srq);
	assert_int_equal(qp->qp_type, IBV_QPT_RC);
	assert_int_equal(qp->state, IBV_QPS_RESET);	/* R44 */
	assert_int_equal(uroce_qp_of(qp)->state, IBV_QPS_RESET);
	assert_ptr_equal(uroce_qp_of(qp)->engine, fake_engine(0));
	assert_int_equal(fake.attached, 1);
	/* R47 */
	assert_int_equal(uroce_destroy_cq(pair.cq), EBUSY);
	assert_int_equal(uroce_destroy_cq(recv_cq), EBUSY);
	assert_int_equal(uroce_dealloc_pd(pair.pd), EBUSY);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(fake.attached, 0);
	assert_int_equal(uroce_destroy_cq(recv_cq), 0);
}

/* Each QP has a number of its own, which is not reserved; look-ups find the QP while it lives, and not later. */
static void
test_numbers(void **state)
{
	struct ibv_qp *qps[256];
	uint32_t numbers[256];
	struct ibv_qp_init_attr attr;

	for (unsigned int i = 0; i < 256; i++) {
		qps[i] = fake_qp_create(&pair);
		numbers[i] = qps[i]->qp_num;
		assert_uint_in_range(numbers[i], 2, 0xfffffe);
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(numbers[i], numbers[k]);
	}
	attr = fake_init_attr(&pair);
	errno = 0;
	assert_null(uroce_create_qp(pair.pd, &attr));
	assert_int_equal(errno, ENOMEM);
	fake.attached--; /* the QP got an engine before the QPNs ran out */
	for (unsigned int i = 0; i < 256; i++) {
		assert_ptr_equal(uroce_qp_lookup(&fake.dev, numbers[i]), qps[i]);
		/* the same slot with another number finds nothing */
		assert_null(uroce_qp_lookup(&fake.dev, numbers[i] ^ 1));
	}
	for (unsigned int i = 0; i < 256; i++) {
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
		assert_null(uroce_qp_lookup(&fake.dev, numbers[i]));
	}
	/* a freed number is not reused at once */
	for (unsigned int i = 0; i < 256; i++)
		qps[i] = fake_qp_create(&pair);
	for (unsigned int i = 0; i < 256; i++) {
		assert_null(uroce_qp_lookup(&fake.dev, numbers[i]));
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	}
}

static void
test_two_engines(void **state)
{
	struct ibv_qp *a, *b;

	fake.engine = fake_engine(0);
	a = fake_qp_create(&pair);
	assert_false(uroce_cq_of(pair.cq)->shared);
	fake.engine = fake_engine(1);
	b = fake_qp_create(&pair);
	assert_true(uroce_cq_of(pair.cq)->shared);
	assert_int_equal(uroce_destroy_qp(a), 0);
	assert_int_equal(uroce_destroy_qp(b), 0);
}

static void
test_query(void **state)
{
	struct ibv_qp_init_attr init = fake_init_attr(&pair), got_init;
	struct ibv_qp_attr got;
	const struct ibv_qp_attr set = fake_attr(IBV_QPS_RTS);
	struct uroce_qp *qp;
	int cookie;

	init.qp_context = &cookie;
	init.sq_sig_all = 1;
	qp = uroce_qp_of(uroce_create_qp(pair.pd, &init));
	assert_int_equal(uroce_query_qp(&qp->ibv, &got, IBV_QP_STATE, &got_init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_RESET);
	assert_ptr_equal(got_init.qp_context, &cookie);
	assert_ptr_equal(got_init.send_cq, pair.cq);
	assert_ptr_equal(got_init.recv_cq, pair.cq);
	assert_null(got_init.srq);
	assert_memory_equal(&got_init.cap, &init.cap, sizeof(init.cap));
	assert_memory_equal(&got.cap, &init.cap, sizeof(init.cap));
	assert_int_equal(got_init.qp_type, IBV_QPT_RC);
	assert_int_equal(got_init.sq_sig_all, 1);

	fake_qp_to(&qp->ibv, IBV_QPS_RTS);
	/* the transport has advanced the PSNs */
	uroce_responder_of(qp)->psn = 0x000005;
	uroce_requester_of(qp)->psn = 0x777777;
	assert_int_equal(uroce_query_qp(&qp->ibv, &got, ~0, &got_init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_RTS);
	assert_int_equal(got.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(got.path_mtu, set.path_mtu);
	assert_int_equal(got.rq_psn, 0x000005);
	assert_int_equal(got.sq_psn, 0x777777);
	assert_int_equal(got.dest_qp_num, set.dest_qp_num);
	assert_int_equal(got.qp_access_flags, set.qp_access_flags);
	assert_memory_equal(&got.ah_attr, &set.ah_attr, sizeof(set.ah_attr));
	assert_int_equal(got.port_num, 1);
	assert_int_equal(got.max_rd_atomic, set.max_rd_atomic);
	assert_int_equal(got.max_dest_rd_atomic, set.max_dest_rd_atomic);
	assert_int_equal(got.min_rnr_timer, set.min_rnr_timer);
	assert_int_equal(got.timeout, set.timeout);
	assert_int_equal(got.retry_cnt, set.retry_cnt);
	assert_int_equal(got.rnr_retry, set.rnr_retry);
	assert_int_equal(got.sq_draining, 0);

	fake_qp_to(&qp->ibv, IBV_QPS_ERR);
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
}

static void
test_query_draining_and_error(void **state)
{
	struct uroce_qp *qp = uroce_qp_of(fake_qp_create(&pair));
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;

	fake_qp_to(&qp->ibv, IBV_QPS_SQD);
	uroce_requester_of(qp)->started = qp->sq.head + 1;
	assert_int_equal(uroce_query_qp(&qp->ibv, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_SQD);
	assert_int_equal(got.sq_draining, 1);
	qp->sq.head++;
	assert_int_equal(uroce_query_qp(&qp->ibv, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.sq_draining, 0);
	/* the transport changed the state */
	qp->state = IBV_QPS_ERR;
	assert_int_equal(qp->ibv.state, IBV_QPS_SQD);
	assert_int_equal(uroce_query_qp(&qp->ibv, &got, IBV_QP_STATE, &init), 0);
	assert_int_equal(got.qp_state, IBV_QPS_ERR);
	assert_int_equal(got.cur_qp_state, IBV_QPS_ERR);
	assert_int_equal(qp->ibv.state, IBV_QPS_ERR);
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
}

/* Before the requester or responder exists, the PSNs are those that were set. */
static void
test_query_psns(void **state)
{
	struct uroce_qp *qp = uroce_qp_of(fake_qp_create(&pair));
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;

	uroce_responder_of(qp)->psn = 3;
	uroce_requester_of(qp)->psn = 4;
	fake_qp_to(&qp->ibv, IBV_QPS_INIT);
	assert_int_equal(uroce_query_qp(&qp->ibv, &got, IBV_QP_RQ_PSN, &init), 0);
	assert_int_equal(got.rq_psn, 0);
	assert_int_equal(got.sq_psn, 0);
	assert_int_equal(uroce_destroy_qp(&qp->ibv), 0);
}

static void
push_for(struct ibv_cq *cq, struct ibv_qp *of, uint64_t wr_id)
{
	struct ibv_wc wc = { .wr_id = wr_id, .qp_num = of->qp_num };

	assert_true(uroce_cq_push(uroce_cq_of(cq), uroce_qp_of(of)->engine, &wc, false));
}

static void
expect_only(struct ibv_cq *cq, const struct ibv_qp *of, uint64_t wr_id)
{
	struct ibv_wc wc[2];

	assert_int_equal(uroce_poll_cq(cq, 2, wc), 1);
	assert_int_equal(wc[0].qp_num, of->qp_num);
	assert_int_equal(wc[0].wr_id, wr_id);
}

/* An application frees the buffers that wr_id points to once the QP is destroyed: no completion of the QP comes
 * later from either CQ, even for receives from an SRQ. Completions of other QPs stay. */
static void
test_destroy_takes_its_completions(void **state)
{
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_cq *recv_cq = uroce_create_cq(fake.context, 8, NULL, NULL, 0);

	for (int shared = 0; shared < 2; shared++) {
		struct ibv_srq *srq = shared ? uroce_create_srq(pair.pd, &srq_attr) : NULL;
		struct ibv_qp_init_attr init = fake_init_attr(&pair);
		struct ibv_qp *gone, *stays;

		init.recv_cq = recv_cq;
		init.srq = srq;
		gone = uroce_create_qp(pair.pd, &init);
		stays = uroce_create_qp(pair.pd, &init);
		assert_non_null(gone);
		assert_non_null(stays);
		push_for(pair.cq, gone, 1);
		push_for(pair.cq, stays, 2);
		push_for(pair.cq, gone, 3);
		push_for(recv_cq, gone, 4);
		push_for(recv_cq, stays, 5);
		assert_int_equal(uroce_destroy_qp(gone), 0);
		expect_only(pair.cq, stays, 2);
		expect_only(recv_cq, stays, 5);
		assert_int_equal(uroce_destroy_qp(stays), 0);
		if (srq != NULL)
			assert_int_equal(uroce_destroy_srq(srq), 0);
	}
	assert_int_equal(uroce_destroy_cq(recv_cq), 0);
}

/* The event of a removed completion leads to an empty CQ; the CQ can be armed again, and reports the next
 * completion. */
static void
test_destroy_with_an_event_under_way(void **state)
{
	struct ibv_comp_channel *channel = uroce_create_comp_channel(fake.context);
	struct ibv_cq *cq = uroce_create_cq(fake.context, 8, NULL, channel, 0), *of = NULL;
	struct ibv_qp_init_attr init = fake_init_attr(&pair);
	struct ibv_qp *gone, *stays;
	struct ibv_wc wc;
	void *cq_context;

	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	init.send_cq = init.recv_cq = cq;
	gone = uroce_create_qp(pair.pd, &init);
	stays = uroce_create_qp(pair.pd, &init);
	assert_int_equal(uroce_req_notify_cq(cq, 0), 0);
	push_for(cq, gone, 1);
	assert_int_equal(uroce_destroy_qp(gone), 0);
	assert_int_equal(uroce_get_cq_event(channel, &of, &cq_context), 0);
	assert_ptr_equal(of, cq);
	assert_int_equal(uroce_poll_cq(cq, 1, &wc), 0);
	assert_int_equal(uroce_req_notify_cq(cq, 0), 0);
	push_for(cq, stays, 2);
	assert_int_equal(uroce_get_cq_event(channel, &of, &cq_context), 0);
	expect_only(cq, stays, 2);
	uroce_ack_cq_events(cq, 2);
	assert_int_equal(uroce_destroy_qp(stays), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

UROCE_TESTS(qp)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_attach_fails, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_grants, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_no_memory, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_created, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_numbers, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_two_engines, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_query, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_query_draining_and_error, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_query_psns, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_takes_its_completions, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_with_an_event_under_way, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
