/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Drives workers by the application's polls of CQs (poll_progress). Each thread polls the worker of its CQ's QPs, so
 * threads with CQs of different workers share no lock. A thread that finds nothing also polls workers that no thread
 * polls: their threads may be computing, or waiting for a CPU. Any thread of the application.
 */

#include <pthread.h>
#include <sched.h>

#include <rte_branch_prediction.h>
#include <rte_lcore.h>

#include "port/driven.h"
#include "port/port.h"
#include "port/worker/borrowed_lcore.h"
#include "port/worker/worker.h"
#include "verbs/cq/cq.h"

static uint32_t threads[UROCE_MAX_WORKERS];	/* atomic: number of threads whose home is this worker */
static __thread struct uroce_worker *home;	/* worker of its QPs, perhaps destroyed; NULL: none yet */
static __thread struct uroce_worker *last;	/* worker that this thread has polled for a CQ; NULL: none yet */
static __thread unsigned int helped;	/* queue of the other worker that this thread has checked last */
static pthread_key_t at_end;
static pthread_once_t at_end_once = PTHREAD_ONCE_INIT;

static uint64_t
last_round(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->now_ns, __ATOMIC_RELAXED);
}

static unsigned int
poll_all(const struct uroce_port *port)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < uroce_port_queues(port); i++)
		n += uroce_worker_poll_any_thread(uroce_port_worker(port, i));
	return n;
}

/* Poll another worker if no thread has polled it for `ns`. The worker's progress thread takes that for a poll of the
 * application, and wakes often. For a worker that has been idle for long, the poll must not count. */
static unsigned int
poll_for_others(const struct uroce_worker *own, struct uroce_worker *w, uint64_t ns)
{
	unsigned int n;

	if (w == own || last_round(own) < last_round(w) + ns)
		return 0;
	n = uroce_worker_poll_any_thread(w);
	if (n != 0) {
		__atomic_store_n(&w->moved_ns, last_round(w), __ATOMIC_RELAXED);
	} else if (last_round(own) > __atomic_load_n(&w->moved_ns, __ATOMIC_RELAXED) + UROCE_HELP_IDLE_NS) {
		__atomic_fetch_add(&w->idle_helps, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&w->idle_help_ns, last_round(w), __ATOMIC_RELAXED);
	}
	return n;
}

/* Poll the worker w. If that finds nothing, check the worker that hands frames over to it, and one of the others, a
 * different one each time. Their threads write the time of each round, so reading it costs both threads a cache miss:
 * check in some of the rounds only. */
static unsigned int
poll_one(const struct uroce_port *port, struct uroce_worker *w)
{
	unsigned int n = uroce_worker_poll_any_thread(w);
	struct uroce_worker *feeder;
	uint64_t rounds;

	if (n != 0 || uroce_port_queues(port) == 1)
		return n;
	rounds = __atomic_load_n(&w->load.rounds, __ATOMIC_RELAXED);
	feeder = __atomic_load_n(&w->feeder, __ATOMIC_RELAXED);
	/* a feeder by another port may have been destroyed with that port */
	if (feeder != NULL && rounds % UROCE_FEEDER_ROUNDS == 0 && uroce_port_has_worker(port, feeder))
		n = poll_for_others(w, feeder, UROCE_FEEDER_NS);
	if (rounds % UROCE_HELP_ROUNDS == 0)
		n += poll_for_others(w, uroce_port_worker(port, ++helped % uroce_port_queues(port)), UROCE_HELP_NS);
	return n;
}

/* Yield the CPU after a while without frames: the peer's process may need it. Do not yield if several threads of
 * the application poll in turn: they may spin for a lock that this thread holds, as in UCX, until their time slice
 * ends. A thread of EAL, such as a reactor of SPDK, has a CPU to itself. */
static void
rest(struct uroce_worker *w, uint64_t now_ns)
{
	if (now_ns - __atomic_load_n(&w->moved_ns, __ATOMIC_RELAXED) > UROCE_POLL_YIELD_NS &&
	    now_ns - __atomic_load_n(&w->shared_ns, __ATOMIC_RELAXED) > UROCE_POLL_SHARED_NS &&
	    rte_lcore_id() == LCORE_ID_ANY) {
		/* tell the progress thread not to poll in this thread's place */
		__atomic_store_n(&w->yields, true, __ATOMIC_RELAXED);
		sched_yield();
		__atomic_store_n(&w->yields, false, __ATOMIC_RELAXED);
	}
}

