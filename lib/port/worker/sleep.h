/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The sleep of the thread that drives a worker for an application that polls only now and then (poll_progress): a
 * thread that posts meanwhile sees it, and does what is urgent itself.
 */

#ifndef UROCE_PORT_WORKER_SLEEP_H
#define UROCE_PORT_WORKER_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_lcore.h>

#include "port/worker/worker.h"

/* uroce_worker.sleep */
enum uroce_sleep {
	UROCE_AWAKE,
	UROCE_SLEEP_SPARE,	/* another thread polls: this one only sleeps */
	UROCE_SLEEP_NAP,	/* a poster polls once, to send its request, and does not end the sleep */
	UROCE_SLEEP_LONG,	/* a poster polls once, and ends the sleep */
};

/** This thread, an lcore, drives the worker from now on, and no other; it uses mempools in that worker's turn only. */
void uroce_worker_drive(struct uroce_worker *w);

static inline bool
uroce_worker_is_driven(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->lent_lcore, __ATOMIC_RELAXED) != LCORE_ID_ANY;
}

/**
 * Sleep, unless there is something to do. The thread that drives the worker.
 * @return whether there was, or somebody has ended the sleep
 */
bool uroce_worker_sleep(struct uroce_worker *w, enum uroce_sleep how, uint64_t ns);

/** End its sleep, of whatever kind. Any thread. */
void uroce_worker_wake(struct uroce_worker *w);

/** Something has been posted while the worker's thread slept. Any thread, not between enter and exit. */
void uroce_worker_posted(struct uroce_worker *w);

#endif /* UROCE_PORT_WORKER_SLEEP_H */
