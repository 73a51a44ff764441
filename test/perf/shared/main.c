/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests that workers share no cache lines on the data path, nor pairs of them, and execute no atomic operations for a
 * packet. Three workers, each on its own lcore, drive a queue of each of two devices, as those of uroce-perf --workers 3.
 * They post, send, receive and complete on their own queue pairs, as requester and as responder. No pair of cache lines
 * may have been written by one worker and accessed by another. If workers must share something, such as a CQ or frames
 * for another worker, they share only that.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_debug.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "clock.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "touched.h"
#include "uroce.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"
#include "wire.h"

#define WORKERS	   3
#define QPS	   (2 * WORKERS) /* of an end; worker i % WORKERS drives QP i */
#define BYTES	   16384 /* of a worker's memory */
#define MTU	   4096
#define DEPTH	   32
#define WARM	   200 /* rounds until caches, pools and rings have used all of their elements */
#define ROUNDS	   50
#define POLLS	   4 /* of a worker, in a round of an end */
#define ACCESS \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	union ibv_gid gid;
	/* one for each worker */
	struct ibv_td *tds[WORKERS];
	struct ibv_pd *domains[WORKERS]; /* the parent domain of pd and the thread domain */
	struct ibv_cq *cqs[WORKERS];
	struct ibv_mr *mrs[WORKERS];
	uint8_t *memory[WORKERS];
	struct ibv_qp *qps[QPS];
	unsigned int outstanding[QPS];
	unsigned int received[QPS]; /* completed receives, which the QP's worker posts again */
};

/* Objects that the workers share, beside the devices. */
struct sharing {
	bool cq;
	bool mr;
	bool crossed; /* frames arrive at the queue of another worker */
};

static struct uroce_worker *workers[WORKERS]; /* of both ends */
static struct end ends[2];
static struct uroce_clock running_clock; /* while the clock runs slowly */
static uint64_t handed_before; /* frames handed over while neighbors were resolved */
static uint16_t ports[2][2]; /* straight, and turned by one queue */

/* ---- the two ends ---- */

/* A QP belongs to the worker of its thread domain: with a shared CQ, too. */
static void
domain_create(struct end *e, unsigned int worker)
{
	struct ibv_parent_domain_init_attr attr = { .pd = e->pd };

	e->tds[worker] = attr.td = uroce_alloc_td_on(e->ctx, workers[worker]);
	assert_non_null(attr.td);
	e->domains[worker] = uroce_alloc_parent_domain(e->ctx, &attr);
	assert_non_null(e->domains[worker]);
}

/* A CQ of the worker's thread, or one for all workers. */
static void
cq_create(struct end *e, unsigned int worker, const struct sharing *s)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1024,
		.comp_vector = worker,
		.comp_mask = s->cq ? 0 : IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = e->domains[worker],
	};
	struct ibv_cq_ex *cq = NULL;

	if (!s->cq || worker == 0) {
		cq = uroce_create_cq_ex(e->ctx, &attr);
		assert_non_null(cq);
	}
	e->cqs[worker] = cq != NULL ? ibv_cq_ex_to_cq(cq) : e->cqs[0];
}

static void
objects_create(struct end *e, const struct sharing *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = 64 },
	};

	e->pd = uroce_alloc_pd(e->ctx);
	assert_non_null(e->pd);
	for (unsigned int i = 0; i < WORKERS; i++) {
		domain_create(e, i);
		cq_create(e, i, s);
		/* on separate cache lines, as a well-written program does */
		e->memory[i] = rte_zmalloc("shared", BYTES, RTE_CACHE_LINE_SIZE);
		assert_non_null(e->memory[i]);
		e->mrs[i] = uroce_reg_mr(e->pd, e->memory[i], BYTES, ACCESS);
		assert_non_null(e->mrs[i]);
	}
	for (unsigned int i = 0; i < QPS; i++) {
		struct ibv_qp_init_attr attr = init;

		attr.send_cq = attr.recv_cq = e->cqs[i % WORKERS];
		e->qps[i] = uroce_create_qp(e->domains[i % WORKERS], &attr);
		assert_non_null(e->qps[i]);
		assert_ptr_equal(uroce_qp_worker(e->qps[i]), workers[i % WORKERS]);
		e->outstanding[i] = e->received[i] = 0;
	}
}

