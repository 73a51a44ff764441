/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_destroy_qp_async(): the caller does not wait. A thread that polls a worker frees the QP once no worker uses it
 * and its events are acknowledged.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fixture.h"
#include "base/rcu.h"
#include "verbs/device/reclaim.h"

#define READER 1

static unsigned int freed;

static void
count_freed(void *arg)
{
	assert_ptr_equal(arg, &pair);
	/* the application may destroy the objects that the QP used */
	assert_int_equal(fake.dev.qp_count, 0);
	assert_false(uroce_reclaim_is_any());
	freed++;
}

static struct ibv_qp *
create(void)
{
	freed = 0;
	return fake_qp_create(&pair);
}

static void
test_nobody_has_it(void **state)
{
	struct ibv_qp *ibv = create();

	assert_int_equal(uroce_destroy_qp_async(ibv, count_freed, &pair), 0);
	assert_int_equal(fake.attached, 0);
	assert_int_equal(freed, 0);
	assert_int_equal(uroce_destroy_cq(pair.cq), EBUSY);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
}

/* A worker in a poll may use the QP: uroce_destroy_qp() would wait for it. */
static void
test_worker_in_a_poll(void **state)
{
	struct ibv_qp *ibv = create();

	assert_int_equal(uroce_rcu_register(READER), 0);
	uroce_rcu_begin_read(READER);
	assert_int_equal(uroce_destroy_qp_async(ibv, count_freed, &pair), 0);
	uroce_reclaim_run();
	assert_int_equal(freed, 0);
	uroce_rcu_end_read(READER);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
	assert_int_equal(uroce_rcu_unregister(READER), 0);
}

/* A reported event that is not acknowledged, for which uroce_destroy_qp() would wait, and an unread event. */
static void
test_events(void **state)
{
	struct ibv_qp *ibv = create();
	struct ibv_async_event event = { .element.qp = ibv, .event_type = IBV_EVENT_COMM_EST };

	uroce_device_event(&fake.dev, &event);
	uroce_device_event(&fake.dev, &event);
	assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
	assert_int_equal(uroce_destroy_qp_async(ibv, count_freed, &pair), 0);
	uroce_reclaim_run();
	assert_int_equal(freed, 0);
	uroce_ack_async_event(&event);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
}

/* After the call, the application may free the buffers that wr_id points to. */
static void
test_completions(void **state)
{
	struct ibv_qp *ibv = create();
	const struct ibv_wc wc = { .qp_num = ibv->qp_num, .wr_id = 1 };
	struct ibv_wc polled;

	assert_true(uroce_cq_push(uroce_cq_of(pair.cq), uroce_qp_of(ibv)->engine, &wc, false));
	assert_int_equal(uroce_destroy_qp_async(ibv, count_freed, &pair), 0);
	assert_int_equal(uroce_poll_cq(pair.cq, 1, &polled), 0);
	uroce_reclaim_run();
	assert_int_equal(freed, 1);
}

static void
test_nobody_is_told(void **state)
{
	assert_int_equal(uroce_destroy_qp_async(create(), NULL, NULL), 0);
	uroce_reclaim_run();
	assert_int_equal(fake.dev.qp_count, 0);
	assert_false(uroce_reclaim_is_any());
}

static unsigned int looks;
static bool is_idle;

static bool
look(struct uroce_reclaim *r, uint64_t now_ns)
{
	(void)r;
	(void)now_ns;
	looks++;
	return is_idle;
}

/* With many objects to free, each poll of a worker checks a few, and gets to all of them in turn. */
static void
test_many(void **state)
{
	static struct uroce_reclaim *many[2 * UROCE_RECLAIM_LOOKS + 1];

	is_idle = false;
	for (unsigned int i = 0; i < RTE_DIM(many); i++) {
		many[i] = uroce_reclaim_create(&fake.dev, &many[i], look, NULL, NULL);
		assert_non_null(many[i]);
		uroce_reclaim_add(many[i]);
	}
	for (unsigned int i = 0; i < 3; i++) {
		looks = 0;
		uroce_reclaim_run();
		assert_int_equal(looks, UROCE_RECLAIM_LOOKS);
	}
	is_idle = true;
	for (looks = 0; uroce_reclaim_is_any() && looks < 2 * RTE_DIM(many);)
		uroce_reclaim_run();
	assert_false(uroce_reclaim_is_any());
	assert_int_equal(looks, RTE_DIM(many));
}

UROCE_TESTS(reclaim)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_nobody_has_it, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_worker_in_a_poll, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_events, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_completions, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_nobody_is_told, pair_setup, pair_teardown),
		cmocka_unit_test_setup_teardown(test_many, pair_setup, pair_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
