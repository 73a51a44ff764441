/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The worker of each QP: by the completion vector of its send CQ, or by its thread domain.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/sleep/wake.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "uroce.h"
#include "verbs/memory/pd.h"
#include "verbs/qp/qp.h"

#define WORKERS 3

struct fixture {
	struct test_rings wire;
	struct uroce_worker *workers[WORKERS];
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cqs[WORKERS]; /* by completion vector */
};

static int
setup(void **state)
{
	static struct fixture f;

	test_rings_create(&f.wire, WORKERS);
	for (unsigned int i = 0; i < WORKERS; i++)
		f.workers[i] = uroce_create_worker(-1);
	f.context = uroce_open_port(f.wire.port_id, NULL, f.workers, WORKERS);
	if (f.context == NULL)
		return -1;
	f.pd = uroce_alloc_pd(f.context);
	for (int i = 0; i < WORKERS; i++)
		f.cqs[i] = uroce_create_cq(f.context, 16, NULL, NULL, i);
	*state = &f;
	return f.pd != NULL && f.cqs[WORKERS - 1] != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < WORKERS; i++)
		if (uroce_destroy_cq(f->cqs[i]) != 0)
			return -1;
	if (uroce_dealloc_pd(f->pd) != 0 || uroce_close_device(f->context) != 0)
		return -1;
	for (unsigned int i = 0; i < WORKERS; i++)
		if (uroce_destroy_worker(f->workers[i]) != 0)
			return -1;
	test_rings_destroy(&f->wire);
	return uroce_pools_retired() == 0 ? 0 : -1;
}

static struct ibv_qp *
qp_create(struct fixture *f, struct ibv_pd *pd, unsigned int send, unsigned int recv, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = f->cqs[send],
		.recv_cq = f->cqs[recv],
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp(pd, &attr);

	assert_non_null(qp);
	return qp;
}

static void
test_vectors(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };
	struct fixture *f = *state;
	struct ibv_context *second = uroce_open_device(f->context->device);

	assert_int_equal(f->context->num_comp_vectors, WORKERS);
	assert_non_null(second);
	assert_int_equal(second->num_comp_vectors, WORKERS);
	assert_int_equal(uroce_close_device(second), 0);
	assert_null(uroce_create_cq(f->context, 1, NULL, NULL, WORKERS));
	assert_null(uroce_create_cq(f->context, 1, NULL, NULL, -1));
	for (unsigned int t = 0; t < RTE_DIM(types); t++)
		for (unsigned int send = 0; send < WORKERS; send++)
			for (unsigned int recv = 0; recv < WORKERS; recv++) {
				struct ibv_qp *qp = qp_create(f, f->pd, send, recv, types[t]);

				assert_ptr_equal(uroce_qp_worker(qp), f->workers[send]);
				assert_int_equal(uroce_destroy_qp(qp), 0);
			}
}

/* A thread domain's worker counts, not the completion vector. A thread domain without a worker changes nothing. */
static void
test_thread_domain(void **state)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct fixture *f = *state;

	for (unsigned int i = 0; i <= WORKERS; i++) {
		struct ibv_td *td = i < WORKERS ? uroce_alloc_td_on(f->context, f->workers[i])
						: uroce_alloc_td(f->context, &none);
		struct ibv_parent_domain_init_attr attr = { .pd = f->pd, .td = td };
		struct ibv_pd *parent;
		struct ibv_qp *qp;

		assert_non_null(td);
		parent = uroce_alloc_parent_domain(f->context, &attr);
		assert_non_null(parent);
		qp = qp_create(f, parent, 1, 0, IBV_QPT_RC);
		assert_ptr_equal(uroce_qp_worker(qp), f->workers[i < WORKERS ? i : 1]);
		assert_int_equal(uroce_destroy_qp(qp), 0);
		assert_int_equal(uroce_dealloc_td(td), EBUSY);
		assert_int_equal(uroce_dealloc_pd(parent), 0);
		assert_int_equal(uroce_dealloc_td(td), 0);
	}
}

static void
test_thread_domain_refused(void **state)
{
	struct uroce_worker *other = uroce_create_worker(-1);
	struct fixture *f = *state;

	assert_non_null(other);
	errno = 0;
	assert_null(uroce_alloc_td_on(f->context, other));
	assert_int_equal(errno, EINVAL);
	assert_null(uroce_alloc_td_on(f->context, NULL));
	assert_int_equal(uroce_destroy_worker(other), 0);
}

static void *
poll_once(void *worker)
{
	uroce_worker_poll(worker);
	return NULL;
}

