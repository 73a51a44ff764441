/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Threads of the library, and those that drivers start for it, take no signals: a program may block a signal later, on
 * all threads that it knows, and read it by signalfd(2) or sigwait(3).
 */

#ifndef UROCE_PORT_THREAD_H
#define UROCE_PORT_THREAD_H

#include <pthread.h>
#include <signal.h>

/**
 * Start a control thread of EAL that blocks every signal from its first instruction. Any thread.
 * @param name	at most 15 characters
 * @return 0 or -errno
 */
int uroce_thread_create(pthread_t *thread, const char *name, void *(*run)(void *), void *arg);

/**
 * Block the signals of the calling thread around calls in which a driver may start threads, which inherit this.
 * Faults stay as they are: a SIGBUS tells EAL that there are no more hugepages, and what is blocked here is fatal then.
 * @param before	what uroce_thread_restore_signals() wants
 */
void uroce_thread_block_signals(sigset_t *before);

/** The end of uroce_thread_block_signals(): what has come meanwhile is delivered. */
void uroce_thread_restore_signals(const sigset_t *before);

#endif /* UROCE_PORT_THREAD_H */
