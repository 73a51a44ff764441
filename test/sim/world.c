/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and runs the ends of a world, their pools, and the clock.
 */

#include "world.h"

#include <stdio.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mempool.h>

#include "base/random.h"
#include "base/rcu.h"
#include "uroce_config.h"

#define RCU_THREAD  0
#define START_NS    UINT64_C(1000000000)
#define RX_MBUFS    8191

struct rte_mempool *
world_pool_create(const char *name, unsigned int end, unsigned int mbufs, uint32_t room_bytes)
{
	char unique[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(unique, sizeof(unique), "%s%u", name, end);
	pool = rte_pktmbuf_pool_create(unique, mbufs, 0, UROCE_ENGINE_PRIV_BYTES,
				       (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes),
				       SOCKET_ID_ANY);
	SIM_CHECK(pool != NULL, "rte_pktmbuf_pool_create: %s", rte_strerror(rte_errno));
	return pool;
}

void
world_pool_destroy(struct rte_mempool *pool)
{
	SIM_CHECK(rte_mempool_full(pool), "%s has lost %u mbufs", pool->name,
		  rte_mempool_in_use_count(pool));
	rte_mempool_free(pool);
}

void
world_init(struct world *w, const struct world_conf *conf, uint64_t seed)
{
	SIM_CHECK(uroce_rcu_init() == 0, "uroce_rcu_init fails");
	uroce_rcu_register(RCU_THREAD);
	uroce_random_seed(seed);
	memset(w, 0, sizeof(*w));
	w->conf = *conf;
	w->seed = seed;
	w->now_ns = START_NS;
	random_init(&w->random, seed, WORLD_STREAM);
	link_init(&w->link, &conf->link, conf->ends, seed);
	w->rx_pool = world_pool_create("rx", 0, conf->rx_mbufs != 0 ? conf->rx_mbufs : RX_MBUFS, 128 + LARGEST_MTU);
	for (unsigned int i = 0; i < conf->ends; i++)
		w->ends[i] = end_create(w, i);
	mishaps_init(&w->mishaps, w, seed);
}

void
world_fini(struct world *w)
{
	for (unsigned int i = 0; i < w->conf.ends; i++)
		end_destroy(w->ends[i]);
	world_pool_destroy(w->rx_pool);
	link_fini(&w->link);
	uroce_rcu_unregister(RCU_THREAD);
	uroce_random_seed(0);
}

bool
world_poll(struct world *w)
{
	bool busy = false;

	uroce_rcu_begin_read(RCU_THREAD);
	mishaps_happen(&w->mishaps, w);
	link_advance(&w->link, w->now_ns);
	for (unsigned int i = 0; i < w->conf.ends; i++)
		busy |= end_poll(w->ends[i], w->now_ns);
	uroce_rcu_end_read(RCU_THREAD);
	return busy;
}

uint64_t
world_next(const struct world *w)
{
	uint64_t next_ns = link_next(&w->link);

	for (unsigned int i = 0; i < w->conf.ends; i++)
		next_ns = RTE_MIN(next_ns, end_next(w->ends[i]));
	return RTE_MAX(next_ns, w->now_ns);
}

void
world_release(struct world *w)
{
	for (unsigned int i = 0; i < w->conf.ends; i++)
		end_release(w->ends[i], UINT64_MAX);
}

uint64_t
world_verdicts(const struct world *w, enum uroce_verdict v)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < w->conf.ends; i++)
		sum += end_verdict(w->ends[i], v);
	return sum;
}

uint64_t
world_counters(const struct world *w, enum uroce_engine_counter c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < w->conf.ends; i++)
		sum += end_counter(w->ends[i], c);
	return sum;
}
