/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * With little or no DPDK memory left, each attempt to create an object fails with ENOMEM and leaks nothing, running
 * objects go on, and as soon as memory is free again everything works as before.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_malloc.h>

#include "eal.h"
#include "groups.h"
#include "pair.h"

#define LARGEST (16u << 20)
#define MAX_BLOCKS 65536

static struct pair pair;
static void *blocks[MAX_BLOCKS];
static unsigned int nb_blocks;

static size_t
heap_used(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.heap_allocsz_bytes;
}

/* Take all of the heap, in ever smaller pieces, until not even a cache line is left. */
static void
heap_take(void)
{
	nb_blocks = 0;
	for (size_t bytes = LARGEST; bytes >= RTE_CACHE_LINE_SIZE; bytes /= 2) {
		for (;;) {
			void *block = rte_malloc("all", bytes, 0);

			if (block == NULL)
				break;
			assert_true(nb_blocks < MAX_BLOCKS);
			blocks[nb_blocks++] = block;
		}
	}
}

static void
heap_give(unsigned int n)
{
	while (n-- > 0 && nb_blocks > 0)
		rte_free(blocks[--nb_blocks]);
}

static void
exchange(uint8_t byte)
{
	memset(pair.ends[0].memory, byte, PAIR_BYTES);
	memset(pair.ends[1].memory, ~byte, PAIR_BYTES);
	pair_write(&pair);
	assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
	assert_memory_equal(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES);
}

static int
setup(void **state)
{
	pair_open(&pair);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pair_end_create(&pair.ends[i]), 0);
	pair_connect(&pair);
	exchange(1);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		pair_end_destroy(&pair.ends[i]);
	pair_close(&pair);
	return 0;
}

/* A failure must be ENOMEM. @return whether the object exists */
static bool
is_there(const void *object)
{
	if (object == NULL)
		assert_int_equal(errno, ENOMEM);
	return object != NULL;
}

static bool
try_end(void)
{
	struct pair_end e = { .context = pair.ends[0].context };
	int ret = pair_end_create(&e);

	assert_true(ret == 0 || ret == ENOMEM);
	if (ret == 0)
		pair_end_destroy(&e);
	return ret == 0;
}

static bool
try_srq(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 1000, .max_sge = 4 } };
	struct ibv_srq *srq = uroce_create_srq(pair.ends[0].pd, &init);

	if (!is_there(srq))
		return false;
	assert_int_equal(uroce_destroy_srq(srq), 0);
	return true;
}

static bool
try_cq(void)
{
	struct ibv_cq *cq = uroce_create_cq(pair.ends[0].context, 1000, NULL, NULL, 0);
	int ret;

	if (!is_there(cq))
		return false;
	ret = uroce_resize_cq(cq, 5000);
	assert_true(ret == 0 || ret == ENOMEM);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	return ret == 0;
}

static bool
try_mw_and_ah(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } };
	struct ibv_mw *mw = uroce_alloc_mw(pair.ends[0].pd, IBV_MW_TYPE_1);
	struct ibv_ah *ah;

	assert_int_equal(uroce_query_gid(pair.ends[1].context, 1, 1, &attr.grh.dgid), 0);
	ah = uroce_create_ah(pair.ends[0].pd, &attr);
	if (is_there(mw))
		assert_int_equal(uroce_dealloc_mw(mw), 0);
	if (is_there(ah))
		assert_int_equal(uroce_destroy_ah(ah), 0);
	return mw != NULL && ah != NULL;
}

static bool
try_worker(void)
{
	struct uroce_worker *worker = uroce_create_worker(-1);

	if (!is_there(worker))
		return false;
	assert_int_equal(uroce_destroy_worker(worker), 0);
	return true;
}

static bool
try_address(void)
{
	int ret = uroce_add_address(pair.ends[0].context, "10.0.9.9/24");

	assert_true(ret == 0 || ret == ENOMEM);
	if (ret != 0)
		return false;
	/* removing an address allocates a smaller table, which may fail, too */
	while ((ret = uroce_del_address(pair.ends[0].context, "10.0.9.9/24")) == ENOMEM)
		heap_give(1);
	assert_int_equal(ret, 0);
	return true;
}

static bool
try_port(void)
{
	struct ibv_context *context;

	context = uroce_open_port(pair.ends[0].wire.port_id, NULL, pair.workers, 1);
	if (!is_there(context))
		return false;
	assert_int_equal(uroce_close_device(context), 0);
	return true;
}

static bool (*const attempts[])(void) = { try_end, try_srq, try_cq, try_mw_and_ah, try_worker, try_address };

static void
test_objects(void **state)
{
	const size_t used = heap_used();
	unsigned int made, failed = 0;

	heap_take();
	do {
		made = 0;
		for (unsigned int i = 0; i < RTE_DIM(attempts); i++)
			made += attempts[i]();
		failed += made == 0;
		exchange((uint8_t)nb_blocks);
		/* the smallest blocks first, so that each attempt gets a little further */
		heap_give(RTE_MAX(nb_blocks / 64, 1u));
	} while (nb_blocks > 0);
	assert_int_not_equal(failed, 0); /* the first attempt failed */
	for (unsigned int i = 0; i < RTE_DIM(attempts); i++)
		assert_true(attempts[i]());
	assert_int_equal(heap_used(), used);
}

/* A port needs many objects: opening it fails at each step, and frees the previous ones each time. */
static void
test_port(void **state)
{
	size_t used;
	bool opened = false;

	for (unsigned int i = 0; i < 2; i++)
		pair_end_destroy(&pair.ends[i]);
	assert_int_equal(uroce_close_device(pair.ends[0].context), 0);
	used = heap_used();
	heap_take();
	assert_false(try_port());
	while (nb_blocks > 0) {
		heap_give(RTE_MAX(nb_blocks / 32, 1u));
		opened = try_port();
		if (!opened)
			continue;
		heap_give(MAX_BLOCKS);
	}
	assert_true(opened || try_port());
	assert_int_equal(heap_used(), used);
	pair.ends[0].context = uroce_open_port(pair.ends[0].wire.port_id, NULL, pair.workers, 1);
	assert_non_null(pair.ends[0].context);
}

UROCE_TESTS(failure_memory)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(objects),
		TEST(port),
	};

	test_eal_init("--log-level=uroce:critical", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
