/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Outgoing frames: held until the neighbor's address is resolved, handed over to other workers, or looped back; and
 * each kind of drop with its counter.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "clock.h"
#include "eal.h"
#include "base/clock.h"
#include "groups.h"
#include "harness/qp.h"
#include "port/net/icmp.h"
#include "port/worker/pool.h"
#include "port/worker/tx.h"
#include "tap.h"
#include "wire/icrc.h"

#define L3  14
#define UDP 34

#define ECHO                                                                            \
	"M 0800 45 00 0054 0000 4000 40 01 0000 0a000001 0a000002 08 00 0000 0007 0001" \
	"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"              \
	"202122232425262728292a2b2c2d2e2f3031323334353637"

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };
static const struct rte_ether_addr unknown;

/* Let worker 0 send an echo request, in a thread that has its turn. */
static void
echo(struct tap *t, const char *dst, uint16_t sequence)
{
	uint8_t src_gid[16], dst_gid[16];

	assert_int_equal(uroce_gid_parse(src_gid, "10.0.0.1"), 0);
	assert_int_equal(uroce_gid_parse(dst_gid, dst), 0);
	uroce_worker_enter(t->worker);
	uroce_icmp_echo(&t->port->queues[0], &unknown, src_gid, dst_gid, 7, sequence);
	uroce_worker_exit(t->worker);
}

static void
test_held_until_resolved(void **state)
{
	uint8_t frame[TAP_BYTES], gid[16];
	struct uroce_neighbor *n;
	struct tap t;
	size_t bytes;

	tap_open(&t, 0, cidrs);
	test_clock_slow(); /* the second request is sent after 250 ms */
	uroce_gid_parse(gid, "10.0.0.2");
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	echo(&t, "10.0.0.2", 1);
	tap_expect_nothing(&t);
	uroce_port_upkeep_by(t.port, 0);
	tap_expect_text(&t, "ffffffffffff M 0806 0001 0800 06 04 0001 M 0a000001 Z6 0a000002 Z18");
	tap_expect_nothing(&t);
	bytes = tap_frame(&t, frame, "M P 0806 0001 0800 06 04 0002 P 0a000002 M 0a000001");
	tap_send(&t, frame, bytes);
	bytes = tap_frame(&t, frame, "P" ECHO);
	tap_checksum_icmp(frame, L3);
	tap_expect(&t, frame, bytes);
	/* resolved now: sent at once */
	echo(&t, "10.0.0.2", 1);
	tap_expect(&t, frame, bytes);
	tap_expect_nothing(&t);
	uroce_neighbor_put(&t.port->neighbors, n, uroce_clock_ns());
	test_clock_go();
	tap_close(&t);
}

static void
test_unresolved(void **state)
{
	struct uroce_neighbor *n;
	uint8_t gid[16];
	struct tap t;

	tap_open(&t, 0, cidrs);
	/* no path needs this neighbor: not in the table */
	echo(&t, "10.0.0.3", 1);
	assert_int_equal(tap_counter(&t, "tx_drop_unresolved"), 1);
	/* no route */
	echo(&t, "192.168.0.1", 1);
	assert_int_equal(tap_counter(&t, "tx_drop_unresolved"), 2);
	/* more frames than may wait */
	uroce_gid_parse(gid, "10.0.0.2");
	n = uroce_neighbor_get(&t.port->neighbors, gid);
	for (uint16_t i = 0; i < UROCE_NEIGHBOR_PENDING + 3; i++)
		echo(&t, "10.0.0.2", i);
	assert_int_equal(tap_counter(&t, "tx_drop_unresolved"), 5);
	uroce_neighbor_put(&t.port->neighbors, n, uroce_clock_ns());
	/* the waiting frames are freed with the port, which tap_close() checks */
	tap_close(&t);
}

/* Two queues with one worker each; the test is at the other end of both wires. */
struct duo {
	struct test_rings wire;
	struct uroce_worker *workers[2];
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cqs[2];
	struct ibv_qp *qps[2]; /* QP i belongs to worker i */
	struct rte_mempool *pool;
};

static void
duo_open(struct duo *d)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};

	test_rings_create(&d->wire, 2);
	for (unsigned int i = 0; i < 2; i++)
		d->workers[i] = uroce_create_worker(-1);
	d->context = uroce_open_port(d->wire.port_id, NULL, d->workers, 2);
	assert_non_null(d->context);
	assert_int_equal(uroce_add_address(d->context, "10.0.0.1/24"), 0);
	d->pd = uroce_alloc_pd(d->context);
	for (unsigned int i = 0; i < 2; i++) {
		d->cqs[i] = uroce_create_cq(d->context, 16, NULL, NULL, (int)i);
		attr.send_cq = d->cqs[i];
		attr.recv_cq = d->cqs[i];
		d->qps[i] = uroce_create_qp(d->pd, &attr);
		assert_non_null(d->qps[i]);
	}
	d->pool = rte_pktmbuf_pool_create("duo", 2 * UROCE_INBOX - 1, 0, 0,
					  RTE_PKTMBUF_HEADROOM + 128, SOCKET_ID_ANY);
	assert_non_null(d->pool);
}

