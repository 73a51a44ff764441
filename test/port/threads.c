/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Races between threads on workers that other threads poll: posting and polling, objects created and destroyed under
 * traffic, state changes while posting, and ports and workers opened and closed while others are polled. A failure is a
 * wrong byte, a wrong count, or a sanitizer's report: config/check tsan.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_malloc.h>

#include "crowd.h"
#include "eal.h"
#include "groups.h"

#define ROUNDS 100 /* per thread */

/* ---- many threads post to one QP, many poll one CQ ---- */

#define POSTERS  3
#define MESSAGES 500 /* per poster */

struct flow {
	struct crowd_end from, to;
	unsigned int posted;    /* atomic */
	unsigned int completed; /* atomic */
	int stop;               /* atomic */
};

static void
flow_open(struct flow *f)
{
	memset(f, 0, sizeof(*f));
	crowd_end_open(&f->from, IBV_QPT_RC, false);
	crowd_end_open(&f->to, IBV_QPT_RC, false);
	crowd_end_ready(&f->from, &f->to);
	crowd_end_ready(&f->to, &f->from);
	memset(f->from.memory, 0x5a, CROWD_BYTES / 2);
}

static void
flow_close(struct flow *f)
{
	crowd_end_close(&f->from);
	crowd_end_close(&f->to);
}

static void *
post_main(void *arg)
{
	struct flow *f = arg;

	for (unsigned int i = 0; i < MESSAGES; i++) {
		int ret;

		while ((ret = crowd_write(&f->from, &f->to, 1 + i % 4000, f->from.mr->lkey)) == ENOMEM)
			sched_yield();
		RTE_VERIFY(ret == 0);
		__atomic_add_fetch(&f->posted, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *
poll_main(void *arg)
{
	struct flow *f = arg;
	struct ibv_wc wcs[4];
	int n;

	while (__atomic_load_n(&f->completed, __ATOMIC_RELAXED) < POSTERS * MESSAGES) {
		n = ibv_poll_cq(f->from.cq, RTE_DIM(wcs), wcs);
		RTE_VERIFY(n >= 0);
		for (int i = 0; i < n; i++)
			RTE_VERIFY(wcs[i].status == IBV_WC_SUCCESS);
		__atomic_add_fetch(&f->completed, (unsigned int)n, __ATOMIC_RELAXED);
		if (n == 0)
			sched_yield();
	}
	return NULL;
}

static_assert(POSTERS * MESSAGES <= CROWD_CQE, "no poller need be in time");

static void
test_posters_and_pollers(void **state)
{
	void *(*const functions[])(void *) = { post_main, poll_main, post_main,
					       poll_main, post_main, poll_main };
	struct flow f;
	void *const args[] = { &f, &f, &f, &f, &f, &f };

	flow_open(&f);
	crowd_run(functions, args, RTE_DIM(functions));
	assert_int_equal(f.completed, POSTERS * MESSAGES);
	assert_int_equal(f.to.memory[CROWD_BYTES / 2], 0x5a);
	flow_close(&f);
}

/* ---- objects are created and destroyed while others carry traffic ---- */

/* Connections with a few WRITEs, destroyed at once or when the WRITEs complete. */
static void *
churn_qps(void *arg)
{
	struct flow f;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		flow_open(&f);
		for (unsigned int j = 0; j < 3; j++)
			RTE_VERIFY(crowd_write(&f.from, &f.to, 4096, f.from.mr->lkey) == 0);
		if (i % 2 == 0)
			for (unsigned int j = 0; j < 3; j++)
				RTE_VERIFY(crowd_wait(&f.from) == IBV_WC_SUCCESS);
		flow_close(&f);
	}
	return NULL;
}

/* Regions on memory in use: deregistered after its packets have left, or before. */
static void *
churn_mrs(void *arg)
{
	struct flow f;
	struct ibv_mr *mr;

	flow_open(&f);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		mr = uroce_reg_mr(f.from.pd, f.from.memory, CROWD_BYTES, IBV_ACCESS_LOCAL_WRITE);
		RTE_VERIFY(mr != NULL);
		RTE_VERIFY(crowd_write(&f.from, &f.to, 4096, mr->lkey) == 0);
		if (i % 4 != 0)
			RTE_VERIFY(crowd_wait(&f.from) == IBV_WC_SUCCESS);
		RTE_VERIFY(uroce_dereg_mr(mr) == 0);
		if (i % 4 != 0 || crowd_wait(&f.from) == IBV_WC_SUCCESS)
			continue;
		crowd_end_to(&f.from, IBV_QPS_RESET);
		crowd_end_to(&f.to, IBV_QPS_RESET);
		crowd_end_ready(&f.from, &f.to);
		crowd_end_ready(&f.to, &f.from);
	}
	flow_close(&f);
	return NULL;
}

static struct ibv_ah *
ah_create(struct crowd_end *e)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } };
	struct ibv_ah *ah;

	RTE_VERIFY(uroce_query_gid(crowd_context, 1, 1, &attr.grh.dgid) == 0);
	ah = uroce_create_ah(e->pd, &attr);
	RTE_VERIFY(ah != NULL);
	return ah;
}

