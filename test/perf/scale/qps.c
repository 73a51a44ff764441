/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures the memory and time of a queue pair, and WRITEs over many of them compared with one. The turns are in a random
 * order, which repeats: cached data of a QP is from the previous pass. There are two loads: one WRITE per turn, which is
 * the worst case, and sixteen.
 */

#include <stdlib.h>

#include <rte_bitops.h>
#include <rte_common.h>

#include "scale.h"
#include "verbs/qp/qp.h"

#define BATCH 16 /* WRITEs per turn of the second load */
#define DEPTH (2 * BATCH)

/* Of both ends' QPs. */
struct cost {
	double create_us; /* of one */
	double connect_us;
	double destroy_us;
	double bytes; /* of one, without its queues */
	double queue_bytes;
	double process_bytes; /* of all */
};

static size_t
queue_bytes(const struct uroce_wq *wq)
{
	return wq->ring == NULL ? 0 : ((size_t)wq->mask + 1) * wq->stride;
}

static void
qps_make(struct scale_pair *p, uint32_t n, struct cost *c)
{
	struct scale_memory before = scale_memory(), after;
	const struct uroce_qp *qp;
	double start = scale_now();

	for (unsigned int i = 0; i < 2; i++)
		scale_qps_create(&p->ends[i], n, i == 0 ? DEPTH : 1);
	c->create_us = (scale_now() - start) / 1e3 / (2.0 * n);
	start = scale_now();
	scale_qps_connect(p);
	c->connect_us = (scale_now() - start) / 1e3 / (2.0 * n);
	after = scale_memory();
	c->queue_bytes = 0;
	for (uint32_t i = 0; i < 2 * n; i++) {
		qp = uroce_qp_of(p->ends[i % 2].qps[i / 2]);
		c->queue_bytes += (double)(queue_bytes(&qp->sq) + queue_bytes(&qp->rq)) / (2.0 * n);
	}
	c->bytes = (double)(after.heap_bytes - before.heap_bytes) / (2.0 * n) - c->queue_bytes;
	c->process_bytes = (double)after.process_bytes;
}

static void
qps_unmake(struct scale_pair *p, uint32_t n, struct cost *c)
{
	double start = scale_now();

	for (unsigned int i = 0; i < 2; i++)
		scale_qps_destroy(&p->ends[i]);
	c->destroy_us = (scale_now() - start) / 1e3 / (2.0 * n);
}

/* Measure WRITEs over all QPs and over the first one, in turn; the best of each counts. */
static void
compare(struct scale_pair *p, const struct scale_options *o, const uint32_t *order, uint32_t n, uint32_t batch,
	double *one, double *all)
{
	static const uint32_t first = 0;
	struct scale_load load = { .batch = batch, .size = o->size, .seconds = o->seconds };

	*one = *all = 0;
	for (unsigned int i = 0; i < SCALE_RUNS; i++) {
		load.order = &first;
		load.nb_order = 1;
		*one = RTE_MAX(*one, scale_writes(p, &load));
		load.order = order;
		load.nb_order = n;
		*all = RTE_MAX(*all, scale_writes(p, &load));
	}
}

static void
measure(const struct scale_options *o, struct scale_report *report, uint32_t n)
{
	const struct scale_conf conf = {
		.log2_max_qp = RTE_MAX(rte_log2_u32(n) + 1, 10u),
		.bytes = (size_t)SCALE_WINDOW * o->size,
		.cqes = 2 * SCALE_WINDOW,
	};
	uint32_t *order = scale_shuffle(n);
	struct scale_row *row;
	struct scale_pair p;
	double one[2], all[2];
	struct cost c;

	scale_pair_open(&p, &conf);
	qps_make(&p, n, &c);
	/* the single QP has the whole window */
	compare(&p, o, order, n, 1, &one[0], &all[0]);
	compare(&p, o, order, n, BATCH, &one[1], &all[1]);
	qps_unmake(&p, n, &c);
	scale_pair_close(&p);
	free(order);

	row = scale_row_add(report, "qps");
	scale_row_set(row, "qps", n);
	scale_row_set(row, "size", o->size);
	scale_row_set(row, "mops", all[0] / 1e6);
	scale_row_set(row, "gbps", all[0] * o->size * 8 / 1e9);
	scale_row_set(row, "share", all[0] / one[0]);
	scale_row_set(row, "mops_16", all[1] / 1e6);
	scale_row_set(row, "gbps_16", all[1] * o->size * 8 / 1e9);
	scale_row_set(row, "share_16", all[1] / one[1]);
	scale_row_set(row, "qp_bytes", c.bytes);
	scale_row_set(row, "queue_bytes", c.queue_bytes);
	scale_row_set(row, "process_mib", c.process_bytes / (1 << 20));
	scale_row_set(row, "create_us", c.create_us);
	scale_row_set(row, "connect_us", c.connect_us);
	scale_row_set(row, "destroy_us", c.destroy_us);
}

void
scale_qps(const struct scale_options *o, struct scale_report *report)
{
	for (unsigned int i = 0; i < o->qps.count; i++)
		measure(o, report, o->qps.n[i]);
}