static void
end_open(struct end *e, uint16_t port_id, const char *address, const struct sharing *s)
{
	const struct uroce_port_conf conf = {
		.size = sizeof(conf), .no_loopback = 1, .log2_max_qp = 8, .log2_max_mr = 8,
	};

	e->ctx = uroce_open_port(port_id, &conf, workers, WORKERS);
	assert_non_null(e->ctx);
	assert_int_equal(uroce_add_address(e->ctx, address), 0);
	assert_int_equal(uroce_query_gid(e->ctx, 1, 1, &e->gid), 0);
	objects_create(e, s);
}

static void
end_close(struct end *e, const struct sharing *s)
{
	for (unsigned int i = 0; i < QPS; i++)
		assert_int_equal(uroce_destroy_qp(e->qps[i]), 0);
	for (unsigned int i = 0; i < WORKERS; i++) {
		if (!s->cq || i == 0)
			assert_int_equal(uroce_destroy_cq(e->cqs[i]), 0);
		assert_int_equal(uroce_dereg_mr(e->mrs[i]), 0);
		rte_free(e->memory[i]);
		assert_int_equal(uroce_dealloc_pd(e->domains[i]), 0);
		assert_int_equal(uroce_dealloc_td(e->tds[i]), 0);
	}
	assert_int_equal(uroce_dealloc_pd(e->pd), 0);
	assert_int_equal(uroce_close_device(e->ctx), 0);
}

static void
connect_to(struct end *e, const struct end *peer, unsigned int i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qps[i]->qp_num,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = peer->gid, .sgid_index = 1, .hop_limit = 64 } },
		.timeout = 20,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	assert_int_equal(uroce_modify_qp(e->qps[i], &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
							       IBV_QP_ACCESS_FLAGS), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(uroce_modify_qp(e->qps[i], &attr,
					 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
						 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
						 IBV_QP_MIN_RNR_TIMER), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(e->qps[i], &attr,
					 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), 0);
}

/* ---- a round of the program, on the lcore of a worker ---- */

static struct ibv_mr *
mr_of(const struct end *e, unsigned int worker, const struct sharing *s)
{
	return e->mrs[s->mr ? 0 : worker];
}

static void
post(struct end *e, const struct end *peer, unsigned int i, const struct sharing *s, enum ibv_wr_opcode opcode,
     uint32_t bytes)
{
	const unsigned int worker = i % WORKERS;
	const struct ibv_mr *to = peer->mrs[worker], *from = mr_of(e, worker, s);
	struct ibv_sge sge = { .addr = (uintptr_t)from->addr, .length = bytes, .lkey = from->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED | (bytes <= 64 && opcode == IBV_WR_RDMA_WRITE ? IBV_SEND_INLINE : 0u),
		.wr_id = i,
	};

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)to->addr;
		wr.wr.atomic.rkey = to->rkey;
		wr.wr.atomic.compare_add = 1;
	} else if (opcode != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = (uintptr_t)to->addr;
		wr.wr.rdma.rkey = to->rkey;
	}
	RTE_VERIFY(ibv_post_send(e->qps[i], &wr, &bad) == 0);
	e->outstanding[i]++;
}

static void
post_recv(struct end *e, unsigned int i, const struct sharing *s)
{
	const struct ibv_mr *mr = mr_of(e, i % WORKERS, s);
	struct ibv_sge sge = { .addr = (uintptr_t)mr->addr, .length = MTU, .lkey = mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1, .wr_id = i };

	RTE_VERIFY(ibv_post_recv(e->qps[i], &wr, &bad) == 0);
}

