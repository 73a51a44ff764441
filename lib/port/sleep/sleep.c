/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Puts the thread that drives a worker to sleep on a futex. A thread that posts a request, or is about to sleep itself,
 * wakes it. Drivers of shared memory and of Linux interfaces have no interrupt for received frames, so every sleep has
 * a time limit.
 */

#include <time.h>
#include <unistd.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include <rte_debug.h>

#include "port/worker/borrowed_lcore.h"
#include "port/sleep/sleep.h"
#include "uroce.h"

static void
futex_wait(uint32_t *futex, uint32_t value, uint64_t ns)
{
	const struct timespec timeout = {
		.tv_sec = (time_t)(ns / NS_PER_S),
		.tv_nsec = (long)(ns % NS_PER_S),
	};

	syscall(SYS_futex, futex, FUTEX_WAIT_PRIVATE, value, &timeout, NULL, 0);
}

void
uroce_worker_drive(struct uroce_worker *w)
{
	RTE_VERIFY(rte_lcore_id() != LCORE_ID_ANY);
	uroce_worker_enter(w);	/* the CM's thread may poll it */
	uroce_engine_wait_for_replies(&w->engine, UROCE_ACK_REPLY_NS);
	uroce_worker_exit(w);
	__atomic_store_n(&w->sleeps, true, __ATOMIC_RELAXED);
	__atomic_store_n(&w->lent_lcore, rte_lcore_id(), __ATOMIC_RELAXED);
}

bool
uroce_worker_sleep(struct uroce_worker *w, enum uroce_sleep how, uint64_t ns)
{
	const bool is_needed = how > UROCE_SLEEP_ATTENDED;
	bool busy;

	/* pairs with the exchange in uroce_worker_wake() and the read in doorbell() */
	__atomic_store_n(&w->sleep, how, __ATOMIC_SEQ_CST);
	busy = is_needed && uroce_worker_poll(w) > 0;
	/* Pairs with uroce_engine_doorbell() and the read in doorbell(): either this thread sees the posted
	 * request, or the poster sees the sleep. The poll above does not suffice: another thread may have held the
	 * turn, and may have taken the doorbells before the request was posted. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	busy = busy || (is_needed && uroce_engine_has_doorbells(&w->engine));
	if (!busy) {
		futex_wait(&w->sleep, how, ns);
		uroce_worker_rested(w);
	}
	/* pairs with the read in has_rested() */
	return __atomic_exchange_n(&w->sleep, UROCE_AWAKE, __ATOMIC_RELEASE) == UROCE_AWAKE || busy;
}

/* Poll before waking the thread, so that the frames leave before the system call. But only the program polls a worker
 * for whose descriptor it waits. A thread that is about to nap may have the turn, and no longer sees the request: make
 * the descriptor readable for it. */
void
uroce_worker_posted(struct uroce_worker *w)
{
	if (__atomic_load_n(&w->sleep, __ATOMIC_RELAXED) != UROCE_SLEEP_FD)
		uroce_worker_poll_any_thread(w);
	if (__atomic_load_n(&w->sleep, __ATOMIC_RELAXED) == UROCE_SLEEP_ATTENDED && uroce_worker_has_fd(w) &&
	    uroce_engine_has_doorbells(&w->engine))
		uroce_worker_signal_fd(w);
	if (__atomic_load_n(&w->sleep, __ATOMIC_RELAXED) >= UROCE_SLEEP_LONG)
		uroce_worker_wake(w);
}
