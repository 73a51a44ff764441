/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Events that the application writes to the rdma_cm device, and services, of which RoCE has none.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

#define ARGUMENT 0xf1f2f3f4f5f6f7f8

static int
write_event(struct uroce_ucma_file *file, uint32_t id, uint32_t event)
{
	const struct uroce_ucma_write_cm_event cmd = {
		.id = id, .event = event, .status = (uint32_t)-5, .param.arg = ARGUMENT,
	};

	return ucma_command_of(file, UROCE_UCMA_CMD_WRITE_CM_EVENT, &cmd, sizeof(cmd), 0);
}

static void
test_written_events(void **state)
{
	static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_UDP };
	static const uint32_t events[] = { UROCE_UCMA_EVENT_USER, UROCE_UCMA_EVENT_INTERNAL };

	for (int i = 0; i < 2; i++) {
		const uint32_t id = ucma_create(spaces[i], UID(i));
		struct rdma_ucm_event_resp resp;
		uint64_t argument;

		assert_int_equal(ucma_get_event(&resp), EAGAIN);
		for (int j = 0; j < 2; j++)
			assert_int_equal(write_event(ucma_file, id, events[j]), 0);
		for (int j = 0; j < 2; j++) {
			assert_int_equal(ucma_get_event(&resp), 0);
			assert_int_equal(resp.event, events[j]);
			assert_int_equal(resp.uid, UID(i));
			assert_int_equal(resp.id, id);
			assert_int_equal((int)resp.status, -5);
			memcpy(&argument, &resp.param, sizeof(argument));
			assert_int_equal(argument, ARGUMENT);
		}
		assert_int_equal(ucma_destroy(id), 2);
	}
}

static void
test_refused_events(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	struct uroce_ucma_file *other;
	const int fd = ucma_open(&other);
	struct rdma_ucm_event_resp resp;

	assert_int_equal(write_event(ucma_file, id, RDMA_CM_EVENT_ESTABLISHED), EINVAL);
	assert_int_equal(write_event(ucma_file, id, UROCE_UCMA_EVENT_INTERNAL + 1), EINVAL);
	assert_int_equal(write_event(ucma_file, id + 1, UROCE_UCMA_EVENT_USER), ENOENT);
	assert_int_equal(write_event(other, id, UROCE_UCMA_EVENT_USER), EINVAL);
	assert_int_equal(ucma_get_event(&resp), EAGAIN);
	assert_int_equal(uroce_ucma_close(fd), 0);
	assert_int_equal(ucma_destroy(id), 0);
}

static void
test_no_services(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	struct uroce_ucma_resolve_ib_service cmd = { .id = id + 1, .service_id = 1, .flags = 1 };
	struct uroce_ucma_query_ib_service_resp resp = { .num_service_recs = 1 };
	struct rdma_ucm_query query = { .response = (uintptr_t)&resp, .id = id, .option = UROCE_UCMA_QUERY_IB_SERVICE };
	const uint32_t number = UROCE_UCMA_CMD_RESOLVE_IB_SERVICE;

	assert_int_equal(ucma_command_of(ucma_file, number, &cmd, sizeof(cmd), 0), ENOENT);
	cmd.id = id;
	assert_int_equal(ucma_command_of(ucma_file, number, &cmd, sizeof(cmd), 0), EINVAL);	/* not bound */
	assert_int_equal(ucma_bind_ip(id, world_v4(1, 0)), 0);
	assert_int_equal(ucma_command_of(ucma_file, number, &cmd, sizeof(cmd), 0), EOPNOTSUPP);
	assert_int_equal(COMMAND(QUERY, query, sizeof(resp) - 1), ENOSPC);
	assert_int_equal(COMMAND(QUERY, query, sizeof(resp)), 0);
	assert_int_equal(resp.num_service_recs, 0);
	assert_int_equal(ucma_destroy(id), 0);
}

UROCE_TESTS(ucma_event)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_written_events),
		UCMA_TEST(test_refused_events),
		UCMA_TEST(test_no_services),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
