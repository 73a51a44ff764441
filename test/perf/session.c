/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the states of a session, as the prompt's thread sees and changes them, and the session's actions before, after
 * and between tests. Tests, network and workers are fakes; the program's tests (functional) run real ones.
 */

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "prompt/session.h"
#include "signals.h"

#define HOSTS 2

static struct perf_bench bench;
static struct perf_session s;
static struct perf_peer peer;
static struct app_host hosts[HOSTS];

/* Calls of the fakes, and their results. */
static struct {
	unsigned int runs, polls, signs, impaired, unimpaired, controlled;
	const char *impairment;	/* of all hosts; NULL: none */
	bool no_congestion, cannot_impair, cannot_control;
	int run_result, sign;
	unsigned int poll_result;
	void (*while_running)(void);
	void (*while_idle)(void);
} did;

int
uroce_perf_bench_run(struct perf_bench *b)
{
	assert_ptr_equal(b, &bench);
	assert_ptr_equal(b->options, &s.options);
	assert_int_equal(b->nb_rows, 0);
	assert_int_equal(b->rows[0].ops, 0);
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_RUNNING);
	b->rows[0].ops = ++did.runs;
	b->nb_rows = 1;
	if (did.while_running != NULL)
		did.while_running();
	return did.run_result;
}

int
uroce_app_host_impair(struct app_host *host, const char *impairment)
{
	assert_ptr_equal(host, &hosts[did.impaired++ % HOSTS]);
	did.impairment = impairment;
	return did.cannot_impair ? -1 : 0;
}

void
uroce_app_host_unimpair(struct app_host *host)
{
	assert_ptr_equal(host, &hosts[did.unimpaired++ % HOSTS]);
	did.impairment = NULL;
}

int
uroce_app_host_control(struct app_host *host, bool on)
{
	assert_ptr_equal(host, &hosts[did.controlled++ % HOSTS]);
	did.no_congestion = !on;
	return did.cannot_control ? -1 : 0;
}

unsigned int
uroce_worker_poll(struct uroce_worker *worker)
{
	assert_ptr_equal(worker, hosts[did.polls++ % HOSTS].workers[0]);
	if (did.polls % HOSTS == 0 && did.while_idle != NULL)
		did.while_idle();
	return did.poll_result;
}

static int
alive(struct perf_peer *p, char *error, size_t room)
{
	assert_ptr_equal(p, &peer);
	did.signs++;
	snprintf(error, room, "gone");
	return did.sign;
}

static int
setup(void **state)
{
	struct perf_options options = { .impair = "loss=0.5", .qps = 3 };

	memset(&s, 0, sizeof(s));
	memset(&did, 0, sizeof(did));
	peer.alive = alive;
	bench = (struct perf_bench){ .peer = &peer };
	s.bench = &bench;
	for (unsigned int i = 0; i < HOSTS; i++) {
		hosts[i].workers[0] = (struct uroce_worker *)&hosts[i]; /* never dereferenced */
		s.hosts[s.nb_hosts++] = &hosts[i];
	}
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

static void
end(void)
{
	uroce_perf_session_end(&s);
}

static void
run(void (*while_running)(void), void (*while_idle)(void))
{
	did.while_running = while_running;
	did.while_idle = while_idle;
	assert_true(uroce_perf_session_start(&s));
	uroce_perf_session_run(&s);
}

/* Has the session notified the prompt since the last call? */
static bool
was_told(void)
{
	uint64_t times;

	return read(s.event, &times, sizeof(times)) == (ssize_t)sizeof(times);
}

/* Start a test as the prompt does: the network changes only if its options have changed. */
static void
next_test(void)
{
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_IDLE);
	assert_int_equal(s.ended, did.runs);
	assert_true(was_told());
	switch (did.runs) {
	case 1:
		assert_int_equal(did.impaired + did.unimpaired + did.controlled, 0);
		s.options.impair = "dup=0.1";
		s.options.no_congestion = true;
		break;
	case 2:
		assert_int_equal(did.unimpaired, HOSTS);
		assert_int_equal(did.impaired, HOSTS);
		assert_string_equal(did.impairment, "dup=0.1");
		assert_int_equal(did.controlled, HOSTS);
		assert_true(did.no_congestion);
		break;
	case 3:
		assert_int_equal(did.unimpaired + did.impaired + did.controlled, 3 * HOSTS); /* as it was */
		s.options.impair = NULL;
		s.options.no_congestion = false;
		break;
	case 4:
		assert_int_equal(did.unimpaired, 2 * HOSTS);
		assert_null(did.impairment);
		assert_int_equal(did.controlled, 2 * HOSTS);
		assert_false(did.no_congestion);
		break;
	default:
		assert_int_equal(did.unimpaired, 2 * HOSTS);
		uroce_perf_session_end(&s);
		return;
	}
	assert_true(uroce_perf_session_start(&s));
}

