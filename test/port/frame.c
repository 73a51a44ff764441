/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames that the port itself creates: their Ethernet header, padding and tag; and a lack of mbufs.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <rte_ether.h>

#include "eal.h"
#include "groups.h"
#include "port/worker/tx.h"
#include "tap.h"

#define UNTAGGED 14
#define TAGGED   18
#define SHORTEST 60

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

static struct rte_mbuf *
create(struct tap *t, uint32_t l3_bytes, void **l3)
{
	struct rte_ether_addr peer;
	struct rte_mbuf *m;

	rte_ether_unformat_addr(TAP_PEER, &peer);
	uroce_worker_enter(t->worker);
	m = uroce_frame_create(&t->port->queues[0], &peer, RTE_ETHER_TYPE_ARP, l3_bytes, l3);
	uroce_worker_exit(t->worker);
	return m;
}

/* The frame must have these bytes, with the payload at l2_bytes. */
static void
expect(struct tap *t, uint32_t l3_bytes, const char *text, size_t l2_bytes)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(t, frame, text);
	struct rte_mbuf *m;
	void *l3 = NULL;

	m = create(t, l3_bytes, &l3);
	assert_non_null(m);
	assert_int_equal(rte_pktmbuf_pkt_len(m), bytes);
	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->port, t->wire.port_id);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), frame, bytes);
	assert_ptr_equal(l3, rte_pktmbuf_mtod_offset(m, uint8_t *, l2_bytes));
	rte_pktmbuf_free(m);
}

static void
test_untagged(void **state)
{
	struct tap t;

	tap_open(&t, 0, cidrs);
	expect(&t, 28, "P M 0806 Z46", UNTAGGED);
	expect(&t, 0, "P M 0806 Z46", UNTAGGED);
	expect(&t, SHORTEST - UNTAGGED, "P M 0806 Z46", UNTAGGED);
	expect(&t, SHORTEST - UNTAGGED + 1, "P M 0806 Z47", UNTAGGED);
	tap_close(&t);
}

static void
test_tagged(void **state)
{
	struct tap t;

	tap_open(&t, 0x123, cidrs);
	expect(&t, 28, "P M 8100 0123 0806 Z42", TAGGED);
	expect(&t, SHORTEST - TAGGED + 1, "P M 8100 0123 0806 Z43", TAGGED);
	tap_close(&t);
}

/* A frame too large for a header mbuf takes a payload mbuf; one that is too large for both is counted. */
static void
test_large(void **state)
{
	struct uroce_engine *e;
	uint32_t header, largest;
	struct rte_mbuf *m;
	struct tap t;
	void *l3;

	tap_open(&t, 0, cidrs);
	e = &t.worker->engine;
	header = rte_pktmbuf_data_room_size(e->header_pool) - RTE_PKTMBUF_HEADROOM;
	largest = rte_pktmbuf_data_room_size(e->payload_pool) - RTE_PKTMBUF_HEADROOM;
	m = create(&t, header - UNTAGGED, &l3);
	assert_ptr_equal(m->pool, e->header_pool);
	assert_int_equal(rte_pktmbuf_pkt_len(m), header);
	rte_pktmbuf_free(m);
	m = create(&t, header + 1 - UNTAGGED, &l3);
	assert_ptr_equal(m->pool, e->payload_pool);
	rte_pktmbuf_free(m);
	m = create(&t, largest - UNTAGGED, &l3);
	assert_int_equal(rte_pktmbuf_pkt_len(m), largest);
	rte_pktmbuf_free(m);
	assert_int_equal(tap_counter(&t, "tx_drop_local"), 0);
	assert_null(create(&t, largest + 1 - UNTAGGED, &l3));
	assert_int_equal(tap_counter(&t, "tx_drop_local"), 1);
	tap_close(&t);
}

static void
test_no_mbuf(void **state)
{
	struct rte_mbuf **taken, *m;
	unsigned int n = 0;
	struct tap t;
	void *l3;

	tap_open(&t, 0, cidrs);
	taken = calloc(t.worker->engine.header_pool->size, sizeof(*taken));
	assert_non_null(taken);
	while ((m = create(&t, 28, &l3)) != NULL)
		taken[n++] = m;
	assert_true(n > 0);
	assert_int_equal(tap_counter(&t, "tx_drop_local"), 1);
	assert_null(create(&t, 28, &l3));
	assert_int_equal(tap_counter(&t, "tx_drop_local"), 2);
	rte_pktmbuf_free_bulk(taken, n);
	free(taken);
	expect(&t, 28, "P M 0806 Z46", UNTAGGED);
	tap_close(&t);
}

UROCE_TESTS(port_frame)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_untagged),
		cmocka_unit_test(test_tagged),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_no_mbuf),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
