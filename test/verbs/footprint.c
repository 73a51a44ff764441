/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints the memory of each kind of object, in DPDK's heap and the process's, for doc/reference/memory.rst, and
 * checks it against limits: a QP takes at most 2 KiB besides its queues.
 */

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fixture.h"

#define OBJECTS 64

static uint8_t data[64];

static size_t
in_use(void)
{
	struct rte_malloc_socket_stats stats;
	size_t bytes = mallinfo2().uordblks;

	for (int node = 0; node < RTE_MAX_NUMA_NODES; node++)
		if (rte_malloc_get_socket_stats(node, &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	return bytes;
}

static void *
make_qp(uint32_t send_wr, uint32_t recv_wr)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .send_cq = pair.cq, .recv_cq = pair.cq,
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	return uroce_create_qp(pair.pd, &attr);
}

static void *make_bare_qp(void) { return make_qp(0, 0); }
static void *make_deep_qp(void) { return make_qp(128, 128); }
static void *make_pd(void) { return uroce_alloc_pd(fake.context); }
static void *make_cq(void) { return uroce_create_cq(fake.context, 1, NULL, NULL, 0); }
static void *make_deep_cq(void) { return uroce_create_cq(fake.context, 256, NULL, NULL, 0); }
static void *make_channel(void) { return uroce_create_comp_channel(fake.context); }
static void *make_mw(void) { return uroce_alloc_mw(pair.pd, IBV_MW_TYPE_2); }
static void *make_mr(void) { return uroce_reg_mr(pair.pd, data, sizeof(data), IBV_ACCESS_LOCAL_WRITE); }

static void *
make_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };

	return uroce_create_ah(pair.pd, &attr);
}

static void *
make_srq(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };

	return uroce_create_srq(pair.pd, &attr);
}

static int end_qp(void *p) { return uroce_destroy_qp(p); }
static int end_pd(void *p) { return uroce_dealloc_pd(p); }
static int end_cq(void *p) { return uroce_destroy_cq(p); }
static int end_channel(void *p) { return uroce_destroy_comp_channel(p); }
static int end_mr(void *p) { return uroce_dereg_mr(p); }
static int end_mw(void *p) { return uroce_dealloc_mw(p); }
static int end_ah(void *p) { return uroce_destroy_ah(p); }
static int end_srq(void *p) { return uroce_destroy_srq(p); }

static const struct {
	const char *name;
	void *(*make)(void);
	int (*end)(void *object);
	size_t limit;	/* bytes per object */
} kinds[] = {
	{ "PD", make_pd, end_pd, 128 },
	{ "QP besides its queues", make_bare_qp, end_qp, 2048 },
	{ "QP, 128 sends and 128 receives", make_deep_qp, end_qp, 2048 + 128 * (128 + 32) + 512 },
	{ "CQ of 1", make_cq, end_cq, 1280 },
	{ "CQ of 256", make_deep_cq, end_cq, 1280 + 256 * 48 },
	{ "completion channel", make_channel, end_channel, 384 },
	{ "MR besides its key", make_mr, end_mr, 512 },
	{ "MW besides its key", make_mw, end_mw, 256 },
	{ "AH", make_ah, end_ah, 768 },
	{ "SRQ of 1", make_srq, end_srq, 1280 },
};

static void
test_footprint(void **state)
{
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		void *objects[OBJECTS];
		size_t before = in_use(), each;

		for (unsigned int i = 0; i < OBJECTS; i++) {
			objects[i] = kinds[k].make();
			assert_non_null(objects[i]);
		}
		each = (in_use() - before) / OBJECTS;
		printf("%-32s %6zu bytes\n", kinds[k].name, each);
		assert_true(each <= kinds[k].limit);
		for (unsigned int i = 0; i < OBJECTS; i++)
			assert_int_equal(kinds[k].end(objects[i]), 0);
	}
}

UROCE_TESTS(footprint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_footprint, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
