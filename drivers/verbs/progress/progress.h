/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Polls the workers while the program does not.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_PROGRESS_H
#define UROCE_DRIVERS_VERBS_PROGRESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_cpu_load;
struct uroce_event_queue;
struct uroce_event_taker;
struct uroce_worker;

/**
 * Start a progress thread for each worker but the first, which is the calling thread's: that calls
 * uroce_progress_run().
 * @param busy_ns	how long a thread polls for frames before it sleeps
 * @param least_gap_ns	no thread polls a worker that the program polls steadily during a gap of this length
 * @return	false: a thread cannot be started
 */
bool uroce_progress_init(struct uroce_worker *const *workers, unsigned int n, uint64_t busy_ns, uint64_t least_gap_ns);

/** Poll the first worker while the program does not, until uroce_progress_stop(). The thread does not use EAL
 * afterward. */
void uroce_progress_run(void);

/** After uroce_progress_leave(): end the progress threads, and wait for them. @return false: they do not end */
bool uroce_progress_stop(void);

/**
 * Poll the worker of the calling thread's CQ for a while, before this thread blocks until an event is in the queue: the
 * reply may arrive soon. Any thread.
 * @return true: the taker has got the event; false: read it from the queue
 */
bool uroce_progress_wait(struct uroce_event_queue *queue, struct uroce_event_taker *taker);

/** Is the calling thread in the middle of a poll, which a signal has interrupted? */
bool uroce_progress_is_interrupted(void);

/** @return the CPU load that the progress thread and uroce_progress_wait() use; NULL before the thread runs */
struct uroce_cpu_load *uroce_progress_crowd(void);

/**
 * At the program's end: have the progress thread disconnect, and wait until the peers have read the last frames on
 * ports that share memory with them.
 * @param hang_up	disconnects; the progress thread calls it first. If the program ends in a signal handler, the
 *			interrupted call may hold a lock that hang_up() needs, so this wait has a limit
 * @return false: the last frames have not been read, or this is unknown
 */
bool uroce_progress_leave(void (*hang_up)(void));

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_PROGRESS_H */
