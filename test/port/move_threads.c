/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QPs move between three workers, each polled by a thread, while other threads carry traffic in both directions and check
 * each byte. The network is perfect, or it loses, repeats and reorders frames. cmocka supports one thread only, so a
 * failure ends the program.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_debug.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "eal.h"
#include "groups.h"
#include "harness/qp.h"
#include "port/worker/pool.h"
#include "rings.h"
#include "uroce.h"
#include "uroce_netem.h"

#define WORKERS   3
#define CONNS     4
#define REGION    (20 * 1024) /* the longest message */
#define MOVES     1000
#define LEAST     20 /* rounds of each connection */
#define CHURNED   100
#define POST_MOVES 500

/* Memory of a side. */
struct memory {
	uint8_t source[REGION];
	uint8_t written[REGION];  /* by the peer's WRITE */
	uint8_t received[REGION]; /* the peer's SEND */
	uint8_t read[REGION];     /* the peer's source */
	uint64_t counter;	  /* of the peer's FETCH ADDs */
	uint64_t fetched;
};

struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq; /* NULL: none */
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct memory *memory;
};

struct conn {
	struct side side[2];
	unsigned int rounds;
};

static struct test_rings wire[2];
static struct uroce_worker *workers[WORKERS];
static struct ibv_context *contexts[2];
static struct uroce_netem *netem[2];
static pthread_t pollers[WORKERS];
static struct conn conns[CONNS];
static struct ibv_cq *shared_cq; /* of side 0 of two connections */
static bool stop_polling;   /* atomic */
static bool moved;	    /* atomic: the threads that move QPs have finished */

/* ---- devices and workers ---- */

static void *
poll_main(void *arg)
{
	while (!__atomic_load_n(&stop_polling, __ATOMIC_RELAXED))
		if (uroce_worker_poll(arg) == 0)
			sched_yield();
	return NULL;
}

/* Worker 2 has few records: QPs that move there may have to do without. */
static struct uroce_worker *
create_worker(unsigned int i)
{
	const struct uroce_worker_conf few = {
		.size = sizeof(few), .numa_node = -1, .reorder_frames = 8, .reorder_qps = 2, .recoveries = 1, .rates = 1,
	};
	struct uroce_worker *w = uroce_create_worker_ex(i == 2 ? &few : NULL);

	assert_non_null(w);
	return w;
}

static void
open_all(const char *impairment)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = impairment != NULL };

	test_rings_create_parallel(&wire[0], &wire[1], WORKERS);
	stop_polling = moved = false;
	for (unsigned int i = 0; i < WORKERS; i++)
		workers[i] = create_worker(i);
	for (unsigned int i = 0; i < 2; i++) {
		contexts[i] = uroce_open_port(wire[i].port_id, &conf, workers, WORKERS);
		assert_non_null(contexts[i]);
		assert_int_equal(uroce_add_address(contexts[i], i == 0 ? "10.0.0.1/24" : "10.0.0.2/24"), 0);
		netem[i] = impairment == NULL ? NULL : uroce_netem_attach(wire[i].port_id, impairment);
		assert_true(impairment == NULL || netem[i] != NULL);
	}
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(pthread_create(&pollers[i], NULL, poll_main, workers[i]), 0);
	shared_cq = uroce_create_cq(contexts[0], 256, NULL, NULL, 2);
	assert_non_null(shared_cq);
}

