/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Invalid commands of the rdma_cm device: too short, unknown, or for unknown IDs. Each returns the same errno as the
 * kernel, and changes nothing.
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

static void
test_wrong_commands(void **state)
{
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_create_id cmd = { .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP };
	const struct rdma_ucm_listen nobody = { .id = 4711 };
	struct rdma_ucm_cmd_hdr header = { .cmd = RDMA_USER_CM_CMD_CREATE_ID, .in = sizeof(cmd) };
	uint8_t zeros[512] = { 0 };

	assert_int_equal(COMMAND(LISTEN, nobody, 0), ENOENT);
	assert_int_equal(COMMAND(CREATE_ID, cmd, sizeof(resp) - 1), ENOSPC);
	assert_int_equal(ucma_command_of(ucma_file, RDMA_USER_CM_CMD_CREATE_ID, &cmd, sizeof(cmd) - 1, sizeof(resp)),
			 EINVAL);
	cmd.response = 0;
	assert_int_equal(COMMAND(CREATE_ID, cmd, sizeof(resp)), EFAULT);
	cmd.response = (uintptr_t)&resp;
	cmd.ps = 7;
	assert_int_equal(COMMAND(CREATE_ID, cmd, sizeof(resp)), EINVAL);
	cmd.ps = RDMA_PS_IPOIB;
	assert_int_equal(COMMAND(CREATE_ID, cmd, sizeof(resp)), EPROTONOSUPPORT);
	/* a header that announces more than the write has, and half a header */
	assert_int_equal(uroce_ucma_write(ucma_file, &header, sizeof(header)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_ucma_write(ucma_file, &header, sizeof(header) - 1), -1);
	assert_int_equal(errno, EINVAL);
	/* each command number without data and with zeros: none succeeds, and none reads or writes beyond its memory */
	for (uint32_t number = 0; number < 64; number++) {
		assert_int_not_equal(ucma_command_of(ucma_file, number, zeros, 0, 0), 0);
		assert_int_not_equal(ucma_command_of(ucma_file, number, zeros, sizeof(zeros), sizeof(zeros)), 0);
	}
	assert_int_equal(ucma_command_of(ucma_file, RDMA_USER_CM_CMD_GET_OPTION, zeros, sizeof(zeros), 0), ENOSYS);
	assert_int_equal(ucma_command_of(ucma_file, UROCE_UCMA_CMD_WRITE_CM_EVENT + 1, zeros, 8, 0), EINVAL);
}

UROCE_TESTS(ucma_command)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_wrong_commands),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
