/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Objects that are destroyed without anybody waiting: what is left of them is freed by a thread that polls a worker,
 * once nobody looks at it any more, and a callback tells so. The list is the process's, under a lock that is never held
 * while something is waited for; workers look at one count.
 */

#ifndef UROCE_VERBS_RECLAIM_H
#define UROCE_VERBS_RECLAIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "verbs/device.h"

struct uroce_reclaim {
	TAILQ_ENTRY(uroce_reclaim) link; /* under the list's lock */
	struct uroce_device *dev;
	void *object;
	/* Free the object if nobody uses it. @return whether it did. Under the list's lock, not within a poll */
	bool (*try_free)(struct uroce_reclaim *r, uint64_t now_ns);
	void (*freed)(void *arg); /* the application's; NULL: nobody is told */
	void *arg;
	uint64_t grace; /* for uroce_rcu_has_ended(), where the object does not have it */
	uint64_t tell_ns; /* when somebody should know that it takes so long */
	uint64_t since_ns;
};

/* Written under the list's lock, read by workers in every round. */
extern uint32_t uroce_reclaim_count;

static inline bool
uroce_reclaim_is_any(void)
{
	return __atomic_load_n(&uroce_reclaim_count, __ATOMIC_RELAXED) != 0;
}

/** @return NULL: there is no memory */
struct uroce_reclaim *uroce_reclaim_create(struct uroce_device *dev, void *object,
					   bool (*try_free)(struct uroce_reclaim *, uint64_t), void (*freed)(void *),
					   void *arg);

/** From here on the object is the list's. Any thread, not within a poll. */
void uroce_reclaim_add(struct uroce_reclaim *r);

/** Free what can be freed of the next UROCE_RECLAIM_LOOKS objects, and call back. Not within a poll, nor with a worker's turn. */
void uroce_reclaim_run(void);

#endif /* UROCE_VERBS_RECLAIM_H */