static void
expect_flushed(struct fixture *f, unsigned int cq)
{
	struct ibv_wc wc;

	uroce_worker_poll(f->workers[0]);
	assert_int_equal(uroce_poll_cq(f->cqs[cq], 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* The thread that polls the worker rings without atomic operations; another thread, which may have to wake that one,
 * does not. Either way the worker finds the request. */
static void
test_doorbells(void **state)
{
	struct fixture *f = *state;
	struct ibv_td *td = uroce_alloc_td_on(f->context, f->workers[0]);
	struct ibv_parent_domain_init_attr attr = { .pd = f->pd, .td = td };
	struct ibv_pd *parent = uroce_alloc_parent_domain(f->context, &attr);
	struct uroce_engine *e = &f->workers[0]->engine;
	struct ibv_qp *qp = qp_create(f, parent, 1, 0, IBV_QPT_RC);
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	pthread_t thread;

	assert_int_equal(uroce_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
			 0);
	to.qp_state = IBV_QPS_ERR;
	assert_int_equal(uroce_modify_qp(qp, &to, IBV_QP_STATE), 0);
	uroce_worker_poll(f->workers[0]);
	assert_int_equal(uroce_post_send(qp, &wr, &bad), 0);
	assert_false(uroce_engine_has_doorbells(e));
	assert_true(uroce_engine_is_rung(e));
	expect_flushed(f, 1);
	assert_false(uroce_engine_is_rung(e));

	assert_int_equal(pthread_create(&thread, NULL, poll_once, f->workers[0]), 0);
	pthread_join(thread, NULL);
	assert_int_equal(uroce_post_send(qp, &wr, &bad), 0);
	assert_true(uroce_engine_has_doorbells(e));
	expect_flushed(f, 1);

	assert_int_equal(uroce_post_send(qp, &wr, &bad), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0); /* answers the doorbell, of which the ring then has no trace */
	assert_int_equal(uroce_dealloc_pd(parent), 0);
	assert_false(uroce_engine_is_rung(e));
	assert_int_equal(uroce_dealloc_td(td), 0);
}

/* A thread that posts while its QP moves may ring at the previous worker. That wakes the thread of the new one, and a QP
 * that is destroyed then leaves nothing there. */
static void
test_late_doorbell(void **state)
{
	struct fixture *f = *state;
	struct ibv_td *td = uroce_alloc_td_on(f->context, f->workers[0]);
	struct ibv_parent_domain_init_attr attr = { .pd = f->pd, .td = td };
	struct ibv_pd *parent = uroce_alloc_parent_domain(f->context, &attr);
	struct uroce_bells *bells = uroce_pd_bells(parent);
	struct ibv_qp *qp = qp_create(f, parent, 0, 0, IBV_QPT_RC);

	assert_int_equal(uroce_qp_move(qp, f->workers[1]), 0);
	uroce_worker_poll(f->workers[1]);
	f->workers[1]->sleep = UROCE_SLEEP_LONG;
	assert_true(uroce_bells_push(bells, uroce_qp_of(qp)));
	uroce_worker_poll(f->workers[0]);
	assert_true(uroce_engine_has_doorbells(&f->workers[1]->engine));
	assert_int_equal(f->workers[1]->sleep, UROCE_AWAKE);
	assert_true(uroce_bells_push(bells, uroce_qp_of(qp)));
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_true(uroce_bells_is_empty(bells));
	assert_int_equal(uroce_dealloc_pd(parent), 0);
	assert_int_equal(uroce_dealloc_td(td), 0);
}

/* A thread domain keeps its device, and the worker that has its doorbells. */
static void
test_thread_domain_stays(void **state)
{
	struct uroce_worker *w = uroce_create_worker(-1);
	struct ibv_context *context;
	struct test_rings wire;
	struct ibv_td *td;

	assert_non_null(w);
	test_rings_create(&wire, 1);
	context = uroce_open_port(wire.port_id, NULL, &w, 1);
	assert_non_null(context);
	td = uroce_alloc_td_on(context, w);
	assert_non_null(td);
	assert_int_equal(w->devices, 2);
	assert_int_equal(uroce_close_device(context), EBUSY);
	assert_int_equal(uroce_dealloc_td(td), 0);
	assert_int_equal(w->devices, 1);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_worker(w), 0);
	test_rings_destroy(&wire);
}

/* XRC targets have no CQ: the workers get equally many. */
static void
test_xrc_targets(void **state)
{
	struct ibv_xrcd_init_attr domain = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					     .fd = -1, .oflags = O_CREAT };
	struct fixture *f = *state;
	struct ibv_xrcd *xrcd = uroce_open_xrcd(f->context, &domain);
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
	};
	struct ibv_qp *qps[2 * WORKERS];

	assert_non_null(xrcd);
	for (unsigned int i = 0; i < RTE_DIM(qps); i++) {
		qps[i] = uroce_create_qp_ex(f->context, &attr);
		assert_non_null(qps[i]);
		assert_ptr_equal(uroce_qp_worker(qps[i]), f->workers[i % WORKERS]);
	}
	for (unsigned int i = 0; i < RTE_DIM(qps); i++)
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
}

UROCE_TESTS(port_affinity)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_thread_domain),
		cmocka_unit_test(test_thread_domain_refused),
		cmocka_unit_test(test_doorbells),
		cmocka_unit_test(test_late_doorbell),
		cmocka_unit_test(test_thread_domain_stays),
		cmocka_unit_test(test_xrc_targets),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
