/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Multicast groups: members, when the port joins and leaves, and look-ups while groups change.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <pthread.h>

#include <cmocka.h>
#include <rte_common.h>

#include "base/rcu.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/address/mcast.h"
#include "eal.h"
#include "fake.h"

static const union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };
static const union ibv_gid group6 = { .raw = { 0xff, 0x0e, [15] = 7 } };
static struct fake_pair pair;

static int
setup(void **state)
{
	fake_setup(state);
	pair = fake_pair_create(16);
	return 0;
}

static int
teardown(void **state)
{
	fake_pair_destroy(&pair);
	assert_int_equal(fake.joined, 0);
	return fake_teardown(state);
}

static struct ibv_qp *
make_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr attr = fake_init_attr(&pair);
	struct ibv_qp *qp;

	attr.qp_type = type;
	qp = uroce_create_qp(pair.pd, &attr);
	assert_non_null(qp);
	return qp;
}

static unsigned int
receivers(const union ibv_gid *gid, struct uroce_qp **qps)
{
	return uroce_mcast_receivers(&fake.dev, gid->raw, qps);
}

static void
test_refused(void **state)
{
	static const union ibv_gid others[] = {
		{ .raw = { 0 } },
		{ .raw = { 0xfd, [15] = 1 } },
		{ .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } },
		{ .raw = { [10] = 0xff, 0xff, 240, 0, 0, 1 } },
	};
	struct ibv_qp *rc = make_qp(IBV_QPT_RC), *uc = make_qp(IBV_QPT_UC), *ud = make_qp(IBV_QPT_UD);

	(void)state;
	assert_int_equal(uroce_attach_mcast(rc, &group, 0), EINVAL);
	assert_int_equal(uroce_attach_mcast(uc, &group, 0), EINVAL);
	assert_int_equal(uroce_detach_mcast(rc, &group, 0), EINVAL);
	for (unsigned int i = 0; i < RTE_DIM(others); i++)
		assert_int_equal(uroce_attach_mcast(ud, &others[i], 0), EINVAL);
	assert_int_equal(uroce_detach_mcast(ud, &group, 0), EINVAL);
	fake.join_error = -EIO;
	assert_int_equal(uroce_attach_mcast(ud, &group, 0), EIO);
	assert_int_equal(fake.dev.mcast.group_count, 0);
	assert_int_equal(uroce_destroy_qp(ud), 0);
	assert_int_equal(uroce_destroy_qp(uc), 0);
	assert_int_equal(uroce_destroy_qp(rc), 0);
}

static void
test_attach_and_detach(void **state)
{
	struct ibv_qp *a = make_qp(IBV_QPT_UD), *b = make_qp(IBV_QPT_UD);
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];

	(void)state;
	assert_int_equal(receivers(&group, qps), 0);
	assert_int_equal(uroce_attach_mcast(a, &group, 0), 0);
	assert_int_equal(fake.joined, 1);
	assert_int_equal(uroce_attach_mcast(a, &group, 0), 0);	/* nothing changes */
	assert_int_equal(receivers(&group, qps), 1);
	assert_ptr_equal(qps[0], uroce_qp_of(a));
	assert_int_equal(receivers(&group6, qps), 0);
	assert_int_equal(uroce_attach_mcast(b, &group, 7), 0);
	assert_int_equal(fake.joined, 1);
	assert_int_equal(uroce_attach_mcast(b, &group6, 0), 0);
	assert_int_equal(fake.joined, 2);
	assert_int_equal(receivers(&group, qps), 2);
	assert_int_equal(uroce_detach_mcast(a, &group, 0), 0);
	assert_int_equal(fake.joined, 2);
	assert_int_equal(uroce_detach_mcast(a, &group, 0), EINVAL);
	assert_int_equal(receivers(&group, qps), 1);
	assert_ptr_equal(qps[0], uroce_qp_of(b));
	assert_int_equal(uroce_detach_mcast(b, &group, 0), 0);
	assert_int_equal(fake.joined, 1);
	assert_int_equal(receivers(&group, qps), 0);
	assert_int_equal(receivers(&group6, qps), 1);
	assert_int_equal(uroce_detach_mcast(b, &group6, 0), 0);
	assert_int_equal(fake.dev.mcast.group_count, 0);
	assert_int_equal(uroce_destroy_qp(a), 0);
	assert_int_equal(uroce_destroy_qp(b), 0);
}

