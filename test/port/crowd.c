/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "crowd.h"
#include "harness/qp.h"
#include "port/worker/pool.h"

#define MAX_THREADS 16

struct uroce_worker *crowd_workers[CROWD_WORKERS];
struct ibv_context *crowd_context;

static struct test_rings wire;
static pthread_t pollers[CROWD_WORKERS];
static int stop; /* atomic */

static void *
poll_main(void *arg)
{
	while (__atomic_load_n(&stop, __ATOMIC_RELAXED) == 0)
		if (uroce_worker_poll(arg) == 0)
			sched_yield(); /* other threads may need this CPU */
	return NULL;
}

int
crowd_setup(void **state)
{
	(void)state;
	test_rings_create(&wire, CROWD_WORKERS);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < CROWD_WORKERS; i++) {
		crowd_workers[i] = uroce_create_worker(-1);
		assert_non_null(crowd_workers[i]);
		assert_int_equal(pthread_create(&pollers[i], NULL, poll_main, crowd_workers[i]), 0);
	}
	crowd_context = uroce_open_port(wire.port_id, NULL, crowd_workers, CROWD_WORKERS);
	assert_non_null(crowd_context);
	assert_int_equal(uroce_add_address(crowd_context, "10.0.0.1/24"), 0);
	return 0;
}

int
crowd_teardown(void **state)
{
	(void)state;
	assert_int_equal(uroce_close_device(crowd_context), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < CROWD_WORKERS; i++)
		pthread_join(pollers[i], NULL);
	test_rings_destroy(&wire);
	for (unsigned int i = 0; i < CROWD_WORKERS; i++)
		assert_int_equal(uroce_destroy_worker(crowd_workers[i]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	return 0;
}

void
crowd_run(void *(*const functions[])(void *), void *const args[], unsigned int n)
{
	pthread_t threads[MAX_THREADS];

	assert_true(n <= MAX_THREADS);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, functions[i], args[i]), 0);
	for (unsigned int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

void
crowd_end_open(struct crowd_end *e, enum ibv_qp_type type, bool with_srq)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = CROWD_DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.qp_type = type,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = CROWD_DEPTH,
			 .max_recv_wr = CROWD_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	e->memory = rte_zmalloc("crowd", CROWD_BYTES, RTE_CACHE_LINE_SIZE);
	RTE_VERIFY(e->memory != NULL);
	e->pd = uroce_alloc_pd(crowd_context);
	RTE_VERIFY(e->pd != NULL);
	e->cq = uroce_create_cq(crowd_context, CROWD_CQE, NULL, NULL, 0);
	RTE_VERIFY(e->cq != NULL);
	e->srq = with_srq ? uroce_create_srq(e->pd, &srq) : NULL;
	RTE_VERIFY(!with_srq || e->srq != NULL);
	init.send_cq = e->cq;
	init.recv_cq = e->cq;
	init.srq = e->srq;
	e->qp = uroce_create_qp(e->pd, &init);
	RTE_VERIFY(e->qp != NULL);
	e->mr = uroce_reg_mr(e->pd, e->memory, CROWD_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	RTE_VERIFY(e->mr != NULL);
}

void
crowd_end_close(struct crowd_end *e)
{
	RTE_VERIFY(uroce_destroy_qp(e->qp) == 0);
	if (e->srq != NULL)
		RTE_VERIFY(uroce_destroy_srq(e->srq) == 0);
	RTE_VERIFY(uroce_destroy_cq(e->cq) == 0);
	RTE_VERIFY(uroce_dereg_mr(e->mr) == 0);
	RTE_VERIFY(uroce_dealloc_pd(e->pd) == 0);
	rte_free(e->memory);
}

void
crowd_end_to(struct crowd_end *e, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	RTE_VERIFY(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE) == 0);
}

void
crowd_end_ready(struct crowd_end *e, const struct crowd_end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qkey = 0x1234,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 18, /* 1 s: no retransmission on a busy machine */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	RTE_VERIFY(uroce_query_gid(crowd_context, 1, 1, &attr.ah_attr.grh.dgid) == 0);
	harness_qp_to(e->qp, attr, IBV_QPS_RTS);
}

int
crowd_write(struct crowd_end *e, const struct crowd_end *peer, uint32_t bytes, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)e->memory, bytes, lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.wr.rdma = { (uintptr_t)peer->memory + CROWD_BYTES / 2, peer->mr->rkey },
	};

	return ibv_post_send(e->qp, &wr, &bad);
}

int
crowd_receive(struct crowd_end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->memory + CROWD_BYTES / 2, CROWD_BYTES / 2, e->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return e->srq != NULL ? ibv_post_srq_recv(e->srq, &wr, &bad) : ibv_post_recv(e->qp, &wr, &bad);
}

enum ibv_wc_status
crowd_wait(struct crowd_end *e)
{
	struct ibv_wc wc;
	int n;

	for (;;) {
		n = ibv_poll_cq(e->cq, 1, &wc);
		RTE_VERIFY(n >= 0);
		if (n == 1)
			return wc.status;
		sched_yield();
	}
}
