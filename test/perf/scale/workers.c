/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures two workers on one port compared with one, and the cost of a frame that RSS sends to the wrong worker. Each
 * lcore is a lane: it has a worker of each end, and posts on its own QPs. Since each lcore has both ends, two lanes have
 * twice the CPU time of one.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_pause.h>

#include "scale.h"
#include "wire.h"

#define LANES  2
#define QPS    16 /* of a lane */
#define BATCH  4
#define WINDOW 128 /* of a lane */
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

struct lanes;

struct lane {
	struct lanes *all;
	unsigned int index;
	struct scale_end ends[2]; /* this lane's CQ, memory and region */
	struct ibv_qp *qps[2][QPS];
	uint64_t done;
	double ns;
} __rte_cache_aligned;

struct lanes {
	struct ibv_context *ctxs[2];
	struct uroce_worker *workers[2][LANES];
	struct ibv_pd *pds[2];
	union ibv_gid gids[2];
	uint32_t size;
	double seconds;
	unsigned int running;
	bool stop __rte_cache_aligned;
	struct lane lanes[LANES];
};

static void
lane_open(struct lane *l)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct scale_end *e = &l->ends[i];

		e->cq = uroce_create_cq(l->all->ctxs[i], 2 * WINDOW, NULL, NULL, (int)l->index);
		scale_check(e->cq != NULL, "a completion queue");
		e->bytes = (size_t)WINDOW * l->all->size;
		e->buffer = rte_zmalloc("scale", e->bytes, 4096);
		scale_check(e->buffer != NULL, "memory of EAL: give it more hugepages");
		e->mr = uroce_reg_mr(l->all->pds[i], e->buffer, e->bytes, ACCESS);
		scale_check(e->mr != NULL, "registering memory");
		e->gid = l->all->gids[i];
	}
}

/* A lane's CQ has the completion vector of the lane's worker. */
static void
qps_open(struct lanes *a)
{
	for (unsigned int n = 0; n < QPS * LANES; n++) {
		struct lane *l = &a->lanes[n % LANES];

		for (unsigned int i = 0; i < 2; i++) {
			struct ibv_qp_init_attr init = {
				.send_cq = l->ends[i].cq,
				.recv_cq = l->ends[i].cq,
				.qp_type = IBV_QPT_RC,
				.cap = { .max_send_wr = WINDOW, .max_send_sge = 1 },
			};

			l->qps[i][n / LANES] = uroce_create_qp(a->pds[i], &init);
			scale_check(l->qps[i][n / LANES] != NULL, "a queue pair");
		}
	}
	for (unsigned int n = 0; n < LANES; n++) {
		struct lane *l = &a->lanes[n];

		for (unsigned int i = 0; i < 2; i++) {
			l->ends[i].qps = l->qps[i];
			l->ends[i].nb_qps = QPS;
		}
		for (unsigned int i = 0; i < QPS; i++) {
			scale_qp_connect(&l->ends[0], &l->ends[1], i);
			scale_qp_connect(&l->ends[1], &l->ends[0], i);
		}
	}
}

static void
lanes_open(struct lanes *a, const uint16_t ports[2], const struct scale_options *o)
{
	const struct uroce_port_conf conf = {
		.size = sizeof(conf), .log2_max_qp = 10, .log2_max_mr = 10, .no_loopback = 1,
	};

	memset(a, 0, sizeof(*a));
	a->size = o->size;
	a->seconds = o->seconds;
	for (unsigned int i = 0; i < 2; i++) {
		for (unsigned int n = 0; n < LANES; n++) {
			a->workers[i][n] = uroce_create_worker(-1);
			scale_check(a->workers[i][n] != NULL, "a worker");
		}
		a->ctxs[i] = uroce_open_port(ports[i], &conf, a->workers[i], LANES);
		scale_check(a->ctxs[i] != NULL, "opening a port");
		errno = uroce_add_address(a->ctxs[i], scale_addresses[i]);
		scale_check(errno == 0, "giving it an address");
		errno = uroce_query_gid(a->ctxs[i], 1, 1, &a->gids[i]);
		scale_check(errno == 0, "finding its GID");
		a->pds[i] = uroce_alloc_pd(a->ctxs[i]);
		scale_check(a->pds[i] != NULL, "a protection domain");
	}
	for (unsigned int n = 0; n < LANES; n++) {
		a->lanes[n].all = a;
		a->lanes[n].index = n;
		lane_open(&a->lanes[n]);
	}
	qps_open(a);
}

