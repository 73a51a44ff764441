/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The threads of the test's own process, as /proc/self/task lists them.
 */

#ifndef UROCE_TEST_TASKS_H
#define UROCE_TEST_TASKS_H

#include <pthread.h>
#include <signal.h>
#include <sys/types.h>

#define TEST_TASKS 64
#define TEST_TASK_LINE 256	/* bytes of a line of a thread's status */
#define TEST_TASK_NAME 16	/* bytes of a thread's name, the kernel's limit */

struct test_tasks {
	pid_t ids[TEST_TASKS];
	unsigned int count;
};

/** The threads that run now, at most TEST_TASKS; main() is one of them. */
void test_tasks_list(struct test_tasks *tasks);

/** The threads that run now and are not among those BEFORE. */
void test_tasks_since(const struct test_tasks *before, struct test_tasks *tasks);

/**
 * Read a line of a thread's status.
 * @param title	what the line begins with, such as "SigBlk:\t"; LINE gets the rest, without the line feed
 * @return 0, or -1: the thread has ended, or its status has no such line
 */
int test_task_status(pid_t id, const char *title, char line[TEST_TASK_LINE]);

/** @return the first of the threads with this name, or 0 */
pid_t test_task_named(const struct test_tasks *tasks, const char *name);

/** Create a thread. @return its number */
pid_t test_task_start(pthread_t *thread, void *(*start)(void *), void *arg);

/** Wait until a thread sleeps: until it has come as far as others let it. Not one that waits for a spinlock. */
void test_task_await_sleep(pid_t id);

/** Wait until a thread that spins has spun for a while, or has ended: until it has come as far as others let it. */
void test_thread_await_spin(pthread_t thread);

/**
 * Print to stderr each of the threads that does not block every signal that can be blocked.
 * @param except	signals that it need not block, or NULL
 * @return	number of such threads
 */
unsigned int test_tasks_take_signals(const struct test_tasks *tasks, const sigset_t *except);

#endif /* UROCE_TEST_TASKS_H */
