/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Drives the ports while the program does not.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_PROGRESS_H
#define UROCE_DRIVERS_VERBS_PROGRESS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_cpu_load;
struct uroce_worker;

/**
 * Drive a worker while the program does not, until the process ends. On a thread of its own.
 * @param busy_ns	how long a wait for frames polls before it sleeps
 */
void uroce_progress_run(struct uroce_worker *worker, uint64_t busy_ns) __attribute__((noreturn));

/**
 * Before a thread blocks until the descriptor can be read: drive the worker itself for a while, for the answer may be
 * near. Any thread.
 */
void uroce_progress_wait(int fd);

/** @return the CPU load that the progress thread and uroce_progress_wait() use; NULL before the thread runs */
struct uroce_cpu_load *uroce_progress_crowd(void);

/**
 * The program ends: have the thread see to it that what was sent last has been read, where the port takes it along.
 * @param hang_up	what the thread does before that: a call that a signal has interrupted, in whose handler the
 *			program ends, may have what this waits for, and is not waited for in vain
 * @return false: it has not been read, or that is not known
 */
bool uroce_progress_leave(void (*hang_up)(void));

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_PROGRESS_H */
