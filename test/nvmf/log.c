/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The log of the target: a host that connects, leaves and is refused in a loop causes a bounded number of lines.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_cycles.h>

#include "eal.h"
#include "groups.h"
#include "host.h"
#include "report/log.h"

#define REFUSALS 100u
#define CONTROLLERS 30u

static void
test_limit(void **state)
{
	const uint64_t start = 5 * UROCE_NVMF_LOG_NS;
	struct nvmf_log_limit limit = { 0 };
	uint64_t left_out = 1;

	for (unsigned int i = 0; i < UROCE_NVMF_LOG_LINES; i++) {
		assert_true(uroce_nvmf_log_may(&limit, start + i, &left_out));
		assert_int_equal(left_out, 0);
	}
	for (unsigned int i = 0; i < 1000; i++)
		assert_false(uroce_nvmf_log_may(&limit, start + UROCE_NVMF_LOG_NS - 1, &left_out));
	assert_true(uroce_nvmf_log_may(&limit, start + UROCE_NVMF_LOG_NS, &left_out));
	assert_int_equal(left_out, 1000);
	assert_true(uroce_nvmf_log_may(&limit, start + UROCE_NVMF_LOG_NS, &left_out));
	assert_int_equal(left_out, 0);
}

static void
flood(struct host *h)
{
	struct host_queue q;

	assert_true(host_queue_open(h, &q, 0, NULL));
	for (unsigned int i = 0; i < REFUSALS; i++)
		assert_int_equal(host_connect(&q, 0, NVME_CNTLID_DYNAMIC, "nqn.2026-11.org.example:none"),
				 NVME_CONNECT_INVALID_PARAM);
	host_queue_close(&q);
	for (unsigned int i = 0; i < CONTROLLERS; i++) {
		assert_true(host_queue_open(h, &q, 0, NULL));
		assert_int_equal(host_connect(&q, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN), NVME_SUCCESS);
		host_queue_close(&q);
	}
}

static unsigned int
lines_with(FILE *f, const char *word)
{
	char line[1024];
	unsigned int n = 0;

	rewind(f);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, word) != NULL;
	return n;
}

/* The number of lines depends on the time that passes, so the limit does, too. */
static void
test_flood(void **state)
{
	static const char *const words[] = { "is refused", "has connected", "has gone" };
	const char *namespaces[] = { "null:1M" };
	FILE *log = tmpfile();
	int before = dup(STDERR_FILENO);
	uint64_t start, intervals;
	struct host h;

	assert_non_null(log);
	host_open(&h, namespaces, 1);
	fflush(stderr);
	assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
	start = rte_rdtsc();
	flood(&h);
	host_close(&h);
	intervals = (rte_rdtsc() - start) / (rte_get_tsc_hz() / 1000000) * 1000 / UROCE_NVMF_LOG_NS + 2;
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	for (unsigned int i = 0; i < RTE_DIM(words); i++) {
		unsigned int n = lines_with(log, words[i]);

		assert_true(n >= UROCE_NVMF_LOG_LINES);
		assert_true(n <= UROCE_NVMF_LOG_LINES * intervals);
	}
	close(before);
	fclose(log);
}

UROCE_TESTS(nvmf_log)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_flood),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
