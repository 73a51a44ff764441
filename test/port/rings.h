/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports within the process: connected pairs, and single ports whose other end is the test.
 */

#ifndef UROCE_TEST_PORT_RINGS_H
#define UROCE_TEST_PORT_RINGS_H

#include <stdint.h>

#include <rte_ring.h>

#include "uroce.h"

#define TEST_RING_FRAMES 1024

/* The port receives from rx[i] and sends to tx[i]; one pair for each queue. */
struct test_rings {
	struct rte_ring *rx[8];
	struct rte_ring *tx[8];
	unsigned int queues;
	uint16_t port_id;
};

/** Create a port whose queues are rings of the test. */
/** @return a ring with a name of its own */
struct rte_ring *test_ring_create(unsigned int frames);
void test_rings_create(struct test_rings *r, unsigned int queues);
/** Create two connected ports: a has two queues, sends on both, and receives on the first only; b has one queue. */
void test_rings_create_funnel(struct test_rings *a, struct test_rings *b);
/** Create two connected ports with one queue each. */
void test_rings_create_pair(struct test_rings *a, struct test_rings *b);
/** Create two connected ports with several queues each. They send on all queues, and receive on the first only. */
void test_rings_create_wide(struct test_rings *a, struct test_rings *b, unsigned int queues);
/** Close the port, and free the rings with their frames. */
void test_rings_destroy(struct test_rings *r);
/** Create two connected ports: queue i of each sends to queue i of the other. */
void test_rings_create_parallel(struct test_rings *a, struct test_rings *b, unsigned int queues);
/** The same for the two ports of test_rings_create_wide() or test_rings_create_parallel(). */
void test_rings_destroy_wide(struct test_rings *a, struct test_rings *b);

/** Poll all workers until each has run this many rounds: a poll does nothing while another thread has the turn. */
void test_poll(struct uroce_worker *const *workers, unsigned int n, unsigned int rounds);

/** A counter of the device by its name; fails if no counter has it. */
uint64_t test_counter(struct ibv_context *context, const char *name);

#endif /* UROCE_TEST_PORT_RINGS_H */
