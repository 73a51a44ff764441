/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One rte_rcu_qsbr for the process. Workers are readers: online for the length of a poll, so that a
 * worker which nobody polls holds up nobody. QP and MR tables are what it protects.
 *
 * Whoever gives memory of DPDK back waits for the readers with EAL's memory lock held. So nothing
 * may wait for a lock of EAL while online: no rte_malloc(). (A driver that takes that lock in a
 * burst, as mlx5 does for memory it sees for the first time, must not meet memory that is being
 * given back.)
 */

#ifndef UROCE_MEM_RCU_H
#define UROCE_MEM_RCU_H

#include <rte_rcu_qsbr.h>

#include "uroce_config.h"

/* The reader that is no worker: telemetry, which looks at objects on a thread of EAL's. */
#define UROCE_RCU_WATCHER UROCE_MAX_WORKERS
#define UROCE_RCU_READERS (UROCE_MAX_WORKERS + 1)

/* Set by uroce_rcu_init(), never freed. */
extern struct rte_rcu_qsbr *uroce_rcu;

/** Allocate; idempotent, any thread, after rte_eal_init(). @return 0 or -ENOMEM */
int uroce_rcu_init(void);

/** Wait until every reader that was in a poll has left it. Not from within a poll. */
void uroce_rcu_wait(void);

/** A section in which the watcher is a reader: what it looks up is not freed meanwhile. One thread at a time, whose
 * lock that is the caller's affair. */
void uroce_rcu_watch_begin(void);
void uroce_rcu_watch_end(void);

#endif /* UROCE_MEM_RCU_H */