static void
lanes_close(struct lanes *a)
{
	for (unsigned int n = 0; n < LANES; n++) {
		struct lane *l = &a->lanes[n];

		for (unsigned int i = 0; i < 2; i++) {
			for (unsigned int k = 0; k < QPS; k++)
				uroce_destroy_qp(l->qps[i][k]);
			uroce_destroy_cq(l->ends[i].cq);
			errno = uroce_dereg_mr(l->ends[i].mr);
			scale_check(errno == 0, "deregistering memory");
			rte_free(l->ends[i].buffer);
		}
	}
	for (unsigned int i = 0; i < 2; i++) {
		uroce_dealloc_pd(a->pds[i]);
		errno = uroce_close_device(a->ctxs[i]);
		scale_check(errno == 0, "closing a device");
		for (unsigned int n = 0; n < LANES; n++)
			uroce_destroy_worker(a->workers[i][n]);
	}
}

static void
lane_poll(const struct lane *l)
{
	uroce_worker_poll(l->all->workers[0][l->index]);
	uroce_worker_poll(l->all->workers[1][l->index]);
}

static uint64_t
lane_take(const struct lane *l)
{
	struct ibv_wc wcs[32];
	int n = ibv_poll_cq(l->ends[0].cq, RTE_DIM(wcs), wcs);

	for (int i = 0; i < n; i++) {
		errno = 0;
		scale_check(wcs[i].status == IBV_WC_SUCCESS, uroce_wc_status_str(wcs[i].status));
	}
	return (uint64_t)RTE_MAX(n, 0) * BATCH;
}

/* Post BATCH WRITEs, the last one signaled. */
static void
lane_post(const struct lane *l, unsigned int qp, uint32_t *slot)
{
	const struct scale_end *from = &l->ends[0], *to = &l->ends[1];
	struct ibv_send_wr wrs[BATCH], *bad;
	struct ibv_sge sges[BATCH];

	for (unsigned int i = 0; i < BATCH; i++) {
		uint64_t offset = (uint64_t)(*slot = (*slot + 1) % WINDOW) * l->all->size;

		sges[i] = (struct ibv_sge){ (uintptr_t)from->buffer + offset, l->all->size, from->mr->lkey };
		wrs[i] = (struct ibv_send_wr){
			.next = i + 1 < BATCH ? &wrs[i + 1] : NULL,
			.sg_list = &sges[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = i + 1 == BATCH ? IBV_SEND_SIGNALED : 0,
			.wr.rdma = { (uintptr_t)to->buffer + offset, to->mr->rkey },
		};
	}
	errno = ibv_post_send(l->qps[0][qp], wrs, &bad);
	scale_check(errno == 0, "posting WRITEs");
}

/* Run until stopped; then until all WRITEs have completed, and the other lanes no longer need this lane's workers. */
static int
lane_run(void *arg)
{
	struct lane *l = arg;
	struct lanes *a = l->all;
	double start = scale_now();
	uint64_t posted = 0, done = 0;
	uint32_t slot = 0, qp = 0;

	while (!__atomic_load_n(&a->stop, __ATOMIC_RELAXED)) {
		for (; posted + BATCH - done <= WINDOW; posted += BATCH, qp = (qp + 1) % QPS)
			lane_post(l, qp, &slot);
		lane_poll(l);
		done += lane_take(l);
		if (l->index == 0 && scale_now() - start >= a->seconds * 1e9)
			__atomic_store_n(&a->stop, true, __ATOMIC_RELAXED);
	}
	l->ns = scale_now() - start;
	l->done = done;
	while (done < posted) {
		lane_poll(l);
		done += lane_take(l);
	}
	__atomic_sub_fetch(&a->running, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&a->running, __ATOMIC_ACQUIRE) != 0)
		lane_poll(l);
	return 0;
}

