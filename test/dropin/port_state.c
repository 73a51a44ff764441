/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The link state that applications see. The test replaces ethdev's two calls: net_memif's link is always reported up,
 * others as they are. And the wait for a link.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/verbs.h>
#include <rte_common.h>
#include <rte_ethdev.h>

#include "port/ethdev/ethdev_halt.h"
#include "port_state.h"
#include "uroce_config.h"

static struct verbs_context vctx;
static const char *driver;
static int info_error, query_error, link_error;
static unsigned int looks, up_at;
static unsigned int halts, starts, refused_at;
static struct rte_devargs devargs;
static const struct rte_devargs *known_devargs;

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = (struct rte_eth_dev_info){ .driver_name = driver };
	return info_error;
}

int
rte_eth_link_get_nowait(uint16_t port_id, struct rte_eth_link *link)
{
	link->link_status = ++looks >= up_at ? RTE_ETH_LINK_UP : RTE_ETH_LINK_DOWN;
	return link_error;
}

const struct rte_devargs *
rte_dev_devargs(const struct rte_device *dev)
{
	return known_devargs;
}

void
uroce_ethdev_halt(uint16_t port_id)
{
	halts++;
}

int
rte_eth_dev_start(uint16_t port_id)
{
	return ++starts == refused_at ? -EPERM : 0;
}

static int
query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t bytes)
{
	memset(attr, 0, bytes);
	attr->state = IBV_PORT_DOWN;
	attr->phys_state = 3;
	attr->gid_tbl_len = port_num;
	return query_error;
}

static int
query_port_compat(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *compat)
{
	return query_port(context, port_num, (struct ibv_port_attr *)compat,
			  offsetof(struct ibv_port_attr, port_cap_flags2));
}

static int
setup(void **state)
{
	memset(&vctx, 0, sizeof(vctx));
	vctx.sz = sizeof(vctx);
	vctx.query_port = query_port;
	vctx.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	vctx.context.ops._compat_query_port = query_port_compat;
	driver = "net_memif";
	info_error = query_error = link_error = 0;
	looks = up_at = 0;
	halts = starts = refused_at = 0;
	devargs = (struct rte_devargs){ .args = (char *)(uintptr_t)"role=server,id=0" };
	known_devargs = &devargs;
	return 0;
}

static void
assert_state(enum ibv_port_state port_state, uint8_t phys_state)
{
	union {
		struct ibv_port_attr attr;
		uint8_t bytes[sizeof(struct ibv_port_attr)];
	} u;

	memset(&u, 0xff, sizeof(u));
	assert_int_equal(vctx.query_port(&vctx.context, 7, &u.attr, sizeof(u.attr)), query_error);
	assert_int_equal(u.attr.state, port_state);
	assert_int_equal(u.attr.phys_state, phys_state);
	assert_int_equal(u.attr.gid_tbl_len, 7);
	memset(&u, 0xff, sizeof(u));
	assert_int_equal(vctx.context.ops._compat_query_port(&vctx.context, 7, (struct _compat_ibv_port_attr *)&u),
			 query_error);
	assert_int_equal(u.attr.state, port_state);
	assert_int_equal(u.attr.phys_state, phys_state);
	/* the caller's structure ends here */
	for (size_t i = offsetof(struct ibv_port_attr, port_cap_flags2); i < sizeof(u); i++)
		assert_int_equal(u.bytes[i], 0xff);
}

static void
test_memif(void **state)
{
	uroce_port_state_assume(&vctx.context, 0);
	assert_state(IBV_PORT_ACTIVE, 5);
}

static void
test_others(void **state)
{
	driver = "net_af_packet";
	uroce_port_state_assume(&vctx.context, 0);
	assert_ptr_equal(vctx.query_port, query_port);
	assert_state(IBV_PORT_DOWN, 3);
	driver = "net_memif";
	info_error = -ENODEV;
	uroce_port_state_assume(&vctx.context, 0);
	assert_ptr_equal(vctx.query_port, query_port);
}

/* An error is returned, and changes nothing. */
static void
test_error(void **state)
{
	uroce_port_state_assume(&vctx.context, 0);
	query_error = EINVAL;
	assert_state(IBV_PORT_DOWN, 3);
}

static void
test_wait(void **state)
{
	driver = "net_ixgbe";
	up_at = 3;
	uroce_port_state_wait(0);
	assert_int_equal(looks, 3);
	up_at = UINT32_MAX;
	looks = 0;
	uroce_port_state_wait(0);
	assert_int_equal(looks, UROCE_VERBS_LINK_WAIT_MS);
	looks = 0;
	link_error = -ENODEV;	/* the link will never be up */
	uroce_port_state_wait(0);
	assert_int_equal(looks, 1);
	info_error = -ENODEV;
	uroce_port_state_wait(0);
	assert_int_equal(looks, 1);
	assert_int_equal(halts, 0);
}

/* Only a client connects again, after growing pauses. */
static void
test_turned_away(void **state)
{
	const unsigned int first = UROCE_VERBS_FIRST_LINK_WAIT_MS;

	devargs.args = (char *)(uintptr_t)"role=client,id=0";
	up_at = first + 1;
	uroce_port_state_wait(0);
	assert_int_equal(looks, first + 1);
	assert_int_equal(halts, 1);
	assert_int_equal(starts, 1);
	up_at = UINT32_MAX;
	looks = 0;
	uroce_port_state_wait(0);
	assert_int_equal(looks, 2 * UROCE_VERBS_LAST_LINK_WAIT_MS - first); /* 1 + 2 + 4 + ... */
	assert_int_equal(halts, starts);
	looks = starts = 0;
	refused_at = 2;
	uroce_port_state_wait(0);
	assert_int_equal(looks, 3 * first);
}

static void
test_is(void **state)
{
	assert_true(uroce_port_state_is_up(0));
	assert_true(uroce_port_state_is_shared(0));
	driver = "net_ixgbe";
	assert_false(uroce_port_state_is_shared(0));
	driver = "net_memif";
	info_error = -ENODEV;
	assert_false(uroce_port_state_is_shared(0));
	link_error = -ENODEV;
	assert_false(uroce_port_state_is_up(0));
	link_error = 0;
	up_at = UINT32_MAX;
	assert_false(uroce_port_state_is_up(0));
}

/* A server does not wait for its clients. */
static void
test_server(void **state)
{
	up_at = UINT32_MAX;
	uroce_port_state_wait(0);
	known_devargs = NULL;
	uroce_port_state_wait(0);
	known_devargs = &devargs;
	devargs.args = NULL;
	uroce_port_state_wait(0);
	assert_int_equal(looks, 0);
	assert_int_equal(halts, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_memif, setup),
		cmocka_unit_test_setup(test_others, setup),
		cmocka_unit_test_setup(test_error, setup),
		cmocka_unit_test_setup(test_wait, setup),
		cmocka_unit_test_setup(test_turned_away, setup),
		cmocka_unit_test_setup(test_server, setup),
		cmocka_unit_test_setup(test_is, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
