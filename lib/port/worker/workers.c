/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's workers: creates and destroys them, runs them on lcores, and polls them while a control thread waits.
 * An lcore that runs a worker does nothing else. Control threads, under workers_lock.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdalign.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "base/rcu.h"
#include "base/clock.h"
#include "base/log.h"
#include "port/footprint.h"
#include "port/worker/borrowed_lcore.h"
#include "port/worker/inbox.h"
#include "port/worker/pool.h"
#include "port/worker/shortage.h"
#include "port/sleep/sleep.h"
#include "port/sleep/wait.h"
#include "port/worker/worker.h"
#include "port/worker/worker_conf.h"
#include "uroce.h"

static pthread_mutex_t workers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct uroce_worker *workers[UROCE_MAX_WORKERS]; /* under workers_lock */

static int
engine_create(struct uroce_worker *w, const struct uroce_worker_conf *conf)
{
	const struct uroce_engine_limits limits = {
		.reorder_frames = conf->reorder_frames,
		.reorder_qps = conf->reorder_qps,
		.recoveries = conf->recoveries,
		.rates = conf->rates,
		.log2_window = conf->log2_window,
	};
	struct rte_mempool *header_pool, *payload_pool;
	int ret;

	header_pool = uroce_pool_create("header", conf->header_mbufs, UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES),
					w->numa_node);
	if (header_pool == NULL)
		return -errno;
	payload_pool = uroce_pool_create("payload", conf->payload_mbufs, UROCE_ENGINE_ROOM(conf->path_mtu), w->numa_node);
	if (payload_pool == NULL) {
		ret = -errno;
		goto retire_header;
	}
	ret = uroce_engine_init(&w->engine, header_pool, payload_pool, &limits, uroce_clock_ns());
	if (ret < 0)
		goto retire_payload;
	return 0;
retire_payload:
	uroce_pool_retire(payload_pool);
retire_header:
	uroce_pool_retire(header_pool);
	return ret;
}

static void
engine_destroy(struct uroce_worker *w)
{
	uroce_engine_fini(&w->engine);
	uroce_pool_retire(w->engine.header_pool);
	uroce_pool_retire(w->engine.payload_pool);
}

/* Under workers_lock, at a free index. @return 0 or -errno */
static int
worker_init(struct uroce_worker *w, unsigned int index, const struct uroce_worker_conf *conf)
{
	int ret;

	w->index = (uint16_t)index;
	w->numa_node = conf->numa_node;
	w->conf = *conf;
	w->lcore = LCORE_ID_ANY;
	w->lent_lcore = LCORE_ID_ANY;
	w->since_ns = uroce_clock_ns();
	w->relay.frames = w->relayed;
	rte_ticketlock_init(&w->turn);
	ret = uroce_inbox_create(w, conf->inbox_frames);
	if (ret < 0)
		return ret;
	ret = engine_create(w, conf);
	if (ret < 0)
		goto free_inbox;
	ret = uroce_rcu_register(index);
	if (ret != 0) {
		ret = -EINVAL;
		goto destroy_engine;
	}
	return 0;
destroy_engine:
	engine_destroy(w);
free_inbox:
	uroce_inbox_free(w);
	return ret;
}

/* At the first free index, under workers_lock. @return 0 or -errno */
static int
worker_create(struct uroce_worker **worker, const struct uroce_worker_conf *conf)
{
	unsigned int index = 0;
	struct uroce_worker *w;
	int ret;

	while (index < UROCE_MAX_WORKERS && workers[index] != NULL)
		index++;
	if (index == UROCE_MAX_WORKERS) {
		UROCE_LOG(ERR, "cannot create a worker: the process has %u, the limit: destroy one first\n",
			  UROCE_MAX_WORKERS);
		return -ENOSPC;
	}
	w = rte_zmalloc_socket("uroce_worker", sizeof(*w), alignof(struct uroce_worker), conf->numa_node);
	ret = w != NULL ? worker_init(w, index, conf) : -ENOMEM;
	if (ret < 0) {
		UROCE_LOG(ERR, "cannot create a worker: %s\n", rte_strerror(-ret));
		rte_free(w);
		return ret;
	}
	*worker = workers[index] = w;
	return 0;
}