static void
test_in_turn(void **state)
{
	run(NULL, next_test);
	assert_int_equal(did.runs, 5);
	assert_int_equal(s.nb_rows, 5);
	for (unsigned int i = 0; i < 5; i++)
		assert_int_equal(s.rows[i].ops, i + 1);
	assert_false(s.failed);
}

/* A failed test is reported with its results, even if other tests follow. */
static void
test_failed_run(void **state)
{
	did.run_result = -1;
	run(NULL, end);
	assert_true(s.failed);
	assert_int_equal(s.nb_rows, 1);
	assert_int_equal(s.ended, 1);
}

/* No test runs if the network could not be set up. */
static void
test_no_network(void **state)
{
	s.options.impair = "dup=0.1";
	did.cannot_impair = true;
	run(NULL, end);
	assert_true(s.failed);
	assert_int_equal(did.runs, 0);
	assert_int_equal(s.nb_rows, 0);
	assert_int_equal(s.ended, 1);
	assert_null(s.impairment); /* the next test tries again */
}

static void
test_no_control(void **state)
{
	s.options.no_congestion = true;
	did.cannot_control = true;
	run(NULL, end);
	assert_true(s.failed);
	assert_int_equal(did.runs, 0);
	assert_false(s.no_congestion);
}

static void
finish(void)
{
	uroce_perf_session_stop(&s);
}

static void
after_stop(void)
{
	assert_false(uroce_app_stopped());
	assert_false(s.stopping);
	end();
}

/* The prompt stops a test: the session continues. */
static void
test_stopped_run(void **state)
{
	run(finish, after_stop);
	assert_int_equal(did.polls, HOSTS); /* once */
	assert_false(s.failed);
}

/* A signal ends the session, during a test or between two. */
static void
test_signal(void **state)
{
	run(uroce_app_stop, NULL);
	assert_true(uroce_app_stopped());
	assert_int_equal(did.runs, 1);
	teardown(state);
	setup(state);
	run(NULL, uroce_app_stop);
	assert_int_equal(did.polls, HOSTS);
	assert_false(s.failed);
}

static void
test_end_of_run(void **state)
{
	run(end, NULL);
	assert_int_equal(uroce_perf_session_state(&s), PERF_SESSION_ENDING);
	assert_int_equal(did.polls, 0);
	assert_true(uroce_app_stopped());
}

/* While no test runs, the session checks the other end at intervals. */
static void
test_peer_gone(void **state)
{
	did.sign = -1;
	run(NULL, NULL);
	assert_int_equal(did.signs, 1);
	assert_int_equal(did.polls, UROCE_PERF_IDLE_LOOKS * HOSTS);
	assert_true(s.failed);
}

static void
end_later(void)
{
	if (did.polls == 3 * UROCE_PERF_IDLE_LOOKS * HOSTS)
		end();
}

static void
test_peer_alive(void **state)
{
	did.poll_result = 1;
	run(NULL, end_later);
	assert_int_equal(did.signs, 3);
	assert_false(s.failed);
}

static void
tell_progress(void)
{
	assert_false(was_told());
	bench.progress(bench.progress_arg, "some");
	assert_true(was_told());
	assert_string_equal(s.line, "some");
}

static void
expect_no_progress(void)
{
	assert_null(bench.progress);
}

static void
test_progress(void **state)
{
	run(expect_no_progress, end);
	teardown(state);
	setup(state);
	s.on_terminal = true;
	run(tell_progress, end);
}

static void
test_no_descriptor(void **state)
{
	struct rlimit most, none;
	struct perf_session other = { .bench = &bench };

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
	none = (struct rlimit){ .rlim_max = most.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(uroce_perf_session_init(&other, &s.options), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
}

/* main() has set up congestion control as on the command line: no change. */
static void
test_no_congestion(void **state)
{
	teardown(state);
	memset(&s, 0, sizeof(s));
	s.bench = &bench;
	assert_int_equal(uroce_perf_session_init(&s, &(struct perf_options){ .no_congestion = true }), 0);
	assert_true(s.no_congestion);
	assert_null(s.impairment);
}

/* The prompt cannot run tests on a server. */
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
		cmocka_unit_test_setup_teardown(test_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_network, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_control, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_of_run, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_alive, setup, teardown),
		cmocka_unit_test_setup_teardown(test_progress, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_congestion, setup, teardown),
		cmocka_unit_test_setup_teardown(test_server, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
