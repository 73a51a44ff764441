/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The states of a session, as the prompt's thread sees and changes them; tests that run are the program's tests
 * (functional).
 */

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "session.h"
#include "signals.h"

static struct perf_bench bench;
static struct perf_session s;

static int
setup(void **state)
{
	struct perf_options options = { .impair = "loss=0.5", .qps = 3 };

	memset(&s, 0, sizeof(s));
	s.bench = &bench;
	uroce_app_stop_clear();
	return uroce_perf_session_init(&s, &options);
}

static int
teardown(void **state)
{
	uroce_perf_session_fini(&s);
	return 0;
}

static bool
is_told(void)
{
	struct pollfd fd = { .fd = s.event, .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

static void
test_init(void **state)
{
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_IDLE);
	assert_int_equal(s.options.qps, 3);
	assert_string_equal(s.impairment, "loss=0.5");
	assert_false(s.failed || is_told());
}

static void
test_start_and_stop(void **state)
{
	uroce_perf_session_stop(&s);	/* nothing to stop */
	assert_false(uroce_app_stopped());
	assert_true(uroce_perf_session_start(&s));
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_RUNNING);
	assert_false(uroce_perf_session_start(&s));
	assert_false(uroce_app_stopped());
	uroce_perf_session_stop(&s);
	assert_true(uroce_app_stopped());
	assert_true(s.stopping);
}

static void
test_end(void **state)
{
	uroce_perf_session_end(&s);
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_ENDING);
	assert_true(is_told());
	assert_false(uroce_app_stopped());
	assert_false(uroce_perf_session_start(&s));
	uroce_perf_session_run(&s);	/* returns at once */
}

static void
test_end_while_running(void **state)
{
	assert_true(uroce_perf_session_start(&s));
	uroce_perf_session_end(&s);
	assert_true(uroce_app_stopped());
	assert_false(s.stopping);	/* so that the flag stays */
}

static void
test_fail(void **state)
{
	uroce_perf_session_fail(&s);
	assert_true(s.failed);
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_IDLE);
}

/* What a server runs is not the prompt's. */
static void
test_server(void **state)
{
	teardown(state);
	memset(&s, 0, sizeof(s));
	assert_int_equal(uroce_perf_session_init(&s, &(struct perf_options){ .role = PERF_SERVER }), 0);
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_RUNNING);
	assert_false(uroce_perf_session_start(&s));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_init, setup, teardown),
		cmocka_unit_test_setup_teardown(test_start_and_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_while_running, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fail, setup, teardown),
		cmocka_unit_test_setup_teardown(test_server, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
