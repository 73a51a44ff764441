/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Polls the workers while the program polls no CQ. A worker's progress thread does so while the program sleeps,
 * computes, or polls memory for incoming WRITEs. It does not poll while the program does, since that would cost the
 * program time. A thread of the program that waits for a CQ event polls a worker itself for a while before it sleeps.
 * When the program ends, the first progress thread disconnects and waits until the last frames are sent.
 */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_pause.h>

#include "progress/cpu_load.h"
#include "progress/backoff.h"
#include "progress/polling.h"
#include "base/clock.h"
#include "base/event_queue.h"
#include "port/worker/tx_kick.h"
#include "port/driven.h"
#include "port/worker/borrowed_lcore.h"
#include "port/port.h"
#include "port/sleep/sleep.h"
#include "port/worker/worker.h"
#include "port_state.h"
#include "progress/progress.h"
#include "uroce.h"
#include "uroce_config.h"

/* On an oversubscribed CPU: how long a thread waits for an event before the progress thread takes over. */
#define NAPS_NS (UROCE_VERBS_SLEEP_PART * UROCE_VERBS_MAX_SLEEP_NS)

/* The threads' state, shared with the threads that wait for them. */
static struct {
	unsigned int count;	/* of workers, each with a thread. Release/acquire: publishes the other members */
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	uint64_t busy_ns, least_gap_ns;
	struct uroce_cpu_load crowd;
	uint32_t waits[UROCE_MAX_WORKERS];	/* atomic: calls of uroce_progress_wait() for this worker */
	struct visits {		/* atomic: by threads that poll this worker in uroce_progress_wait() */
		uint32_t begun, ended;
	} visits[UROCE_MAX_WORKERS];
	/* release: LEAVES and STOPS are set by the thread that ends the process, the others by progress threads */
	enum end { STAYS, LEAVES, HAS_HUNG_UP, HAS_LEFT, STOPS, HAS_STOPPED } end;
	unsigned int running;	/* atomic: threads that have not seen STOPS */
	void (*hang_up)(void);	/* written before LEAVES */
	bool is_read;	/* written before HAS_LEFT: the peers have read all frames */
} progress;

static void
spin(void)
{
	for (unsigned int i = 0; i < UROCE_VERBS_SPINS; i++)
		rte_pause();
}

/* What the progress thread saw of its worker at the last check. */
struct seen {
	uint64_t round_ns;	/* time of the last round */
	uint64_t rounds;	/* including the thread's own ones */
	const uint32_t *waits_of;	/* the worker's in progress.waits */
	uint32_t waits;
	const struct visits *visits_of;	/* the worker's in progress.visits */
	uint32_t visits;	/* begun */
	bool is_attended;	/* a thread polls, or has polled since the check before, while it waits for an event */
	struct uroce_polling polling;
};

static void
see(struct uroce_worker *worker, struct seen *seen)
{
	seen->rounds = uroce_driven_rounds(worker, &seen->round_ns);
	seen->waits = __atomic_load_n(seen->waits_of, __ATOMIC_RELAXED);
	seen->visits = __atomic_load_n(&seen->visits_of->begun, __ATOMIC_RELAXED);
}

/* Has the application polled since the last check, and is it likely to poll again: was the last poll recent, does it
 * poll now or steadily, or has it yielded its CPU in a poll? */
static bool
others_poll(struct uroce_worker *worker, struct seen *seen)
{
	const struct seen last = *seen;
	const uint64_t now_ns = uroce_clock_ns();
	bool is_new, is_recent, is_steady;

	see(worker, seen);
	seen->is_attended = seen->visits != last.visits ||
			    seen->visits != __atomic_load_n(&seen->visits_of->ended, __ATOMIC_RELAXED);
	if (seen->waits != last.waits)	/* the application has waited for an event since the last check */
		uroce_polling_init(&seen->polling, progress.least_gap_ns, now_ns);
	/* rest() has counted the poll before a sleep, but if another thread had the turn, that poll was no round */
	is_steady = uroce_polling_is_steady(&seen->polling, seen->rounds > last.rounds ? seen->rounds - last.rounds : 0,
					    seen->round_ns, now_ns);
	is_new = seen->round_ns != last.round_ns;
	is_recent = uroce_polling_is_recent(is_new, __atomic_load_n(&worker->yields, __ATOMIC_RELAXED), seen->round_ns,
					    now_ns) || (is_new && rte_ticketlock_is_locked(&worker->turn));
	return is_steady || is_recent || seen->is_attended;
}

static enum uroce_sleep
sleep_of(bool polled, const struct seen *seen, uint64_t ns)
{
	if (polled)
		return seen->is_attended ? UROCE_SLEEP_ATTENDED : UROCE_SLEEP_SPARE;
	return ns < UROCE_VERBS_NAP_NS ? UROCE_SLEEP_NAP : UROCE_SLEEP_LONG;
}

