/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command line of uroce-rping: every letter, and every mistake with what would have been right.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "options.h"

static struct rping_options o;
static char error[512];

static int
parse(const char *line)
{
	static char text[256];
	char *argv[32] = { text };
	int argc = 1;

	snprintf(text, sizeof(text), "uroce-rping %s", line);
	strtok(text, " ");
	while ((argv[argc] = strtok(NULL, " ")) != NULL)
		argc++;
	error[0] = '\0';
	return uroce_rping_options_parse(&o, argc, argv, error, sizeof(error));
}

static void
wrong(const char *line, const char *says)
{
	assert_int_equal(parse(line), -EINVAL);
	if (strstr(error, says) == NULL)
		fail_msg("'%s' does not say '%s' but '%s'", line, says, error);
}

static void
test_defaults(void **state)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&o.addr;

	assert_int_equal(parse(""), 0);
	assert_int_equal(o.role, RPING_BOTH);
	assert_int_equal(o.size, 64);
	assert_int_equal(o.count, 0);
	assert_int_equal(o.port, 7174);
	assert_int_equal(o.fault, -1);
	assert_int_equal(sin->sin_family, AF_INET);
	assert_int_equal(sin->sin_addr.s_addr, 0);
	assert_int_equal(sin->sin_port, htons(7174));
	assert_false(o.verbose || o.validate || o.debug || o.persistent || o.own_qp || o.help ||
		     o.version);
}

static void
test_client(void **state)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)&o.addr;

	assert_int_equal(
		parse("-c -a 10.0.0.2 -I 10.0.0.1 -p 99 -C 7 -S 65535 -vVdq --addr 10.0.0.1/24"),
		0);
	assert_int_equal(o.role, RPING_CLIENT);
	assert_int_equal(sin->sin_addr.s_addr, htonl(0x0a000002));
	assert_int_equal(sin->sin_port, htons(99));
	assert_int_equal(((struct sockaddr_in *)&o.source)->sin_addr.s_addr, htonl(0x0a000001));
	assert_int_equal(o.count, 7);
	assert_int_equal(o.size, 65535);
	assert_true(o.verbose && o.validate && o.debug && o.own_qp);
	assert_int_equal(o.nb_addrs, 1);
	assert_string_equal(o.addrs[0], "10.0.0.1/24");
}

static void
test_server(void **state)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)&o.addr;

	assert_int_equal(parse("-s -P -a ::0 -p 5 --fault 3 --limits rates=8"), 0);
	assert_string_equal(o.limits, "rates=8");
	assert_int_equal(o.role, RPING_SERVER);
	assert_true(o.persistent);
	assert_int_equal(o.fault, 3);
	assert_int_equal(sin6->sin6_family, AF_INET6);
	assert_int_equal(sin6->sin6_port, htons(5));
}

static void
test_help(void **state)
{
	assert_int_equal(parse("-h"), 0);
	assert_true(o.help);
	assert_int_equal(parse("--version"), 0);
	assert_true(o.version);
}

static void
test_mistakes(void **state)
{
	wrong("-s -c", "exclude each other");
	wrong("-c", "-a 10.0.0.1");
	wrong("-c -a host", "an IP address");
	wrong("-c -a 10.0.0.2 -I fd00::1", "one family");
	wrong("-s -I 10.0.0.1", "only with -c");
	wrong("-c -a 10.0.0.2 -P", "-P and --fault are options of the server");
	wrong("-c -a 10.0.0.2 --fault 1", "-P and --fault are options of the server");
	wrong("-P", "add -s or -c");
	wrong("-a 10.0.0.1", "add -s or -c");
	wrong("-S 25", "26 to 65535");
	wrong("-S 65536", "26 to 65535");
	wrong("-S 1x", "26 to 65535");
	wrong("-C -1", "a number");
	wrong("-p 0", "1 to 65535");
	wrong("-p 65536", "1 to 65535");
	wrong("--fault x", "a number");
	wrong("--limits pings=3", "there is no such limit");
	wrong("--addr 10.0.0.1", "prefix length");
	wrong("-x", "not an option");
	wrong("-s -xy", "-xy is not an option");
	wrong("-sxy", "-sxy is not an option");
	wrong("-C", "needs a value");
	wrong("more", "'more' is not an option");
}

static void
test_many_addresses(void **state)
{
	char program[] = "uroce-rping", option[] = "--addr", address[] = "10.0.0.1/24";
	char *argv[2 * (UROCE_APP_MAX_ADDRESSES + 1) + 2] = { program };
	int argc = 1;

	for (unsigned int i = 0; i <= UROCE_APP_MAX_ADDRESSES; i++) {
		argv[argc++] = option;
		argv[argc++] = address;
	}
	assert_int_equal(uroce_rping_options_parse(&o, argc, argv, error, sizeof(error)), -EINVAL);
	assert_non_null(strstr(error, "more than"));
	assert_int_equal(uroce_rping_options_parse(&o, argc - 2, argv, error, sizeof(error)), 0);
}

UROCE_TESTS(rping_options)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults), cmocka_unit_test(test_client),
		cmocka_unit_test(test_server),   cmocka_unit_test(test_help),
		cmocka_unit_test(test_mistakes), cmocka_unit_test(test_many_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
