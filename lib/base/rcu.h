/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's rte_rcu_qsbr, which protects the QP and MR tables that workers read without a lock. Workers are
 * readers during a poll only, so that an idle worker delays no control thread.
 *
 * A thread that frees DPDK's memory holds EAL's memory lock while it waits for the readers
 * (uroce_rcu_wait_for_memory()). A driver may take that lock, or a heap's lock, within a burst: mlx5 does so for
 * memory that it has not seen before. So a worker announces each call of a driver, during which it uses no key that it
 * has looked up, and the waiting thread skips this worker. Otherwise a reader must not take a lock of EAL: no
 * rte_malloc().
 */

#ifndef UROCE_BASE_RCU_H
#define UROCE_BASE_RCU_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_rcu_qsbr.h>

#include "base/lines.h"
#include "uroce_config.h"

/* The only reader that is not a worker: telemetry, on a thread of EAL. */
#define UROCE_RCU_WATCHER UROCE_MAX_WORKERS
#define UROCE_RCU_READERS (UROCE_MAX_WORKERS + 1)
#define UROCE_RCU_NOBODY UROCE_RCU_READERS

/* The number of a reader in uroce_rcu, whose counters have a line each. */
#define UROCE_RCU_SLOT(reader) ((reader) * (unsigned int)(UROCE_LINES_APART / RTE_CACHE_LINE_SIZE))

/* Set by uroce_rcu_init(), never freed. */
extern struct rte_rcu_qsbr *uroce_rcu;

/* Only the reader with this index writes it, in its poll. */
struct uroce_rcu_driver {
	alignas(UROCE_LINES_APART) uint32_t is_in; /* atomic */
};

extern struct uroce_rcu_driver uroce_rcu_drivers[UROCE_RCU_READERS];
/* The reader that this thread is during its poll; UROCE_RCU_NOBODY: none. No other thread is that reader, so this
 * thread may write what belongs to it. */
extern __thread unsigned int uroce_rcu_self;
/* The kernel has no membarrier(2): a reader that leaves a driver executes the barrier itself. Constant. */
extern bool uroce_rcu_has_no_membarrier;

/** Allocate; idempotent, any thread, after rte_eal_init(). @return 0 or -ENOMEM */
int uroce_rcu_init(void);

/** Wait until every reader that is in a poll has left it. Not from within a poll. */
void uroce_rcu_wait(void);

/** As uroce_rcu_wait(), but do not wait for telemetry, which may wait for a turn that the caller holds. The readers
 * whose turns the caller holds must be offline. */
void uroce_rcu_wait_for_workers(void);

/** Begin a grace period, which ends when every reader that is in a poll now has left it. Any thread, within a poll too;
 * does not wait. @return a token for uroce_rcu_has_ended(), not 0 */
uint64_t uroce_rcu_begin(void);

/** Has the grace period ended? A period that began in the caller's own poll lasts at least until that poll ends. Any
 * thread, without a lock. */
bool uroce_rcu_has_ended(uint64_t token);

/**
 * As uroce_rcu_wait(), for a caller that holds EAL's memory lock and has invalidated the keys of memory: skips readers
 * in a driver. The caller may then free only that memory, since such a reader still has pointers to QPs and ports.
 */
void uroce_rcu_wait_for_memory(void);

/** Is any reader in a driver, and may thus read memory that mbufs reference? */
bool uroce_rcu_is_in_driver(void);

/**
 * Two barriers that pair with each other, like two full fences: one that costs little, for the side that runs often,
 * and one that makes each thread of the process execute a full barrier, running or not. After uroce_rcu_init().
 */
static inline void
uroce_rcu_barrier_light(void)
{
	if (unlikely(uroce_rcu_has_no_membarrier))
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void uroce_rcu_barrier_heavy(void);

/** Add and remove a reader, which is offline. @return 0, or EINVAL: no such reader */
static inline int
uroce_rcu_register(unsigned int reader)
{
	return rte_rcu_qsbr_thread_register(uroce_rcu, UROCE_RCU_SLOT(reader));
}

static inline int
uroce_rcu_unregister(unsigned int reader)
{
	return rte_rcu_qsbr_thread_unregister(uroce_rcu, UROCE_RCU_SLOT(reader));
}

/** Read in place of a reader that is offline. One thread at a time is a reader. */
static inline void
uroce_rcu_begin_read(unsigned int reader)
{
	rte_rcu_qsbr_thread_online(uroce_rcu, UROCE_RCU_SLOT(reader));
}

static inline void
uroce_rcu_end_read(unsigned int reader)
{
	rte_rcu_qsbr_thread_offline(uroce_rcu, UROCE_RCU_SLOT(reader));
}

/** Begin and end a poll: as uroce_rcu_begin_read(), and the thread is the reader. */
static inline void
uroce_rcu_online(unsigned int reader)
{
	uroce_rcu_begin_read(reader);
	uroce_rcu_self = reader;
}

static inline void
uroce_rcu_offline(unsigned int reader)
{
	uroce_rcu_self = UROCE_RCU_NOBODY;
	uroce_rcu_end_read(reader);
}

/**
 * Announce a call of a driver, within a poll. Until uroce_rcu_leave_driver() the reader must not use keys that it has
 * looked up, and afterward it must look them up again. Calls do not nest.
 */
static inline void
uroce_rcu_enter_driver(unsigned int reader)
{
	/* pairs with the acquire in uroce_rcu_wait_for_memory(): all accesses to the memory come before */
	__atomic_store_n(&uroce_rcu_drivers[reader].is_in, 1, __ATOMIC_RELEASE);
}

/** Later look-ups see all keys as they were when uroce_rcu_wait_for_memory() skipped this reader. That function
 * executes the barrier for the reader, so that this function costs only a store. */
static inline void
uroce_rcu_leave_driver(unsigned int reader)
{
	/* pairs with the acquire in uroce_rcu_is_in_driver(): the driver has finished reading */
	__atomic_store_n(&uroce_rcu_drivers[reader].is_in, 0, __ATOMIC_RELEASE);
	uroce_rcu_barrier_light(); /* pairs with the heavy barrier in uroce_rcu_wait_for_memory() */
}

/** Begin and end a section in which the watcher is a reader: objects that it looks up are not freed. Only one thread at
 * a time may be in the section. */
void uroce_rcu_watch_begin(void);
void uroce_rcu_watch_end(void);

#endif /* UROCE_BASE_RCU_H */
