/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command line of uroce-nvmf, and sizes.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "store/namespace.h"
#include "options.h"

#define SECRET "DHHC-1:01:AQ4bKDVCT1xpdoOQnaq3xNHe6/gFEh8sOUZTYG16h5SQWMao:"

static int
parse(struct nvmf_options *o, char *error, size_t room, const char *line)
{
	static char copy[1024];	/* the options refer to it */
	char *argv[32] = { (char *)(uintptr_t)"uroce-nvmf" };
	int argc = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
		argv[argc++] = word;
	return uroce_nvmf_options_parse(o, argc, argv, error, room);
}

static void
test_accepted(void **state)
{
	static char error[512];
	struct nvmf_options o;

	assert_int_equal(parse(&o, error, sizeof(error), "--addr 10.0.0.1/24 --addr fd00::1/64 --namespace a "
			       "--namespace ram:1G --nqn nqn.x --allow-host nqn.y --port 4421 --queues 3 --read-only "
			       "--share-memory --limits log2_max_qp=9"), 0);
	assert_int_equal(o.nb_addrs, 2);
	assert_int_equal(o.nb_namespaces, 2);
	assert_int_equal(o.nb_hosts, 1);
	assert_int_equal(o.port, 4421);
	assert_int_equal(o.queues, 3);
	assert_string_equal(o.limits, "log2_max_qp=9");
	assert_true(o.read_only);
	assert_true(o.share_memory);
	assert_int_equal(o.dh_group, AUTH_FFDHE2048);
	assert_int_equal(parse(&o, error, sizeof(error), "--addr 10.0.0.1/24 --namespace a --allow-host nqn.x --allow-host "
			       "nqn.y --host-key " SECRET " --dh-group ffdhe8192"), 0);
	assert_int_equal(o.hosts[0].host_key.bytes, 0);
	assert_int_equal(o.hosts[1].host_key.bytes, 32);
	assert_int_equal(o.hosts[1].host_key.hash, AUTH_SHA256);
	assert_int_equal(o.dh_group, AUTH_FFDHE8192);
	assert_int_equal(parse(&o, error, sizeof(error), "--addr 10.0.0.1/24 --namespace a"), 0);
	assert_int_equal(o.port, UROCE_NVMF_PORT);
	assert_false(o.share_memory);
	assert_int_equal(parse(&o, error, sizeof(error), "--help"), 0);
	assert_true(o.help);
}

static void
test_refused(void **state)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "", "--addr" },
		{ "--addr 10.0.0.1/24", "--namespace" },
		{ "--addr 10.0.0.1 --namespace a", "--addr 10.0.0.1:" },
		{ "--addr 10.0.0.1/24 --namespace a --port 0", "--port 0:" },
		{ "--addr 10.0.0.1/24 --namespace a --port 65536", "--port 65536:" },
		{ "--addr 10.0.0.1/24 --namespace a --queues 65", "--queues 65:" },
		{ "--addr 10.0.0.1/24 --namespace a --limits queues=65", "--limits: limit queues: there is no such" },
		{ "--addr 10.0.0.1/24 --namespace a --nqn disk", "--nqn disk:" },
		{ "--addr 10.0.0.1/24 --namespace a --allow-host x", "--allow-host x:" },
		{ "--addr 10.0.0.1/24 --namespace", "--namespace needs a value" },
		{ "--addr 10.0.0.1/24 --namespace a b", "'b'" },
		{ "--no-huge", "--no-huge" },
		{ "--addr 10.0.0.1/24 --namespace a --allow-host nqn.x --allow-host nqn.x", "given twice" },
		{ "--addr 10.0.0.1/24 --namespace a --host-key DHHC-1:00:AAAA:", "put --allow-host before it" },
		{ "--addr 10.0.0.1/24 --namespace a --allow-host nqn.x --host-key DHHC-1:00:AAAA:", "--host-key: this is no secret" },
		{ "--addr 10.0.0.1/24 --namespace a --allow-host nqn.x --host-key @/no-file", "--host-key @/no-file" },
		{ "--addr 10.0.0.1/24 --namespace a --allow-host nqn.x --ctrl-key " SECRET, "add --host-key" },
		{ "--addr 10.0.0.1/24 --namespace a --dh-group ffdhe1024", "--dh-group ffdhe1024" },
	};
	static char error[512];
	struct nvmf_options o;

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		error[0] = '\0';
		assert_int_equal(parse(&o, error, sizeof(error), cases[i].line), -EINVAL);
		assert_non_null(strstr(error, cases[i].says));
	}
}

static void
test_sizes(void **state)
{
	static const char *const wrong[] = { "", "0", "x", "1X", "1KK", "-1", "1.5G", " 1", "99999999999999999999", "65537T" };
	uint64_t bytes;

	assert_int_equal(uroce_nvmf_size_parse("512", &bytes), 0);
	assert_int_equal(bytes, 512);
	assert_int_equal(uroce_nvmf_size_parse("3K", &bytes), 0);
	assert_int_equal(bytes, 3072);
	assert_int_equal(uroce_nvmf_size_parse("2T", &bytes), 0);
	assert_int_equal(bytes, UINT64_C(2) << 40);
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		assert_int_equal(uroce_nvmf_size_parse(wrong[i], &bytes), -EINVAL);
}

UROCE_TESTS(nvmf_options)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
