/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames that a port sends by itself, and the time of its next upkeep; the test sets the time.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "eal.h"
#include "base/clock.h"
#include "groups.h"
#include "port/net/upkeep.h"
#include "tap.h"

#define PROBE "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000002 Z18"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

static void
test_when(void **state)
{
	static struct uroce_worker worker;
	struct uroce_port_queue queue = { .worker = &worker };
	struct uroce_port port = { .upkeep_ns = UINT64_MAX, .queues = &queue };

	uroce_port_upkeep_by(&port, 500);
	assert_int_equal(port.upkeep_ns, 500);
	uroce_port_upkeep_by(&port, 501); /* the earlier time counts */
	assert_int_equal(port.upkeep_ns, 500);
	uroce_port_upkeep_by(&port, UINT64_MAX);
	assert_int_equal(port.upkeep_ns, 500);
	uroce_port_upkeep_by(&port, 0);
	assert_int_equal(port.upkeep_ns, 0);
}

/* Nothing to do: no frame is sent, and the next time is the link's. */
static void
test_idle(void **state)
{
	uint64_t now_ns;
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(t.port->upkeep_ns, t.port->link_due_ns);
	uroce_port_upkeep_by(t.port, 0);
	now_ns = t.port->link_due_ns;
	tap_upkeep(&t, now_ns);
	assert_int_equal(t.port->upkeep_ns, now_ns + UROCE_LINK_POLL_NS);
	assert_int_equal(t.port->announce, 0);
	tap_expect_nothing(&t);
	tap_close(&t);
}

/* Each address is announced once; an address deleted before that is not announced. */
static void
test_announce(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_add_address(t.context, "10.1.0.1/16"), 0);
	assert_int_equal(uroce_add_address(t.context, "10.2.0.1/16"), 0);
	assert_int_equal(t.port->announce, 1 << 2 | 1 << 3);
	assert_int_equal(t.port->upkeep_ns, 0);
	assert_int_equal(uroce_del_address(t.context, "10.1.0.1/16"), 0);
	tap_upkeep(&t, uroce_clock_ns());
	assert_int_equal(t.port->announce, 0);
	tap_expect_text(&t, "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a020001 Z6 0a020001 Z18");
	tap_upkeep(&t, uroce_clock_ns());
	tap_expect_nothing(&t);
	assert_int_equal(tap_counter(&t, "probes_sent"), 0);
	tap_close(&t);
}

/* An unresolved address is probed a limited number of times, each when it is due; without an address of its own the
 * device cannot probe. */
static void
test_probe(void **state)
{
	struct uroce_neighbor *n;
	uint64_t now_ns;
	uint8_t gid[16];
	struct tap t;

	tap_open(&t, 0, cidrs);
	t.port->link_due_ns = UINT64_MAX; /* not part of this test */
	uroce_gid_parse(gid, "10.0.0.2");
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	assert_non_null(n);
	/* later than any poll, so that polls do nothing by themselves */
	now_ns = uroce_clock_ns() + UROCE_NEIGHBOR_AGE_NS * 60;
	for (unsigned int i = 1; i <= UROCE_NEIGHBOR_PROBES; i++) {
		tap_upkeep(&t, now_ns);
		assert_int_equal(tap_counter(&t, "probes_sent"), i);
		tap_expect_text(&t, PROBE);
		assert_true(t.port->upkeep_ns > now_ns);
		tap_upkeep(&t, t.port->upkeep_ns - 1); /* not due yet */
		assert_int_equal(tap_counter(&t, "probes_sent"), i);
		now_ns = t.port->upkeep_ns;
	}
	tap_upkeep(&t, now_ns);
	assert_int_equal(tap_counter(&t, "probes_sent"), UROCE_NEIGHBOR_PROBES);
	assert_int_equal(n->state, UROCE_NEIGHBOR_FAILED);
	uroce_neighbor_put(&t.port->neighbors, n, now_ns);

	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	tap_upkeep(&t, now_ns);
	assert_int_equal(tap_counter(&t, "probes_sent"), UROCE_NEIGHBOR_PROBES);
	tap_expect_nothing(&t);
	uroce_neighbor_put(&t.port->neighbors, n, now_ns);
	tap_close(&t);
}

UROCE_TESTS(port_upkeep)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_when),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_announce),
		cmocka_unit_test(test_probe),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
