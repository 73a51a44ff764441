/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The list of objects that are being destroyed asynchronously. Control threads add objects; threads that poll
 * workers free them.
 */

#include <pthread.h>
#include <stdlib.h>

#include <rte_common.h>

#include "uroce_config.h"
#include "verbs/device/reclaim.h"

TAILQ_HEAD(reclaims, uroce_reclaim);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reclaims waiting = TAILQ_HEAD_INITIALIZER(waiting); /* under lock */

uint32_t uroce_reclaim_count;

struct uroce_reclaim *
uroce_reclaim_create(struct uroce_device *dev, void *object, bool (*try_free)(struct uroce_reclaim *, uint64_t),
		     void (*freed)(void *), void *arg)
{
	struct uroce_reclaim *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->dev = dev;
	r->object = object;
	r->try_free = try_free;
	r->freed = freed;
	r->arg = arg;
	return r;
}

void
uroce_reclaim_add(struct uroce_reclaim *r)
{
	uint64_t wall_ns;

	r->dev->ops.port->clocks(r->dev, &r->since_ns, &wall_ns);
	r->tell_ns = r->since_ns + UROCE_MR_WAIT_TELL_NS;
	pthread_mutex_lock(&lock);
	TAILQ_INSERT_TAIL(&waiting, r, link);
	__atomic_fetch_add(&r->dev->reclaims, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&uroce_reclaim_count, 1, __ATOMIC_RELAXED);
	r->dev->ops.worker->wake(r->dev);	/* under the lock, which keeps the object, and so the device */
	pthread_mutex_unlock(&lock);
}

/* Under the lock. The device may be closed as soon as its last object is freed, so its count is updated first. */
static bool
is_freed(struct uroce_reclaim *r)
{
	struct uroce_device *dev = r->dev;
	uint64_t now_ns, wall_ns;

	dev->ops.port->clocks(dev, &now_ns, &wall_ns);
	__atomic_fetch_sub(&dev->reclaims, 1, __ATOMIC_RELAXED);
	if (r->try_free(r, now_ns))
		return true;
	__atomic_fetch_add(&dev->reclaims, 1, __ATOMIC_RELAXED);
	return false;
}

void
uroce_reclaim_run(void)
{
	struct reclaims freed = TAILQ_HEAD_INITIALIZER(freed);
	struct uroce_reclaim *r;
	uint32_t looks;

	/* another thread is running the list */
	if (pthread_mutex_trylock(&lock) != 0)
		return;
	/* a limited number in each poll; objects that are still in use go to the end of the list */
	looks = RTE_MIN(uroce_reclaim_count, (uint32_t)UROCE_RECLAIM_LOOKS);
	while (looks-- > 0) {
		r = TAILQ_FIRST(&waiting);
		TAILQ_REMOVE(&waiting, r, link);
		if (!is_freed(r)) {
			TAILQ_INSERT_TAIL(&waiting, r, link);
			continue;
		}
		__atomic_fetch_sub(&uroce_reclaim_count, 1, __ATOMIC_RELAXED);
		TAILQ_INSERT_TAIL(&freed, r, link);
	}
	pthread_mutex_unlock(&lock);
	while ((r = TAILQ_FIRST(&freed)) != NULL) {
		TAILQ_REMOVE(&freed, r, link);
		if (r->freed != NULL)
			r->freed(r->arg);
		free(r);
	}
}
