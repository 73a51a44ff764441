/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_worker_arm(): has the worker's descriptor become readable when there is work, unless there is work now. The
 * thread that polls the worker calls it before it sleeps. uroce_worker_nap() arms the worker and sleeps, in a thread
 * of the program while the progress thread drives the worker.
 */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "base/rcu.h"
#include "port/ethdev/rx_wake.h"
#include "port/worker/borrowed_lcore.h"
#include "port/worker/rx.h"
#include "port/sleep/sleep.h"
#include "port/sleep/wait.h"
#include "port/worker/worker.h"
#include "uroce.h"
#include "verbs/device/reclaim.h"

/* Is there work that no timer announces? */
static bool
has_work(const struct uroce_worker *w)
{
	if (uroce_engine_is_rung(&w->engine) || rte_ring_count(w->inbox) != 0 || w->nb_loop != 0 || w->relay.count != 0 ||
	    __atomic_load_n(&w->cleanup, __ATOMIC_RELAXED))
		return true;
	for (unsigned int i = 0; i < w->nb_queues; i++)
		if (w->queues[i]->nb_tx != 0 || w->queues[i]->handover.count != 0)
			return true;
	return false;
}

static uint64_t
queue_deadline(const struct uroce_worker *w, const struct uroce_port_queue *q)
{
	uint64_t next_ns = UINT64_MAX;

	if (q->id == 0)
		next_ns = __atomic_load_n(&q->port->upkeep_ns, __ATOMIC_RELAXED);
	if (q->rx_wake == UROCE_RX_WAKE_NONE || uroce_rx_wake_is_filtered(q) || !uroce_rx_wake_is_sure(q))
		next_ns = RTE_MIN(next_ns, w->now_ns + UROCE_WAIT_POLL_NS);
	return next_ns;
}

/* @return the time of the next poll, ns; UINT64_MAX: none is due */
static uint64_t
deadline(const struct uroce_worker *w)
{
	uint64_t next_ns = uroce_engine_deadline(&w->engine);

	for (unsigned int i = 0; i < w->nb_queues; i++)
		next_ns = RTE_MIN(next_ns, queue_deadline(w, w->queues[i]));
	if (uroce_reclaim_is_any())
		next_ns = RTE_MIN(next_ns, w->now_ns + UROCE_WAIT_POLL_NS);
	return next_ns;
}

/* May the worker sleep? @param next_ns	set to the time of its next poll */
static bool
is_idle(const struct uroce_worker *w, uint64_t *next_ns)
{
	if (has_work(w))
		return false;
	*next_ns = deadline(w);
	return *next_ns > w->now_ns + UROCE_WAIT_LEAST_NS;
}

static unsigned int
receive(struct uroce_worker *w)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->nb_queues; i++)
		n += uroce_rx_queue(w, w->queues[i]);
	return n;
}

/* The calling thread must have polled last: another thread's poll may have added completions. */
static bool
has_polled(const struct uroce_worker *w)
{
	return !w->visited && __atomic_load_n(&w->poller, __ATOMIC_RELAXED) == (uint64_t)pthread_self();
}

/* Arm the worker, and look for work once more: work that comes later makes the descriptor readable. This runs no timer
 * and sends nothing, so that it adds completions only if it receives frames. Under the turn. */
static bool
arm(struct uroce_worker *w, uint64_t *next_ns)
{
	if (!has_polled(w) || !is_idle(w, next_ns))
		return false;
	uroce_wait_begin(w);
	/* pairs with the exchange in uroce_worker_wake() */
	__atomic_store_n(&w->sleep, UROCE_SLEEP_FD, __ATOMIC_SEQ_CST);
	/* pairs with uroce_engine_doorbell() and the fence in uroce_worker_nudge() */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!LIST_EMPTY(&w->engine.bells))
		uroce_rcu_barrier_heavy(); /* pairs with the light barrier in ring_as_poller() */
	if (receive(w) == 0 && is_idle(w, next_ns)) {
		uroce_wait_until(w->wait, w->now_ns, *next_ns);
		return true;
	}
	uroce_wait_end(w);
	return false;
}