static void
rest(struct uroce_worker *worker, struct uroce_backoff *pace, struct seen *seen, enum uroce_sleep how, uint64_t ns)
{
	seen->rounds += how > UROCE_SLEEP_ATTENDED;	/* the thread polls once before it sleeps */
	if (!uroce_worker_sleep(worker, how, ns))
		return;
	uroce_backoff_wake(pace, uroce_clock_ns());
	if (how > UROCE_SLEEP_ATTENDED)
		return;
	/* a thread that waits for an event has stopped polling: ignore its earlier polls */
	see(worker, seen);
	uroce_polling_init(&seen->polling, progress.least_gap_ns, uroce_clock_ns());
}

/* Poll once unless the application polls, then pause. */
static void
look(struct uroce_worker *worker, struct uroce_backoff *pace, struct seen *seen)
{
	uint64_t last_ns = seen->round_ns;
	bool polled = others_poll(worker, seen);
	/* An application that has been polling for long, and since the last check, may have lost its core for a moment.
	 * Polling in its place would keep it off the core for longer. */
	bool is_away = uroce_backoff_trusts(pace) && seen->round_ns != last_ns;
	unsigned int frames = 0;
	uint64_t now_ns, ns;
	bool crowded;

	if (!polled && is_away) {
		rest(worker, pace, seen, UROCE_SLEEP_SPARE, UROCE_VERBS_MIN_SLEEP_NS);
		return;
	}
	if (!polled) {
		frames = uroce_worker_poll(worker);
		see(worker, seen);
	}
	now_ns = uroce_clock_ns();
	crowded = uroce_backoff_asks(pace, now_ns) && uroce_cpu_load_is_high(&progress.crowd, now_ns);
	/* a thread that waits for an event polls until it wakes this one, which need not spin meanwhile */
	crowded |= seen->is_attended;
	ns = polled ? uroce_backoff_spare(pace, now_ns, crowded) : uroce_backoff_step(pace, now_ns, frames, crowded);
	if (ns != 0)
		rest(worker, pace, seen, sleep_of(polled, seen, ns), ns);
	else if (polled)
		spin();
}

/* Push dummy frames through the whole TX ring: then the peer has read all frames before them. net_memif has no other
 * way to tell. @return false: the peer did not read them within so many pauses */
