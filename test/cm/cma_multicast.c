/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Multicast: the device joins, the event carries the data to send with, the QP is attached, and leaving undoes all of
 * it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_fixture.h"
#include "eal.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"

static struct sockaddr *
group(unsigned int host)
{
	static struct sockaddr_in addr;

	addr = (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_addr.s_addr = htonl(0xefff0000 | host) };
	return (struct sockaddr *)&addr;
}

static struct rdma_cm_id *
bound(void)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_UDP);

	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(2, 0)), 0);
	return id;
}

static void
test_join(void **state)
{
	static const uint8_t mgid[16] = { [10] = 0xff, 0xff, 239, 255, 0, 1 };
	struct rdma_cm_id *id = bound();
	struct rdma_cm_event *event;

	world_qp(id);
	assert_int_equal(uroce_rdma_join_multicast(id, group(1), &world), 0);
	assert_int_equal(world.devices[1].host.joined, 1);
	event = world_event(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->id, id);
	assert_ptr_equal(event->param.ud.private_data, &world);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_memory_equal(event->param.ud.ah_attr.grh.dgid.raw, mgid, 16);
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	/* the QP was detached, too */
	assert_int_equal(uroce_detach_mcast(id->qp, &event->param.ud.ah_attr.grh.dgid, 0), 0);
	assert_int_equal(uroce_attach_mcast(id->qp, &event->param.ud.ah_attr.grh.dgid, 0), 0);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	fails(uroce_rdma_join_multicast(id, group(1), NULL), EADDRINUSE);
	assert_int_equal(uroce_rdma_leave_multicast(id, group(1)), 0);
	assert_int_equal(world.devices[1].host.joined, 0);
	fails(uroce_rdma_leave_multicast(id, group(1)), EADDRNOTAVAIL);
	uroce_rdma_destroy_ep(id);
}

/* A leave before the event is read discards the event. */
static void
test_leave_early(void **state)
{
	struct rdma_cm_id *id = bound();

	assert_int_equal(uroce_rdma_join_multicast(id, group(1), NULL), 0);
	assert_int_equal(uroce_rdma_join_multicast(id, group(2), NULL), 0);
	assert_int_equal(uroce_rdma_leave_multicast(id, group(1)), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0), id);
	world_no_event(channel);
	destroy(id);
}

/* An ID and its QP are destroyed while they are members. */
static void
test_destroy(void **state)
{
	struct rdma_cm_id *id = bound();

	world_qp(id);
	assert_int_equal(uroce_rdma_join_multicast(id, group(1), NULL), 0);
	world_take(channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_int_equal(uroce_rdma_join_multicast(id, group(2), NULL), 0);
	uroce_rdma_destroy_ep(id);
	assert_int_equal(world.devices[1].host.joined, 0);
}

/* A device is removed while IDs are members: it may stay open, but is no longer a member. */
static void
test_device_gone(void **state)
{
	struct rdma_cm_id *id = bound();

	assert_int_equal(uroce_rdma_join_multicast(id, group(1), NULL), 0);
	world_take(channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	world_go(1);
	assert_int_equal(world.devices[1].host.joined, 0);
	world_take(channel, RDMA_CM_EVENT_DEVICE_REMOVAL, 0);
	assert_int_equal(uroce_rdma_leave_multicast(id, group(1)), 0);
	destroy(id);
}

static void
test_ex(void **state)
{
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
		.addr = group(3),
	};
	struct rdma_cm_id *id = bound();

	world_qp(id);
	assert_int_equal(uroce_rdma_join_multicast_ex(id, &attr, NULL), 0);
	assert_int_equal(world.devices[1].host.joined, 0); /* a send-only member does not join the device */
	world_take(channel, RDMA_CM_EVENT_MULTICAST_JOIN, 0);
	assert_int_equal(world.devices[1].host.joined, 0);
	attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	fails(uroce_rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	fails(uroce_rdma_join_multicast_ex(id, &attr, NULL), EINVAL);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_RESERVED;
	fails(uroce_rdma_join_multicast_ex(id, &attr, NULL), EOPNOTSUPP);
	uroce_rdma_destroy_ep(id);
}

static void
test_errors(void **state)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_UDP),
			  *tcp = world_id(channel, RDMA_PS_TCP);

	fails(uroce_rdma_join_multicast(id, group(1), NULL), EINVAL); /* no device */
	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 0)), 0);
	fails(uroce_rdma_join_multicast(id, world_v4(2, 0), NULL), EINVAL);
	fails(uroce_rdma_join_multicast(id, NULL, NULL), EINVAL);
	fails(uroce_rdma_leave_multicast(id, NULL), EINVAL);
	assert_int_equal(uroce_rdma_bind_addr(tcp, world_v4(1, 0)), 0);
	fails(uroce_rdma_join_multicast(tcp, group(1), NULL), EINVAL);
	destroy(id);
	destroy(tcp);
}

UROCE_TESTS(cma_multicast)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, channel_setup, channel_teardown)
	const struct CMUnitTest tests[] = {
		TEST(join), TEST(leave_early), TEST(destroy), TEST(device_gone), TEST(ex), TEST(errors),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
