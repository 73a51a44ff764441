/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Threads of the library take no signals, and the thread that starts them keeps its own.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eal.h"
#include "base/thread.h"
#include "groups.h"

static unsigned int handled;

static void
handle(int number)
{
	handled++;
}

static void *
get_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

/* The mask that a thread inherits from a creator that blocks all signals: an emulator keeps some for itself. */
static void
inherit_all(sigset_t *mask)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	assert_int_equal(pthread_create(&thread, NULL, get_mask, mask), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(sigismember(mask, SIGTERM), 1);
}

static void
test_create(void **state)
{
	sigset_t mask, all;
	pthread_t thread;

	inherit_all(&all);
	assert_int_equal(uroce_thread_create(&thread, "test", get_mask, &mask), 0);
	pthread_join(thread, NULL);
	for (int number = 1; number <= SIGRTMAX; number++)
		assert_int_equal(sigismember(&mask, number), sigismember(&all, number));
	get_mask(&mask);
	assert_true(sigisemptyset(&mask));
}

/* A signal that arrives meanwhile is delivered later; a signal that the application had blocked stays blocked. */
static void
test_block(void **state)
{
	sigset_t before, mask, own;

	sigemptyset(&own);
	sigaddset(&own, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &own, NULL);
	signal(SIGUSR1, handle);
	signal(SIGUSR2, handle);
	uroce_thread_block_signals(&before);
	raise(SIGUSR1);
	raise(SIGUSR2);
	assert_int_equal(handled, 0);
	get_mask(&mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 1);
	assert_int_equal(sigismember(&mask, SIGBUS), 0);
	uroce_thread_restore_signals(&before);
	assert_int_equal(handled, 1);
	get_mask(&mask);
	assert_int_equal(sigismember(&mask, SIGTERM), 0);
	pthread_sigmask(SIG_UNBLOCK, &own, NULL);
	assert_int_equal(handled, 2);
}

UROCE_TESTS(port_thread)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_block),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
