/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Descriptors are closed sooner or later, by the thread while there is one; many of them keep nobody waiting.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "closer.h"

/* The other end of a pipe says when it has been closed. */
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

/* What was given before the end is closed all the same. */
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

/* At once. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thread),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
