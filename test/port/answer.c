/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * When ACKs leave: before the reply to a SEND, behind a WRITE that replies to a WRITE, and before the QP ends.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "net.h"
#include "port/worker/worker.h"
#include "uroce_config.h"

#define WRITES 32
#define WRITE_BYTES 16384 /* exceeds the frames that a worker keeps for a stalled port */

/* The opcodes of the frames in a ring, in order; the frames stay. */
static unsigned int
opcodes_in(struct rte_ring *ring, uint8_t opcodes[], unsigned int max)
{
	unsigned int n = rte_ring_count(ring);
	struct rte_mbuf *m = NULL;

	assert_true(n <= max);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(rte_ring_dequeue(ring, (void **)&m), 0);
		opcodes[i] = *rte_pktmbuf_mtod_offset(m, uint8_t *, sizeof(struct rte_ether_hdr) +
						      sizeof(struct rte_ipv4_hdr) + sizeof(struct rte_udp_hdr));
		assert_int_equal(rte_ring_enqueue(ring, m), 0);
	}
	return n;
}

static const struct uroce_port_conf on_the_wire = { .size = sizeof(on_the_wire), .no_loopback = 1 },
				    looped_back = { .size = sizeof(looped_back) };

/* Open a network with resolved neighbors. The second end has received a burst of WRITEs. */
static void
start(struct net *net, const struct uroce_port_conf *conf, unsigned int writes)
{
	struct end *a = &net->ends[0], *b = &net->ends[1];

	net_open(net, conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	end_post(a, IBV_WR_RDMA_WRITE, b, 8, 0);
	net_expect_ok(net, a, IBV_WC_RDMA_WRITE);
	end_post(b, IBV_WR_RDMA_WRITE, a, 8, 0);
	net_expect_ok(net, b, IBV_WC_RDMA_WRITE);
	test_poll(net->workers, 2, 4);

	for (unsigned int i = 0; i < writes; i++)
		end_post(a, IBV_WR_RDMA_WRITE, b, 8, 0);
	assert_int_equal(uroce_worker_poll(net->workers[0]), writes);
	assert_uint_in_range(uroce_worker_poll(net->workers[1]), writes, writes + 1);
}

static void
finish(struct net *net, unsigned int writes)
{
	while (writes-- > 0)
		net_expect_ok(net, &net->ends[0], IBV_WC_RDMA_WRITE);
	net_close(net);
}

/* After a small burst, ACKs wait for the application's reply; after a large one, throughput matters. */
static void
test_bursts(void **state)
{
	struct net net;

	start(&net, &on_the_wire, UROCE_ACK_DEFER_PACKETS);
	assert_int_equal(rte_ring_count(net.wire[0].rx[0]), 0);
	assert_int_equal(uroce_worker_poll(net.workers[1]), 1);
	assert_int_equal(rte_ring_count(net.wire[0].rx[0]), 1);
	finish(&net, UROCE_ACK_DEFER_PACKETS);

	start(&net, &on_the_wire, UROCE_ACK_DEFER_PACKETS + 1);
	assert_int_equal(rte_ring_count(net.wire[0].rx[0]), 1);
	finish(&net, UROCE_ACK_DEFER_PACKETS + 1);
}

/* The same over loopback. */
static void
test_loopback_bursts(void **state)
{
	struct net net;

	start(&net, &looped_back, UROCE_ACK_DEFER_PACKETS);
	assert_int_equal(rte_ring_count(net.workers[0]->inbox), 0);
	assert_int_equal(uroce_worker_poll(net.workers[1]), 1);
	assert_int_equal(rte_ring_count(net.workers[0]->inbox), 1);
	finish(&net, UROCE_ACK_DEFER_PACKETS);

	start(&net, &looped_back, UROCE_ACK_DEFER_PACKETS + 1);
	assert_int_equal(rte_ring_count(net.workers[0]->inbox), 1);
	finish(&net, UROCE_ACK_DEFER_PACKETS + 1);
}

/* With the port full, an ACK leaves before the messages that the engine has not sent yet. */
static void
test_no_room(void **state)
{
	uint8_t opcodes[1024];
	unsigned int n, at = 0;
	struct rte_ring *ring;
	unsigned int nothing;
	struct net net;

	start(&net, &on_the_wire, 1);
	ring = net.wire[0].rx[0];
	nothing = rte_ring_free_count(ring);
	for (unsigned int i = 0; i < nothing; i++)
		assert_int_equal(rte_ring_enqueue(ring, &net), 0);
	for (unsigned int i = 0; i < WRITES; i++)
		end_post(&net.ends[1], IBV_WR_RDMA_WRITE, &net.ends[0], WRITE_BYTES, 0);
	assert_int_equal(uroce_worker_poll(net.workers[1]), 0);
	for (void *frame; nothing-- > 0;)
		assert_int_equal(rte_ring_dequeue(ring, &frame), 0);
	uroce_worker_poll(net.workers[1]);
	n = opcodes_in(ring, opcodes, RTE_DIM(opcodes));
	while (at < n && opcodes[at] != 0x11) /* ACKNOWLEDGE */
		at++;
	assert_true(at + 1 < n);
	for (unsigned int i = 0; i < WRITES; i++)
		net_expect_ok(&net, &net.ends[1], IBV_WC_RDMA_WRITE);
	finish(&net, 1);
}

static void
post_recv(struct end *e)
{
	struct ibv_sge sge = { .addr = (uintptr_t)e->buffer, .length = 8, .lkey = e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(e->qp, &wr, &bad), 0);
}

static void
expect_wc(struct end *e, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(e->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, opcode);
}

/* The reply to a SEND leaves in the same poll as the ACK, behind it: the peer's SEND completes before its receive. */
static void
test_ack_first(void **state)
{
	struct net net;
	struct end *a = &net.ends[0], *b = &net.ends[1];
	uint8_t opcodes[4];

	start(&net, &on_the_wire, 0);
	post_recv(a);
	post_recv(b);
	end_post(a, IBV_WR_SEND, b, 8, 0);
	assert_int_equal(uroce_worker_poll(net.workers[0]), 1);
	assert_int_equal(uroce_worker_poll(net.workers[1]), 1);
	expect_wc(b, IBV_WC_RECV);
	end_post(b, IBV_WR_SEND, a, 8, 0);
	assert_int_equal(uroce_worker_poll(net.workers[1]), 2);
	assert_int_equal(opcodes_in(net.wire[0].rx[0], opcodes, RTE_DIM(opcodes)), 2);
	assert_int_equal(opcodes[0], 0x11); /* ACKNOWLEDGE */
	assert_int_equal(opcodes[1], 0x04); /* SEND ONLY */
	assert_int_equal(uroce_worker_poll(net.workers[0]), 2);
	expect_wc(a, IBV_WC_SEND);
	expect_wc(a, IBV_WC_RECV);
	net_expect_ok(&net, b, IBV_WC_SEND);
	net_close(&net);
}

/* The ACK of a WRITE leaves in the next round, behind the WRITE with which the application has replied. */
static void
test_answer_first(void **state)
{
	struct ibv_wc wc;
	uint8_t opcodes[4];
	struct net net;
	struct end *a = &net.ends[0], *b = &net.ends[1];

	start(&net, &on_the_wire, 1);
	assert_int_equal(rte_ring_count(net.wire[0].rx[0]), 0);
	end_post(b, IBV_WR_RDMA_WRITE, a, 8, 0);
	assert_int_equal(uroce_worker_poll(net.workers[1]), 2);
	assert_int_equal(opcodes_in(net.wire[0].rx[0], opcodes, RTE_DIM(opcodes)), 2);
	assert_int_equal(opcodes[0], 0x0a); /* WRITE ONLY */
	assert_int_equal(opcodes[1], 0x11); /* ACKNOWLEDGE */
	assert_int_equal(uroce_worker_poll(net.workers[0]), 2);
	assert_int_equal(uroce_poll_cq(a->cq, 1, &wc), 1);
	net_expect_ok(&net, b, IBV_WC_RDMA_WRITE);
	net_close(&net);
}

/* A reset sends the owed ACK, even if the application never polls again. */
static void
test_acknowledged_before_the_end(void **state)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct net net;

	start(&net, &on_the_wire, 1);
	assert_int_equal(rte_ring_count(net.wire[0].rx[0]), 0);
	assert_int_equal(uroce_modify_qp(net.ends[1].qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(rte_ring_count(net.wire[0].rx[0]), 1);
	net.nb_workers = 1;
	net_expect_ok(&net, &net.ends[0], IBV_WC_RDMA_WRITE);
	net.nb_workers = 2;
	net_close(&net);
}

UROCE_TESTS(port_answer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ack_first),
		cmocka_unit_test(test_answer_first),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_loopback_bursts),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_acknowledged_before_the_end),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
