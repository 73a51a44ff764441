/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Detection of more runnable threads than CPUs: by the kernel's figures, and always if the kernel provides none.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "groups.h"
#include "progress/cpu_load.h"
#include "uroce_config.h"

static char path[] = "crowd-XXXXXX";
static struct uroce_cpu_load crowd;
static uint64_t now_ns;

static void
write_line(const char *line)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(line, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int
setup(void **state)
{
	int fd = mkstemp(path);

	if (fd < 0)
		return -1;
	close(fd);
	now_ns = UROCE_VERBS_CROWD_NS;
	uroce_cpu_load_init(&crowd, path, gettid());
	return crowd.fd >= 0 ? 0 : -1;
}

static int
teardown(void **state)
{
	close(crowd.fd);
	return unlink(path);
}

static bool
is_crowd(const char *line)
{
	write_line(line);
	now_ns += UROCE_VERBS_CROWD_NS;
	return uroce_cpu_load_is_high(&crowd, now_ns);
}

static bool
is_crowd_of(unsigned int running)
{
	char line[64];

	snprintf(line, sizeof(line), "0.20 0.18 0.12 %u/80 11206\n", running);
	return is_crowd(line);
}

static void
test_count(void **state)
{
	cpu_set_t cpus;
	unsigned int n;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	n = (unsigned int)CPU_COUNT(&cpus);
	assert_int_equal(is_crowd_of(1), n == 1);
	assert_int_equal(is_crowd_of(n), n == 1);
	assert_true(is_crowd_of(n + 1));
	assert_true(is_crowd_of(4000000000u));
}

/* With one CPU, all other threads wait for this one. */
static void
test_one(void **state)
{
	cpu_set_t all, one;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_true(is_crowd_of(1));
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
}

static void *
is_crowd_pinned(void *arg)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) == 0)
		*(bool *)arg = uroce_cpu_load_is_high(&crowd, now_ns);
	return NULL;
}

/* A thread that the application has pinned may spin: other threads run on other CPUs. */
static void
test_pinned(void **state)
{
	bool pinned = true;
	pthread_t thread;
	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) == 1)
		skip();
	assert_false(is_crowd_of(1));
	now_ns += UROCE_VERBS_CROWD_NS;
	assert_int_equal(pthread_create(&thread, NULL, is_crowd_pinned, &pinned), 0);
	pthread_join(thread, NULL);
	assert_false(pinned);
	assert_false(uroce_cpu_load_is_high(&crowd, now_ns));
}

/* The CPUs are not counted again at once, either. */
static void
test_remembers_processors(void **state)
{
	cpu_set_t all, one;
	uint64_t at_ns;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) == 1)
		skip();
	assert_false(is_crowd_of(1));
	at_ns = now_ns;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_false(uroce_cpu_load_is_high(&crowd, at_ns + UROCE_VERBS_CROWD_NS - 1));
	assert_true(uroce_cpu_load_is_high(&crowd, at_ns + UROCE_VERBS_CROWD_NS));
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	now_ns = at_ns + UROCE_VERBS_CROWD_NS;
}

static void
test_nonsense(void **state)
{
	char longer[1000];

	assert_true(is_crowd(""));
	assert_true(is_crowd("0.20 0.18"));
	assert_true(is_crowd("0.20 0.18 0.12 /80 11206"));
	assert_true(is_crowd("0.20 0.18 0.12 0/80 11206"));
	memset(longer, '1', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_true(is_crowd(longer));
}

static void
test_no_file(void **state)
{
	struct uroce_cpu_load none;

	uroce_cpu_load_init(&none, "/nonexistent/loadavg", 0);
	assert_int_equal(none.fd, -1);
	assert_true(uroce_cpu_load_is_high(&none, 1));
}

/* The kernel is not asked again at once. */
static void
test_remembers(void **state)
{
	assert_true(is_crowd_of(100000));
	write_line("0.00 0.00 0.00 1/80 11206\n");
	assert_true(uroce_cpu_load_is_high(&crowd, now_ns + UROCE_VERBS_CROWD_NS - 1));
}

UROCE_TESTS(dropin_cpu_load)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_pinned),
		cmocka_unit_test(test_remembers_processors),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_remembers),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
