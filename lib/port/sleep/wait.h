/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The descriptor of a worker (uroce_worker_fd()), which becomes readable when an armed worker has work.
 */

#ifndef UROCE_PORT_SLEEP_WAIT_H
#define UROCE_PORT_SLEEP_WAIT_H

#include <pthread.h>
#include <stdint.h>

#include "port/port.h"
#include "port/worker/worker.h"

/* Fields without a comment are constant. */
struct uroce_wait {
	int epoll_fd; /* uroce_worker_fd() */
	int wake_fd;  /* eventfd: uroce_worker_wake() */
	int timer_fd;
	uint64_t timer_ns; /* expiration of timer_fd; UINT64_MAX: it is not set. The turn */
	pthread_t sleeper; /* the thread that armed the worker last. The turn */
};

/** @return NULL and errno */
struct uroce_wait *uroce_wait_create(int numa_node);
void uroce_wait_free(struct uroce_wait *wait);

/** Add the descriptor of a queue to that of the worker, which exists, or remove it. The turn. */
void uroce_wait_add_queue(struct uroce_worker *w, struct uroce_port_queue *q);
void uroce_wait_del_queue(struct uroce_wait *wait, struct uroce_port_queue *q);

/** Begin a sleep: forget earlier events, and enable RX interrupts. The turn. */
void uroce_wait_begin(struct uroce_worker *w);
/** Have the descriptor become readable at next_ns, or earlier. The turn. */
void uroce_wait_until(struct uroce_wait *wait, uint64_t now_ns, uint64_t next_ns);
/** Wake the thread that armed the worker, if it has not polled since then. The turn. */
void uroce_wait_interrupt(struct uroce_worker *w);
/** End the sleep, because the calling thread polls an armed worker: disable RX interrupts, and wake another thread that
 * waits for the descriptor. The turn. */
void uroce_wait_end(struct uroce_worker *w);

#endif /* UROCE_PORT_SLEEP_WAIT_H */
