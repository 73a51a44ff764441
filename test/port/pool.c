/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Pools: their layout, refused sizes, and that a pool is freed only after all its mbufs have returned.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "port/worker/pool.h"
#include "transport/engine.h"

#define MBUFS 63
#define POOLS 3

static void
test_create(void **state)
{
	struct rte_mempool *a = uroce_pool_create("test", MBUFS, 2048, SOCKET_ID_ANY);
	struct rte_mempool *b = uroce_pool_create("test", 1, 0, SOCKET_ID_ANY);

	assert_non_null(a);
	assert_non_null(b);
	assert_string_not_equal(a->name, b->name);
	assert_ptr_equal(rte_mempool_lookup(a->name), a);
	assert_int_equal(rte_mempool_avail_count(a), MBUFS);
	assert_int_equal(rte_pktmbuf_data_room_size(a), RTE_PKTMBUF_HEADROOM + 2048);
	assert_int_equal(rte_pktmbuf_priv_size(a), UROCE_ENGINE_PRIV_BYTES);
	assert_int_equal(rte_pktmbuf_data_room_size(b), RTE_PKTMBUF_HEADROOM);
	uroce_pool_retire(a);
	uroce_pool_retire(b);
	assert_int_equal(uroce_pools_retired(), 0);
}

static void
test_refused(void **state)
{
	static const struct {
		unsigned int mbufs;
		uint32_t room;
		int error;
	} cases[] = {
		{ MBUFS, UINT16_MAX - RTE_PKTMBUF_HEADROOM + 1, EINVAL },
		{ MBUFS, UINT32_MAX, EINVAL },
		{ 1 << 20, 16384, ENOMEM }, /* more than this EAL's memory */
	};
	struct rte_mempool *pool;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		errno = 0;
		assert_null(uroce_pool_create("test", cases[i].mbufs, cases[i].room,
					      SOCKET_ID_ANY));
		assert_int_equal(errno, cases[i].error);
	}
	pool = uroce_pool_create("test", 1, UINT16_MAX - RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_int_equal(rte_pktmbuf_data_room_size(pool), UINT16_MAX);
	uroce_pool_retire(pool);
}

/* Without hugepages, mbufs of more than half a page do not take a page each, and a device can address each of them. */
static void
test_packed(void **state)
{
	static const uint32_t rooms[] = { 408, 2048, 4248, 5120 };
	const unsigned int mbufs = 1023;
	struct rte_mbuf *all[1023];

	for (unsigned int i = 0; i < RTE_DIM(rooms); i++) {
		struct rte_malloc_socket_stats before, after;
		struct rte_mempool *pool;

		assert_int_equal(rte_malloc_get_socket_stats(0, &before), 0);
		pool = uroce_pool_create("test", mbufs, rooms[i], SOCKET_ID_ANY);
		assert_non_null(pool);
		assert_int_equal(rte_malloc_get_socket_stats(0, &after), 0);
		assert_uint_in_range(after.heap_allocsz_bytes - before.heap_allocsz_bytes, mbufs * (size_t)rooms[i],
				uroce_pool_bytes(mbufs, rooms[i]) + 65536);
		assert_int_equal(rte_pktmbuf_alloc_bulk(pool, all, mbufs), 0);
		for (unsigned int j = 0; j < mbufs; j++) {
			assert_int_equal(all[j]->buf_iova, rte_mem_virt2iova(all[j]->buf_addr));
			assert_int_equal(all[j]->buf_len, RTE_PKTMBUF_HEADROOM + rooms[i]);
			memset(rte_pktmbuf_mtod(all[j], void *), (int)j, rooms[i]);
		}
		for (unsigned int j = 0; j < mbufs; j++) {
			const uint8_t *data = rte_pktmbuf_mtod(all[j], const uint8_t *);

			assert_int_equal(data[0], (uint8_t)j);
			assert_memory_equal(data, data + 1, rooms[i] - 1);
		}
		rte_pktmbuf_free_bulk(all, mbufs);
		uroce_pool_retire(pool);
		assert_int_equal(rte_malloc_get_socket_stats(0, &after), 0);
		assert_int_equal(after.heap_allocsz_bytes, before.heap_allocsz_bytes);
	}
}

/* In any order, each pool lives until its last mbuf returns. */
static void
test_retire(void **state)
{
	static const unsigned int order[POOLS] = { 1, 2, 0 };
	struct rte_mempool *pools[POOLS];
	struct rte_mbuf *mbufs[POOLS][2];
	char names[POOLS][RTE_MEMPOOL_NAMESIZE];

	for (unsigned int i = 0; i < POOLS; i++) {
		pools[i] = uroce_pool_create("test", MBUFS, 128, SOCKET_ID_ANY);
		assert_non_null(pools[i]);
		snprintf(names[i], sizeof(names[i]), "%s", pools[i]->name);
		assert_int_equal(rte_pktmbuf_alloc_bulk(pools[i], mbufs[i], 2), 0);
		uroce_pool_retire(pools[i]);
		assert_int_equal(uroce_pools_retired(), i + 1);
	}
	for (unsigned int i = 0; i < POOLS; i++) {
		rte_pktmbuf_free(mbufs[order[i]][0]);
		assert_int_equal(uroce_pools_retired(), POOLS - i);
		assert_ptr_equal(rte_mempool_lookup(names[order[i]]), pools[order[i]]);
		rte_pktmbuf_free(mbufs[order[i]][1]);
		uroce_pool_retire(NULL); /* also frees retired pools */
		assert_null(rte_mempool_lookup(names[order[i]]));
		assert_int_equal(uroce_pools_retired(), POOLS - i - 1);
	}
}

UROCE_TESTS(port_pool)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_retire),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
