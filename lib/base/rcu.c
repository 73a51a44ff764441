/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's rte_rcu_qsbr: control threads wait here until no worker and no telemetry thread reads what they are
 * about to free.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>

#include <rte_atomic.h>
#include <rte_common.h>
#include <rte_debug.h>
#include <rte_malloc.h>

#include "uroce_config.h"
#include "base/rcu.h"

#define OFFLINE 0 /* count of a reader outside of a poll; its name in rte_rcu_qsbr.h differs between DPDK releases */

struct rte_rcu_qsbr *uroce_rcu;
struct uroce_rcu_driver uroce_rcu_drivers[UROCE_RCU_READERS];
bool uroce_rcu_has_no_membarrier;
__thread unsigned int uroce_rcu_self = UROCE_RCU_NOBODY;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;

static struct rte_rcu_qsbr *
create(void)
{
	const size_t bytes = rte_rcu_qsbr_get_memsize(UROCE_RCU_SLOT(UROCE_RCU_READERS));
	struct rte_rcu_qsbr *v = rte_zmalloc("uroce_rcu", bytes, UROCE_LINES_APART);

	if (v == NULL)
		return NULL;
	/* must come before the first reader runs */
	uroce_rcu_has_no_membarrier = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0;
	RTE_VERIFY(rte_rcu_qsbr_init(v, UROCE_RCU_SLOT(UROCE_RCU_READERS)) == 0);
	RTE_VERIFY(rte_rcu_qsbr_thread_register(v, UROCE_RCU_SLOT(UROCE_RCU_WATCHER)) == 0);
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

uint64_t
uroce_rcu_begin(void)
{
	const uint64_t token = rte_rcu_qsbr_start(uroce_rcu);

	/* pairs with the fence in rte_rcu_qsbr_thread_online(): either the reader sees the caller's changes, or
	 * uroce_rcu_has_ended() sees the reader */
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	return token;
}

/* Have the first n readers left the polls in which they were at the token? Does not call rte_rcu_qsbr_check(), which
 * only one thread at a time may call. */
static bool
have_left(uint64_t token, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		/* pairs with the release in rte_rcu_qsbr_thread_offline() */
		const uint64_t count = __atomic_load_n(&uroce_rcu->qsbr_cnt[UROCE_RCU_SLOT(i)].cnt, __ATOMIC_ACQUIRE);

		if (count != OFFLINE && count < token)
			return false;
	}
	return true;
}

bool
uroce_rcu_has_ended(uint64_t token)
{
	return have_left(token, UROCE_RCU_READERS);
}

static void
wait_for(unsigned int n)
{
	const uint64_t token = uroce_rcu_begin();

	/* yield instead of spinning: a reader may need this core to leave its poll */
	while (!have_left(token, n))
		sched_yield();
}

void
uroce_rcu_wait(void)
{
	wait_for(UROCE_RCU_READERS);
}

void
uroce_rcu_wait_for_workers(void)
{
	wait_for(UROCE_MAX_WORKERS);
}

/* Pairs with the barrier that each thread executes; without membarrier(2), with the fence in
 * uroce_rcu_barrier_light(). */
void
uroce_rcu_barrier_heavy(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!uroce_rcu_has_no_membarrier)
		RTE_VERIFY(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0);
}

/* Skips readers in a driver: they may wait for EAL's lock, which the caller holds. */
void
uroce_rcu_wait_for_memory(void)
{
	const uint64_t token = rte_rcu_qsbr_start(uroce_rcu);

	uroce_rcu_barrier_heavy();
	for (unsigned int i = 0; i < UROCE_RCU_READERS; i++) {
		for (;;) {
			/* pairs with the releases of rte_rcu_qsbr_thread_offline() and uroce_rcu_enter_driver() */
			uint64_t count = __atomic_load_n(&uroce_rcu->qsbr_cnt[UROCE_RCU_SLOT(i)].cnt, __ATOMIC_ACQUIRE);

			if (count == OFFLINE || count >= token ||
			    __atomic_load_n(&uroce_rcu_drivers[i].is_in, __ATOMIC_ACQUIRE) != 0)
				break;
			sched_yield();
		}
	}
}

bool
uroce_rcu_is_in_driver(void)
{
	/* pairs with the release in uroce_rcu_leave_driver() */
	for (unsigned int i = 0; i < UROCE_RCU_READERS; i++)
		if (__atomic_load_n(&uroce_rcu_drivers[i].is_in, __ATOMIC_ACQUIRE) != 0)
			return true;
	return false;
}

void
uroce_rcu_watch_begin(void)
{
	uroce_rcu_begin_read(UROCE_RCU_WATCHER);
}

void
uroce_rcu_watch_end(void)
{
	uroce_rcu_end_read(UROCE_RCU_WATCHER);
}