static void
r49_attached_qps_are_not_destroyed(void **state)
{
	struct ibv_qp *qp = make_qp(IBV_QPT_UD);
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];

	(void)state;
	assert_int_equal(uroce_attach_mcast(qp, &group, 0), 0);
	assert_int_equal(uroce_attach_mcast(qp, &group6, 0), 0);
	assert_int_equal(uroce_destroy_qp(qp), EBUSY);
	assert_int_equal(uroce_detach_mcast(qp, &group, 0), 0);
	assert_int_equal(uroce_destroy_qp(qp), EBUSY);
	assert_ptr_equal(uroce_qp_lookup(&fake.dev, qp->qp_num), uroce_qp_of(qp));
	assert_int_equal(receivers(&group6, qps), 1);
	assert_int_equal(uroce_detach_mcast(qp, &group6, 0), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

static union ibv_gid
nth_group(unsigned int n)
{
	union ibv_gid gid = group;

	gid.raw[13] = (uint8_t)(n >> 16);
	gid.raw[14] = (uint8_t)(n >> 8);
	gid.raw[15] = (uint8_t)n;
	return gid;
}

static void
test_limits(void **state)
{
	struct ibv_qp *qps[UROCE_MAX_MCAST_QPS + 1];
	struct uroce_qp *found[UROCE_MAX_MCAST_QPS];
	struct ibv_device_attr attr;
	union ibv_gid gid;

	(void)state;
	assert_int_equal(uroce_query_device(fake.context, &attr), 0);
	assert_int_equal(attr.max_mcast_grp, UROCE_MAX_MCAST_GROUPS);
	assert_int_equal(attr.max_mcast_qp_attach, UROCE_MAX_MCAST_QPS);
	for (unsigned int i = 0; i < RTE_DIM(qps); i++) {
		qps[i] = make_qp(IBV_QPT_UD);
		assert_int_equal(uroce_attach_mcast(qps[i], &group, 0), i < UROCE_MAX_MCAST_QPS ? 0 : ENOMEM);
	}
	assert_int_equal(receivers(&group, found), UROCE_MAX_MCAST_QPS);
	/* the first was the group above; several share a bucket */
	for (unsigned int i = 1; i < UROCE_MAX_MCAST_GROUPS; i++) {
		gid = nth_group(i);
		assert_int_equal(uroce_attach_mcast(qps[i & 1], &gid, 0), 0);
	}
	gid = nth_group(UROCE_MAX_MCAST_GROUPS);
	assert_int_equal(uroce_attach_mcast(qps[0], &gid, 0), ENOMEM);
	assert_int_equal(fake.joined, UROCE_MAX_MCAST_GROUPS);
	for (unsigned int i = 1; i < UROCE_MAX_MCAST_GROUPS; i++) {
		gid = nth_group(i);
		assert_int_equal(receivers(&gid, found), 1);
		assert_ptr_equal(found[0], uroce_qp_of(qps[i & 1]));
		assert_int_equal(uroce_detach_mcast(qps[i & 1], &gid, 0), 0);
	}
	for (unsigned int i = 0; i < RTE_DIM(qps); i++) {
		if (i < UROCE_MAX_MCAST_QPS)
			assert_int_equal(uroce_detach_mcast(qps[i], &group, 0), 0);
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	}
}

struct reader {
	struct uroce_qp *always;
	unsigned int stop;	/* atomic */
	unsigned int rounds;
	unsigned int missed;
};

static void *
look_up(void *arg)
{
	struct reader *r = arg;
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];

	uroce_rcu_register(0);
	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		unsigned int n, i;

		uroce_rcu_begin_read(0);
		n = receivers(&group, qps);
		for (i = 0; i < n && qps[i] != r->always; i++)
			;
		r->missed += i == n;
		uroce_rcu_end_read(0);
		__atomic_fetch_add(&r->rounds, 1, __ATOMIC_RELAXED);
	}
	uroce_rcu_unregister(0);
	return NULL;
}

/* Other QPs join and leave this group and a group in the same bucket; each look-up finds the QP that stays. */
static void
test_look_ups_while_groups_change(void **state)
{
	struct ibv_qp *stays = make_qp(IBV_QPT_UD), *moves = make_qp(IBV_QPT_UD);
	struct reader r = { .always = uroce_qp_of(stays) };
	pthread_t thread;

	(void)state;
	assert_int_equal(uroce_attach_mcast(stays, &group, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, look_up, &r), 0);
	while (__atomic_load_n(&r.rounds, __ATOMIC_RELAXED) < 1000) {
		assert_int_equal(uroce_attach_mcast(moves, &group, 0), 0);
		assert_int_equal(uroce_detach_mcast(moves, &group, 0), 0);
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(r.missed, 0);
	assert_int_equal(uroce_detach_mcast(stays, &group, 0), 0);
	assert_int_equal(uroce_destroy_qp(stays), 0);
	assert_int_equal(uroce_destroy_qp(moves), 0);
}

UROCE_TESTS(mcast)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_attach_and_detach, setup, teardown),
		cmocka_unit_test_setup_teardown(r49_attached_qps_are_not_destroyed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_limits, setup, teardown),
		cmocka_unit_test_setup_teardown(test_look_ups_while_groups_change, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
