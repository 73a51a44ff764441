/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The one rte_rcu_qsbr of the process. Control threads wait here for the readers: workers, which
 * report to it with the inline calls of rte_rcu_qsbr.h, and telemetry.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <rte_common.h>
#include <rte_debug.h>
#include <rte_malloc.h>

#include "uroce_config.h"
#include "mem/rcu.h"

struct rte_rcu_qsbr *uroce_rcu;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
/* rte_rcu_qsbr_check() reads plainly what other waiters write. Nothing is taken under it. */
static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;

static struct rte_rcu_qsbr *
create(void)
{
	const size_t bytes = rte_rcu_qsbr_get_memsize(UROCE_RCU_READERS);
	struct rte_rcu_qsbr *v = rte_zmalloc("uroce_rcu", bytes, RTE_CACHE_LINE_SIZE);

	if (v == NULL)
		return NULL;
	RTE_VERIFY(rte_rcu_qsbr_init(v, UROCE_RCU_READERS) == 0);
	RTE_VERIFY(rte_rcu_qsbr_thread_register(v, UROCE_RCU_WATCHER) == 0);
	return v;
}

int
uroce_rcu_init(void)
{
	int rc;

	pthread_mutex_lock(&init_lock);
	if (uroce_rcu == NULL)
		uroce_rcu = create();
	rc = uroce_rcu != NULL ? 0 : -ENOMEM;
	pthread_mutex_unlock(&init_lock);
	return rc;
}

void
uroce_rcu_wait(void)
{
	/* A token taken before the lock: whoever held it has often waited for ours as well. */
	uint64_t token = rte_rcu_qsbr_start(uroce_rcu);

	pthread_mutex_lock(&wait_lock);
	/* not its own way to wait: a reader may need this very core to get out of its poll */
	while (rte_rcu_qsbr_check(uroce_rcu, token, false) == 0)
		sched_yield();
	pthread_mutex_unlock(&wait_lock);
}

void
uroce_rcu_watch_begin(void)
{
	rte_rcu_qsbr_thread_online(uroce_rcu, UROCE_RCU_WATCHER);
}

void
uroce_rcu_watch_end(void)
{
	rte_rcu_qsbr_thread_offline(uroce_rcu, UROCE_RCU_WATCHER);
}