struct uroce_worker *
uroce_create_worker_ex(const struct uroce_worker_conf *program_conf)
{
	struct uroce_worker_footprint f;
	struct uroce_worker_conf conf;
	struct uroce_worker *w;
	int ret;

	uroce_clock_init();
	ret = uroce_worker_conf_get(&conf, program_conf);
	if (ret == 0)
		ret = uroce_rcu_init();
	if (ret == 0) {
		pthread_mutex_lock(&workers_lock);
		ret = worker_create(&w, &conf);
		pthread_mutex_unlock(&workers_lock);
	}
	if (ret == 0)
		return w;
	if (ret == -ENOMEM) {
		uroce_worker_footprint(&conf, &f);
		uroce_log_shortage("a worker", f.total);
	}
	errno = -ret;
	return NULL;
}

struct uroce_worker *
uroce_create_worker(int numa_node)
{
	const struct uroce_worker_conf conf = { .size = sizeof(conf), .numa_node = numa_node };

	return uroce_create_worker_ex(&conf);
}

int
uroce_destroy_worker(struct uroce_worker *w)
{
	int ret = 0;

	pthread_mutex_lock(&workers_lock);
	if (w->devices != 0 || w->lcore != LCORE_ID_ANY) {
		ret = EBUSY;
	} else {
		/* first: another worker may get the index, and must stay registered */
		uroce_rcu_unregister(w->index);
		workers[w->index] = NULL;
	}
	pthread_mutex_unlock(&workers_lock);
	if (ret != 0)
		return ret;
	uroce_inbox_free(w);
	engine_destroy(w);
	if (w->wait != NULL)
		uroce_wait_free(w->wait);
	rte_free(w);
	return 0;
}

static int
lcore_main(void *arg)
{
	struct uroce_worker *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED))
		uroce_worker_poll(w);
	uroce_worker_leave(w);
	return 0;
}

/* Taking the turn sends the ACKs that the last round deferred. */
void
uroce_worker_leave(struct uroce_worker *w)
{
	/* another thread may poll with the lcore id, and so the caches, of a thread that drives the worker */
	RTE_VERIFY(!uroce_worker_is_driven(w));
	uroce_worker_enter(w);
	if (uroce_worker_is_poller(w)) {
		__atomic_store_n(&w->poller, 0, __ATOMIC_RELAXED);
		uroce_worker_rested(w);
	}
	uroce_worker_exit(w);
	uroce_pools_flush();
}

int
uroce_worker_launch(struct uroce_worker *w, unsigned int lcore_id)
{
	int ret;

	if (lcore_id >= RTE_MAX_LCORE || !rte_lcore_is_enabled(lcore_id) ||
	    lcore_id == rte_get_main_lcore())
		return EINVAL;
	pthread_mutex_lock(&workers_lock);
	ret = EBUSY;
	if (w->lcore != LCORE_ID_ANY)
		goto unlock;
	__atomic_store_n(&w->stop, false, __ATOMIC_RELAXED);
	if (rte_eal_remote_launch(lcore_main, w, lcore_id) != 0)
		goto unlock;
	w->lcore = lcore_id;
	ret = 0;
unlock:
	pthread_mutex_unlock(&workers_lock);
	return ret;
}

/* Wait for the lcore without the lock: a callback of uroce_dereg_mr_async() on that lcore may wait for the lock. */
int
uroce_worker_stop(struct uroce_worker *w)
{
	unsigned int lcore_id;
	bool stops;

	pthread_mutex_lock(&workers_lock);
	lcore_id = w->lcore;
	stops = lcore_id != LCORE_ID_ANY && !w->stop; /* else no lcore runs it, or another thread stops it */
	if (stops)
		__atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&workers_lock);
	if (!stops)
		return EINVAL;
	rte_eal_wait_lcore(lcore_id);
	pthread_mutex_lock(&workers_lock);
	w->lcore = LCORE_ID_ANY;
	pthread_mutex_unlock(&workers_lock);
	return 0;
}

/* Poll twice if the first round moved frames: the second sends the ACKs that the first deferred. No application thread
 * polls next, so waiting for its reply is useless. */
static unsigned int
poll_for_others(struct uroce_worker *w)
{
	const unsigned int own = uroce_lcore_borrow(w);
	unsigned int n = uroce_worker_round(w);

	if (n != 0)
		n += uroce_worker_round(w);
	uroce_lcore_return(own);
	return n;
}

static void
poll_all_for_others(void)
{
	for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++) {
		struct uroce_worker *w = workers[i];

		if (w == NULL)
			continue;
		/* pairs with the exchange in worker_cleanup() */
		__atomic_store_n(&w->cleanup, true, __ATOMIC_RELEASE);
		if (uroce_worker_is_ours(w))
			poll_for_others(w);
	}
}

