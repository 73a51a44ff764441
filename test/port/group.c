/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Multicast groups and their reports, with a clock that the test sets: joining, leaving, queries of each version, and
 * queriers whose version changes.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "base/random.h"
#include "cmocka_compat.h"
#include "groups.h"
#include "port/net/group.h"

#define S  1000000000ull
#define MS 1000000ull

static struct uroce_groups groups;
static struct uroce_group_report report;

static int
setup(void **state)
{
	uroce_random_seed(1);
	uroce_groups_init(&groups);
	return 0;
}

/* 239.1.0.n */
static const uint8_t *
v4(unsigned int n)
{
	static uint8_t gid[16] = { [10] = 0xff, 0xff, 239, 1 };

	gid[14] = (uint8_t)(n >> 8);
	gid[15] = (uint8_t)n;
	return gid;
}

/* ff15::n */
static const uint8_t *
v6(unsigned int n)
{
	static uint8_t gid[16] = { 0xff, 0x15 };

	gid[14] = (uint8_t)(n >> 8);
	gid[15] = (uint8_t)n;
	return gid;
}

/* Exactly one report of one group. @return when the next may follow */
static uint64_t
expect_one(uint64_t now, const uint8_t *gid, enum uroce_group_record_type type,
	   enum uroce_group_version version)
{
	uint64_t next;

	assert_true(uroce_groups_due(&groups, now, &report, &next));
	assert_int_equal(report.family, gid[0] == 0xff ? UROCE_GROUP_IPV6 : UROCE_GROUP_IPV4);
	assert_int_equal(report.version, version);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.records[0].type, type);
	assert_memory_equal(report.records[0].gid, gid, 16);
	assert_false(uroce_groups_due(&groups, now, &report, &next));
	return next;
}

static uint64_t
expect_none(uint64_t now)
{
	uint64_t next;

	assert_false(uroce_groups_due(&groups, now, &report, &next));
	assert_true(next > now);
	return next;
}

static uint64_t
query(enum uroce_group_family family, enum uroce_group_version version, const uint8_t *gid,
      uint64_t max_delay_ns, uint64_t now)
{
	struct uroce_group_query q = {
		.family = family,
		.version = version,
		.general = gid == NULL,
		.max_delay_ns = max_delay_ns,
	};

	if (gid != NULL)
		memcpy(q.gid, gid, sizeof(q.gid));
	return uroce_groups_query(&groups, &q, now);
}

/* The change is reported twice, and no more. */
static void
expect_change(uint64_t now, const uint8_t *gid, enum uroce_group_record_type type)
{
	uint64_t next = expect_one(now, gid, type, UROCE_GROUP_V3);

	assert_uint_in_range(next, now + 1, now + UROCE_GROUP_REPEAT_NS);
	assert_int_equal(expect_none(next - 1), next);
	assert_int_equal(expect_one(next, gid, type, UROCE_GROUP_V3), UINT64_MAX);
}

static void
test_join_and_leave(void **state)
{
	const uint8_t *const gids[] = { v4(1), v6(1) };

	for (unsigned int i = 0; i < RTE_DIM(gids); i++) {
		assert_int_equal(uroce_groups_join(&groups, gids[i]), 1);
		expect_change(S, gids[i], UROCE_GROUP_JOIN);
		/* two references: reported once */
		assert_int_equal(uroce_groups_join(&groups, gids[i]), 0);
		assert_int_equal(expect_none(5 * S), UINT64_MAX);
		assert_false(uroce_groups_leave(&groups, gids[i]));
		assert_int_equal(expect_none(5 * S), UINT64_MAX);
		assert_false(uroce_groups_leaving(&groups));
		assert_true(uroce_groups_leave(&groups, gids[i]));
		assert_true(uroce_groups_leaving(&groups));
		expect_change(6 * S, gids[i], UROCE_GROUP_LEAVE);
		assert_false(uroce_groups_leaving(&groups));
	}
}

/* After two changes, only the last state is reported. */
static void
test_rejoin(void **state)
{
	assert_int_equal(uroce_groups_join(&groups, v4(1)), 1);
	expect_one(S, v4(1), UROCE_GROUP_JOIN, UROCE_GROUP_V3);
	assert_true(uroce_groups_leave(&groups, v4(1)));
	expect_one(S, v4(1), UROCE_GROUP_LEAVE, UROCE_GROUP_V3);
	assert_int_equal(uroce_groups_join(&groups, v4(1)), 1);
	expect_change(S, v4(1), UROCE_GROUP_JOIN);
}

/* All hosts are members of these groups: they are not reported. */
static void
test_not_reported(void **state)
{
	static const uint8_t gids[][16] = {
		{ [10] = 0xff, 0xff, 224, 0, 0, 1 },
		{ 0xff, 0x02, [15] = 1 },
		{ 0xff, 0x11, [15] = 7 },
		{ 0xff, 0x00, [15] = 7 },
	};

	for (unsigned int i = 0; i < RTE_DIM(gids); i++) {
		assert_int_equal(uroce_groups_join(&groups, gids[i]), 1);
		assert_int_equal(expect_none(S), UINT64_MAX);
	}
	query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, S, S);
	query(UROCE_GROUP_IPV6, UROCE_GROUP_V3, NULL, S, S);
	assert_int_equal(query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, gids[0], S, S), UINT64_MAX);
	assert_int_equal(expect_none(3 * S), UINT64_MAX);
	for (unsigned int i = 0; i < RTE_DIM(gids); i++)
		assert_true(uroce_groups_leave(&groups, gids[i]));
	assert_false(uroce_groups_leaving(&groups));
}

