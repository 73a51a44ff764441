/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts control threads for the library and its drivers with all signals blocked. So the application can block a
 * signal on its own threads and read it with signalfd(2) or sigwait(3).
 */

#ifndef UROCE_BASE_THREAD_H
#define UROCE_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/**
 * Start a control thread of EAL that blocks every signal from its first instruction. Any thread.
 * @param name	at most 15 characters
 * @return 0 or -errno
 */
int uroce_thread_create(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/**
 * Block the calling thread's signals around a call in which a driver may start threads, which inherit the mask. Faults
 * stay unblocked: EAL handles a SIGBUS for missing hugepages, and a blocked fault is fatal.
 * @param before	the old mask, for uroce_thread_restore_signals()
 */
void uroce_thread_block_signals(sigset_t *before);

/** Undo uroce_thread_block_signals(); pending signals are delivered. */
void uroce_thread_restore_signals(const sigset_t *before);

#endif /* UROCE_BASE_THREAD_H */