void
uroce_workers_progress(void)
{
	int cancel;

	/* one thread at a time polls for all waiting threads */
	if (pthread_mutex_trylock(&workers_lock) != 0) {
		sched_yield();
		return;
	}
	/* a driver may write to a file: a thread canceled there would keep the locks */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	poll_all_for_others();
	pthread_setcancelstate(cancel, &cancel);
	pthread_mutex_unlock(&workers_lock);
}

/* Has no thread polled the worker for UROCE_CM_POLL_NS, except in uroce_workers_help()? */
static bool
is_alone(const struct uroce_worker *w, uint64_t now_ns)
{
	uint64_t round_ns = __atomic_load_n(&w->now_ns, __ATOMIC_RELAXED);

	return round_ns == w->helped_ns || round_ns + UROCE_CM_POLL_NS <= now_ns;
}

bool
uroce_workers_help(unsigned int *frames)
{
	uint64_t now_ns = uroce_clock_ns();
	bool any = false;

	*frames = 0;
	if (pthread_mutex_trylock(&workers_lock) != 0)
		return true; /* another thread holds the lock: a worker may need help later */
	for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++) {
		struct uroce_worker *w = workers[i];

		if (w == NULL || w->lcore != LCORE_ID_ANY || uroce_worker_is_driven(w) || uroce_worker_is_waiting(w))
			continue;
		any = true; /* if not now, then once its polling thread stops */
		if (!is_alone(w, now_ns))
			continue;
		*frames += poll_for_others(w);
		w->helped_ns = __atomic_load_n(&w->now_ns, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&workers_lock);
	return any;
}

void
uroce_hold_workers(void (*fn)(void *arg), void *arg)
{
	static __thread bool has_them;
	int cancel;

	if (has_them) {
		fn(arg);
		return;
	}
	/* a thread canceled in fn would keep the turns */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_mutex_lock(&workers_lock);
	has_them = true;
	/* This thread is the RCU reader of all workers, and is in a driver. While it waits for the next turn it is
	 * offline, since the thread that has that turn may wait for readers. */
	for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++)
		if (workers[i] != NULL) {
			uroce_worker_enter(workers[i]);
			uroce_rcu_enter_driver(i);
			uroce_rcu_end_read(i);
		}
	for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++)
		if (workers[i] != NULL)
			uroce_rcu_begin_read(i);
	fn(arg);
	has_them = false;
	for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++)
		if (workers[i] != NULL) {
			uroce_rcu_leave_driver(i);
			uroce_worker_exit(workers[i]);
		}
	pthread_mutex_unlock(&workers_lock);
	pthread_setcancelstate(cancel, &cancel);
}

void
uroce_workers_drain(void)
{
	pthread_mutex_lock(&workers_lock);
	for (unsigned int i = 0; i < UROCE_MAX_WORKERS; i++)
		if (workers[i] != NULL) {
			uroce_worker_enter(workers[i]);
			uroce_inbox_drain(workers[i]);
			uroce_worker_exit(workers[i]);
		}
	pthread_mutex_unlock(&workers_lock);
}

static bool
is_worker(const struct uroce_worker *w)
{
	for (unsigned int i = 0; w != NULL && i < UROCE_MAX_WORKERS; i++)
		if (workers[i] == w)
			return true;
	return false;
}

int
uroce_workers_get(struct uroce_worker *const *list, unsigned int n)
{
	int ret = 0;

	pthread_mutex_lock(&workers_lock);
	for (unsigned int i = 0; i < n; i++)
		if (!is_worker(list[i]))
			ret = -EINVAL;
	for (unsigned int i = 0; ret == 0 && i < n; i++)
		list[i]->devices++;
	pthread_mutex_unlock(&workers_lock);
	return ret;
}

void
uroce_workers_put(struct uroce_worker *const *list, unsigned int n)
{
	pthread_mutex_lock(&workers_lock);
	for (unsigned int i = 0; i < n; i++)
		list[i]->devices--;
	pthread_mutex_unlock(&workers_lock);
}

bool
uroce_workers_with(unsigned int index, void (*fn)(struct uroce_worker *w, void *arg), void *arg)
{
	struct uroce_worker *w;

	pthread_mutex_lock(&workers_lock);
	w = workers[index];
	if (w != NULL)
		fn(w, arg);
	pthread_mutex_unlock(&workers_lock);
	return w != NULL;
}