static void
test_full(void **state)
{
	for (unsigned int i = 0; i < UROCE_MAX_MCAST_GROUPS; i++)
		assert_int_equal(uroce_groups_join(&groups, v4(i)), 1);
	assert_int_equal(uroce_groups_join(&groups, v4(UROCE_MAX_MCAST_GROUPS)), -ENOSPC);
	assert_int_equal(uroce_groups_join(&groups, v4(3)), 0);
	assert_false(uroce_groups_leave(&groups, v4(3)));
	/* a group that was left makes room, even before it is reported */
	assert_true(uroce_groups_leave(&groups, v4(3)));
	assert_int_equal(uroce_groups_join(&groups, v4(UROCE_MAX_MCAST_GROUPS)), 1);
	assert_false(uroce_groups_leaving(&groups));
}

/* Drain the reports of joining. */
static void
settle(uint64_t now)
{
	uint64_t next;

	for (unsigned int i = 0; i < 100; i++)
		uroce_groups_due(&groups, now + i * S, &report, &next);
	assert_false(uroce_groups_due(&groups, now, &report, &next));
	assert_int_equal(next, UINT64_MAX);
}

/* A reply for many groups takes several messages, with each group once. */
static void
test_general_query(void **state)
{
	unsigned int seen[UROCE_MAX_MCAST_GROUPS] = { 0 };
	uint64_t now = 1000 * S, due, next;
	unsigned int messages = 0;

	for (unsigned int i = 0; i < UROCE_MAX_MCAST_GROUPS; i++)
		assert_int_equal(uroce_groups_join(&groups, i % 2 == 0 ? v4(i) : v6(i)), 1);
	settle(0);
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, 10 * S, now);
	assert_uint_in_range(due, now + 1, now + 10 * S);
	assert_int_equal(expect_none(due - 1), due);
	/* a second query does not delay the reply, and a query for one group adds no second report */
	assert_true(query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, 10 * S, now) <= due);
	while (uroce_groups_due(&groups, due, &report, &next)) {
		assert_int_equal(report.family, UROCE_GROUP_IPV4);
		assert_true(report.count <= UROCE_GROUP_RECORDS);
		for (unsigned int i = 0; i < report.count; i++) {
			assert_int_equal(report.records[i].type, UROCE_GROUP_IS);
			seen[report.records[i].gid[14] << 8 | report.records[i].gid[15]]++;
		}
		messages++;
	}
	assert_int_equal(messages, (UROCE_MAX_MCAST_GROUPS / 2 + UROCE_GROUP_RECORDS - 1) /
					   UROCE_GROUP_RECORDS);
	for (unsigned int i = 0; i < UROCE_MAX_MCAST_GROUPS; i++)
		assert_int_equal(seen[i], i % 2 == 0);
	assert_int_equal(next, UINT64_MAX);
}

static void
test_query_for_a_group(void **state)
{
	uint64_t due;

	uroce_groups_join(&groups, v6(1));
	uroce_groups_join(&groups, v6(2));
	settle(0);
	assert_int_equal(query(UROCE_GROUP_IPV6, UROCE_GROUP_V3, v6(3), S, S), UINT64_MAX);
	due = query(UROCE_GROUP_IPV6, UROCE_GROUP_V3, v6(2), S, S);
	assert_uint_in_range(due, S + 1, 2 * S);
	assert_int_equal(expect_none(due - 1), due);
	assert_int_equal(expect_one(due, v6(2), UROCE_GROUP_IS, UROCE_GROUP_V3), UINT64_MAX);
	/* left in the meantime: only the leave is reported */
	query(UROCE_GROUP_IPV6, UROCE_GROUP_V3, v6(2), S, 10 * S);
	assert_true(uroce_groups_leave(&groups, v6(2)));
	expect_change(20 * S, v6(2), UROCE_GROUP_LEAVE);
}

/* A flood of queries that ask for immediate replies gets few replies. */
static void
test_flood(void **state)
{
	unsigned int answers = 0;
	uint64_t next;

	uroce_groups_join(&groups, v4(1));
	settle(0);
	for (uint64_t now = 1000 * S; now < 1001 * S; now += 10000) {
		query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, 0, now);
		answers += uroce_groups_due(&groups, now, &report, &next);
	}
	assert_uint_in_range(answers, S / UROCE_GROUP_MIN_DELAY_NS, 5000); /* for 100,000 queries */
}

