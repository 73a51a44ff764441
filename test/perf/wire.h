/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two ports of several queues within the process, connected queue by queue, for programs that measure workers.
 */

#ifndef UROCE_TEST_PERF_WIRE_H
#define UROCE_TEST_PERF_WIRE_H

#include <stdint.h>

/**
 * Create two ports. Frames that port 0 sends on queue i arrive at queue (i + turned) % queues of port 1, and vice versa:
 * with `turned` 0 at the queue to which RSS would send them, else always at a wrong queue. The ports exist until EAL
 * ends.
 * @return 0 or -1
 */
int test_wire_create(uint16_t ports[2], unsigned int queues, unsigned int turned);

#endif /* UROCE_TEST_PERF_WIRE_H */
