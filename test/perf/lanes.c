/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests that lanes share out the queue pairs of a run: each QP belongs to one lane, and a QP's device does not depend on
 * the number of lanes, which may differ between the two ends.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "measure/lanes.h"

#define MAX_LANES 5
#define MAX_DEVS  3
#define MAX_QPS   40

static struct app_host host;
static struct perf_end ends[MAX_LANES];
static struct perf_lanes lanes;

static void
create(uint32_t qps, unsigned int n)
{
	const struct perf_params p = { .qps = qps, .size = 8, .mtu = 1024, .depth = 1 };

	lanes.n = n;
	for (unsigned int i = 0; i < n; i++) {
		memset(&ends[i], 0, sizeof(ends[i]));
		ends[i] = (struct perf_end){ .params = p, .host = &host, .lane = i, .lanes = n };
		uroce_perf_layout(&ends[i]);
		ends[i].qps = calloc(ends[i].nb_qps + 1u, sizeof(ends[i].qps[0]));
		assert_non_null(ends[i].qps);
		for (uint32_t k = 0; k < ends[i].nb_qps; k++)
			ends[i].qps[k] = (struct perf_qp){ .at = k, .index = uroce_perf_end_qp_index(&ends[i], k) };
		lanes.ends[i] = &ends[i];
	}
}

static void
check(uint32_t qps, unsigned int n)
{
	uint32_t total = 0;

	create(qps, n);
	for (unsigned int i = 0; i < n; i++)
		total += ends[i].nb_qps;
	assert_int_equal(total, qps);
	for (uint32_t i = 0; i < qps; i++) {
		const struct perf_qp *q = uroce_perf_lanes_qp(&lanes, i);

		assert_int_equal(q->index, i);
		assert_int_equal(q->at % host.nb_devs, i % host.nb_devs); /* the device */
	}
	for (unsigned int i = 0; i < n; i++)
		free(ends[i].qps);
}

static void
test_each_qp_has_a_lane(void **state)
{
	for (host.nb_devs = 1; host.nb_devs <= MAX_DEVS; host.nb_devs++)
		for (unsigned int n = 1; n <= MAX_LANES; n++)
			for (uint32_t qps = 1; qps <= MAX_QPS; qps++)
				check(qps, n);
}

/* A lane needs a QP. One message in flight needs one lane, and so do datagrams whose loss must be proved. */
static void
test_count(void **state)
{
	struct perf_params p = { .transport = PERF_RC, .mode = PERF_BW, .qps = 3, .verify = true };

	host.nb_devs = 1;
	host.nb_workers = 4;
	assert_int_equal(uroce_perf_lanes_count(&p, &host), 3);
	p.qps = 100;
	assert_int_equal(uroce_perf_lanes_count(&p, &host), 4);
	host.nb_devs = 50;
	assert_int_equal(uroce_perf_lanes_count(&p, &host), 2);
	host.nb_devs = 1;
	p.mode = PERF_LAT;
	assert_int_equal(uroce_perf_lanes_count(&p, &host), 1);
	p.mode = PERF_BW;
	p.transport = PERF_UC;
	assert_int_equal(uroce_perf_lanes_count(&p, &host), 1);
	p.verify = false;
	assert_int_equal(uroce_perf_lanes_count(&p, &host), 4);
}

UROCE_TESTS(perf_lanes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_qp_has_a_lane),
		cmocka_unit_test(test_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