static void
duo_close(struct duo *d)
{
	for (unsigned int i = 0; i < 2; i++) {
		if (d->qps[i] != NULL)
			assert_int_equal(uroce_destroy_qp(d->qps[i]), 0);
		assert_int_equal(uroce_destroy_cq(d->cqs[i]), 0);
	}
	assert_int_equal(uroce_dealloc_pd(d->pd), 0);
	assert_int_equal(uroce_close_device(d->context), 0);
	assert_true(rte_mempool_full(d->pool));
	rte_mempool_free(d->pool);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(d->workers[i]), 0);
	test_rings_destroy(&d->wire);
	assert_int_equal(uroce_pools_retired(), 0);
}

/* An ACK for the QP, with right checksums. */
static struct rte_mbuf *
ack(struct duo *d, uint32_t qpn)
{
	const struct tap as_tap = { .port = uroce_port_of_context(d->context) };
	struct rte_mbuf *m = rte_pktmbuf_alloc(d->pool);
	uint8_t frame[TAP_BYTES];
	uint32_t icrc;
	size_t bytes;

	assert_non_null(m);
	bytes = tap_frame(&as_tap, frame,
			  "M P 0800 45 02 0030 0000 4000 40 11 0000 0a000002 0a000001"
			  "c000 12b7 001c 0000 11 40 ffff 00 000000 00 000001 1f 000000 00000000");
	for (unsigned int i = 0; i < 3; i++)
		frame[UDP + 8 + 5 + i] = (uint8_t)(qpn >> (16 - 8 * i));
	tap_checksum_ipv4(frame, L3);
	memcpy(rte_pktmbuf_append(m, (uint16_t)bytes), frame, bytes);
	icrc = rte_cpu_to_le_32(uroce_icrc(m, L3, UDP, (uint32_t)(bytes - 4 - L3)));
	memcpy(rte_pktmbuf_mtod_offset(m, void *, bytes - 4), &icrc, sizeof(icrc));
	return m;
}

static void
give(struct duo *d, unsigned int queue, uint32_t qpn)
{
	assert_int_equal(rte_ring_enqueue(d->wire.rx[queue], ack(d, qpn)), 0);
}

static void
test_handed_over(void **state)
{
	struct duo d;

	duo_open(&d);
	give(&d, 0, d.qps[1]->qp_num);
	test_poll(&d.workers[0], 1, 2);
	assert_int_equal(test_counter(d.context, "handed_over"), 1);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), 0);
	test_poll(&d.workers[1], 1, 2);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), 1); /* the QP is in RESET */
	/* received by its own worker */
	give(&d, 1, d.qps[1]->qp_num);
	test_poll(&d.workers[1], 1, 2);
	assert_int_equal(test_counter(d.context, "handed_over"), 1);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), 2);
	duo_close(&d);
}

/* Frames for the other worker, more than its inbox holds, while that worker is not polled. (A ring of size n holds
 * n - 1.) */
static void
fill_inbox(struct duo *d, unsigned int more)
{
	for (unsigned int i = 0; i < UROCE_INBOX - 1; i++) {
		give(d, 0, d->qps[1]->qp_num);
		test_poll(&d->workers[0], 1, 1);
	}
	for (unsigned int i = 0; i < more; i++)
		give(d, 0, d->qps[1]->qp_num);
	test_poll(&d->workers[0], 1, 4);
}

/* With a full inbox, the queue is not polled: nothing is lost, and the frames arrive once the other worker runs. */
static void
test_inbox_full(void **state)
{
	struct duo d;

	duo_open(&d);
	fill_inbox(&d, 2 * UROCE_BURST);
	assert_int_equal(test_counter(d.context, "handed_over"), UROCE_INBOX - 1);
	assert_int_equal(rte_ring_count(d.wire.rx[0]), UROCE_BURST); /* one burst was received, and is held */
	assert_int_equal(test_counter(d.context, "drop_handover"), 0);
	test_poll(d.workers, 2, UROCE_INBOX / UROCE_BURST + 4);
	assert_int_equal(test_counter(d.context, "handed_over"), UROCE_INBOX - 1 + 2 * UROCE_BURST);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), UROCE_INBOX - 1 + 2 * UROCE_BURST);
	assert_int_equal(test_counter(d.context, "drop_handover"), 0);
	duo_close(&d);
}

