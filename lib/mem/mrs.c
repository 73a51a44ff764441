/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates the key table, and invalidates the keys of memory that DPDK frees. Control threads; a thread that frees
 * DPDK's memory runs on_mem_event().
 *
 * Lock order: EAL's memory lock, then the table's; no function of EAL is called under the table's. Registration takes
 * only the table's.
 */

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "uroce_config.h"
#include "mem/attach.h"
#include "mem/mr.h"
#include "mem/mw.h"
#include "base/log.h"
#include "base/rcu.h"

#define EVENT_NAME "uroce_mrs"

/* Invalidate the keys of a region and its windows. Relaxed: the grace period orders the stores. */
static void
take_back(struct uroce_mr *mr)
{
	const struct uroce_mw *mw;

	mr->is_gone = true;
	if (mr->slot != NULL)
		__atomic_store_n(&mr->slot->key, 0, __ATOMIC_RELAXED);
	LIST_FOREACH(mw, &mr->windows, mr_link)
		__atomic_store_n(&mw->slot->key, 0, __ATOMIC_RELAXED);
}

static bool
is_in(const struct uroce_mr *mr, uint64_t first, size_t len)
{
	const uint64_t va = (uintptr_t)mr->ibv.addr;

	return va - first < len || first - va < mr->ibv.length;
}

/* The caller holds the table's lock. @param frames	set to the number of mbufs that reference the regions
 * @return number of invalidated regions */
static unsigned int
take_back_all(struct uroce_mrs *t, uint64_t first, size_t len, uint32_t *frames)
{
	unsigned int n = 0;
	struct uroce_mr *mr;

	*frames = 0;
	LIST_FOREACH(mr, &t->of_dpdk, link) {
		if (!is_in(mr, first, len))
			continue;
		take_back(mr);
		*frames += uroce_mr_inflight(mr);
		n++;
	}
	return n;
}

/* A driver in a burst may be copying from the memory, or waiting for the lock that the caller holds. The caller cannot
 * distinguish these cases, so it waits for a limited time. */
static void
wait_for_drivers(struct uroce_mrs *t, uint64_t first, size_t len)
{
	const struct timespec pause = { .tv_nsec = UROCE_GIVE_BACK_PAUSE_NS };
	uint32_t frames;

	for (unsigned int i = 0; i < UROCE_GIVE_BACK_LOOKS && uroce_rcu_is_in_driver(); i++) {
		pthread_mutex_lock(&t->lock);
		take_back_all(t, first, len, &frames);
		pthread_mutex_unlock(&t->lock);
		if (frames == 0)
			return;
		nanosleep(&pause, NULL);
	}
}

void
uroce_mrs_give_back(struct uroce_mrs *t, const void *addr, size_t len)
{
	const uint64_t first = (uintptr_t)addr;
	unsigned int found;
	uint32_t frames;

	pthread_mutex_lock(&t->lock);
	found = take_back_all(t, first, len, &frames);
	pthread_mutex_unlock(&t->lock);
	if (found == 0)
		return;
	uroce_rcu_wait_for_memory();
	wait_for_drivers(t, first, len);
}

/* EAL holds its memory lock for writing, and frees the memory afterward. */
static void
on_mem_event(enum rte_mem_event event, const void *addr, size_t len, void *arg)
{
	if (event == RTE_MEM_EVENT_FREE)
		uroce_mrs_give_back(arg, addr, len);
}

static struct uroce_mr_key *
alloc_keys(unsigned int log2, int numa_node)
{
	const size_t bytes = sizeof(struct uroce_mr_key) << log2;
	void *keys = rte_zmalloc_socket("uroce_mr_keys", bytes, RTE_CACHE_LINE_SIZE, numa_node);

	/* memory of another node is better than none */
	if (keys == NULL && numa_node != SOCKET_ID_ANY)
		keys = rte_zmalloc("uroce_mr_keys", bytes, RTE_CACHE_LINE_SIZE);
	return keys;
}

void
uroce_mrs_log_full(const struct uroce_mrs *t)
{
	UROCE_LOG(ERR,
		  "a device has %u memory regions and windows, its limit: open its port with a log2_max_mr above %u\n",
		  1u << t->log2, t->log2);
}

int
uroce_mrs_init(struct uroce_mrs *t, unsigned int log2, int numa_node)
{
	int rc;

	if (log2 < 1 || log2 > UROCE_LOG2_LIMIT_MR)
		return -EINVAL;
	rc = uroce_rcu_init();
	if (rc != 0)
		return rc;
	t->keys = alloc_keys(log2, numa_node);
	if (t->keys == NULL)
		return -ENOMEM;
	rc = uroce_slots_init(&t->slots, log2, 32);
	if (rc != 0)
		goto free_keys;
	t->log2 = (uint8_t)log2;
	t->count = 0;
	memset(t->counts, 0, sizeof(t->counts));
	LIST_INIT(&t->of_dpdk);
	pthread_mutex_init(&t->lock, NULL);
	/* ENOTSUP: DPDK never frees memory in this mode */
	if (rte_mem_event_callback_register(EVENT_NAME, on_mem_event, t) != 0 &&
	    rte_errno != ENOTSUP) {
		rc = -rte_errno;
		goto fini_slots;
	}
	return 0;

fini_slots:
	pthread_mutex_destroy(&t->lock);
	uroce_slots_fini(&t->slots);
free_keys:
	rte_free(t->keys);
	t->keys = NULL;
	return rc;
}

void
uroce_mrs_fini(struct uroce_mrs *t)
{
	RTE_VERIFY(t->count == 0);
	/* fails if the callback could not be registered */
	(void)rte_mem_event_callback_unregister(EVENT_NAME, t);
	pthread_mutex_destroy(&t->lock);
	uroce_slots_fini(&t->slots);
	uroce_mrs_counts_free(t);
	rte_free(t->keys);
	t->keys = NULL;
}
