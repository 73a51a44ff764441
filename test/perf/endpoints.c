/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the list of ends: each end is visited, and none is removed during a visit.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "groups.h"
#include "measure/endpoints.h"

#define ROUNDS 20000
#define LOOKS  100

static struct perf_end ends[2];

static void
note(struct perf_end *end, void *arg)
{
	*(unsigned int *)arg |= 1u << (end - ends);
}

static void
test_visit(void **state)
{
	unsigned int seen = 0;

	assert_int_equal(uroce_perf_endpoints_visit(note, &seen), 0);
	assert_int_equal(seen, 0);
	uroce_perf_endpoints_remove(&ends[0]);	/* never added */
	uroce_perf_endpoints_add(&ends[0]);
	uroce_perf_endpoints_add(&ends[1]);
	assert_int_equal(uroce_perf_endpoints_visit(note, &seen), 2);
	assert_int_equal(seen, 3);
	uroce_perf_endpoints_remove(&ends[0]);
	seen = 0;
	assert_int_equal(uroce_perf_endpoints_visit(note, &seen), 1);
	assert_int_equal(seen, 2);
	uroce_perf_endpoints_remove(&ends[1]);
	assert_int_equal(uroce_perf_endpoints_visit(note, &seen), 0);
}

/* An end is valid during a visit; its owner invalidates it after the removal. */
static void
check(struct perf_end *end, void *arg)
{
	unsigned int *wrong = arg;

	for (unsigned int i = 0; i < LOOKS; i++)
		*wrong += !__atomic_load_n(&end->server, __ATOMIC_RELAXED) ||
			  __atomic_load_n(&end->slots, __ATOMIC_RELAXED) != 77;
}

static void *
come_and_go(void *arg)
{
	struct perf_end *end = malloc(sizeof(*end));

	for (unsigned int i = 0; i < ROUNDS && end != NULL; i++) {
		end->server = true;
		end->slots = 77;
		uroce_perf_endpoints_add(end);
		uroce_perf_endpoints_remove(end);
		end->slots = 0;
		end->server = false;
	}
	free(end);
	return arg;
}

static void
test_threads(void **state)
{
	unsigned int wrong = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, come_and_go, NULL), 0);
	for (unsigned int i = 0; i < ROUNDS; i++)
		uroce_perf_endpoints_visit(check, &wrong);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(wrong, 0);
	assert_int_equal(uroce_perf_endpoints_visit(check, &wrong), 0);
}

UROCE_TESTS(perf_endpoints)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_visit),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
