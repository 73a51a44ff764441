/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The GID table: the entry that an address gets, references that keep it, and the workers' view of it.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "port/net/gid.h"
#include "port/path.h"
#include "tap.h"

static const char *const none[] = { NULL };
static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", "10.0.1.1/16", NULL };

/* Entry `index`, in the table and in verbs. NULL: it must be empty. */
static void
expect(struct tap *t, unsigned int index, const char *address)
{
	union ibv_gid gid;
	char text[64];

	assert_int_equal(t->port->gids[index].used, address != NULL);
	if (address == NULL)
		return;
	assert_int_equal(uroce_query_gid(t->context, 1, (int)index, &gid), 0);
	assert_string_equal(uroce_gid_format(gid.raw, text, sizeof(text)), address);
}

/* The workers' view is the table without its empty entries. */
static void
expect_published(const struct tap *t)
{
	const struct uroce_addresses *a = t->port->addresses;
	unsigned int n = 0;

	assert_ptr_equal(a, t->port->published);
	for (unsigned int i = 0; i < UROCE_MAX_GID; i++) {
		const struct uroce_gid *g = &t->port->gids[i];

		if (!g->used)
			continue;
		assert_true(n < a->count);
		assert_int_equal(a->slots[n], i);
		assert_memory_equal(a->subnets[n].gid, g->subnet.gid, 16);
		assert_int_equal(a->subnets[n].prefix_bits, g->subnet.prefix_bits);
		assert_true(uroce_addresses_have(a, g->subnet.gid));
		n++;
	}
	assert_int_equal(a->count, n);
	assert_int_equal(a->ipv4_count + a->ipv6_count, n);
}

static void
test_link_local_first(void **state)
{
	uint8_t gid[16];
	struct tap t;

	tap_open(&t, 0, none);
	uroce_gid_link_local(gid, &t.port->mac);
	assert_true(t.port->gids[0].used);
	assert_memory_equal(t.port->gids[0].subnet.gid, gid, sizeof(gid));
	assert_int_equal(t.port->gids[0].subnet.prefix_bits, 64);
	expect(&t, 1, NULL);
	assert_int_equal(t.port->published->count, 1);
	expect_published(&t);
	tap_close(&t);
}

static void
test_order(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	expect(&t, 1, "10.0.0.1");
	expect(&t, 2, "fd00::1");
	expect(&t, 3, "10.0.1.1");
	expect(&t, 4, NULL);
	assert_int_equal(t.port->published->ipv4_count, 2);
	expect_published(&t);
	/* other entries keep their index, which QPs know; the empty entry is filled first */
	assert_int_equal(uroce_del_address(t.context, "fd00::1/64"), 0);
	expect(&t, 2, NULL);
	expect(&t, 3, "10.0.1.1");
	expect_published(&t);
	assert_int_equal(uroce_add_address(t.context, "10.0.2.1/24"), 0);
	expect(&t, 2, "10.0.2.1");
	expect_published(&t);
	/* it is to be announced on the link */
	assert_true((t.port->announce & 1 << 2) != 0);
	tap_close(&t);
}

static void
test_errors(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_add_address(t.context, NULL), EINVAL);
	assert_int_equal(uroce_add_address(t.context, "10.0.0.9"), EINVAL);
	assert_int_equal(uroce_add_address(t.context, "224.0.0.1/24"), EINVAL);
	assert_int_equal(uroce_add_address(t.context, "10.0.0.1/24"), EEXIST);
	assert_int_equal(uroce_add_address(t.context, "fd00::1/48"), EEXIST);
	assert_int_equal(uroce_del_address(t.context, NULL), EINVAL);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/25"), ENOENT);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.9/24"), ENOENT);
	expect(&t, 1, "10.0.0.1");
	expect(&t, 4, NULL);
	expect_published(&t);
	tap_close(&t);
}

static void
test_full(void **state)
{
	char cidr[32];
	struct tap t;

	tap_open(&t, 0, none);
	for (unsigned int i = 1; i < UROCE_MAX_GID; i++) {
		snprintf(cidr, sizeof(cidr), "10.0.0.%u/24", i);
		assert_int_equal(uroce_add_address(t.context, cidr), 0);
	}
	expect_published(&t);
	assert_int_equal(uroce_add_address(t.context, "10.1.0.1/24"), ENOSPC);
	assert_int_equal(uroce_add_address(t.context, "10.0.0.5/24"), EEXIST);
	assert_int_equal(uroce_del_address(t.context, "10.0.0.5/24"), 0);
	assert_int_equal(uroce_add_address(t.context, "10.1.0.1/24"), 0);
	expect(&t, 5, "10.1.0.1");
	expect_published(&t);
	tap_close(&t);
}

static void
test_in_use(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh.sgid_index = 1 };
	struct uroce_path paths[2];
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_gid_parse(attr.grh.dgid.raw, "10.0.0.2"), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_port_path_init(&t.port->dev, &attr, 2, &paths[i]), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), EBUSY);
		expect(&t, 1, "10.0.0.1");
		uroce_port_path_fini(&t.port->dev, &paths[i]);
	}
	assert_int_equal(uroce_del_address(t.context, "10.0.0.1/24"), 0);
	expect_published(&t);
	tap_close(&t);
}

static void
test_get(void **state)
{
	uint8_t gid[16];
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_gid_get(t.port, 4, gid), -EINVAL);
	assert_int_equal(uroce_gid_get(t.port, UROCE_MAX_GID, gid), -EINVAL);
	assert_int_equal(uroce_gid_get(t.port, UINT32_MAX, gid), -EINVAL);
	assert_int_equal(uroce_gid_get(t.port, 2, gid), 0);
	assert_memory_equal(gid, t.port->gids[2].subnet.gid, sizeof(gid));
	assert_int_equal(t.port->gids[2].refs, 1);
	uroce_gid_put(t.port, gid);
	assert_int_equal(t.port->gids[2].refs, 0);
	tap_close(&t);
}

static void
test_gateway(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	assert_int_equal(uroce_set_gateway(t.context, "10.0.0.1"), EINVAL); /* the device's own address */
	assert_int_equal(uroce_set_gateway(t.context, "10.0.0.254/24"), EINVAL);
	assert_false(t.port->addresses->has_ipv4_gateway);
	assert_int_equal(uroce_set_gateway(t.context, "10.0.0.254"), 0);
	assert_true(t.port->addresses->has_ipv4_gateway);
	assert_int_equal(t.port->addresses->ipv4_gateway[15], 254);
	assert_false(t.port->addresses->has_ipv6_gateway);
	/* one gateway for each family */
	assert_int_equal(uroce_set_gateway(t.context, "fd00::fe"), 0);
	assert_true(t.port->addresses->has_ipv4_gateway);
	assert_true(t.port->addresses->has_ipv6_gateway);
	assert_int_equal(uroce_set_gateway(t.context, NULL), 0);
	assert_false(t.port->addresses->has_ipv4_gateway);
	assert_false(t.port->addresses->has_ipv6_gateway);
	expect_published(&t);
	tap_close(&t);
}

UROCE_TESTS(port_gid)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_link_local_first), cmocka_unit_test(test_order),
		cmocka_unit_test(test_errors),           cmocka_unit_test(test_full),
		cmocka_unit_test(test_in_use),           cmocka_unit_test(test_get),
		cmocka_unit_test(test_gateway),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
