/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Multicast groups at the rdma_cm device.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

static void
test_multicast(void **state)
{
	const struct sockaddr_in group = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef010203) };
	const uint32_t id = ucma_create(RDMA_PS_UDP, UID(1));
	struct rdma_ucm_create_id_resp joined = { .id = UINT32_MAX }, again;
	struct rdma_ucm_destroy_id_resp left = { .events_reported = UINT32_MAX };
	struct rdma_ucm_join_ip_mcast cmd = {
		.id = id,
		.uid = UID(7),
		.response = (uintptr_t)&joined,
		.addr = ucma_address((const struct sockaddr *)&group),
	};
	struct rdma_ucm_join_mcast wide = {
		.id = id,
		.uid = UID(8),
		.response = (uintptr_t)&again,
		.addr_size = sizeof(group),
		.join_flags = RDMA_MC_JOIN_FLAG_RESERVED,
	};
	struct rdma_ucm_destroy_id leave = { .response = (uintptr_t)&left };
	struct rdma_ucm_event_resp resp;

	memcpy(&wide.addr, &group, sizeof(group));
	assert_int_equal(COMMAND(JOIN_IP_MCAST, cmd, sizeof(joined)), EINVAL);	/* not bound */
	assert_int_equal(ucma_bind_ip(id, world_v4(1, 0)), 0);
	assert_int_equal(COMMAND(JOIN_MCAST, wide, sizeof(again)), EINVAL);
	assert_int_equal(COMMAND(JOIN_IP_MCAST, cmd, sizeof(joined)), 0);
	wide.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
	assert_int_equal(COMMAND(JOIN_MCAST, wide, sizeof(again)), EADDRINUSE);
	assert_int_equal(world.devices[0].host.joined, 1);
	resp = ucma_event(RDMA_CM_EVENT_MULTICAST_JOIN, UID(7));
	assert_int_equal(resp.id, joined.id);
	assert_int_equal(resp.param.ud.qp_num, 0xffffff);
	assert_int_equal(resp.param.ud.private_data_len, 0);
	leave.id = joined.id + 1;
	assert_int_equal(COMMAND(LEAVE_MCAST, leave, sizeof(left)), ENOENT);
	leave.id = joined.id;
	assert_int_equal(COMMAND(LEAVE_MCAST, leave, sizeof(left)), 0);
	assert_int_equal(left.events_reported, 1);
	assert_int_equal(COMMAND(LEAVE_MCAST, leave, sizeof(left)), ENOENT);
	assert_int_equal(world.devices[0].host.joined, 0);
	/* destroying the ID leaves its groups */
	assert_int_equal(COMMAND(JOIN_IP_MCAST, cmd, sizeof(joined)), 0);
	assert_int_equal(ucma_destroy(id), 1);
	leave.id = joined.id;
	assert_int_equal(COMMAND(LEAVE_MCAST, leave, sizeof(left)), ENOENT);
}

UROCE_TESTS(ucma_mcast)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_multicast),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
