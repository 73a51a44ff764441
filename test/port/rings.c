/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "port/worker/worker.h"
#include "rings.h"

struct rte_ring *
test_ring_create(unsigned int frames)
{
	static unsigned int sequence;
	char name[RTE_RING_NAMESIZE];
	struct rte_ring *ring;

	snprintf(name, sizeof(name), "test_%u", sequence++);
	ring = rte_ring_create(name, frames, SOCKET_ID_ANY, 0);
	assert_non_null(ring);
	return ring;
}

static void
ring_destroy(struct rte_ring *ring)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(ring, (void **)&m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(ring);
}

static void
port_create(struct test_rings *r)
{
	static unsigned int sequence;
	char name[32];
	int ret;

	snprintf(name, sizeof(name), "test_port_%u", sequence++);
	ret = rte_eth_from_rings(name, r->rx, r->queues, r->tx, r->queues, 0);
	assert_true(ret >= 0);
	r->port_id = (uint16_t)ret;
}

void
test_rings_create(struct test_rings *r, unsigned int queues)
{
	memset(r, 0, sizeof(*r));
	r->queues = queues;
	for (unsigned int i = 0; i < queues; i++) {
		r->rx[i] = test_ring_create(TEST_RING_FRAMES);
		r->tx[i] = test_ring_create(TEST_RING_FRAMES);
	}
	port_create(r);
}

void
test_rings_create_pair(struct test_rings *a, struct test_rings *b)
{
	test_rings_create_wide(a, b, 1);
}

void
test_rings_create_wide(struct test_rings *a, struct test_rings *b, unsigned int queues)
{
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	a->queues = queues;
	b->queues = queues;
	for (unsigned int i = 0; i < queues; i++) {
		a->rx[i] = test_ring_create(TEST_RING_FRAMES);
		b->rx[i] = test_ring_create(TEST_RING_FRAMES);
	}
	for (unsigned int i = 0; i < queues; i++) {
		a->tx[i] = b->rx[0];
		b->tx[i] = a->rx[0];
	}
	port_create(a);
	port_create(b);
}

void
test_rings_create_parallel(struct test_rings *a, struct test_rings *b, unsigned int queues)
{
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	a->queues = queues;
	b->queues = queues;
	for (unsigned int i = 0; i < queues; i++) {
		a->rx[i] = b->tx[i] = test_ring_create(TEST_RING_FRAMES);
		b->rx[i] = a->tx[i] = test_ring_create(TEST_RING_FRAMES);
	}
	port_create(a);
	port_create(b);
}

void
test_rings_destroy_wide(struct test_rings *a, struct test_rings *b)
{
	rte_eth_dev_close(a->port_id);
	rte_eth_dev_close(b->port_id);
	for (unsigned int i = 0; i < a->queues; i++) {
		ring_destroy(a->rx[i]);
		ring_destroy(b->rx[i]);
	}
}

void
test_rings_create_funnel(struct test_rings *a, struct test_rings *b)
{
	memset(a, 0, sizeof(*a));
	memset(b, 0, sizeof(*b));
	a->queues = 2;
	b->queues = 1;
	for (unsigned int i = 0; i < 2; i++)
		a->rx[i] = test_ring_create(TEST_RING_FRAMES);
	a->tx[0] = test_ring_create(TEST_RING_FRAMES);
	a->tx[1] = a->tx[0];
	b->rx[0] = a->tx[0];
	b->tx[0] = a->rx[0];
	port_create(a);
	port_create(b);
}

void
test_rings_destroy(struct test_rings *r)
{
	rte_eth_dev_close(r->port_id);
	for (unsigned int i = 0; i < r->queues; i++) {
		ring_destroy(r->rx[i]);
		if (i == 0 || r->tx[i] != r->tx[0])
			ring_destroy(r->tx[i]);
	}
}

static uint64_t
rounds_of(const struct uroce_worker *w)
{
	return __atomic_load_n(&w->load.rounds, __ATOMIC_RELAXED);
}

void
test_poll(struct uroce_worker *const *workers, unsigned int n, unsigned int rounds)
{
	for (unsigned int round = 0; round < rounds; round++)
		for (unsigned int i = 0; i < n; i++) {
			const uint64_t before = rounds_of(workers[i]);

			do
				uroce_worker_poll(workers[i]);
			while (rounds_of(workers[i]) == before);
		}
}

uint64_t
test_counter(struct ibv_context *context, const char *name)
{
	struct uroce_counter counters[256];
	unsigned int n = uroce_query_counters(context, counters, RTE_DIM(counters));

	assert_true(n <= RTE_DIM(counters));
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(counters[i].name, name) == 0)
			return counters[i].value;
	fail_msg("no counter is named %s", name);
	return 0;
}