/* A driver may write to a file, and epoll_wait(2) is a cancellation point: a thread canceled there would keep the turn. */
int
uroce_worker_arm(struct uroce_worker *w, uint64_t *timeout_ns)
{
	uint64_t next_ns;
	int cancel, ret = EAGAIN;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!uroce_worker_turn_try(w))
		goto restore;
	if (w->wait == NULL)
		ret = EINVAL;
	else if (uroce_worker_is_driven(w))
		ret = EBUSY;
	else if (arm(w, &next_ns))
		ret = 0;
	if (ret == 0 && timeout_ns != NULL)
		*timeout_ns = next_ns == UINT64_MAX ? UINT64_MAX : next_ns - w->now_ns;
	uroce_worker_turn_end(w);
restore:
	pthread_setcancelstate(cancel, &cancel);
	return ret;
}

/* Will every frame make the descriptor readable? */
static bool
frames_wake(const struct uroce_worker *w)
{
	for (unsigned int i = 0; i < w->nb_queues; i++) {
		const struct uroce_port_queue *q = w->queues[i];

		if (q->rx_wake == UROCE_RX_WAKE_NONE || uroce_rx_wake_is_filtered(q) || !uroce_rx_wake_is_sure(q))
			return false;
	}
	return true;
}

/* As arm(), but w->sleep remains the state of the thread that drives the worker. From now on, a thread that posts polls
 * the worker, which ends the nap. Under the turn. */
static bool
begin_nap(struct uroce_worker *w, uint64_t *next_ns)
{
	uint32_t spare = UROCE_SLEEP_SPARE;

	if (w->armed || !is_idle(w, next_ns))
		return false;
	/* pairs with the read in doorbell() */
	__atomic_compare_exchange_n(&w->sleep, &spare, UROCE_SLEEP_ATTENDED, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	uroce_wait_begin(w);
	/* pairs with uroce_engine_doorbell(), and with the fence in wake() of memif/tx.c */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (frames_wake(w) && receive(w) == 0 && is_idle(w, next_ns))
		return true;
	uroce_wait_end(w);
	return false;
}

/* @return 0: do not sleep */
static uint64_t
nap_ns(struct uroce_worker *w, uint64_t ns)
{
	unsigned int own;
	uint64_t next_ns;
	bool naps;

	if (!uroce_worker_turn_try(w))
		return 0;
	own = uroce_lcore_borrow(w);
	naps = begin_nap(w, &next_ns);
	ns = naps ? RTE_MIN(ns, next_ns - w->now_ns) : 0;
	uroce_lcore_return(own);
	uroce_worker_turn_end(w);
	return ns;
}

bool
uroce_worker_nap(struct uroce_worker *w, uint64_t ns)
{
	struct timespec timeout = { .tv_sec = 0 };
	struct pollfd p = { .events = POLLIN };

	ns = uroce_worker_has_fd(w) ? nap_ns(w, RTE_MIN(ns, NS_PER_S - 1)) : 0;
	if (ns == 0)
		return false;
	p.fd = w->wait->epoll_fd;
	timeout.tv_nsec = (long)ns;
	(void)ppoll(&p, 1, &timeout, NULL);
	return true;
}

struct creation {
	struct uroce_worker *w;
	struct uroce_wait *wait;
};

/* With the turns of all workers: their later rounds see w->sleeps. */
static void
publish(void *arg)
{
	const struct creation *c = arg;
	struct uroce_worker *w = c->w;

	if (w->wait != NULL) {
		uroce_wait_free(c->wait);	/* another thread was faster */
		return;
	}
	__atomic_store_n(&w->wait, c->wait, __ATOMIC_RELAXED);
	__atomic_store_n(&w->sleeps, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < w->nb_queues; i++)
		uroce_wait_add_queue(w, w->queues[i]);
}

int
uroce_worker_fd(struct uroce_worker *w)
{
	struct creation c = { .w = w };
	bool exists;

	uroce_worker_enter(w);
	exists = w->wait != NULL;
	uroce_worker_exit(w);
	if (!exists) {
		c.wait = uroce_wait_create(w->numa_node);
		if (c.wait == NULL)
			return -1;
		uroce_hold_workers(publish, &c);
	}
	return w->wait->epoll_fd;
}
