/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Common set-up for tests of the rdma_cm calls: a world with one channel.
 */

#ifndef UROCE_TEST_CM_CMA_FIXTURE_H
#define UROCE_TEST_CM_CMA_FIXTURE_H

#include "cma_world.h"

extern struct rdma_event_channel *channel;

/* set-up and tear-down for cmocka, for each test */
int channel_setup(void **state);
int channel_teardown(void **state);

/* The call failed as in rdma_cm(7): -1 and errno. */
void fails(int ret, int error);
void destroy(struct rdma_cm_id *id);

#endif /* UROCE_TEST_CM_CMA_FIXTURE_H */
