/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What most programs that test the rdma_cm calls begin with: a world, and one channel in it.
 */

#ifndef UROCE_TEST_CM_CMA_FIXTURE_H
#define UROCE_TEST_CM_CMA_FIXTURE_H

#include "cma_world.h"

extern struct rdma_event_channel *channel;

/* cmocka's, of each test */
int channel_setup(void **state);
int channel_teardown(void **state);

/* A call as in rdma_cm(7): -1 and errno. */
void fails(int ret, int error);
void destroy(struct rdma_cm_id *id);

#endif /* UROCE_TEST_CM_CMA_FIXTURE_H */