static void
qp_round(struct end *e, const struct end *peer, unsigned int i, const struct sharing *s)
{
	if (e->outstanding[i] != 0)
		return;
	post(e, peer, i, s, IBV_WR_RDMA_WRITE, 8);
	post(e, peer, i, s, IBV_WR_RDMA_WRITE, 3 * MTU);
	post(e, peer, i, s, IBV_WR_RDMA_READ, MTU + 1);
	post(e, peer, i, s, IBV_WR_SEND, 2048);
	post(e, peer, i, s, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static void
take(struct end *e, unsigned int worker)
{
	struct ibv_wc wcs[16];
	int n = ibv_poll_cq(e->cqs[worker], 16, wcs);

	RTE_VERIFY(n >= 0);
	for (int k = 0; k < n; k++) {
		RTE_VERIFY(wcs[k].status == IBV_WC_SUCCESS);
		if ((wcs[k].opcode & IBV_WC_RECV) != 0)
			e->received[wcs[k].wr_id]++;
		else
			e->outstanding[wcs[k].wr_id]--;
	}
}

static void
worker_round(struct end *e, const struct end *peer, unsigned int worker, const struct sharing *s)
{
	for (unsigned int i = worker; i < QPS; i += WORKERS) {
		for (; e->received[i] > 0; e->received[i]--)
			post_recv(e, i, s);
		qp_round(e, peer, i, s);
	}
	for (unsigned int i = 0; i < POLLS; i++)
		uroce_worker_poll(workers[worker]);
	take(e, worker);
}

struct turn {
	unsigned int worker;
	const struct sharing *sharing;
};

static int
watched_turn(void *arg)
{
	const struct turn *t = arg;

	touched_as(t->worker);
	worker_round(&ends[0], &ends[1], t->worker, t->sharing);
	worker_round(&ends[1], &ends[0], t->worker, t->sharing);
	touched_as(TOUCHED_NOBODY);
	return 0;
}

static void
rounds(unsigned int n, const struct sharing *s)
{
	for (unsigned int r = 0; r < n; r++) {
		for (unsigned int w = 0; w < WORKERS; w++) {
			struct turn t = { w, s };

			assert_int_equal(rte_eal_remote_launch(watched_turn, &t, w + 1), 0);
			rte_eal_wait_lcore(w + 1);
		}
	}
}

/* ---- evaluation of accesses ---- */

struct allowed {
	const char *name;
	uintptr_t first;
	uintptr_t last;
	unsigned int lines; /* lines that were found */
};

struct verdict {
	struct allowed allowed[8];
	unsigned int nb_allowed;
	bool frames; /* mbufs and their data */
	unsigned int frame_lines;
	unsigned int unknown;
};

static void
allow(struct verdict *v, const char *name, const void *p, size_t bytes)
{
	v->allowed[v->nb_allowed++] = (struct allowed){ name, (uintptr_t)p, (uintptr_t)p + bytes - 1, 0 };
}

struct pool_search {
	uintptr_t address;
	bool found;
};

static void
chunk_look(struct rte_mempool *mp, void *opaque, struct rte_mempool_memhdr *chunk, unsigned int index)
{
	struct pool_search *search = opaque;

	RTE_SET_USED(mp);
	RTE_SET_USED(index);
	search->found |= search->address - (uintptr_t)chunk->addr < chunk->len;
}

static void
pool_look(struct rte_mempool *mp, void *opaque)
{
	rte_mempool_mem_iter(mp, chunk_look, opaque);
}

static bool
is_frame(uintptr_t address)
{
	struct pool_search search = { .address = address };

	rte_mempool_walk(pool_look, &search);
	return search.found;
}

static void
judge(const struct touched_line *line, void *arg)
{
	struct verdict *v = arg;

	for (unsigned int i = 0; i < v->nb_allowed; i++) {
		struct allowed *a = &v->allowed[i];

		if (line->address <= a->last && line->address + TOUCHED_LINE_BYTES > a->first) {
			a->lines++;
			return;
		}
	}
	if (v->frames && is_frame(line->address)) {
		v->frame_lines++;
		return;
	}
	v->unknown++;
	print_error("line %#zx: written by %#x, read by %#x, at %p and %p\n", (size_t)line->address, line->writers,
		    line->readers, line->code[0], line->code[1]);
}

/* ---- atomic operations ---- */

struct atomics {
	uint64_t turns[WORKERS];  /* a poll takes the worker's turn */
	uint64_t fences[WORKERS]; /* a poll begins to read under RCU */
	uint64_t others;
};

/* The first worker looks after the ports, a few times a second. */
static bool
is_upkeep(const struct touched_atomic *atomic)
{
	for (unsigned int i = 0; i < 2; i++) {
		const struct uroce_port *port = uroce_port_of_context(ends[i].ctx);

		if (atomic->thread == 0 && atomic->address - (uintptr_t)port < sizeof(*port))
			return true;
	}
	return false;
}

static void
atomic_judge(const struct touched_atomic *atomic, void *arg)
{
	struct atomics *a = arg;

	if (atomic->address == 0) {
		a->fences[atomic->thread] += atomic->count;
	} else if (atomic->address == (uintptr_t)&workers[atomic->thread]->turn) {
		a->turns[atomic->thread] += atomic->count;
	} else if (!is_upkeep(atomic)) {
		a->others += atomic->count;
		print_message("worker %u: %llu atomic operations on %#zx at %p\n", atomic->thread,
			      (unsigned long long)atomic->count, (size_t)atomic->address, atomic->code);
	}
}

/* A poll takes the turn by one atomic operation, and has one fence. Its packets, messages and completions have none. */
static void
atomics_check(void)
{
	const uint64_t polls = 2 * ROUNDS * POLLS;
	struct atomics a = { 0 };

	touched_atomics(atomic_judge, &a);
	for (unsigned int w = 0; w < WORKERS; w++) {
		print_message("worker %u: %llu polls, %llu turns, %llu fences\n", w, (unsigned long long)polls,
			      (unsigned long long)a.turns[w], (unsigned long long)a.fences[w]);
		assert_int_equal(a.turns[w], polls);
		if (w != 0) /* upkeep has fences, too */
			assert_int_equal(a.fences[w], polls);
	}
	assert_int_equal(a.others, 0);
}

/* Get the number of frames that arrived at the queue of another worker than their QP's. */
static uint64_t
handed_over(void)
{
	struct uroce_counter counters[512];
	uint64_t frames = 0;

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int n = uroce_query_counters(ends[i].ctx, counters, RTE_DIM(counters));

		for (unsigned int k = 0; k < RTE_MIN(n, RTE_DIM(counters)); k++)
			if (strcmp(counters[k].name, "handed_over") == 0)
				frames += counters[k].value;
	}
	return frames;
}

static void
report(const struct verdict *v)
{
	unsigned int written, read;

	for (unsigned int w = 0; w < WORKERS; w++) {
		touched_count(w, &written, &read);
		print_message("worker %u: %u lines written, %u only read\n", w, written, read);
		/* the watch works */
		assert_true(written > 20);
	}
	for (unsigned int i = 0; i < v->nb_allowed; i++)
		print_message("shared: %s: %u lines\n", v->allowed[i].name, v->allowed[i].lines);
	if (v->frames)
		print_message("shared: frames: %u lines\n", v->frame_lines);
}

/* ---- the tests ---- */

static void
run(const struct sharing *s)
{
	static const char *const addresses[2] = { "10.0.0.1/24", "10.0.0.2/24" };

	for (unsigned int i = 0; i < WORKERS; i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		end_open(&ends[i], ports[s->crossed][i], addresses[i], s);
	for (unsigned int i = 0; i < QPS; i++) {
		connect_to(&ends[0], &ends[1], i);
		connect_to(&ends[1], &ends[0], i);
		for (unsigned int k = 0; k < 4; k++) {
			post_recv(&ends[0], i, s);
			post_recv(&ends[1], i, s);
		}
	}
	touched_forget();
	rounds(WARM, s);
	running_clock = uroce_clock;
	test_clock_slow(); /* else probes make packets that are not in order, if this machine is busy */
	touched_forget();
	handed_before = handed_over();
	rounds(ROUNDS, s);
}

static void
end_run(const struct sharing *s)
{
	uroce_clock = running_clock;
	/* packets in flight arrive, and their mbufs return to their pools */
	rounds(20, s);
	for (unsigned int i = 0; i < 2; i++)
		end_close(&ends[i], s);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
}

/* Workers that use their own queue pairs, CQs and memory share nothing, and hand over no frames. */
static void
test_nothing_is_shared(void **state)
{
	const struct sharing s = { 0 };
	struct verdict v = { 0 };

	run(&s);
	touched_shared(judge, &v);
	report(&v);
	assert_int_equal(v.unknown, 0);
	atomics_check();
	assert_int_equal(handed_over(), handed_before);
	end_run(&s);
}

/* A shared CQ is found, and so are the locks of its pollers: else the test above would prove nothing. */
static void
test_a_cq_is_shared(void **state)
{
	const struct sharing s = { .cq = true };
	struct verdict v = { 0 };
	struct atomics a = { 0 };

	run(&s);
	for (unsigned int i = 0; i < 2; i++) {
		const struct uroce_cq *cq = uroce_cq_of(ends[i].cqs[0]);

		allow(&v, "CQ", cq, sizeof(*cq));
		allow(&v, "its entries", cq->put.wcs, ((size_t)cq->put.mask + 1) * sizeof(*cq->put.wcs));
	}
	touched_shared(judge, &v);
	report(&v);
	assert_int_equal(v.unknown, 0);
	assert_true(v.allowed[0].lines > 0);
	assert_true(v.allowed[1].lines > 0);
	touched_atomics(atomic_judge, &a);
	assert_true(a.others > 0);
	end_run(&s);
}

/* One region for all workers, as in a program that registers its pool once: each counts its own mbufs. */
static void
test_a_region_is_shared(void **state)
{
	const struct sharing s = { .mr = true };
	struct verdict v = { 0 };

	run(&s);
	for (unsigned int i = 0; i < 2; i++)
		allow(&v, "memory", ends[i].memory[0], BYTES);
	touched_shared(judge, &v);
	report(&v);
	assert_int_equal(v.unknown, 0);
	atomics_check();
	end_run(&s);
}

/* Every frame arrives at the wrong worker and is handed over: workers share frames and the hand-off rings. */
static void
test_frames_are_handed_over(void **state)
{
	const struct sharing s = { .crossed = true };
	struct verdict v = { .frames = true };

	run(&s);
	for (unsigned int i = 0; i < WORKERS; i++)
		allow(&v, "inbox", workers[i]->inbox,
		      (size_t)rte_ring_get_memsize_elem(sizeof(struct uroce_inbox_item),
							rte_ring_get_size(workers[i]->inbox)));
	touched_shared(judge, &v);
	report(&v);
	assert_int_equal(v.unknown, 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_true(v.allowed[i].lines > 0);
	end_run(&s);
}

int
main(int argc, char **argv)
{
	/* EAL changes their order */
	static const char *eal[] = {
		"shared", "--no-huge", "-m", "768", "--no-pci", "--no-shconf", "--no-telemetry",
		"--log-level=lib.eal:warning", "--lcores", "(0-3)@0", NULL,
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_shared),
		cmocka_unit_test(test_a_cq_is_shared),
		cmocka_unit_test(test_a_region_is_shared),
		cmocka_unit_test(test_frames_are_handed_over),
	};

	RTE_SET_USED(argc);
	RTE_SET_USED(argv);
	if (rte_eal_init(RTE_DIM(eal) - 1, (char **)(uintptr_t)eal) < 0 ||
	    test_wire_create(ports[0], WORKERS, 0) != 0 || test_wire_create(ports[1], WORKERS, 1) != 0) {
		fprintf(stderr, "EAL or its ports cannot be had\n");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
