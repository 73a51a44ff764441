/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Queries of an ID's addresses and device at the rdma_cm device, and the options that it accepts.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>
#include <infiniband/ib.h>
#include <infiniband/sa.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

static void
test_query(void **state)
{
	struct rdma_ucm_query_route_resp route;
	uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));

	/* for a wildcard, librdmacm expects no device */
	assert_int_equal(ucma_bind_ip(id, world_v4(0, PORT)), 0);
	route = ucma_query_route(id);
	assert_int_equal(route.node_guid, 0);
	assert_int_equal(route.num_paths, 0);
	assert_int_equal(route.src_addr.sin6_port, htons(PORT));
	ucma_destroy(id);

	id = ucma_create(RDMA_PS_TCP, UID(1));
	ucma_resolve(id, UID(1), world_v6(2, PORT));
	route = ucma_query_route(id);
	assert_int_equal(route.node_guid, 0x100);
	assert_int_equal(route.ibdev_index, 0);
	assert_int_equal(route.port_num, 1);
	assert_int_equal(route.num_paths, 1);
	assert_int_equal(route.ib_route[0].pkey, 0xffff);
	assert_int_equal(route.ib_route[0].sgid[15], 1);
	assert_int_equal(route.ib_route[0].dgid[15], 2);
	assert_int_equal(route.dst_addr.sin6_family, AF_INET6);
	assert_int_equal(route.dst_addr.sin6_addr.s6_addr[15], 2);
	assert_int_not_equal(route.src_addr.sin6_port, 0);
	ucma_destroy(id);
}

/* The long forms, which librdmacm uses with a device that supports AF_IB. */
static void
test_query_parts(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	struct rdma_ucm_query_addr_resp addr;
	union {
		struct rdma_ucm_query_path_resp resp;
		uint8_t room[sizeof(struct rdma_ucm_query_path_resp) + sizeof(struct ibv_path_data)];
	} path;
	struct ibv_path_data data;
	struct sockaddr_ib ib;
	struct rdma_ucm_query cmd = { .id = id, .response = (uintptr_t)&addr, .option = RDMA_USER_CM_QUERY_ADDR };

	ucma_resolve(id, UID(1), world_v4(2, PORT));
	assert_int_equal(COMMAND(QUERY, cmd, sizeof(addr)), 0);
	assert_int_equal(addr.node_guid, 0x100);
	assert_int_equal(addr.src_size, sizeof(struct sockaddr_in));
	assert_memory_equal(&addr.dst_addr, world_v4(2, PORT), addr.dst_size);
	assert_int_equal(COMMAND(QUERY, cmd, sizeof(struct rdma_ucm_query_path_resp)), ENOSPC);

	cmd.option = RDMA_USER_CM_QUERY_GID;
	assert_int_equal(COMMAND(QUERY, cmd, sizeof(addr)), 0);
	memcpy(&ib, &addr.dst_addr, sizeof(ib));
	assert_int_equal(addr.dst_size, sizeof(ib));
	assert_int_equal(ib.sib_family, AF_IB);
	assert_int_equal(ib.sib_addr.sib_raw[15], 2);
	assert_int_equal(be64toh(ib.sib_sid), (uint64_t)RDMA_PS_TCP << 16 | PORT);

	cmd.option = RDMA_USER_CM_QUERY_PATH;
	cmd.response = (uintptr_t)&path;
	assert_int_equal(COMMAND(QUERY, cmd, sizeof(path)), 0);
	assert_int_equal(path.resp.num_paths, 1);
	memcpy(&data, path.room + sizeof(path.resp), sizeof(data));
	assert_int_equal(data.path.dgid.raw[15], 2);
	assert_int_equal(data.path.mtu, 2 << 6 | IBV_MTU_2048);
	assert_int_equal(data.path.pkey, 0xffff);
	cmd.option = 17;
	assert_int_equal(COMMAND(QUERY, cmd, sizeof(path)), ENOSYS);
	ucma_destroy(id);
}

static void
test_options(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	int on = 1;
	struct rdma_ucm_set_option cmd = {
		.id = id,
		.level = RDMA_OPTION_ID,
		.optname = RDMA_OPTION_ID_REUSEADDR,
		.optval = (uintptr_t)&on,
		.optlen = sizeof(on),
	};
	const struct rdma_ucm_notify notify = { .id = id, .event = IBV_EVENT_COMM_EST };

	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), 0);
	cmd.optlen = 1;
	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), EINVAL);
	cmd.optname = 99;
	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), ENOSYS);
	assert_int_equal(COMMAND(NOTIFY, notify, 0), EINVAL);	/* no connection is in progress */
	ucma_destroy(id);
}

UROCE_TESTS(ucma_query)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_query),
		UCMA_TEST(test_query_parts),
		UCMA_TEST(test_options),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
