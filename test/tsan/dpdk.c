/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tells ThreadSanitizer the order of accesses that DPDK guarantees, because DPDK's libraries are not instrumented. The
 * free of memory or of an mbuf precedes its next allocation, and the end of an lcore's function precedes the return of
 * the wait for it. Linked whole into tests with -Db_sanitize=thread; its functions replace DPDK's.
 */

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <sanitizer/tsan_interface.h>

#include <rte_alarm.h>
#include <rte_debug.h>
#include <rte_ethdev.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include "tsan.h"

#define REAL(name) ((__typeof__(&name))real(#name))

/* Orders each free before all later allocations, of any memory. That is more order than DPDK guarantees, but no data
 * path allocates memory. */
static char heap;
static char lcores[RTE_MAX_LCORE];

static void *
real(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	RTE_VERIFY(function != NULL);
	return function;
}

void *
rte_malloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	void *p = REAL(rte_malloc_socket)(type, size, align, socket);

	__tsan_acquire(&heap);
	return p;
}

void *
rte_malloc(const char *type, size_t size, unsigned int align)
{
	return rte_malloc_socket(type, size, align, SOCKET_ID_ANY);
}

void *
rte_zmalloc_socket(const char *type, size_t size, unsigned int align, int socket)
{
	void *p = REAL(rte_zmalloc_socket)(type, size, align, socket);

	__tsan_acquire(&heap);
	return p;
}

void *
rte_zmalloc(const char *type, size_t size, unsigned int align)
{
	return rte_zmalloc_socket(type, size, align, SOCKET_ID_ANY);
}

void
rte_free(void *p)
{
	__tsan_release(&heap);
	REAL(rte_free)(p);
}

struct rte_ring *
rte_ring_create_elem(const char *name, unsigned int bytes, unsigned int count, int socket,
		     unsigned int flags)
{
	struct rte_ring *ring = REAL(rte_ring_create_elem)(name, bytes, count, socket, flags);

	__tsan_acquire(&heap);
	return ring;
}

void
rte_ring_free(struct rte_ring *ring)
{
	__tsan_release(&heap);
	REAL(rte_ring_free)(ring);
}

void
rte_mempool_free(struct rte_mempool *pool)
{
	__tsan_release(&heap);
	REAL(rte_mempool_free)(pool);
}

/* ---- an lcore's function ---- */

struct launch {
	lcore_function_t *function;
	void *arg;
};

static struct launch launches[RTE_MAX_LCORE]; /* the latest of each lcore, which was idle before */

static int
lcore_main(void *arg)
{
	const struct launch *l = arg;
	unsigned int lcore = (unsigned int)(l - launches);
	int ret;

	__tsan_acquire(&lcores[lcore]);
	ret = l->function(l->arg);
	__tsan_release(&lcores[lcore]);
	return ret;
}

int
rte_eal_remote_launch(lcore_function_t *function, void *arg, unsigned int lcore)
{
	if (rte_eal_get_lcore_state(lcore) != WAIT)
		return -EBUSY;
	launches[lcore] = (struct launch){ function, arg };
	__tsan_release(&lcores[lcore]);
	return REAL(rte_eal_remote_launch)(lcore_main, &launches[lcore], lcore);
}

int
rte_eal_wait_lcore(unsigned int lcore)
{
	int ret = REAL(rte_eal_wait_lcore)(lcore);

	__tsan_acquire(&lcores[lcore]);
	return ret;
}

/* ---- an alarm ---- */

struct alarm {
	rte_eal_alarm_callback function;
	void *arg;
};

static void
alarm_main(void *arg)
{
	struct alarm a;

	__tsan_acquire(arg);
	a = *(struct alarm *)arg;
	free(arg);
	a.function(a.arg);
}

/* No test cancels an alarm: rte_eal_alarm_cancel() would not find it by its function. */
int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback function, void *arg)
{
	struct alarm *a = malloc(sizeof(*a));

	RTE_VERIFY(a != NULL);
	*a = (struct alarm){ function, arg };
	__tsan_release(a);
	return REAL(rte_eal_alarm_set)(us, alarm_main, a);
}

/* ---- a pool, instead of DPDK's rings ---- */

struct pool {
	pthread_mutex_t lock;
	unsigned int count;
	void *objects[];
};

static int
pool_alloc(struct rte_mempool *mp)
{
	struct pool *p = calloc(1, sizeof(*p) + mp->size * sizeof(*p->objects));

	if (p == NULL)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	mp->pool_data = p;
	__tsan_acquire(&heap);
	return 0;
}

static void
pool_free(struct rte_mempool *mp)
{
	struct pool *p = mp->pool_data;

	pthread_mutex_destroy(&p->lock);
	free(p);
}

static int
pool_enqueue(struct rte_mempool *mp, void *const *objects, unsigned int n)
{
	struct pool *p = mp->pool_data;

	pthread_mutex_lock(&p->lock);
	RTE_VERIFY(p->count + n <= mp->size);
	for (unsigned int i = 0; i < n; i++)
		p->objects[p->count++] = objects[i];
	pthread_mutex_unlock(&p->lock);
	return 0;
}

static int
pool_dequeue(struct rte_mempool *mp, void **objects, unsigned int n)
{
	struct pool *p = mp->pool_data;
	int ret = -ENOBUFS;

	pthread_mutex_lock(&p->lock);
	if (p->count >= n) {
		for (unsigned int i = 0; i < n; i++)
			objects[i] = p->objects[--p->count];
		ret = 0;
	}
	pthread_mutex_unlock(&p->lock);
	return ret;
}

static unsigned int
pool_count(const struct rte_mempool *mp)
{
	struct pool *p = mp->pool_data;
	unsigned int n;

	pthread_mutex_lock(&p->lock);
	n = p->count;
	pthread_mutex_unlock(&p->lock);
	return n;
}

static const struct rte_mempool_ops pool_ops = {
	.name = TEST_TSAN_POOL,
	.alloc = pool_alloc,
	.free = pool_free,
	.enqueue = pool_enqueue,
	.dequeue = pool_dequeue,
	.get_count = pool_count,
};

RTE_MEMPOOL_REGISTER_OPS(pool_ops);

/* ---- ports ---- */

static uint16_t
received(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t room, void *arg)
{
	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(room);
	RTE_SET_USED(arg);
	for (uint16_t i = 0; i < n; i++)
		__tsan_acquire(frames[i]);
	return n;
}

static uint16_t
sending(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t n, void *arg)
{
	RTE_SET_USED(port);
	RTE_SET_USED(queue);
	RTE_SET_USED(arg);
	for (uint16_t i = 0; i < n; i++)
		__tsan_release(frames[i]);
	return n;
}

int
rte_eth_dev_start(uint16_t port)
{
	struct rte_eth_dev_info info;

	/* the callbacks stay when the port is stopped; a queue that is added later gets its own at the next start */
	if (rte_eth_dev_info_get(port, &info) == 0) {
		for (uint16_t i = 0; i < info.nb_rx_queues; i++)
			rte_eth_add_rx_callback(port, i, received, NULL);
		for (uint16_t i = 0; i < info.nb_tx_queues; i++)
			rte_eth_add_tx_callback(port, i, sending, NULL);
	}
	return REAL(rte_eth_dev_start)(port);
}
