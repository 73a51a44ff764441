/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A world with one channel, for tests that need no more.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cma_fixture.h"

struct rdma_event_channel *channel;

int
channel_setup(void **state)
{
	world_setup(state);
	channel = world_channel();
	return 0;
}

int
channel_teardown(void **state)
{
	uroce_rdma_destroy_event_channel(channel);
	return world_teardown(state);
}

void
fails(int ret, int error)
{
	assert_int_equal(ret, -1);
	assert_int_equal(errno, error);
}

void
destroy(struct rdma_cm_id *id)
{
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
}
