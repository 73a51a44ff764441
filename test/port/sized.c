/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Structs of programs that are older and newer than the library: members that one side lacks are 0, and the library
 * accesses no byte beyond the program's struct. The public structs have no padding, since new members could not use it.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/sized.h"
#include "eal.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "uroce_netem.h"

#define BEYOND 0xee

/* A struct in three releases. The library is of the second. */
struct first {
	size_t size;
	uint64_t a;
};

struct second {
	size_t size;
	uint64_t a;
	uint64_t b;
};

struct third {
	size_t size;
	uint64_t a;
	uint64_t b;
	uint8_t c[16];
};

/* The struct of the program, and the bytes behind it. */
static union {
	size_t size;
	struct first first;
	struct second second;
	struct third third;
	uint8_t bytes[2 * UROCE_MAX_STRUCT_BYTES];
} program;

static void
prepare(size_t size)
{
	memset(&program, BEYOND, sizeof(program));
	program.size = size;
}

static void
expect_beyond(size_t from)
{
	for (size_t i = from; i < sizeof(program); i++)
		assert_int_equal(program.bytes[i], BEYOND);
}

static int
get(struct second *own)
{
	memset(own, BEYOND, sizeof(*own));
	return uroce_sized_get("second", own, sizeof(*own), sizeof(struct first), &program);
}

static int
put(void)
{
	const struct second own = { .size = sizeof(own), .a = 5, .b = 6 };

	return uroce_sized_put("second", &own, sizeof(own), sizeof(struct first), &program);
}

static void
test_get(void **state)
{
	struct second own;

	prepare(sizeof(struct first));
	program.first.a = 5;
	assert_int_equal(get(&own), 0);
	assert_true(own.size == sizeof(own) && own.a == 5 && own.b == 0);

	prepare(sizeof(struct second));
	program.second.a = 5;
	program.second.b = 6;
	assert_int_equal(get(&own), 0);
	assert_true(own.size == sizeof(own) && own.a == 5 && own.b == 6);

	prepare(sizeof(struct third));
	program.third = (struct third){ .size = sizeof(struct third), .a = 5, .b = 6 };
	assert_int_equal(get(&own), 0);
	assert_true(own.size == sizeof(own) && own.a == 5 && own.b == 6);
	assert_int_equal(program.size, sizeof(struct third));
}

/* A program that uses a member of the third release. */
static void
test_get_unknown(void **state)
{
	struct second own;

	for (unsigned int i = 0; i < sizeof(program.third.c); i++) {
		program.third = (struct third){ .size = sizeof(struct third) };
		program.third.c[i] = 1;
		assert_int_equal(get(&own), -E2BIG);
	}
}

static void
test_put(void **state)
{
	prepare(sizeof(struct first));
	assert_int_equal(put(), 0);
	assert_true(program.size == sizeof(struct first) && program.first.a == 5);
	expect_beyond(sizeof(struct first));

	prepare(sizeof(struct second));
	assert_int_equal(put(), 0);
	assert_true(program.size == sizeof(struct second) && program.second.a == 5 && program.second.b == 6);
	expect_beyond(sizeof(struct second));

	prepare(sizeof(struct third));
	assert_int_equal(put(), 0);
	assert_true(program.size == sizeof(struct third) && program.third.a == 5 && program.third.b == 6);
	for (unsigned int i = 0; i < sizeof(program.third.c); i++)
		assert_int_equal(program.third.c[i], 0);
	expect_beyond(sizeof(struct third));
}

static void
test_sizes(void **state)
{
	static const struct {
		size_t size;
		int error;
	} cases[] = {
		{ 0, EINVAL },
		{ sizeof(size_t), EINVAL },
		{ sizeof(struct first) - 1, EINVAL },
		{ UROCE_MAX_STRUCT_BYTES, 0 },
		{ UROCE_MAX_STRUCT_BYTES + 1, E2BIG },
		{ SIZE_MAX, E2BIG },
	};
	struct second own;

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		prepare(cases[i].size);
		assert_int_equal(put(), -cases[i].error);
		expect_beyond(cases[i].error == 0 ? cases[i].size : sizeof(size_t));
		memset(&program, 0, sizeof(program));
		program.size = cases[i].size;
		assert_int_equal(get(&own), -cases[i].error);
	}
}

#define BYTES(type, member) sizeof(((struct type *)0)->member)

static void
test_no_padding(void **state)
{
	assert_int_equal(sizeof(struct uroce_port_conf),
			 BYTES(uroce_port_conf, size) + BYTES(uroce_port_conf, name) +
				 BYTES(uroce_port_conf, congestion) + BYTES(uroce_port_conf, log2_max_qp) +
				 BYTES(uroce_port_conf, log2_max_mr) + BYTES(uroce_port_conf, vlan) +
				 BYTES(uroce_port_conf, nb_rx_desc) + BYTES(uroce_port_conf, nb_tx_desc) +
				 BYTES(uroce_port_conf, mtu) + BYTES(uroce_port_conf, go_back_n) +
				 BYTES(uroce_port_conf, poll_progress) + BYTES(uroce_port_conf, no_owner) +
				 BYTES(uroce_port_conf, no_loopback) + BYTES(uroce_port_conf, reserved) +
				 BYTES(uroce_port_conf, max_neighbors) + BYTES(uroce_port_conf, rx_mbufs) +
				 BYTES(uroce_port_conf, log2_window) + BYTES(uroce_port_conf, max_cq) +
				 BYTES(uroce_port_conf, share_memory) + BYTES(uroce_port_conf, reserved_end));
	assert_int_equal(sizeof(struct uroce_congestion),
			 sizeof(size_t) + 4 * sizeof(uint8_t) + 2 * sizeof(uint16_t) + 10 * sizeof(uint32_t));
	assert_int_equal(sizeof(struct uroce_worker_conf), sizeof(size_t) + sizeof(int) + 9 * sizeof(uint32_t));
	assert_int_equal(sizeof(struct uroce_worker_load), sizeof(size_t) + 6 * sizeof(uint64_t));
	assert_int_equal(sizeof(struct uroce_netem_stats), sizeof(size_t) + 8 * sizeof(uint64_t));
	assert_int_equal(sizeof(struct uroce_counter), sizeof(char *) + sizeof(uint64_t));
}

UROCE_TESTS(port_sized)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),   cmocka_unit_test(test_get_unknown), cmocka_unit_test(test_put),
		cmocka_unit_test(test_sizes), cmocka_unit_test(test_no_padding),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