/* Note whether another thread has polled the worker since this one did. */
static void
note_user(struct uroce_worker *w, uint64_t now_ns)
{
	const uint64_t self = (uint64_t)pthread_self(), user = __atomic_load_n(&w->user, __ATOMIC_RELAXED);

	if (likely(user == self))
		return;
	__atomic_store_n(&w->user, self, __ATOMIC_RELAXED);
	if (user != 0)
		__atomic_store_n(&w->shared_ns, now_ns, __ATOMIC_RELAXED);
}

/* Once a thread alone has polled the CQ for a while, the CQ's QPs are to move to the thread's worker. */
static void
note_poller(const struct uroce_port *port, struct uroce_cq *cq, struct uroce_worker *w)
{
	struct uroce_cq_place *place = &cq->place;
	const uint64_t self = (uint64_t)pthread_self();
	uint32_t polls = 0;

	if (likely(__atomic_load_n(&place->thread, __ATOMIC_RELAXED) == self))
		polls = __atomic_load_n(&place->polls, __ATOMIC_RELAXED) + 1;
	else
		__atomic_store_n(&place->thread, self, __ATOMIC_RELAXED);
	if (polls > UROCE_SETTLE_POLLS)
		return;
	__atomic_store_n(&place->polls, polls, __ATOMIC_RELAXED);
	if (polls == UROCE_SETTLE_POLLS && !__atomic_load_n(&place->fixed, __ATOMIC_RELAXED))
		__atomic_store_n(&place->wanted, &uroce_driven_home(port, w)->engine, __ATOMIC_RELAXED);
}

void
uroce_driven_poll(struct uroce_device *dev, struct uroce_cq *cq)
{
	const struct uroce_port *port = uroce_port_of(dev);
	const bool is_only = uroce_port_queues(port) == 1;
	struct uroce_engine *engine = cq != NULL ? uroce_cq_producer(cq) : NULL;
	struct uroce_worker *w = engine != NULL ? uroce_worker_of(engine) : uroce_port_worker(port, 0);
	const unsigned int n = engine != NULL || is_only ? poll_one(port, w) : poll_all(port);
	const uint64_t now_ns = last_round(w);

	last = w;
	note_user(w, now_ns);
	if (!is_only && cq != NULL)
		note_poller(port, cq, w);
	if (n != 0)
		__atomic_store_n(&w->moved_ns, now_ns, __ATOMIC_RELAXED);
	else
		rest(w, now_ns);
}

uint64_t
uroce_driven_rounds(const struct uroce_worker *w, uint64_t *last_ns)
{
	const uint64_t round_ns = last_round(w);

	if (round_ns != __atomic_load_n(&w->idle_help_ns, __ATOMIC_RELAXED))
		*last_ns = round_ns;
	return __atomic_load_n(&w->load.rounds, __ATOMIC_RELAXED) - __atomic_load_n(&w->idle_helps, __ATOMIC_RELAXED);
}

struct uroce_worker *
uroce_driven_last(void)
{
	return last;
}

static void
leave_home(void *index_and_one)
{
	__atomic_fetch_sub(&threads[(uintptr_t)index_and_one - 1], 1, __ATOMIC_RELAXED);
	home = NULL;
}

static void
at_end_init(void)
{
	(void)pthread_key_create(&at_end, leave_home);
}

/* @return the worker that is the home of the fewest threads; in a tie, w */
static struct uroce_worker *
least_used(const struct uroce_port *port, struct uroce_worker *w)
{
	uint32_t least = w != NULL ? __atomic_load_n(&threads[w->index], __ATOMIC_RELAXED) : UINT32_MAX;

	for (unsigned int i = 0; i < uroce_port_queues(port); i++) {
		struct uroce_worker *next = uroce_port_worker(port, i);
		uint32_t n = __atomic_load_n(&threads[next->index], __ATOMIC_RELAXED);

		if (n < least) {
			least = n;
			w = next;
		}
	}
	return w;
}

static struct uroce_worker *
choose_home(const struct uroce_port *port, struct uroce_worker *best)
{
	struct uroce_worker *w = least_used(port, best);
	void *last_home;

	pthread_once(&at_end_once, at_end_init);
	last_home = pthread_getspecific(at_end);
	if (last_home != NULL)
		leave_home(last_home);
	/* without memory for it, the thread does not count */
	if (pthread_setspecific(at_end, (void *)(w->index + (uintptr_t)1)) == 0)
		__atomic_fetch_add(&threads[w->index], 1, __ATOMIC_RELAXED);
	home = w;
	return w;
}

struct uroce_worker *
uroce_driven_home(const struct uroce_port *port, struct uroce_worker *best)
{
	return uroce_port_has_worker(port, home) ? home : choose_home(port, best);
}