static bool
turn_ring(struct uroce_worker *worker, struct uroce_port_queue *q, unsigned int pauses)
{
	const struct timespec pause = { .tv_nsec = UROCE_VERBS_LEAVE_PAUSE_NS };
	unsigned int taken = 0, n;

	while (taken < UROCE_VERBS_RING_MAX && uroce_port_state_is_up(q->port_id)) {
		uroce_worker_poll(worker);	/* send owed ACKs first */
		uroce_worker_enter(worker);
		n = uroce_tx_kick_push(q);
		uroce_worker_exit(worker);
		taken += n;
		if (n != 0)
			continue;
		if (pauses-- == 0)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* Turn the rings of the worker's queues. A queue without a ring sends through the rings of other workers. */
static void
turn_rings(struct uroce_worker *worker)
{
	for (unsigned int i = 0; i < worker->nb_queues; i++) {
		struct uroce_port_queue *q = worker->queues[i];

		if (!uroce_port_state_is_shared(q->port_id) || !turn_ring(worker, q, UROCE_VERBS_LEAVE_PAUSES))
			progress.is_read = false;
	}
}

static void
leave(void)
{
	progress.hang_up();
	__atomic_store_n(&progress.end, HAS_HUNG_UP, __ATOMIC_RELEASE);	/* pairs with has_come_to() */
	progress.is_read = true;
	for (unsigned int i = 0; i < progress.count; i++)
		turn_rings(progress.workers[i]);
	__atomic_store_n(&progress.end, HAS_LEFT, __ATOMIC_RELEASE);	/* pairs with has_come_to() */
}

/* @return false: the progress thread did not reach this state within so many pauses */
static bool
has_come_to(enum end end, unsigned int pauses)
{
	const struct timespec pause = { .tv_nsec = UROCE_VERBS_LEAVE_PAUSE_NS };

	for (; pauses > 0; pauses--) {
		/* pairs with the releases in leave() */
		if (__atomic_load_n(&progress.end, __ATOMIC_ACQUIRE) >= end)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

bool
uroce_progress_leave(void (*hang_up)(void))
{
	/* pairs with the release in uroce_progress_init() */
	if (__atomic_load_n(&progress.count, __ATOMIC_ACQUIRE) == 0)
		return false;
	progress.hang_up = hang_up;
	/* pairs with the acquire in attend() */
	__atomic_store_n(&progress.end, LEAVES, __ATOMIC_RELEASE);
	uroce_worker_wake(progress.workers[0]);
	return has_come_to(HAS_HUNG_UP, UROCE_VERBS_HANG_UP_PAUSES) &&
	       has_come_to(HAS_LEFT, 2 * UROCE_VERBS_LEAVE_PAUSES) && progress.is_read;
}

/* Drive worker i while the program does not. The first thread also ends all connections when the process ends. */
static void
attend(unsigned int i)
{
	struct uroce_worker *worker = progress.workers[i];
	struct seen seen = { .waits_of = &progress.waits[i], .visits_of = &progress.visits[i] };
	struct uroce_backoff pace;
	enum end end;

	prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);	/* the default slack makes each sleep 50 us longer */
	uroce_backoff_init(&pace, progress.busy_ns, uroce_clock_ns());
	uroce_polling_init(&seen.polling, progress.least_gap_ns, uroce_clock_ns());
	see(worker, &seen);
	/* pairs with the releases in uroce_progress_leave() and uroce_progress_stop() */
	while ((end = __atomic_load_n(&progress.end, __ATOMIC_ACQUIRE)) != STOPS) {
		if (end == LEAVES && i == 0)
			leave();
		look(worker, &pace, &seen);
	}
	rte_thread_unregister();
	if (__atomic_sub_fetch(&progress.running, 1, __ATOMIC_ACQ_REL) == 0)
		__atomic_store_n(&progress.end, HAS_STOPPED, __ATOMIC_RELEASE);	/* pairs with has_come_to() */
}

bool
uroce_progress_stop(void)
{
	if (!has_come_to(HAS_LEFT, UROCE_VERBS_LEAVE_PAUSES))
		return false;
	/* pairs with the acquire in attend() */
	__atomic_store_n(&progress.end, STOPS, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < progress.count; i++)
		uroce_worker_wake(progress.workers[i]);
	return has_come_to(HAS_STOPPED, UROCE_VERBS_LEAVE_PAUSES);
}

bool
uroce_progress_is_interrupted(void)
{
	/* pairs with the release in uroce_progress_init() */
	const unsigned int count = __atomic_load_n(&progress.count, __ATOMIC_ACQUIRE);

	/* a thread of the program has one of these ids only within a poll */
	for (unsigned int i = 0; i < count; i++)
		if (rte_lcore_id() == __atomic_load_n(&progress.workers[i]->lent_lcore, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* The report of a further thread to the first one. */
struct start {
	unsigned int worker;	/* its index */
	sem_t done;
	bool ok;
};

static void *
run_further(void *arg)
{
	struct start *start = arg;
	const unsigned int worker = start->worker;
	const bool ok = rte_thread_register() == 0;

	if (ok)
		uroce_worker_drive(progress.workers[worker]);
	start->ok = ok;
	sem_post(&start->done);
	if (ok)
		attend(worker);
	return NULL;
}

/* The thread inherits the signal mask and the CPUs of the first one. */
static bool
start_further(unsigned int worker)
{
	struct start start = { .worker = worker };
	pthread_t thread;

	sem_init(&start.done, 0, 0);
	if (pthread_create(&thread, NULL, run_further, &start) == 0) {
		pthread_setname_np(thread, UROCE_VERBS_THREAD_NAME);
		pthread_detach(thread);
		while (sem_wait(&start.done) != 0)
			;
	}
	sem_destroy(&start.done);
	return start.ok;
}

bool
uroce_progress_init(struct uroce_worker *const *workers, unsigned int n, uint64_t busy_ns, uint64_t least_gap_ns)
{
	progress.busy_ns = busy_ns;
	progress.least_gap_ns = least_gap_ns;
	uroce_cpu_load_init(&progress.crowd, "/proc/loadavg", gettid());
	memcpy(progress.workers, workers, n * sizeof(workers[0]));
	progress.running = n;
	uroce_worker_drive(workers[0]);
	for (unsigned int i = 1; i < n; i++)
		if (!start_further(i))
			return false;
	if (n == 1)
		(void)uroce_worker_fd(workers[0]);	/* without it, uroce_worker_nap() does not sleep */
	__atomic_store_n(&progress.count, n, __ATOMIC_RELEASE);	/* pairs with uroce_progress_wait() */
	return true;
}

void
uroce_progress_run(void)
{
	attend(0);
}

struct uroce_cpu_load *
uroce_progress_crowd(void)
{
	/* pairs with the release in uroce_progress_init() */
	return __atomic_load_n(&progress.count, __ATOMIC_ACQUIRE) != 0 ? &progress.crowd : NULL;
}

static bool
is_readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) != 0;	/* on an error, the caller's read reports it */
}

/* A thread that waits for an event. */
struct waiter {
	struct uroce_event_queue *queue;
	struct uroce_event_taker *taker;
	bool is_first;	/* the taker gets the next event; else the socket does */
	unsigned int first, workers;	/* polls these workers */
	unsigned int empty;	/* consecutive polls without a frame */
};

/* Poll the workers once. @return true: there is an event */
static bool
poll_once(struct waiter *waiter)
{
	bool moved = false;

	for (unsigned int i = waiter->first; i < waiter->first + waiter->workers; i++)
		moved |= uroce_worker_poll_any_thread(progress.workers[i]) > 0;
	waiter->empty = moved ? 0 : waiter->empty + 1;
	if (waiter->is_first)
		return __atomic_load_n(&waiter->taker->has_record, __ATOMIC_RELAXED);
	return (moved || waiter->empty % UROCE_VERBS_LOOKS == 0) && is_readable(waiter->queue->fd);
}

/* Sleep until a frame arrives. Sleep only briefly if frames wake no thread, or if there are several workers: another
 * worker may hand frames over to this one. */
static void
nap(const struct waiter *waiter)
{
	const struct timespec ns = { .tv_nsec = UROCE_VERBS_MIN_SLEEP_NS };

	if (progress.count != 1 || !uroce_worker_nap(progress.workers[waiter->first], UROCE_VERBS_MAX_SLEEP_NS))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &ns, NULL);
}

/* Poll for a while, and yield: the peer may wait for this CPU. Linux leaves two threads that wake each other on one CPU,
 * and separates two that poll. If more threads are runnable than there are CPUs, sleep in between, and for longer in all:
 * handing over to the progress thread would make one more thread runnable. @return true: there is an event */
static bool
poll_for_event(struct waiter *waiter)
{
	const uint64_t since_ns = uroce_clock_ns();
	uint64_t idle_ns;
	bool crowded;

	while (!poll_once(waiter)) {
		idle_ns = uroce_clock_ns() - since_ns;
		crowded = uroce_cpu_load_is_high(&progress.crowd, since_ns + idle_ns);
		if (idle_ns >= (crowded ? RTE_MAX(progress.busy_ns, NAPS_NS) : progress.busy_ns))
			return false;
		if (crowded)
			nap(waiter);
		else if (idle_ns > UROCE_POLL_YIELD_NS)
			sched_yield();
	}
	return true;
}

/* The thread cannot be canceled meanwhile: the queue holds the taker's address. */
static bool
attend_until_event(struct waiter *waiter)
{
	bool has_event;
	int cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	waiter->is_first = uroce_event_queue_offer(waiter->queue, waiter->taker);
	has_event = !waiter->is_first && is_readable(waiter->queue->fd);
	if (!has_event) {
		for (unsigned int i = waiter->first; i < waiter->first + waiter->workers; i++)
			__atomic_fetch_add(&progress.visits[i].begun, 1, __ATOMIC_RELAXED);
		has_event = poll_for_event(waiter);
		for (unsigned int i = waiter->first; i < waiter->first + waiter->workers; i++)
			__atomic_fetch_add(&progress.visits[i].ended, 1, __ATOMIC_RELAXED);
	}
	if (waiter->is_first)
		waiter->is_first = uroce_event_queue_withdraw(waiter->queue, waiter->taker);
	pthread_setcancelstate(cancel, &cancel);
	return has_event || waiter->is_first;
}

/* Choose the worker that the thread has polled last for a CQ; if there is none, choose all workers. */
static void
choose_workers(struct waiter *waiter, unsigned int count)
{
	const struct uroce_worker *last = uroce_driven_last();

	waiter->workers = count;
	for (unsigned int i = 0; i < count; i++)
		if (progress.workers[i] == last) {
			waiter->first = i;
			waiter->workers = 1;
		}
}

bool
uroce_progress_wait(struct uroce_event_queue *queue, struct uroce_event_taker *taker)
{
	/* pairs with the release in uroce_progress_init() */
	const unsigned int count = __atomic_load_n(&progress.count, __ATOMIC_ACQUIRE);
	struct waiter waiter = { .queue = queue, .taker = taker };

	if (count == 0)
		return false;
	choose_workers(&waiter, count);
	for (unsigned int i = waiter.first; i < waiter.first + waiter.workers; i++)
		__atomic_fetch_add(&progress.waits[i], 1, __ATOMIC_RELAXED);
	if ((fcntl(queue->fd, F_GETFL) & O_NONBLOCK) != 0 || (progress.busy_ns != 0 && attend_until_event(&waiter)))
		return waiter.is_first;
	for (unsigned int i = waiter.first; i < waiter.first + waiter.workers; i++)
		uroce_worker_wake(progress.workers[i]);	/* the progress thread polls from here on */
	return false;
}