/* Datagrams by address handles that are destroyed before they leave, to a receive queue that is destroyed before
 * they arrive. */
static void *
churn_ahs(void *arg)
{
	struct crowd_end from, to;
	struct ibv_ah *ah;

	crowd_end_open(&from, IBV_QPT_UD, false);
	crowd_end_ready(&from, &from);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		struct ibv_sge sge = { (uintptr_t)from.memory, 100, from.mr->lkey };
		struct ibv_send_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };

		crowd_end_open(&to, IBV_QPT_UD, true);
		crowd_end_ready(&to, &from);
		RTE_VERIFY(crowd_receive(&to) == 0);
		ah = ah_create(&from);
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = to.qp->qp_num;
		wr.wr.ud.remote_qkey = 0x1234;
		RTE_VERIFY(ibv_post_send(from.qp, &wr, &bad) == 0);
		RTE_VERIFY(uroce_destroy_ah(ah) == 0);
		RTE_VERIFY(crowd_wait(&from) == IBV_WC_SUCCESS);
		crowd_end_close(&to);
	}
	crowd_end_close(&from);
	return NULL;
}

/* Queries, and objects of the device itself. */
static void *
churn_device(void *arg)
{
	struct uroce_counter counters[256];
	struct ibv_async_event event;
	struct ibv_port_attr port;
	union ibv_gid gid;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		RTE_VERIFY(uroce_add_address(crowd_context, "10.0.7.1/24") == 0);
		RTE_VERIFY(uroce_set_gateway(crowd_context, i % 2 == 0 ? "10.0.0.254" : NULL) == 0);
		RTE_VERIFY(uroce_query_gid(crowd_context, 1, 2, &gid) == 0);
		RTE_VERIFY(uroce_query_port(crowd_context, 1, &port) == 0);
		(void)uroce_query_counters(crowd_context, counters, RTE_DIM(counters));
		RTE_VERIFY(uroce_ping(crowd_context, "10.0.0.1", 60000) == 0);
		RTE_VERIFY(uroce_del_address(crowd_context, "10.0.7.1/24") == 0);
		while (uroce_get_async_event(crowd_context, &event) == 0)
			uroce_ack_async_event(&event);
	}
	return NULL;
}

static void
test_objects_come_and_go(void **state)
{
	void *(*const functions[])(void *) = { churn_qps, churn_mrs, churn_ahs, churn_device, churn_qps,
					       post_main, poll_main, post_main, post_main };
	struct flow f;
	void *const args[] = { NULL, NULL, NULL, NULL, NULL, &f, &f, &f, &f };

	assert_int_equal(fcntl(crowd_context->async_fd, F_SETFL, O_NONBLOCK), 0);
	flow_open(&f);
	crowd_run(functions, args, RTE_DIM(functions));
	flow_close(&f);
}