static void
test_robustness(void **state)
{
	struct uroce_group_query q = {
		.family = UROCE_GROUP_IPV4,
		.version = UROCE_GROUP_V3,
		.general = true,
		.max_delay_ns = S,
		.robustness = 5,
	};
	uint64_t next = S;

	uroce_groups_query(&groups, &q, S);
	expect_none(3 * S); /* no group to report, and the query has expired */
	uroce_groups_join(&groups, v4(1));
	for (unsigned int i = 0; i < 5; i++)
		next = expect_one(RTE_MAX(next, 3 * S), v4(1), UROCE_GROUP_JOIN, UROCE_GROUP_V3);
	assert_int_equal(next, UINT64_MAX);
}

/* With an IGMPv2 or MLDv1 querier, reports have its version, until it has been silent for long. */
static void
test_old_querier(void **state)
{
	uint64_t due, gone;

	uroce_groups_join(&groups, v4(1));
	uroce_groups_join(&groups, v6(1));
	settle(0);
	/* each group of the family has a delay of its own */
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V2, NULL, 10 * S, 100 * S);
	gone = 100 * S + UROCE_GROUP_OLD_QUERIER_NS;
	expect_one(due, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V2);
	uroce_groups_join(&groups, v4(2));
	due = expect_one(120 * S, v4(2), UROCE_GROUP_JOIN, UROCE_GROUP_V2);
	assert_uint_in_range(due, 120 * S + 1, 120 * S + UROCE_GROUP_OLD_REPEAT_NS);
	assert_true(uroce_groups_leave(&groups, v4(2)));
	assert_int_equal(expect_one(120 * S, v4(2), UROCE_GROUP_LEAVE, UROCE_GROUP_V2), UINT64_MAX);
	/* the other family is not affected */
	due = query(UROCE_GROUP_IPV6, UROCE_GROUP_V3, NULL, S, 130 * S);
	expect_one(due, v6(1), UROCE_GROUP_IS, UROCE_GROUP_V3);
	/* a version 3 query meanwhile is answered in version 2 */
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, S, 140 * S);
	expect_one(due, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V2);
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, S, gone);
	expect_one(due, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V3);
}

static void
test_oldest_querier(void **state)
{
	uint64_t due;

	uroce_groups_join(&groups, v4(1));
	settle(0);
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V1, NULL, 10 * S, S);
	expect_one(due, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V1);
	/* a version 2 query meanwhile changes nothing */
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V2, v4(1), S, 20 * S);
	expect_one(due, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V1);
	/* version 1 has no leave message */
	assert_true(uroce_groups_leave(&groups, v4(1)));
	assert_false(uroce_groups_leaving(&groups));
	assert_int_equal(expect_none(30 * S), UINT64_MAX);
	/* after the version 1 querier, the version 2 querier counts */
	uroce_groups_join(&groups, v4(1));
	due = expect_one(2 * S + UROCE_GROUP_OLD_QUERIER_NS, v4(1), UROCE_GROUP_JOIN,
			 UROCE_GROUP_V2);
}

/* A change of the version discards pending reports. */
static void
test_version_changes(void **state)
{
	uint64_t due;

	uroce_groups_join(&groups, v4(1));
	uroce_groups_join(&groups, v4(2));
	settle(0);
	assert_true(uroce_groups_leave(&groups, v4(2)));
	query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, NULL, 10 * S, S);
	query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, v4(1), 10 * S, S);
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V2, v4(9), 10 * S, S);
	assert_int_equal(due, UINT64_MAX);
	assert_false(uroce_groups_leaving(&groups));
	assert_int_equal(expect_none(20 * S), UINT64_MAX);
}

/* In version 2, a report of another member replaces the device's own. */
static void
test_heard(void **state)
{
	uint64_t due;

	uroce_groups_join(&groups, v4(1));
	settle(0);
	query(UROCE_GROUP_IPV4, UROCE_GROUP_V3, v4(1), S, S);
	uroce_groups_heard(&groups, v4(1), S);
	expect_one(2 * S, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V3);
	query(UROCE_GROUP_IPV4, UROCE_GROUP_V2, v4(1), S, 10 * S);
	uroce_groups_heard(&groups, v4(2), 10 * S); /* not a group of the device */
	uroce_groups_heard(&groups, v4(1), 10 * S);
	assert_int_equal(expect_none(11 * S), UINT64_MAX);
	due = query(UROCE_GROUP_IPV4, UROCE_GROUP_V2, v4(1), S, 20 * S);
	expect_one(due, v4(1), UROCE_GROUP_IS, UROCE_GROUP_V2);
}

static void
test_renew(void **state)
{
	uroce_groups_join(&groups, v4(1));
	settle(0);
	uroce_groups_renew(&groups);
	expect_change(200 * S, v4(1), UROCE_GROUP_JOIN);
}

#define TEST(name) cmocka_unit_test_setup(test_##name, setup)

UROCE_TESTS(port_group)
{
	const struct CMUnitTest tests[] = {
		TEST(join_and_leave), TEST(rejoin),          TEST(not_reported),
		TEST(full),           TEST(general_query),   TEST(query_for_a_group),
		TEST(flood),          TEST(robustness),      TEST(old_querier),
		TEST(oldest_querier), TEST(version_changes), TEST(heard),
		TEST(renew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
