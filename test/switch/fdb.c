/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The switch's forwarding table: the last port of each station, in each VLAN, until the station is silent for too long
 * or its link goes down; and the limit of its size.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "fdb.h"
#include "groups.h"
#include "uroce_config.h"

static struct switch_station
station(uint32_t number, uint16_t vlan)
{
	return (struct switch_station){
		.mac = { { 2, 0, number >> 24, number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff } },
		.vlan = rte_cpu_to_be_16(vlan),
	};
}

static void
expect(const struct switch_fdb *fdb, uint32_t number, uint16_t vlan, int port)
{
	struct switch_station s = station(number, vlan);

	assert_int_equal(uroce_switch_fdb_find(fdb, &s), port);
}

static void
learn(struct switch_fdb *fdb, uint32_t number, uint16_t vlan, uint16_t port, uint64_t now_ns)
{
	struct switch_station s = station(number, vlan);

	uroce_switch_fdb_learn(fdb, &s, port, now_ns);
}

static void
test_learn(void **state)
{
	struct switch_fdb fdb;

	assert_int_equal(uroce_switch_fdb_init(&fdb), 0);
	expect(&fdb, 1, 0, -1);
	learn(&fdb, 1, 0, 3, 1);
	learn(&fdb, 1, 7, 4, 1);
	learn(&fdb, 2, 0, 0, 1);
	expect(&fdb, 1, 0, 3);
	expect(&fdb, 1, 7, 4);
	expect(&fdb, 1, 8, -1);
	expect(&fdb, 2, 0, 0);
	learn(&fdb, 1, 0, 3, 2); /* no new entry */
	assert_int_equal(fdb.stations[3], 1);
	learn(&fdb, 1, 0, 5, 2); /* the station moved */
	expect(&fdb, 1, 0, 5);
	assert_int_equal(fdb.stations[3], 0);
	assert_int_equal(fdb.stations[5], 1);
	uroce_switch_fdb_forget(&fdb, 5, NULL, NULL);
	assert_int_equal(fdb.stations[5], 0);
	expect(&fdb, 1, 0, -1);
	expect(&fdb, 1, 7, 4);
	expect(&fdb, 2, 0, 0);
	uroce_switch_fdb_forget(&fdb, 0, NULL, NULL);
	expect(&fdb, 1, 7, 4);
	expect(&fdb, 2, 0, -1);
	uroce_switch_fdb_fini(&fdb);
}

/* An error from EAL is returned: a table of this name exists. */
static void
test_refused(void **state)
{
	struct switch_fdb fdb, other;

	assert_int_equal(uroce_switch_fdb_init(&fdb), 0);
	assert_int_equal(uroce_switch_fdb_init(&other), -EEXIST);
	uroce_switch_fdb_fini(&fdb);
}

static void
test_age(void **state)
{
	struct switch_fdb fdb;
	uint64_t now_ns = 5;

	assert_int_equal(uroce_switch_fdb_init(&fdb), 0);
	learn(&fdb, 1, 0, 1, now_ns);
	learn(&fdb, 2, 0, 2, now_ns);
	uroce_switch_fdb_age(&fdb, now_ns + UROCE_SWITCH_AGE_NS / 2);
	learn(&fdb, 2, 0, 2, now_ns + UROCE_SWITCH_AGE_NS / 2);
	uroce_switch_fdb_age(&fdb, now_ns + UROCE_SWITCH_AGE_NS);
	expect(&fdb, 1, 0, 1);
	uroce_switch_fdb_age(&fdb, now_ns + UROCE_SWITCH_AGE_NS * 5 / 4);
	expect(&fdb, 1, 0, -1);
	expect(&fdb, 2, 0, 2);
	assert_int_equal(fdb.stations[1], 0);
	uroce_switch_fdb_fini(&fdb);
}

/* The scan for old entries runs only now and then. */
static void
test_seldom(void **state)
{
	const uint64_t pause_ns = UROCE_SWITCH_AGE_NS / 16;
	struct switch_fdb fdb;

	assert_int_equal(uroce_switch_fdb_init(&fdb), 0);
	learn(&fdb, 1, 0, 1, 0);
	uroce_switch_fdb_age(&fdb, UROCE_SWITCH_AGE_NS);
	uroce_switch_fdb_age(&fdb, UROCE_SWITCH_AGE_NS + pause_ns - 1);
	expect(&fdb, 1, 0, 1);
	uroce_switch_fdb_age(&fdb, UROCE_SWITCH_AGE_NS + pause_ns);
	expect(&fdb, 1, 0, -1);
	uroce_switch_fdb_fini(&fdb);
}

/* A client that invents addresses fills the table; known stations stay, and frames to unknown ones are flooded. */
static void
test_full(void **state)
{
	struct switch_fdb fdb;
	uint32_t known = 0;

	assert_int_equal(uroce_switch_fdb_init(&fdb), 0);
	learn(&fdb, UINT32_MAX, 0, 9, 1);
	for (uint32_t i = 0; i < 3 * UROCE_SWITCH_STATIONS; i++)
		learn(&fdb, i, 0, 1, 1);
	for (uint32_t i = 0; i < 3 * UROCE_SWITCH_STATIONS; i++) {
		struct switch_station s = station(i, 0);

		known += uroce_switch_fdb_find(&fdb, &s) == 1;
	}
	assert_uint_in_range(known, UROCE_SWITCH_STATIONS / 2, 2 * UROCE_SWITCH_STATIONS);
	assert_int_equal(known + fdb.unlearned, 3 * UROCE_SWITCH_STATIONS);
	expect(&fdb, UINT32_MAX, 0, 9);
	uroce_switch_fdb_forget(&fdb, 1, NULL, NULL);
	learn(&fdb, 1u << 30, 0, 2, 2);
	expect(&fdb, 1u << 30, 0, 2);
	uroce_switch_fdb_fini(&fdb);
}

static void
note(void *arg, const struct switch_station *s, uint16_t before)
{
	unsigned int *noted = arg;

	assert_int_equal(before, s->mac.addr_bytes[5] == 2 ? 4 : 3);

	assert_uint_in_range(s->mac.addr_bytes[5], 1, 3);
	noted[s->mac.addr_bytes[5]]++;
}

/* The callback gets each forgotten station, and its port before the last. */
static void
test_told(void **state)
{
	unsigned int noted[4] = { 0 };
	struct switch_fdb fdb;

	assert_int_equal(uroce_switch_fdb_init(&fdb), 0);
	learn(&fdb, 1, 0, 3, 1);
	learn(&fdb, 1, 7, 3, 1);
	learn(&fdb, 2, 0, 4, 1);
	learn(&fdb, 2, 0, 3, 1);
	learn(&fdb, 2, 0, 3, 1);	/* not moved */
	learn(&fdb, 3, 0, 4, 1);
	uroce_switch_fdb_forget(&fdb, 3, note, noted);
	assert_int_equal(noted[1], 2);
	assert_int_equal(noted[2], 1);
	assert_int_equal(noted[3], 0);
	uroce_switch_fdb_forget(&fdb, 3, note, noted);
	assert_int_equal(noted[1] + noted[2] + noted[3], 3);
	expect(&fdb, 3, 0, 4);
	uroce_switch_fdb_fini(&fdb);
}

UROCE_TESTS(switch_fdb)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learn),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_seldom),
		cmocka_unit_test(test_full),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