/* ---- states change while other threads post ---- */

/* Post in any state: the request is executed, flushed, or refused. */
static void *
post_anyway(void *arg)
{
	struct flow *f = arg;
	struct ibv_wc wcs[4];

	while (__atomic_load_n(&f->stop, __ATOMIC_ACQUIRE) == 0) {
		int ret = crowd_write(&f->from, &f->to, 3000, f->from.mr->lkey);

		RTE_VERIFY(ret == 0 || ret == ENOMEM || ret == EINVAL);
		ret = crowd_receive(&f->from);
		RTE_VERIFY(ret == 0 || ret == ENOMEM || ret == EINVAL);
		RTE_VERIFY(ibv_poll_cq(f->from.cq, RTE_DIM(wcs), wcs) >= 0);
		sched_yield();
	}
	return NULL;
}

static void *
change_state(void *arg)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct flow *f = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		crowd_end_to(&f->from, i % 3 == 0 ? IBV_QPS_RESET : IBV_QPS_ERR);
		RTE_VERIFY(uroce_query_qp(f->from.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, &init) == 0);
		crowd_end_to(&f->from, IBV_QPS_RESET);
		crowd_end_to(&f->to, IBV_QPS_RESET);
		crowd_end_ready(&f->to, &f->from);
		crowd_end_ready(&f->from, &f->to);
		RTE_VERIFY(uroce_query_qp(f->from.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN, &init) == 0);
		for (unsigned int j = 0; j < i % 7; j++)
			sched_yield();
	}
	__atomic_store_n(&f->stop, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *
resize_cq(void *arg)
{
	struct flow *f = arg;

	for (unsigned int i = 0; __atomic_load_n(&f->stop, __ATOMIC_ACQUIRE) == 0; i++) {
		int ret = uroce_resize_cq(f->from.cq, CROWD_CQE + (int)(i % 100));

		RTE_VERIFY(ret == 0);
		(void)ibv_req_notify_cq(f->from.cq, 0);
		sched_yield();
	}
	return NULL;
}

static void
test_states_change(void **state)
{
	void *(*const functions[])(void *) = { change_state, post_anyway, post_anyway, resize_cq };
	struct flow f;
	void *const args[] = { &f, &f, &f, &f };

	flow_open(&f);
	crowd_run(functions, args, RTE_DIM(functions));
	flow_close(&f);
}

/* ---- ports and workers are opened and closed ---- */

static struct test_rings second;

static void *
churn_ports(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS / 4; i++) {
		struct ibv_context *context = uroce_open_port(second.port_id, NULL, crowd_workers, 2);

		RTE_VERIFY(context != NULL);
		RTE_VERIFY(uroce_add_address(context, "10.0.0.2/24") == 0);
		RTE_VERIFY(uroce_ping(context, "10.0.0.2", 60000) == 0);
		RTE_VERIFY(uroce_close_device(context) == 0);
	}
	return NULL;
}

static void *
churn_workers(void *arg)
{
	for (unsigned int i = 0; i < ROUNDS / 4; i++) {
		struct uroce_worker *w = uroce_create_worker(-1);

		RTE_VERIFY(w != NULL);
		for (unsigned int j = 0; j < 10; j++)
			(void)uroce_worker_poll(w);
		RTE_VERIFY(uroce_destroy_worker(w) == 0);
	}
	return NULL;
}

static void
test_ports_and_workers(void **state)
{
	void *(*const functions[])(void *) = { churn_ports, churn_workers, churn_qps, churn_mrs };
	void *const args[] = { NULL, NULL, NULL, NULL };

	test_rings_create(&second, 2);
	crowd_run(functions, args, RTE_DIM(functions));
	test_rings_destroy(&second);
}

UROCE_TESTS(port_threads)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, crowd_setup, crowd_teardown)
	const struct CMUnitTest tests[] = {
		TEST(posters_and_pollers),
		TEST(objects_come_and_go),
		TEST(states_change),
		TEST(ports_and_workers),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
