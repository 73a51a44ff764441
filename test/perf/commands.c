/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the table of commands: each line matches at most one command, and words are completed. The program's tests
 * (functional) execute commands.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <cmdline.h>
#include <cmdline_parse.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "prompt/commands.h"

static struct perf_bench bench;
static struct perf_session session;
static struct cmdline *cl;

static int
parse(const char *command)
{
	char line[512];

	assert_uint_in_range(snprintf(line, sizeof(line), "%s\n", command), 1, sizeof(line) - 1);
	return cmdline_parse(cl, line);
}

/* set changes the session's options while no test runs. */
static void
test_set(void **state)
{
	assert_true(parse("set op read") > 0);
	assert_int_equal(session.options.op, PERF_READ);
	assert_true(parse("  set   size\t4K  # a comment") > 0);
	assert_int_equal(session.options.size, 4096);
	assert_true(parse("set impair loss=0.1,seed=5") > 0);
	assert_string_equal(session.options.impair, "loss=0.1,seed=5");
	assert_true(parse("set depth 3") > 0);
	assert_string_equal(session.options.impair, "loss=0.1,seed=5");
	assert_true(parse("set impair loss=0.2") > 0);
	assert_string_equal(session.options.impair, "loss=0.2");
	assert_true(parse("set impair off") > 0);
	assert_null(session.options.impair);
}

static void
test_no_command(void **state)
{
	static const struct {
		const char *line;
		int ret;
	} cases[] = {
		{ "sett op read", CMDLINE_PARSE_NOMATCH },  { "star", CMDLINE_PARSE_NOMATCH },
		{ "set op", CMDLINE_PARSE_BAD_ARGS },	    { "set", CMDLINE_PARSE_BAD_ARGS },
		{ "set op read now", CMDLINE_PARSE_BAD_ARGS }, { "set json x", CMDLINE_PARSE_BAD_ARGS },
		{ "show", CMDLINE_PARSE_BAD_ARGS },	    { "show all", CMDLINE_PARSE_BAD_ARGS },
		{ "clear", CMDLINE_PARSE_BAD_ARGS },	    { "start now", CMDLINE_PARSE_BAD_ARGS },
	};
	char line[512];

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		if (parse(cases[i].line) != cases[i].ret)
			fail_msg("%s", cases[i].line);
	}
	assert_true(parse("") >= 0);
	assert_true(parse("# nothing") >= 0);
	snprintf(line, sizeof(line), "set impair %0300d", 0);	/* longer than a word may be */
	assert_int_equal(parse(line), CMDLINE_PARSE_BAD_ARGS);
}

/* @return the possible completions, in the order in which the prompt offers them */
static void
completions(const char *begun, char *all, size_t room)
{
	char word[256];
	int at = 0, ret;

	all[0] = '\0';
	for (ret = cmdline_complete(cl, begun, &at, word, sizeof(word)); ret == CMDLINE_PARSE_COMPLETE_AGAIN;
	     ret = cmdline_complete(cl, begun, &at, word, sizeof(word)))
		snprintf(all + strlen(all), room - strlen(all), "%s|", word);
	if (ret == CMDLINE_PARSE_COMPLETED_BUFFER)
		snprintf(all, room, "%s", word);
}

static void
test_completion(void **state)
{
	char all[2048];

	completions("sta", all, sizeof(all));
	assert_string_equal(all, "rt ");
	completions("set tr", all, sizeof(all));
	assert_string_equal(all, "ansport ");
	completions("set op se", all, sizeof(all));
	assert_string_equal(all, "nd");
	completions("set op fe", all, sizeof(all));
	assert_string_equal(all, "tch-add ");
	completions("set verify ", all, sizeof(all));
	assert_non_null(strstr(all, "on [on#off]: set verify on|off|"));
	assert_non_null(strstr(all, "|off [on#off]"));
	completions("set mode ", all, sizeof(all));
	assert_non_null(strstr(all, "bw "));
	assert_non_null(strstr(all, "rate "));
	assert_non_null(strstr(all, "lat "));
	completions("set qps ", all, sizeof(all));
	assert_null(strchr(all, '#'));
	completions("show c", all, sizeof(all));
	assert_non_null(strstr(all, "cq"));
	assert_non_null(strstr(all, "counters"));
	assert_non_null(strstr(all, "config"));
	assert_null(strstr(all, "|mr ["));
}

static int
setup(void **state)
{
	char program[] = "uroce-perf", *argv[] = { program, NULL }, error[256];
	struct perf_options options;

	if (uroce_perf_options_parse(&options, 1, argv, error, sizeof(error)) != 0)
		return -1;
	session.bench = &bench;
	if (uroce_perf_session_init(&session, &options) != 0)
		return -1;
	cl = cmdline_new(uroce_perf_commands(&session), "", -1, -1);
	return cl == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	parse("set impair off");
	cmdline_free(cl);
	uroce_perf_session_fini(&session);
	return 0;
}

UROCE_TESTS(perf_commands)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_no_command),
		cmocka_unit_test(test_completion),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