/* A worker that takes no frame in time counts as stalled, and holds up no other one until it takes a frame again. */
static void
test_inbox_stalled(void **state)
{
	struct duo d;

	duo_open(&d);
	fill_inbox(&d, 3);
	assert_int_equal(test_counter(d.context, "drop_handover"), 0);
	d.workers[0]->now_ns += UROCE_HANDOVER_STALL_NS + 1;
	test_poll(&d.workers[0], 1, 1);
	assert_int_equal(test_counter(d.context, "drop_handover"), 3);
	give(&d, 0, d.qps[1]->qp_num);
	give(&d, 0, d.qps[0]->qp_num);
	test_poll(&d.workers[0], 1, 1);
	assert_int_equal(test_counter(d.context, "drop_handover"), 4);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), 1);
	/* the worker runs again: a frame that it takes ends the stall */
	test_poll(&d.workers[1], 1, 1);
	for (unsigned int i = 0; i <= UROCE_BURST; i++)
		give(&d, 0, d.qps[1]->qp_num);
	test_poll(&d.workers[0], 1, 4);
	assert_int_equal(test_counter(d.context, "drop_handover"), 4);
	test_poll(d.workers, 2, UROCE_INBOX / UROCE_BURST + 4);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), UROCE_INBOX + UROCE_BURST + 1);
	/* its QP may be destroyed while frames for it are in the inbox and wait for room */
	fill_inbox(&d, 3);
	assert_int_equal(uroce_destroy_qp(d.qps[1]), 0);
	d.qps[1] = NULL;
	test_poll(&d.workers[1], 1, 10);
	assert_true(test_counter(d.context, "drop_qpn") > 0);
	/* the rest is freed with the port: duo_close() checks it */
	duo_close(&d);
}

/* The last mbufs of a pool are not handed over: the queue needs them to receive. */
static void
test_pool_spare(void **state)
{
	struct rte_mbuf *taken[2 * UROCE_INBOX];
	unsigned int n;
	struct duo d;

	duo_open(&d);
	n = rte_mempool_avail_count(d.pool) - d.pool->size / UROCE_INBOX_SPARE - 2 * UROCE_BURST;
	assert_int_equal(rte_pktmbuf_alloc_bulk(d.pool, taken, n), 0);
	for (unsigned int i = 0; i < 2 * UROCE_BURST; i++)
		give(&d, 0, d.qps[1]->qp_num);
	test_poll(&d.workers[0], 1, 4);
	assert_int_equal(test_counter(d.context, "handed_over"), UROCE_BURST / 2);
	rte_pktmbuf_free_bulk(taken, n);
	test_poll(d.workers, 2, 8);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), 2 * UROCE_BURST);
	assert_int_equal(test_counter(d.context, "drop_handover"), 0);
	duo_close(&d);
}

/* More workers have larger inboxes, which keep their frames when they grow. */
static void
test_inbox_grows(void **state)
{
	struct uroce_worker *workers[3];
	struct ibv_context *context;
	struct test_rings wire;
	struct duo d;

	duo_open(&d);
	fill_inbox(&d, 0);
	test_rings_create(&wire, 3);
	for (unsigned int i = 0; i < 3; i++)
		workers[i] = i < 2 ? d.workers[i] : uroce_create_worker(-1);
	assert_int_equal(rte_ring_get_capacity(workers[1]->inbox), UROCE_INBOX - 1);
	context = uroce_open_port(wire.port_id, NULL, workers, 3);
	assert_non_null(context);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(rte_ring_get_capacity(workers[i]->inbox), 2 * UROCE_INBOX - 1);
	assert_int_equal(rte_ring_count(workers[1]->inbox), UROCE_INBOX - 1);
	test_poll(d.workers, 2, UROCE_INBOX / UROCE_BURST + 4);
	assert_int_equal(test_counter(d.context, "drop_qp_state"), UROCE_INBOX - 1);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_worker(workers[2]), 0);
	test_rings_destroy(&wire);
	duo_close(&d);
}

static void
connect_self(struct ibv_qp *qp, uint32_t dest_qpn, const union ibv_gid *gid)
{
	const struct ibv_qp_attr attr = {
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest_qpn,
		.timeout = 8, /* a millisecond */
		.retry_cnt = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = *gid, .sgid_index = 1 } },
	};

	harness_qp_to(qp, attr, IBV_QPS_RTS);
}

/* The peer is a destroyed QP of this process: frames to it are dropped, and the work request fails in the end. */
static void
test_loopback_to_nobody(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED }, *bad;
	union ibv_gid gid;
	struct ibv_wc wc;
	uint32_t gone;
	struct duo d;

	duo_open(&d);
	assert_int_equal(uroce_query_gid(d.context, 1, 1, &gid), 0);
	gone = d.qps[1]->qp_num;
	connect_self(d.qps[0], gone, &gid);
	assert_int_equal(uroce_destroy_qp(d.qps[1]), 0);
	d.qps[1] = NULL;
	assert_int_equal(uroce_post_send(d.qps[0], &wr, &bad), 0);
	while (uroce_poll_cq(d.cqs[0], 1, &wc) == 0)
		test_poll(d.workers, 2, 1);
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(test_counter(d.context, "tx_drop_loopback"), 2);
	duo_close(&d);
}

UROCE_TESTS(port_tx)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held_until_resolved), cmocka_unit_test(test_unresolved),
		cmocka_unit_test(test_handed_over),         cmocka_unit_test(test_inbox_full),
		cmocka_unit_test(test_inbox_stalled),       cmocka_unit_test(test_pool_spare),
		cmocka_unit_test(test_inbox_grows),         cmocka_unit_test(test_loopback_to_nobody),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
