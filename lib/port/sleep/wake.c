/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Wakes the thread of a worker: one that sleeps on the futex `sleep`, or a program that waits for the worker's
 * descriptor.
 */

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "port/sleep/wait.h"
#include "port/sleep/wake.h"

static_assert(sizeof(((struct uroce_worker *)0)->sleep) == 4, "a futex");

/* A thread that is canceled in write() would have ended the sleep, but woken no thread. */
void
uroce_worker_signal_fd(const struct uroce_worker *w)
{
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	(void)eventfd_write(w->wait->wake_fd, 1);	/* fails if the counter is full; then it wakes the program as well */
	pthread_setcancelstate(cancel, &cancel);
}

void
uroce_worker_wake(struct uroce_worker *w)
{
	uint32_t was;

	/* another thread may poll before the one that wakes up */
	if (__atomic_load_n(&w->sleep, __ATOMIC_RELAXED) != UROCE_AWAKE)
		uroce_worker_rested(w);
	/* pairs with the stores in uroce_worker_sleep() and arm(), and with the read in has_rested() */
	was = __atomic_exchange_n(&w->sleep, UROCE_AWAKE, __ATOMIC_SEQ_CST);
	if (was == UROCE_SLEEP_FD)
		uroce_worker_signal_fd(w);
	else if (was != UROCE_AWAKE)
		syscall(SYS_futex, &w->sleep, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
