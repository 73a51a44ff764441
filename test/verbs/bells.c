/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The ring of doorbells of a thread domain: what its thread adds, the engine removes in this order, also while the
 * indices wrap around, and on another thread.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "verbs/qp/bells.h"

#define PUSHES 200000u

static struct uroce_bells bells;

/* Addresses that are never dereferenced. */
static struct uroce_qp *
qp_of(uint32_t i)
{
	return (struct uroce_qp *)((uintptr_t)i + 1);
}

static int
setup(void **state)
{
	memset(&bells, 0, sizeof(bells));
	return 0;
}

static void
test_full(void **state)
{
	bells.head = bells.tail = bells.tail_seen = UINT32_MAX - 3; /* wraps around */
	for (uint32_t round = 0; round < 3; round++) {
		assert_true(uroce_bells_is_empty(&bells));
		for (uint32_t i = 0; i < UROCE_BELLS; i++)
			assert_true(uroce_bells_push(&bells, qp_of(i)));
		assert_false(uroce_bells_push(&bells, qp_of(0)));
		assert_false(uroce_bells_is_empty(&bells));
		for (uint32_t i = 0; i < UROCE_BELLS; i++)
			assert_ptr_equal(uroce_bells_pop(&bells), qp_of(i));
		assert_null(uroce_bells_pop(&bells));
	}
}

static void *
push_all(void *arg)
{
	for (uint32_t i = 0; i < PUSHES; i++)
		while (!uroce_bells_push(&bells, qp_of(i)))
			sched_yield();
	return arg;
}

static void
test_threads(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, push_all, NULL), 0);
	for (uint32_t i = 0; i < PUSHES;) {
		struct uroce_qp *qp = uroce_bells_pop(&bells);

		if (qp == NULL)
			sched_yield();
		else
			assert_ptr_equal(qp, qp_of(i++));
	}
	assert_true(uroce_bells_is_empty(&bells));
	pthread_join(thread, NULL);
}

UROCE_TESTS(bells)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_threads, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