static void
close_all(void)
{
	assert_int_equal(uroce_destroy_cq(shared_cq), 0);
	for (unsigned int i = 0; i < 2; i++)
		uroce_netem_detach(netem[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(contexts[i]), 0);
	__atomic_store_n(&stop_polling, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < WORKERS; i++)
		pthread_join(pollers[i], NULL);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy_wide(&wire[0], &wire[1]);
	assert_int_equal(uroce_pools_retired(), 0);
}

/* ---- connections ---- */

static void
side_open(struct side *s, struct ibv_context *context, struct ibv_cq *cq, bool with_srq)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	memset(s, 0, sizeof(*s));
	s->context = context;
	s->memory = rte_zmalloc("side", sizeof(*s->memory), 64);
	s->pd = uroce_alloc_pd(context);
	RTE_VERIFY(s->memory != NULL && s->pd != NULL);
	s->cq = cq != NULL ? cq : uroce_create_cq(context, 256, NULL, NULL, 0);
	s->srq = with_srq ? uroce_create_srq(s->pd, &srq) : NULL;
	RTE_VERIFY(s->cq != NULL && (s->srq != NULL) == with_srq);
	init.send_cq = init.recv_cq = s->cq;
	init.srq = s->srq;
	s->qp = uroce_create_qp(s->pd, &init);
	s->mr = uroce_reg_mr(s->pd, s->memory, sizeof(*s->memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	RTE_VERIFY(s->qp != NULL && s->mr != NULL);
}

static void
side_close(struct side *s)
{
	RTE_VERIFY(uroce_destroy_qp(s->qp) == 0);
	if (s->srq != NULL)
		RTE_VERIFY(uroce_destroy_srq(s->srq) == 0);
	if (s->cq != shared_cq)
		RTE_VERIFY(uroce_destroy_cq(s->cq) == 0);
	RTE_VERIFY(uroce_dereg_mr(s->mr) == 0);
	RTE_VERIFY(uroce_dealloc_pd(s->pd) == 0);
	rte_free(s->memory);
}

static void
side_connect(struct side *s, const struct side *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 0xffff00,
		.sq_psn = 0xffff00,
		.max_dest_rd_atomic = 4,
		.max_rd_atomic = 4,
		.min_rnr_timer = 1,
		.timeout = 18, /* 1 s: no timeout on a busy machine */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	RTE_VERIFY(uroce_query_gid(peer->context, 1, 1, &attr.ah_attr.grh.dgid) == 0);
	harness_qp_to(s->qp, attr, IBV_QPS_RTS);
}

static void
conn_open(struct conn *c, struct ibv_cq *cq, bool with_srq)
{
	c->rounds = 0;
	side_open(&c->side[0], contexts[0], cq, with_srq);
	side_open(&c->side[1], contexts[1], NULL, false);
	side_connect(&c->side[0], &c->side[1]);
	side_connect(&c->side[1], &c->side[0]);
}

static void
conn_close(struct conn *c)
{
	side_close(&c->side[0]);
	side_close(&c->side[1]);
}

/* ---- traffic ---- */

static void
fill_source(uint8_t *at, uint32_t bytes, unsigned int round, unsigned int side)
{
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(i * 31 + i / 251 + round * 7 + side);
}

static void
check(const uint8_t *at, uint32_t bytes, unsigned int round, unsigned int side)
{
	for (uint32_t i = 0; i < bytes; i++)
		RTE_VERIFY(at[i] == (uint8_t)(i * 31 + i / 251 + round * 7 + side));
}

static void
post_receive(struct side *s)
{
	struct ibv_sge sge = { (uintptr_t)s->memory->received, REGION, s->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 100, .sg_list = &sge, .num_sge = 1 };

	RTE_VERIFY((s->srq != NULL ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad)) == 0);
}

/* One request of each kind, each posted by itself, so that each rings the doorbell. */
static void
post_requests(struct side *s, const struct side *peer, uint32_t bytes)
{
	static const enum ibv_wr_opcode opcodes[] = {
		IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND,
	};
	struct memory *own = s->memory, *other = peer->memory;
	struct ibv_sge sges[] = {
		{ (uintptr_t)own->source, bytes, s->mr->lkey }, { (uintptr_t)own->read, bytes, s->mr->lkey },
		{ (uintptr_t)&own->fetched, 8, s->mr->lkey }, { (uintptr_t)own->source, bytes, s->mr->lkey },
	};
	uint8_t *const remote[] = { other->written, other->source, (uint8_t *)&other->counter, NULL };

	for (unsigned int i = 0; i < RTE_DIM(opcodes); i++) {
		struct ibv_send_wr *bad, wr = {
			.wr_id = i, .opcode = opcodes[i], .sg_list = &sges[i], .num_sge = 1,
		};

		if (opcodes[i] == IBV_WR_ATOMIC_FETCH_AND_ADD) {
			wr.wr.atomic.remote_addr = (uintptr_t)remote[i];
			wr.wr.atomic.rkey = peer->mr->rkey;
			wr.wr.atomic.compare_add = 1;
		} else {
			wr.wr.rdma.remote_addr = (uintptr_t)remote[i];
			wr.wr.rdma.rkey = peer->mr->rkey;
		}
		RTE_VERIFY(ibv_post_send(s->qp, &wr, &bad) == 0);
	}
}

/* The four requests complete in order, and one receive at any time. */
static void
wait_for_completions(struct side *s)
{
	unsigned int sends = 0, receives = 0;
	struct ibv_wc wc;
	int n;

	while (sends + receives < 5) {
		n = ibv_poll_cq(s->cq, 1, &wc);
		RTE_VERIFY(n >= 0);
		if (n == 0) {
			sched_yield();
			continue;
		}
		RTE_VERIFY(wc.status == IBV_WC_SUCCESS && wc.qp_num == s->qp->qp_num);
		if (wc.wr_id == 100)
			receives++;
		else
			RTE_VERIFY(wc.wr_id == sends++);
	}
	RTE_VERIFY(receives == 1);
}

static void
conn_round(struct conn *c)
{
	const unsigned int round = c->rounds++;
	const uint32_t bytes = 1 + round * 977 % REGION;

	for (unsigned int i = 0; i < 2; i++) {
		fill_source(c->side[i].memory->source, bytes, round, i);
		post_receive(&c->side[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		post_requests(&c->side[i], &c->side[1 - i], bytes);
	for (unsigned int i = 0; i < 2; i++)
		wait_for_completions(&c->side[i]);
	for (unsigned int i = 0; i < 2; i++) {
		const struct memory *m = c->side[i].memory;

		check(m->written, bytes, round, 1 - i);
		check(m->received, bytes, round, 1 - i);
		check(m->read, bytes, round, 1 - i);
		RTE_VERIFY(m->fetched == round && m->counter == round + 1);
	}
}

static void *
traffic_main(void *arg)
{
	struct conn *c = arg;

	while (!__atomic_load_n(&moved, __ATOMIC_RELAXED) || c->rounds < LEAST)
		conn_round(c);
	return NULL;
}

/* ---- threads that move QPs ---- */

static uint32_t
draw(uint32_t *random, uint32_t bound)
{
	*random = *random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*random * bound >> 32);
}

static void
move_one(struct ibv_qp *qp, uint32_t *random)
{
	RTE_VERIFY(uroce_qp_move(qp, workers[draw(random, WORKERS)]) == 0);
}

static void *
move_main(void *arg)
{
	uint32_t random = 1;

	for (unsigned int i = 0; i < MOVES; i++) {
		struct conn *c = &conns[draw(&random, CONNS)];

		move_one(c->side[draw(&random, 2)].qp, &random);
		if (i % 16 == 0)
			sched_yield();
	}
	__atomic_store_n(&moved, true, __ATOMIC_RELAXED);
	return NULL;
}

/* Connections that are moved with requests posted, and destroyed at once or after a round. */
static void *
churn_main(void *arg)
{
	uint32_t random = 2;
	struct conn c;

	for (unsigned int i = 0; i < CHURNED; i++) {
		conn_open(&c, NULL, i % 2 == 0);
		if (i % 3 == 0)
			conn_round(&c);
		for (unsigned int side = 0; side < 2; side++) {
			post_requests(&c.side[side], &c.side[1 - side], REGION);
			move_one(c.side[side].qp, &random);
		}
		if (i % 5 == 0)
			move_one(c.side[0].qp, &random);
		conn_close(&c);
	}
	return NULL;
}

static void
run(const char *impairment, bool churn)
{
	pthread_t threads[CONNS + 2];
	unsigned int n = 0;

	open_all(impairment);
	for (unsigned int i = 0; i < CONNS; i++) {
		conn_open(&conns[i], i == 0 ? shared_cq : NULL, i % 2 == 1);
		assert_int_equal(pthread_create(&threads[n++], NULL, traffic_main, &conns[i]), 0);
	}
	assert_int_equal(pthread_create(&threads[n++], NULL, move_main, NULL), 0);
	if (churn)
		assert_int_equal(pthread_create(&threads[n++], NULL, churn_main, NULL), 0);
	while (n > 0)
		pthread_join(threads[--n], NULL);
	for (unsigned int i = 0; i < CONNS; i++)
		conn_close(&conns[i]);
	/* no frame was lost or overtaken; a thread that does not run for long may have caused probes */
	if (impairment == NULL)
		for (unsigned int i = 0; i < 2; i++)
			assert_int_equal(test_counter(contexts[i], "sent_naks") + test_counter(contexts[i], "sent_sacks"), 0);
	close_all();
}

static void
test_perfect(void **state)
{
	run(NULL, true);
}

static void
test_lossy(void **state)
{
	run("loss=0.01,reorder=0.01,dup=0.005,ecn=0.002,limit=100,seed=3", false);
}

/* ---- posts race with moves ---- */

static void *
post_main(void *arg)
{
	struct conn *c = arg;
	struct side *s = &c->side[0], *peer = &c->side[1];
	struct ibv_sge sge = { (uintptr_t)s->memory->source, 8, s->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1,
		.wr.rdma = { (uintptr_t)peer->memory->written, peer->mr->rkey },
	};
	struct ibv_wc wc;
	int n;

	/* one at a time: a doorbell that is lost ends in a hang */
	while (!__atomic_load_n(&moved, __ATOMIC_RELAXED)) {
		wr.wr_id++;
		RTE_VERIFY(ibv_post_send(s->qp, &wr, &bad) == 0);
		while ((n = ibv_poll_cq(s->cq, 1, &wc)) == 0)
			sched_yield();
		RTE_VERIFY(n == 1 && wc.status == IBV_WC_SUCCESS && wc.wr_id == wr.wr_id);
	}
	return NULL;
}

static void *
move_first_main(void *arg)
{
	uint32_t random = 3;

	for (unsigned int i = 0; i < POST_MOVES; i++)
		move_one(conns[0].side[0].qp, &random);
	__atomic_store_n(&moved, true, __ATOMIC_RELAXED);
	return NULL;
}

static void
test_doorbells(void **state)
{
	pthread_t threads[2];

	open_all(NULL);
	conn_open(&conns[0], NULL, false);
	assert_int_equal(pthread_create(&threads[0], NULL, post_main, &conns[0]), 0);
	assert_int_equal(pthread_create(&threads[1], NULL, move_first_main, NULL), 0);
	for (unsigned int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	conn_close(&conns[0]);
	close_all();
}

UROCE_TESTS(port_move_threads)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_perfect),
		cmocka_unit_test(test_lossy),
		cmocka_unit_test(test_doorbells),
	};

	test_eal_init("-m", "512", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
