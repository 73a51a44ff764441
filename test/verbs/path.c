/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waiting until the MAC address of a path is known: the call returns at once if the path needs none, or if no worker
 * can learn it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/path.h"
#include "verbs/qp/qp.h"
#include "eal.h"
#include "fixture.h"

static uint64_t neighbor;
static unsigned int polls;

static void
learn(struct uroce_device *dev, struct uroce_cq *cq)
{
	(void)dev;
	(void)cq;
	if (++polls == 3)
		neighbor = 1;
}

static void
test_wait(void **state)
{
	struct uroce_worker_ops ops = { .poll = learn };
	struct uroce_device dev = { .ops.worker = &ops };
	struct uroce_path path = { .lladdr = NULL };

	(void)state;
	neighbor = polls = 0;
	uroce_path_wait(&dev, &path);
	assert_int_equal(polls, 0);
	path.lladdr = &neighbor;
	uroce_path_wait(&dev, &path);
	assert_int_equal(polls, 3);
	uroce_path_wait(&dev, &path);
	assert_int_equal(polls, 3);
	neighbor = 0;
	uroce_path_wait(&dev, &path);
	assert_int_equal(polls, 3 + UROCE_PATH_WAIT_POLLS);
	ops.poll = NULL;
	uroce_path_wait(&dev, &path);
}

/* A QP with a path, and a QP without one. */
static void
test_wait_qp(void **state)
{
	const struct uroce_worker_ops *before = fake.dev.ops.worker;
	struct uroce_worker_ops ops = *before;

	(void)state;
	neighbor = polls = 0;
	ops.poll = learn;
	fake.dev.ops.worker = &ops;
	uroce_path_wait_qp(&qp->ibv);
	assert_int_equal(polls, 0);
	qp->path.lladdr = &neighbor;
	uroce_path_wait_qp(&qp->ibv);
	assert_int_equal(polls, 3);
	qp->path.lladdr = NULL;
	fake.dev.ops.worker = before;
}

UROCE_TESTS(path)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait),
		cmocka_unit_test_setup_teardown(test_wait_qp, qp_setup, qp_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
