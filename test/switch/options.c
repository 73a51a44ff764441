/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command line of uroce-switch: each option, and for each mistake the message that names the remedy.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>

#include "groups.h"
#include "options.h"
#include "uroce_config.h"

static struct switch_options o;
static char error[256];

static int
parse(const char *line)
{
	static char text[256];
	char *argv[16] = { text };
	int argc = 1;

	snprintf(text, sizeof(text), "uroce-switch %s", line);
	strtok(text, " ");
	while ((argv[argc] = strtok(NULL, " ")) != NULL)
		argc++;
	error[0] = '\0';
	return uroce_switch_options_parse(&o, argc, argv, error, sizeof(error));
}

static void
test_right(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_null(o.dir);
	assert_int_equal(o.ports, UROCE_SWITCH_DEFAULT_PORTS);
	assert_false(o.busy);
	assert_int_equal(o.action, SWITCH_RUN);
	assert_int_equal(parse("--dir /a/b --ports 0 --busy"), 0);
	assert_string_equal(o.dir, "/a/b");
	assert_int_equal(o.ports, 0);
	assert_true(o.busy);
	assert_int_equal(parse("--ports=32"), 0);
	assert_int_equal(o.ports, 32);
	assert_int_equal(parse("--help"), 0);
	assert_int_equal(o.action, SWITCH_HELP);
	assert_int_equal(parse("--version"), 0);
	assert_int_equal(o.action, SWITCH_VERSION);
}

static void
test_wrong(void **state)
{
	static const char *const lines[][2] = {
		{ "--ports 33", "from 0 to 32" }, { "--ports -1", "from 0 to 32" },
		{ "--ports 2x", "--ports 2x" },   { "--ports", "needs a value" },
		{ "--dir", "needs a value" },     { "--nonsense", "--nonsense is no option" },
		{ "-x", "-x is no option" },      { "--busy what", "'what'" },
		{ "--busy -xy", "-xy is no" },    { "--busy=3", "--busy=3 is no option" },
	};

	for (unsigned int i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_int_equal(parse(lines[i][0]), -EINVAL);
		if (strstr(error, lines[i][1]) == NULL)
			fail_msg("the message for '%s' lacks '%s': it is '%s'", lines[i][0], lines[i][1], error);
	}
}

UROCE_TESTS(switch_options)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
