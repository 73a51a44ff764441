/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures the registration of one memory region among many, and WRITEs that each use random regions at both ends,
 * compared with WRITEs that use a single one. All regions have the same memory, so only keys differ.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_bitops.h>
#include <rte_common.h>
#include <rte_lcore.h>

#include "scale.h"

#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define SMALL  8
#define BATCH  16

struct cost {
	double reg_ns; /* of one */
	double dereg_ns;
	double bytes; /* of one, without its key */
};

/* @return the keys in a random order, which the WRITEs repeat */
static uint32_t *
keys_of(struct ibv_mr *const *mrs, uint32_t n, bool remote)
{
	uint32_t *keys = scale_shuffle(n);

	for (uint32_t i = 0; i < n; i++)
		keys[i] = remote ? mrs[keys[i]]->rkey : mrs[keys[i]]->lkey;
	return keys;
}

static struct ibv_mr **
mrs_create(struct scale_end *e, uint32_t n, double *ns)
{
	struct ibv_mr **mrs = calloc(n, sizeof(*mrs));
	double start;

	scale_check(mrs != NULL, "memory");
	start = scale_now();
	for (uint32_t i = 0; i < n; i++) {
		mrs[i] = uroce_reg_mr(e->pd, e->buffer, e->bytes, ACCESS);
		scale_check(mrs[i] != NULL, "a memory region");
	}
	*ns += (scale_now() - start) / n / 2;
	return mrs;
}

static void
mrs_destroy(struct ibv_mr **mrs, uint32_t n, double *ns)
{
	double start = scale_now();

	for (uint32_t i = 0; i < n; i++) {
		errno = uroce_dereg_mr(mrs[i]);
		scale_check(errno == 0, "deregistering a region");
	}
	*ns += (scale_now() - start) / n / 2;
	free(mrs);
}

/* Measure WRITEs with all keys and with one, in turn; the best of each counts. */
static void
compare(struct scale_pair *p, struct scale_load *load, uint32_t n, double *one, double *all)
{
	*one = *all = 0;
	for (unsigned int i = 0; i < SCALE_RUNS; i++) {
		load->nb_keys = 1;
		*one = RTE_MAX(*one, scale_writes(p, load));
		load->nb_keys = n;
		*all = RTE_MAX(*all, scale_writes(p, load));
	}
}

static void
measure(const struct scale_options *o, struct scale_report *report, uint32_t n)
{
	const struct scale_conf conf = {
		.log2_max_mr = RTE_MAX(rte_log2_u32(n + 1) , 10u),
		.bytes = (size_t)SCALE_WINDOW * SCALE_MTU,
		.cqes = 2 * SCALE_WINDOW,
	};
	static const uint32_t first = 0;
	struct scale_load load = { .order = &first, .nb_order = 1, .batch = BATCH, .seconds = o->seconds };
	struct scale_memory before, after;
	double small[2], large[2];
	uint32_t *lkeys, *rkeys;
	struct ibv_mr **mrs[2];
	struct scale_row *row;
	struct scale_pair p;
	struct cost c = { 0 };

	scale_pair_open(&p, &conf);
	scale_qps_create(&p.ends[0], 1, SCALE_WINDOW);
	scale_qps_create(&p.ends[1], 1, 1);
	scale_qps_connect(&p);
	before = scale_memory();
	for (unsigned int i = 0; i < 2; i++)
		mrs[i] = mrs_create(&p.ends[i], n, &c.reg_ns);
	after = scale_memory();
	c.bytes = (double)(after.malloc_bytes + after.heap_bytes - before.malloc_bytes - before.heap_bytes) /
			  (2.0 * n) - sizeof(*mrs);
	load.lkeys = lkeys = keys_of(mrs[0], n, false);
	load.rkeys = rkeys = keys_of(mrs[1], n, true);
	load.size = SMALL;
	load.inlined = true; /* so that the local key is not used */
	compare(&p, &load, n, &small[0], &small[1]);
	load.size = SCALE_MTU;
	load.inlined = false;
	compare(&p, &load, n, &large[0], &large[1]);
	for (unsigned int i = 0; i < 2; i++)
		mrs_destroy(mrs[i], n, &c.dereg_ns);
	free(lkeys);
	free(rkeys);
	scale_pair_close(&p);

	row = scale_row_add(report, "mrs");
	scale_row_set(row, "mrs", n);
	scale_row_set(row, "mops_8", small[1] / 1e6);
	scale_row_set(row, "share_8", small[1] / small[0]);
	scale_row_set(row, "mops_4096", large[1] / 1e6);
	scale_row_set(row, "share_4096", large[1] / large[0]);
	scale_row_set(row, "reg_ns", c.reg_ns);
	scale_row_set(row, "dereg_ns", c.dereg_ns);
	scale_row_set(row, "mr_bytes", c.bytes);
	scale_row_set(row, "process_mib", (double)after.process_bytes / (1 << 20));
}

void
scale_mrs(const struct scale_options *o, struct scale_report *report)
{
	for (unsigned int i = 0; i < o->mrs.count; i++)
		measure(o, report, o->mrs.n[i]);
}
