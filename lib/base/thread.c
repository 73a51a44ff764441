/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts threads with all signals blocked. The creating thread blocks them during the creation, since the new thread
 * inherits this mask. A thread that blocked signals itself could receive one before that.
 */

#include <rte_common.h>

#include "base/dpdk_compat.h"
#include "base/thread.h"

int
uroce_thread_create(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	sigset_t all, before;
	int ret;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ret = uroce_ctrl_thread_create(thread, name, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ret;
}

void
uroce_thread_block_signals(sigset_t *before)
{
	static const int faults[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };
	sigset_t most;

	sigfillset(&most);
	for (unsigned int i = 0; i < RTE_DIM(faults); i++)
		sigdelset(&most, faults[i]);
	pthread_sigmask(SIG_BLOCK, &most, before);
}

void
uroce_thread_restore_signals(const sigset_t *before)
{
	pthread_sigmask(SIG_SETMASK, before, NULL);
}
