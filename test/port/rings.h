/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports in the process: pairs that are connected, and single ones whose other end is the test
 * itself.
 */

#ifndef UROCE_TEST_PORT_RINGS_H
#define UROCE_TEST_PORT_RINGS_H

#include <stdint.h>

#include <rte_ring.h>

#include "uroce.h"

#define TEST_RING_FRAMES 1024

/* What the port receives comes from rx[i], what it sends goes to tx[i]; one queue each. */
struct test_rings {
	struct rte_ring *rx[4];
	struct rte_ring *tx[4];
	unsigned int queues;
	uint16_t port_id;
};

/** A port whose queues are rings of the test. */
void test_rings_create(struct test_rings *r, unsigned int queues);
/** Two ports, connected: a with two queues, which sends from both and receives on the first only; b
 * with one. */
void test_rings_create_funnel(struct test_rings *a, struct test_rings *b);
/** Two ports with one queue each, connected. */
void test_rings_create_pair(struct test_rings *a, struct test_rings *b);
/** Close the port, free what is in its rings, and the rings. */
void test_rings_destroy(struct test_rings *r);

/** Poll all the workers for that many rounds. */
void test_poll(struct uroce_worker *const *workers, unsigned int n, unsigned int rounds);

/** A counter of the device by its name; fails when there is none. */
uint64_t test_counter(struct ibv_context *context, const char *name);

#endif /* UROCE_TEST_PORT_RINGS_H */
