/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Delayed frames come out when they are due, in order.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_mbuf.h>

#include "eal.h"
#include "groups.h"
#include "held.h"

#define FRAMES 1000

static struct rte_mempool *pool;

static void
test_order(void **state)
{
	struct uroce_netem_held h;
	uint64_t last_due = 0, last_number = 0;
	struct rte_mbuf *m;

	assert_int_equal(uroce_netem_held_init(&h, FRAMES), 0);
	assert_null(uroce_netem_held_get(&h, UINT64_MAX));
	srand(1);
	for (uint32_t i = 0; i < FRAMES; i++) {
		uint64_t due = (uint64_t)(rand() % 100) + 1;

		m = rte_pktmbuf_alloc(pool);
		assert_non_null(m);
		m->hash.usr = i;
		m->pkt_len = (uint32_t)due;
		uroce_netem_held_put(&h, m, due);
	}
	for (uint64_t now = 0, got = 0; got < FRAMES; now++) {
		while ((m = uroce_netem_held_get(&h, now)) != NULL) {
			assert_true(m->pkt_len <= now && m->pkt_len >= last_due);
			if (m->pkt_len == last_due)
				assert_true(m->hash.usr > last_number);
			last_due = m->pkt_len;
			last_number = m->hash.usr;
			rte_pktmbuf_free(m);
			got++;
		}
		assert_true(h.count == 0 || h.frames[0].due > now);
	}
	uroce_netem_held_fini(&h);
	assert_true(rte_mempool_full(pool));
}

static void
test_fini_frees(void **state)
{
	struct uroce_netem_held h;

	assert_int_equal(uroce_netem_held_init(&h, 3), 0);
	for (unsigned int i = 0; i < 3; i++)
		uroce_netem_held_put(&h, rte_pktmbuf_alloc(pool), 7);
	uroce_netem_held_fini(&h);
	assert_true(rte_mempool_full(pool));
}

UROCE_TESTS(netem_held)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_fini_frees),
	};

	test_eal_init(NULL);
	pool = rte_pktmbuf_pool_create("held", FRAMES, 0, 0, 128, SOCKET_ID_ANY);
	if (pool == NULL)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
