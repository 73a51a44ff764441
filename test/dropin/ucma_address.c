/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Binding and resolving at the rdma_cm device, with the short and the long form of the commands.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <infiniband/ib.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

static void
test_long_forms(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	struct rdma_ucm_bind bound = { .id = id, .addr_size = sizeof(struct sockaddr_in) };
	struct rdma_ucm_resolve_addr cmd = {
		.id = id,
		.timeout_ms = 1000,
		.dst_size = sizeof(struct sockaddr_in),
	};

	memcpy(&bound.addr, world_v4(1, 0), sizeof(struct sockaddr_in));
	bound.addr_size--;
	assert_int_equal(COMMAND(BIND, bound, 0), EINVAL);
	bound.addr_size++;
	assert_int_equal(COMMAND(BIND, bound, 0), 0);
	assert_int_equal(ucma_query_route(id).node_guid, 0x100);
	memcpy(&cmd.dst_addr, world_v4(2, PORT), sizeof(struct sockaddr_in));
	cmd.src_size = 3;
	assert_int_equal(COMMAND(RESOLVE_ADDR, cmd, 0), EINVAL);
	cmd.src_size = 0;
	assert_int_equal(COMMAND(RESOLVE_ADDR, cmd, 0), 0);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_ADDR_RESOLVED, UID(1)).id, id);
	ucma_destroy(id);
}

/* librdmacm's query for AF_IB support. */
static void
test_af_ib(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_IB, UID(1));
	struct rdma_ucm_bind cmd = { .id = id, .addr_size = sizeof(struct sockaddr_ib) };
	const struct sockaddr_ib ib = { .sib_family = AF_IB };

	memcpy(&cmd.addr, &ib, sizeof(ib));
	assert_int_equal(COMMAND(BIND, cmd, 0), EINVAL);
	ucma_destroy(id);
}

UROCE_TESTS(ucma_address)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_long_forms),
		UCMA_TEST(test_af_ib),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
