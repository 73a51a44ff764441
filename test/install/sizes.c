/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A program that uses each public struct with a size. It is compiled twice: with the headers of this release, for a
 * library of a later one, and with the headers of a later release (UROCE_TEST_LATER), for the library of this one.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "uroce.h"
#include "uroce_netem.h"

#include "eal.h"
#include "port/rings.h"

#define BEYOND 0xee

static struct test_rings rings;
static struct uroce_worker *worker;
static struct ibv_context *context;

/* A struct of the program, and the bytes behind it. */
#define WITH_BEYOND(type)           \
	struct {                    \
		struct type own;    \
		uint8_t beyond[64]; \
	}

static void
expect_beyond(const uint8_t *beyond)
{
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(beyond[i], BEYOND);
}

#ifdef UROCE_TEST_LATER
#define EXPECT_LATER_IS_0(own) assert_int_equal((own).later, 0)
#else
#define EXPECT_LATER_IS_0(own)
#endif

static int
open_port(const struct uroce_port_conf *conf)
{
	errno = 0;
	context = uroce_open_port(rings.port_id, conf, &worker, 1);
	return errno;
}

static void
test_open(void **state)
{
	const struct uroce_congestion congestion = { .size = sizeof(congestion), .rpg_ai_rate = 7 };
	WITH_BEYOND(uroce_port_conf) conf;
	struct uroce_congestion got = { .size = sizeof(got) };

	memset(&conf, BEYOND, sizeof(conf));
	conf.own = (struct uroce_port_conf){ .size = sizeof(conf.own), .congestion = &congestion, .mtu = 1500 };
	assert_int_equal(open_port(&conf.own), 0);
	assert_non_null(context);
	assert_int_equal(uroce_get_congestion(context, &got), 0);
	assert_int_equal(got.rpg_ai_rate, 7);
	assert_int_equal(uroce_close_device(context), 0);
	conf.own.reserved[3] = 1;
	assert_int_equal(open_port(&conf.own), EINVAL);
	conf.own.reserved[3] = 0;
	conf.own.reserved_end[6] = 1;
	assert_int_equal(open_port(&conf.own), EINVAL);
}

static void
test_open_refused(void **state)
{
	struct uroce_port_conf conf = { .size = 0 };

	assert_int_equal(open_port(&conf), EINVAL);
	conf.size = offsetof(struct uroce_port_conf, reserved);
	assert_int_equal(open_port(&conf), EINVAL);
	conf.size = SIZE_MAX;
	assert_int_equal(open_port(&conf), E2BIG);
#ifdef UROCE_TEST_LATER
	conf = (struct uroce_port_conf){ .size = sizeof(conf), .later = 1 };
	assert_int_equal(open_port(&conf), E2BIG);
#endif
}

static void
test_congestion(void **state)
{
	WITH_BEYOND(uroce_congestion) set, got;

	assert_int_equal(open_port(NULL), 0);
	memset(&set, BEYOND, sizeof(set));
	memset(&got, BEYOND, sizeof(got));
	set.own = (struct uroce_congestion){ .size = sizeof(set.own), .dce_tcp_rtt = 44 };
	assert_int_equal(uroce_set_congestion(context, &set.own), 0);
	got.own.size = sizeof(got.own);
	assert_int_equal(uroce_get_congestion(context, &got.own), 0);
	assert_int_equal(got.own.size, sizeof(got.own));
	assert_int_equal(got.own.dce_tcp_rtt, 44);
	EXPECT_LATER_IS_0(got.own);
	expect_beyond(got.beyond);
	assert_int_equal(uroce_set_congestion(context, &got.own), 0); /* the result of a query can be set */
#ifdef UROCE_TEST_LATER
	set.own.later = UINT64_C(1) << 63;
	assert_int_equal(uroce_set_congestion(context, &set.own), E2BIG);
#endif
	set.own.size = 0;
	assert_int_equal(uroce_set_congestion(context, &set.own), EINVAL);
	got.own.size = offsetof(struct uroce_congestion, dce_tcp_rtt);
	assert_int_equal(uroce_get_congestion(context, &got.own), EINVAL);
	assert_int_equal(uroce_close_device(context), 0);
}

static void
test_worker(void **state)
{
	WITH_BEYOND(uroce_worker_conf) conf;
	struct uroce_worker *second;

	memset(&conf, BEYOND, sizeof(conf));
	conf.own = (struct uroce_worker_conf){ .size = sizeof(conf.own), .numa_node = -1, .header_mbufs = 511 };
	second = uroce_create_worker_ex(&conf.own);
	assert_non_null(second);
	assert_int_equal(uroce_destroy_worker(second), 0);
#ifdef UROCE_TEST_LATER
	conf.own.later = 1;
	errno = 0;
	assert_null(uroce_create_worker_ex(&conf.own));
	assert_int_equal(errno, E2BIG);
#endif
	conf.own.size = offsetof(struct uroce_worker_conf, path_mtu);
	errno = 0;
	assert_null(uroce_create_worker_ex(&conf.own));
	assert_int_equal(errno, EINVAL);
}

static void
test_load(void **state)
{
	WITH_BEYOND(uroce_worker_load) load;

	memset(&load, BEYOND, sizeof(load));
	load.own.size = sizeof(load.own);
	assert_int_equal(uroce_query_worker(worker, &load.own), 0);
	assert_int_equal(load.own.size, sizeof(load.own));
	assert_int_equal(load.own.busy_rounds, 0); /* no frame has arrived */
	EXPECT_LATER_IS_0(load.own);
	expect_beyond(load.beyond);
	/* a program of release 1.0 */
	memset(&load, BEYOND, sizeof(load));
	load.own.size = offsetof(struct uroce_worker_load, late_rounds);
	assert_int_equal(uroce_query_worker(worker, &load.own), 0);
	assert_int_equal(load.own.busy_rounds, 0);
	assert_int_equal(load.own.late_rounds, UINT64_C(0xeeeeeeeeeeeeeeee));
	load.own.size = offsetof(struct uroce_worker_load, busy_rounds);
	assert_int_equal(uroce_query_worker(worker, &load.own), EINVAL);
}

static void
test_netem(void **state)
{
	WITH_BEYOND(uroce_netem_stats) stats;
	struct uroce_netem *netem;

	assert_int_equal(open_port(NULL), 0);
	netem = uroce_netem_attach(rings.port_id, "loss=0.5");
	assert_non_null(netem);
	memset(&stats, BEYOND, sizeof(stats));
	stats.own.size = sizeof(stats.own);
	assert_int_equal(uroce_netem_stats(netem, &stats.own), 0);
	assert_int_equal(stats.own.size, sizeof(stats.own));
	assert_int_equal(stats.own.overflow, 0);
	EXPECT_LATER_IS_0(stats.own);
	expect_beyond(stats.beyond);
	stats.own.size = offsetof(struct uroce_netem_stats, overflow);
	assert_int_equal(uroce_netem_stats(netem, &stats.own), EINVAL);
	uroce_netem_detach(netem);
	assert_int_equal(uroce_close_device(context), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open), cmocka_unit_test(test_open_refused), cmocka_unit_test(test_congestion),
		cmocka_unit_test(test_worker), cmocka_unit_test(test_load), cmocka_unit_test(test_netem),
	};
	int failed;

	test_eal_init(NULL);
	test_rings_create(&rings, 1);
	worker = uroce_create_worker(-1);
	if (worker == NULL)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	uroce_destroy_worker(worker);
	test_rings_destroy(&rings);
	return failed;
}
