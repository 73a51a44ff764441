/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Descriptors are closed in the end, by the closer's thread while it runs; slow ones do not block the switch.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "closer.h"
#include "groups.h"

/* A pipe reports when its other end has been closed. */
static void
expect_closed(int other)
{
	struct pollfd p = { .fd = other };

	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(close(other), 0);
}

static void
close_pipe(void)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	uroce_switch_close(ends[0]);
	expect_closed(ends[1]);
}

static void
test_thread(void **state)
{
	assert_int_equal(uroce_switch_closer_start(), 0);
	for (unsigned int i = 0; i < 1000; i++)
		close_pipe();
	uroce_switch_closer_stop();
}

/* Descriptors queued before the stop are still closed. */
static void
test_end(void **state)
{
	int ends[100][2];

	assert_int_equal(uroce_switch_closer_start(), 0);
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(pipe(ends[i]), 0);
		uroce_switch_close(ends[i][0]);
	}
	uroce_switch_closer_stop();
	for (unsigned int i = 0; i < 100; i++)
		expect_closed(ends[i][1]);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* The pipe is closed at both ends, though the test does not wait for the thread. */
static void
test_nothing_left(void **state)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	int ends[2];

	assert_int_equal(pipe(ends), 0); /* the next two descriptors get these numbers */
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(uroce_switch_closer_start(), 0);
	assert_true(is_open(ends[0]) && is_open(ends[1]));
	uroce_switch_closer_stop();
	while (is_open(ends[0]) || is_open(ends[1]))
		nanosleep(&ms, NULL);
	uroce_switch_closer_stop(); /* the thread does not run */
}

/* Signals go to the main thread, whose signal mask stays as it was. */
static void
test_signals(void **state)
{
	sigset_t before, after, one, pending;

	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	assert_int_equal(uroce_switch_closer_start(), 0);
	pthread_sigmask(SIG_BLOCK, &one, &after);
	assert_int_equal(sigismember(&before, SIGUSR1), 0); /* the tests before this one have not changed it either */
	for (int i = 1; i < NSIG; i++)
		assert_int_equal(sigismember(&before, i), sigismember(&after, i));
	assert_int_equal(kill(getpid(), SIGUSR1), 0); /* if it were not blocked, it would end the process */
	close_pipe();
	assert_int_equal(sigpending(&pending), 0);
	assert_int_equal(sigismember(&pending, SIGUSR1), 1);
	assert_int_equal(sigwaitinfo(&one, NULL), SIGUSR1);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	uroce_switch_closer_stop();
}

static void
test_refused(void **state)
{
	struct rlimit most, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
	none = (struct rlimit){ .rlim_max = most.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(uroce_switch_closer_start(), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
}

/* Without the thread, descriptors are closed at once. */
static void
test_without(void **state)
{
	int fd = open("/dev/null", O_RDONLY);

	assert_true(fd >= 0);
	uroce_switch_close(fd);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	uroce_switch_closer_stop();
}

UROCE_TESTS(switch_closer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
