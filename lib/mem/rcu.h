/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One rte_rcu_qsbr for the process. Workers are readers: online for the length of a poll, so that a
 * worker which nobody polls holds up nobody. QP and MR tables are what it protects.
 *
 * A thread that gives memory of DPDK back holds EAL's memory lock while it waits for the readers
 * (uroce_rcu_wait_for_memory()). A driver may take that lock, or the lock of a heap, within a burst:
 * mlx5 does for memory that it sees for the first time. So a worker says when it is in a driver, where
 * it looks at nothing that a key led it to, and that wait passes over it. Outside of a driver a reader
 * takes no lock of EAL: no rte_malloc().
 */

#ifndef UROCE_MEM_RCU_H
#define UROCE_MEM_RCU_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_rcu_qsbr.h>

#include "uroce_config.h"

/* The reader that is no worker: telemetry, which looks at objects on a thread of EAL's. */
#define UROCE_RCU_WATCHER UROCE_MAX_WORKERS
#define UROCE_RCU_READERS (UROCE_MAX_WORKERS + 1)

/* Set by uroce_rcu_init(), never freed. */
extern struct rte_rcu_qsbr *uroce_rcu;

/* Written by the reader of this number, in its poll. */
struct uroce_rcu_driver {
	uint32_t is_in; /* atomic */
} __rte_cache_aligned;

extern struct uroce_rcu_driver uroce_rcu_drivers[UROCE_RCU_READERS];
/* The kernel has no membarrier(2): a reader that leaves a driver makes the barrier itself. Constant. */
extern bool uroce_rcu_has_no_membarrier;

/** Allocate; idempotent, any thread, after rte_eal_init(). @return 0 or -ENOMEM */
int uroce_rcu_init(void);

/** Wait until every reader that was in a poll has left it. Not from within a poll. */
void uroce_rcu_wait(void);

/** Begin a grace period, which ends when every reader that is in a poll now has left it. Any thread, within a poll too;
 * does not wait. @return a token for uroce_rcu_has_ended(), not 0 */
uint64_t uroce_rcu_begin(void);

/** Has the grace period ended? One that began in the caller's own poll has not before its next poll. Any thread, without
 * a lock. */
bool uroce_rcu_has_ended(uint64_t token);

/**
 * The same with EAL's memory lock held, for memory that keys no longer lead to: passes over readers that are in a
 * driver. What is freed may be that memory and nothing else: such a reader has pointers to QPs and ports.
 */
void uroce_rcu_wait_for_memory(void);

/** Is a reader in a driver, whose frames may lead anywhere? */
bool uroce_rcu_is_in_driver(void);

/**
 * Call a driver, within a poll: what keys have led to is looked at no more, and looked up anew afterwards. The two do
 * not nest.
 */
static inline void
uroce_rcu_enter_driver(unsigned int reader)
{
	/* pairs with the acquire in uroce_rcu_wait_for_memory(): the memory has been looked at */
	__atomic_store_n(&uroce_rcu_drivers[reader].is_in, 1, __ATOMIC_RELEASE);
}

/** What is looked up from here on is what was published before uroce_rcu_wait_for_memory() saw the reader here: the
 * barrier in between is that function's, so that this one costs a store. */
static inline void
uroce_rcu_leave_driver(unsigned int reader)
{
	__atomic_store_n(&uroce_rcu_drivers[reader].is_in, 0, __ATOMIC_RELAXED);
	if (unlikely(uroce_rcu_has_no_membarrier))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/** A section in which the watcher is a reader: what it looks up is not freed meanwhile. One thread at a time, whose
 * lock that is the caller's affair. */
void uroce_rcu_watch_begin(void);
void uroce_rcu_watch_end(void);

#endif /* UROCE_MEM_RCU_H */