/* @return WRITEs per second of all lanes */
static double
lanes_run(struct lanes *a, unsigned int n)
{
	double rate = 0;

	a->stop = false;
	a->running = n;
	for (unsigned int i = 1; i < n; i++) {
		errno = 0;
		scale_check(rte_eal_remote_launch(lane_run, &a->lanes[i], rte_get_next_lcore(UINT32_MAX, 1, 0)) == 0,
			    "a second lcore");
	}
	lane_run(&a->lanes[0]);
	rte_eal_mp_wait_lcore();
	for (unsigned int i = 0; i < n; i++)
		rate += (double)a->lanes[i].done / (a->lanes[i].ns * 1e-9);
	return rate;
}

static double
handed_over(const struct lanes *a)
{
	struct uroce_counter counters[512];
	double total = 0;

	for (unsigned int i = 0; i < 2; i++) {
		unsigned int n = uroce_query_counters(a->ctxs[i], counters, RTE_DIM(counters));

		for (unsigned int k = 0; k < RTE_MIN(n, RTE_DIM(counters)); k++)
			if (strcmp(counters[k].name, "handed_over") == 0)
				total += (double)counters[k].value;
	}
	return total;
}

void
scale_workers(const struct scale_options *o, struct scale_report *report)
{
	static struct lanes straight, turned;
	double one = 0, two = 0, wrong = 0, frames, writes = 0, ns;
	struct scale_row *row;
	uint16_t ports[2][2];

	if (!o->workers)
		return;
	if (rte_lcore_count() < LANES) {
		fprintf(stderr, "scale: one lcore: workers are not compared\n");
		return;
	}
	for (unsigned int i = 0; i < 2; i++)
		scale_check(test_wire_create(ports[i], LANES, i) == 0, "a wire");
	/* one after the other, since both use the same addresses */
	lanes_open(&straight, ports[0], o);
	for (unsigned int i = 0; i < SCALE_RUNS; i++) {
		one = RTE_MAX(one, lanes_run(&straight, 1));
		two = RTE_MAX(two, lanes_run(&straight, LANES));
	}
	frames = handed_over(&straight);
	lanes_close(&straight);
	scale_check(frames == 0, "frames have come to their workers");
	lanes_open(&turned, ports[1], o);
	for (unsigned int i = 0; i < SCALE_RUNS; i++) {
		wrong = RTE_MAX(wrong, lanes_run(&turned, LANES));
		for (unsigned int n = 0; n < LANES; n++)
			writes += (double)turned.lanes[n].done;
	}
	frames = handed_over(&turned) / writes;
	lanes_close(&turned);
	scale_check(frames > 0, "frames have come to the wrong workers");
	/* additional time of an lcore per WRITE */
	ns = LANES * 1e9 / wrong - LANES * 1e9 / two;

	row = scale_row_add(report, "workers");
	scale_row_set(row, "size", o->size);
	scale_row_set(row, "one_gbps", one * o->size * 8 / 1e9);
	scale_row_set(row, "two_gbps", two * o->size * 8 / 1e9);
	scale_row_set(row, "two_to_one", two / one);
	scale_row_set(row, "all_handed_over_gbps", wrong * o->size * 8 / 1e9);
	scale_row_set(row, "frames_handed_over", frames);
	scale_row_set(row, "handover_ns", ns / frames);
}
