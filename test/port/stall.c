/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A worker that was not polled for longer than its QPs' timeout: it reads the ACKs in its queues before any
 * retransmission, however many frames are in front of them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "clock.h"
#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "net.h"
#include "port/worker/worker.h"
#include "uroce_config.h"

#define STALL_NS UINT64_C(5000000000) /* longer than the timeout */
#define OTHERS	 (TEST_RING_FRAMES - 64) /* frames before the ACK: many bursts */

static const struct uroce_port_conf on_the_wire = { .size = sizeof(on_the_wire), .no_loopback = 1 };

/* A WRITE of the first end, whose ACK is queued behind n frames for no QP. */
static void
start(struct net *net, const struct uroce_port_conf *conf, unsigned int n)
{
	struct end *a = &net->ends[0], *b = &net->ends[1];

	net_open(net, conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	for (unsigned int i = 0; i < 2; i++) { /* resolves the neighbors */
		end_post(a, IBV_WR_RDMA_WRITE, b, 8, 0);
		net_expect_ok(net, a, IBV_WC_RDMA_WRITE);
		end_post(b, IBV_WR_RDMA_WRITE, a, 8, 0);
		net_expect_ok(net, b, IBV_WC_RDMA_WRITE);
	}
	test_poll(net->workers, 2, 4);
	end_post(a, IBV_WR_RDMA_WRITE, b, 8, 0);
	assert_int_equal(uroce_worker_poll(net->workers[0]), 1);
	while (n-- > 0) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(net->workers[0]->engine.header_pool);

		assert_non_null(m);
		assert_non_null(rte_pktmbuf_append(m, 10));
		assert_int_equal(rte_ring_enqueue(net->wire[0].rx[0], m), 0);
	}
	for (unsigned int i = 0; i < 3; i++)
		uroce_worker_poll(net->workers[1]);
}

/* The worker's clock never goes back: a stall is a step of its last reading. Other delays do not count: the clock is slow. */
static void
stall(struct uroce_worker *w)
{
	w->now_ns += STALL_NS;
}

static void
expect_nothing_twice(const struct end *e)
{
	assert_int_equal(test_counter(e->context, "timeouts"), 0);
	assert_int_equal(test_counter(e->context, "probes"), 0);
	assert_int_equal(test_counter(e->context, "retransmitted_packets"), 0);
}

static void
test_many_frames(void **state)
{
	struct ibv_wc wc;
	struct net net;

	start(&net, &on_the_wire, OTHERS);
	stall(net.workers[0]);
	for (unsigned int i = 0; i < OTHERS / UROCE_BURST; i++) {
		assert_uint_in_range(uroce_worker_poll(net.workers[0]), UROCE_BURST, UROCE_BURST + 1);
		assert_int_equal(uroce_poll_cq(net.ends[0].cq, 1, &wc), 0);
	}
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	expect_nothing_twice(&net.ends[0]);
	net_close(&net);
}

/* As virtio does: end a burst at a cache line of its ring, and drop malformed frames. */
static uint16_t
shorten(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, uint16_t room, void *arg)
{
	(void)port_id;
	(void)queue;
	(void)arg;
	if (n < room)
		return n;
	rte_pktmbuf_free_bulk(frames + n - 3, 3);
	return n - 3;
}

/* A driver may return less than a full burst while its ring has more frames. */
static void
test_short_bursts(void **state)
{
	const struct rte_eth_rxtx_callback *callback;
	struct net net;

	start(&net, &on_the_wire, OTHERS);
	callback = rte_eth_add_rx_callback(net.wire[0].port_id, 0, shorten, NULL);
	assert_non_null(callback);
	stall(net.workers[0]);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	expect_nothing_twice(&net.ends[0]);
	assert_int_equal(rte_eth_remove_rx_callback(net.wire[0].port_id, 0, callback), 0);
	net_close(&net);
}

/* Requests that the application has posted leave before the worker receives, as always. */
static void
test_posted(void **state)
{
	struct net net;

	start(&net, &on_the_wire, 0);
	stall(net.workers[0]);
	end_post(&net.ends[0], IBV_WR_RDMA_WRITE, &net.ends[1], 8, 0);
	assert_int_equal(uroce_worker_poll(net.workers[0]), 2);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	expect_nothing_twice(&net.ends[0]);
	net_close(&net);
}

/* With a silent peer, the timeout counts from the moment when all queued frames were received. */
static void
test_silence(void **state)
{
	struct net net;
	struct rte_mbuf *m = NULL;

	start(&net, &on_the_wire, 0);
	assert_int_equal(rte_ring_dequeue(net.wire[0].rx[0], (void **)&m), 0);
	rte_pktmbuf_free(m);
	stall(net.workers[0]);
	uroce_worker_poll(net.workers[0]);
	assert_int_equal(test_counter(net.ends[0].context, "timeouts"), 1);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	net_close(&net);
}

/* With only full bursts, a timer does not wait forever: it fires after as many frames as the ring holds. */
static void
test_never_drained(void **state)
{
	struct rte_mbuf *m = NULL;
	unsigned int round = 0;
	struct net net;

	start(&net, &on_the_wire, OTHERS);
	for (unsigned int i = 0; i <= OTHERS; i++) { /* drop the last one, the ACK */
		assert_int_equal(rte_ring_dequeue(net.wire[0].rx[0], (void **)&m), 0);
		if (i == OTHERS)
			rte_pktmbuf_free(m);
		else
			assert_int_equal(rte_ring_enqueue(net.wire[0].rx[0], m), 0);
	}
	stall(net.workers[0]);
	while (test_counter(net.ends[0].context, "timeouts") == 0) {
		for (unsigned int i = 0; i < UROCE_BURST; i++) {
			m = rte_pktmbuf_alloc(net.workers[0]->engine.header_pool);
			assert_non_null(m);
			assert_non_null(rte_pktmbuf_append(m, 10));
			assert_int_equal(rte_ring_enqueue(net.wire[0].rx[0], m), 0);
		}
		assert_uint_in_range(uroce_worker_poll(net.workers[0]), UROCE_BURST, 2 * UROCE_BURST);
		assert_true(++round <= 2 * net.workers[0]->engine.ring_rounds);
	}
	assert_true(round * UROCE_BURST >= OTHERS);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	net_close(&net);
}

/* The same for the inbox, between devices of the process. */
static void
test_loopback(void **state)
{
	static const struct uroce_port_conf looped_back = { .size = sizeof(looped_back) };
	struct net net;

	start(&net, &looped_back, 0);
	assert_int_equal(rte_ring_count(net.workers[0]->inbox), 1);
	stall(net.workers[0]);
	end_post(&net.ends[0], IBV_WR_RDMA_WRITE, &net.ends[1], 8, 0);
	assert_int_equal(uroce_worker_poll(net.workers[0]), 2);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	expect_nothing_twice(&net.ends[0]);
	net_close(&net);
}

UROCE_TESTS(port_stall)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many_frames),
		cmocka_unit_test(test_short_bursts),
		cmocka_unit_test(test_posted),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_never_drained),
		cmocka_unit_test(test_loopback),
	};

	test_eal_init(NULL);
	uroce_clock_init();
	test_clock_slow();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
