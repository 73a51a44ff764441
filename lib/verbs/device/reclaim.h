/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Destroys objects asynchronously: a thread that polls a worker frees an object once nothing uses it, and calls the
 * application back. The process has one list. No thread waits while it holds the list's lock; workers only read a
 * count.
 */

#ifndef UROCE_VERBS_DEVICE_RECLAIM_H
#define UROCE_VERBS_DEVICE_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "verbs/device/device.h"

struct uroce_reclaim {
	TAILQ_ENTRY(uroce_reclaim) link; /* under the list's lock */
	struct uroce_device *dev;
	void *object;
	/* Free the object if it is no longer in use. @return true: freed. Under the list's lock, not within a poll */
	bool (*try_free)(struct uroce_reclaim *r, uint64_t now_ns);
	void (*freed)(void *arg); /* the application's callback; NULL: none */
	void *arg;
	uint64_t grace; /* for uroce_rcu_has_ended(), unless the object has the token */
	uint64_t tell_ns; /* when to log a warning */
	uint64_t since_ns; /* when the object was added */
};

/* Written under the list's lock, read by workers in every round. */
extern uint32_t uroce_reclaim_count;

static inline bool
uroce_reclaim_is_any(void)
{
	return __atomic_load_n(&uroce_reclaim_count, __ATOMIC_RELAXED) != 0;
}

/** @return NULL: out of memory */
struct uroce_reclaim *uroce_reclaim_create(struct uroce_device *dev, void *object,
					   bool (*try_free)(struct uroce_reclaim *, uint64_t), void (*freed)(void *),
					   void *arg);

/** Hand the object over to the list. Any thread, not within a poll. */
void uroce_reclaim_add(struct uroce_reclaim *r);

/** Check the next UROCE_RECLAIM_LOOKS objects, free those that are no longer in use, and call the application back.
 * Not within a poll, nor with a worker's turn. */
void uroce_reclaim_run(void);

#endif /* UROCE_VERBS_DEVICE_RECLAIM_H */
