/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * RC end to end over ports of the process: SEND, WRITE, READ and atomics; on a wire and looped
 * back, with one worker and with two, and with every frame on the wrong queue.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "eal.h"
#include "port/pool.h"
#include "rings.h"
#include "uroce.h"

#define BYTES 100000
#define SPINS 50000000u

enum memory {
	MEMORY_DPDK,
	MEMORY_MALLOC
};

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;
	enum memory memory;
};

struct net {
	struct test_rings wire[2];
	struct uroce_worker *workers[2];
	unsigned int nb_workers;
	struct end ends[2];
	bool threads; /* lcores poll; else the test does */
};

static void
end_open(struct end *e, struct ibv_context *context, enum memory memory)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64,
			 .max_recv_wr = 64,
			 .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};

	e->context = context;
	e->memory = memory;
	e->buffer = memory == MEMORY_DPDK ? rte_zmalloc("test", BYTES, 4096) : calloc(1, BYTES);
	assert_non_null(e->buffer);
	e->pd = uroce_alloc_pd(context);
	assert_non_null(e->pd);
	e->cq = uroce_create_cq(context, 256, NULL, NULL, 0);
	assert_non_null(e->cq);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = uroce_create_qp(e->pd, &attr);
	assert_non_null(e->qp);
	e->mr = uroce_reg_mr(e->pd, e->buffer, BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(e->mr);
}

static void
end_close(struct end *e)
{
	assert_int_equal(uroce_destroy_qp(e->qp), 0);
	assert_int_equal(uroce_destroy_cq(e->cq), 0);
	assert_int_equal(uroce_dereg_mr(e->mr), 0);
	assert_int_equal(uroce_dealloc_pd(e->pd), 0);
	if (e->memory == MEMORY_DPDK)
		rte_free(e->buffer);
	else
		free(e->buffer);
}

static void
end_connect(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	union ibv_gid gid;

	assert_int_equal(uroce_modify_qp(e->qp, &attr,
					 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						 IBV_QP_ACCESS_FLAGS),
			 0);
	assert_int_equal(uroce_query_gid(peer->context, 1, 1, &gid), 0);
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_4096;
	attr.dest_qp_num = peer->qp->qp_num;
	attr.rq_psn = 0xfffff0;
	attr.max_dest_rd_atomic = 8;
	attr.min_rnr_timer = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.grh.dgid = gid;
	attr.ah_attr.grh.sgid_index = 1;
	attr.ah_attr.grh.hop_limit = 64;
	assert_int_equal(uroce_modify_qp(e->qp, &attr,
					 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
						 IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
						 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 18; /* a second: a busy machine is not a lossy one */
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.sq_psn = 0xfffff0;
	attr.max_rd_atomic = 8;
	assert_int_equal(uroce_modify_qp(e->qp, &attr,
					 IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
						 IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
						 IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void
wait_wc(struct net *net, struct end *e, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < SPINS; i++) {
		if (uroce_poll_cq(e->cq, 1, wc) == 1)
			return;
		if (!net->threads)
			test_poll(net->workers, net->nb_workers, 1);
	}
	fail_msg("no completion");
}

static void
post(struct end *e, enum ibv_wr_opcode opcode, const struct end *peer, size_t bytes, uint64_t add)
{
	struct ibv_sge sge = { (uintptr_t)e->buffer, (uint32_t)bytes, e->mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = 7,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_send_wr *bad;

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)peer->buffer;
		wr.wr.atomic.rkey = peer->mr->rkey;
		wr.wr.atomic.compare_add = add;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)peer->buffer;
		wr.wr.rdma.rkey = peer->mr->rkey;
	}
	assert_int_equal(uroce_post_send(e->qp, &wr, &bad), 0);
}

static void
expect_ok(struct net *net, struct end *e, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	wait_wc(net, e, &wc);
	assert_string_equal(uroce_wc_status_str(wc.status), uroce_wc_status_str(IBV_WC_SUCCESS));
	assert_int_equal(wc.opcode, opcode);
}

static void
fill(struct end *e, unsigned int seed)
{
	for (unsigned int i = 0; i < BYTES; i++)
		e->buffer[i] = (uint8_t)(i * 31 + seed);
}

static void
run_operations(struct net *net)
{
	struct end *a = &net->ends[0], *b = &net->ends[1];
	struct ibv_sge sge = { (uintptr_t)b->buffer, BYTES, b->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 8, .sg_list = &sge, .num_sge = 1 }, *bad;
	uint64_t value = 41;

	fill(a, 1);
	post(a, IBV_WR_RDMA_WRITE, b, BYTES, 0);
	expect_ok(net, a, IBV_WC_RDMA_WRITE);
	assert_memory_equal(a->buffer, b->buffer, BYTES);

	fill(a, 2);
	assert_int_equal(uroce_post_recv(b->qp, &recv, &bad), 0);
	post(a, IBV_WR_SEND, b, BYTES - 1, 0);
	expect_ok(net, a, IBV_WC_SEND);
	expect_ok(net, b, IBV_WC_RECV);
	assert_memory_equal(a->buffer, b->buffer, BYTES - 1);

	fill(b, 3);
	post(a, IBV_WR_RDMA_READ, b, BYTES, 0);
	expect_ok(net, a, IBV_WC_RDMA_READ);
	assert_memory_equal(a->buffer, b->buffer, BYTES);

	memcpy(b->buffer, &value, sizeof(value));
	post(a, IBV_WR_ATOMIC_FETCH_AND_ADD, b, 8, 1);
	expect_ok(net, a, IBV_WC_FETCH_ADD);
	assert_memory_equal(a->buffer, &value, sizeof(value));
	value = 42;
	assert_memory_equal(b->buffer, &value, sizeof(value));

	/* and the other way round */
	fill(b, 4);
	post(b, IBV_WR_RDMA_WRITE, a, 4097, 0);
	expect_ok(net, b, IBV_WC_RDMA_WRITE);
	assert_memory_equal(a->buffer, b->buffer, 4097);
}

static void
ends_connect(struct net *net)
{
	end_connect(&net->ends[0], &net->ends[1]);
	end_connect(&net->ends[1], &net->ends[0]);
}

static void
workers_create(struct net *net, unsigned int n)
{
	net->nb_workers = n;
	for (unsigned int i = 0; i < n; i++) {
		net->workers[i] = uroce_create_worker(-1);
		assert_non_null(net->workers[i]);
	}
}

static void
workers_destroy(struct net *net)
{
	for (unsigned int i = 0; i < net->nb_workers; i++)
		assert_int_equal(uroce_destroy_worker(net->workers[i]), 0);
}

/* Two devices on a wire, worker i % nb_workers for each. */
static void
wire_open(struct net *net, const struct uroce_port_conf *conf, unsigned int nb_workers,
	  const char *a, const char *b)
{
	const char *const cidrs[2] = { a, b };

	memset(net, 0, sizeof(*net));
	test_rings_create_pair(&net->wire[0], &net->wire[1]);
	workers_create(net, nb_workers);
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_context *context;

		context = uroce_open_port(net->wire[i].port_id, conf, &net->workers[i % nb_workers],
					  1);
		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, cidrs[i]), 0);
		end_open(&net->ends[i], context, i == 0 ? MEMORY_DPDK : MEMORY_MALLOC);
	}
	ends_connect(net);
}

static void
wire_close(struct net *net)
{
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net->ends[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(net->ends[i].context), 0);
	workers_destroy(net);
	rte_eth_dev_close(net->wire[0].port_id);
	test_rings_destroy(&net->wire[1]);
	assert_int_equal(uroce_pools_retired(), 0);
}

static void
test_wire(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	struct net net;

	wire_open(&net, &conf, 1, "10.0.0.1/24", "10.0.0.2/24");
	run_operations(&net);
	assert_true(test_counter(net.ends[0].context, "zero_copy_packets") > 0);
	assert_int_equal(test_counter(net.ends[0].context, "loopback_frames"), 0);
	wire_close(&net);
}

static void
test_wire_two_workers(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	struct net net;

	wire_open(&net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	run_operations(&net);
	wire_close(&net);
}

static void
test_wire_ipv6_vlan(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1, .vlan = 7 };
	struct net net;

	wire_open(&net, &conf, 1, "fd00::1/64", "fd00::2/64");
	run_operations(&net);
	wire_close(&net);
}

static void
test_wire_threads(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	unsigned int lcore = rte_get_next_lcore((unsigned int)-1, 1, 0);
	struct net net;

	wire_open(&net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	for (unsigned int i = 0; i < 2; i++, lcore = rte_get_next_lcore(lcore, 1, 0))
		assert_int_equal(uroce_worker_launch(net.workers[i], lcore), 0);
	assert_int_equal(uroce_worker_launch(net.workers[0], lcore), EINVAL);
	assert_int_equal(uroce_destroy_worker(net.workers[0]), EBUSY);
	net.threads = true;
	for (unsigned int i = 0; i < 20; i++)
		run_operations(&net);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_worker_stop(net.workers[i]), 0);
	assert_int_equal(uroce_worker_stop(net.workers[0]), EINVAL);
	wire_close(&net);
}

/* While two lcores poll and carry traffic, everything else comes and goes. */
static void
test_control_under_load(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	unsigned int lcore = rte_get_next_lcore((unsigned int)-1, 1, 0);
	struct uroce_counter counters[8];
	struct test_rings extra;
	struct net net;

	wire_open(&net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	test_rings_create(&extra, 1);
	for (unsigned int i = 0; i < 2; i++, lcore = rte_get_next_lcore(lcore, 1, 0))
		assert_int_equal(uroce_worker_launch(net.workers[i], lcore), 0);
	net.threads = true;
	for (unsigned int i = 0; i < 20; i++) {
		struct end *a = &net.ends[0], other;
		struct ibv_context *context;

		fill(a, i);
		post(a, IBV_WR_RDMA_WRITE, &net.ends[1], BYTES, 0);
		context = uroce_open_port(extra.port_id, NULL, net.workers, 1);
		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, "10.1.0.1/24"), 0);
		end_open(&other, context, MEMORY_DPDK);
		assert_int_equal(uroce_add_address(a->context, "10.2.0.1/24"), 0);
		assert_int_equal(uroce_ping(a->context, "10.0.0.2", 60000), 0);
		assert_true(uroce_query_counters(context, counters, RTE_DIM(counters)) >
			    RTE_DIM(counters));
		assert_int_equal(uroce_del_address(a->context, "10.2.0.1/24"), 0);
		assert_int_equal(uroce_close_device(context), EBUSY);
		end_close(&other);
		assert_int_equal(uroce_close_device(context), 0);
		expect_ok(&net, a, IBV_WC_RDMA_WRITE);
		assert_memory_equal(a->buffer, net.ends[1].buffer, BYTES);
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_worker_stop(net.workers[i]), 0);
	test_rings_destroy(&extra);
	wire_close(&net);
}

/* Two devices of the process that need no wire. */
static void
test_loopback_devices(void **state)
{
	struct net net;

	wire_open(&net, NULL, 2, "10.0.0.1/24", "192.168.0.1/24");
	run_operations(&net);
	assert_true(test_counter(net.ends[0].context, "loopback_frames") > 0);
	/* announcements, but no payload */
	assert_true(test_counter(net.ends[0].context, "tx_frames") < 10);
	wire_close(&net);
}

/* Two QPs of one device, on two workers; nobody is at the other end of its wire. */
static void
test_loopback_self(void **state)
{
	struct ibv_context *context;
	struct net net = { 0 };

	test_rings_create(&net.wire[0], 2);
	workers_create(&net, 2);
	context = uroce_open_port(net.wire[0].port_id, NULL, net.workers, 2);
	assert_non_null(context);
	assert_int_equal(uroce_add_address(context, "10.0.0.1/24"), 0);
	for (unsigned int i = 0; i < 2; i++)
		end_open(&net.ends[i], context, MEMORY_DPDK);
	ends_connect(&net);
	run_operations(&net);
	assert_true(test_counter(context, "loopback_frames") > 0);
	assert_int_equal(uroce_close_device(context), EBUSY);
	run_operations(&net); /* and it goes on */
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net.ends[i]);
	assert_int_equal(uroce_close_device(context), 0);
	workers_destroy(&net);
	test_rings_destroy(&net.wire[0]);
	assert_int_equal(uroce_pools_retired(), 0);
}

/* A device with two queues, whose frames all come to the worker that has not the QP. */
static void
test_handover(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	struct ibv_context *a, *b;
	struct net net = { 0 };
	struct ibv_qp *first;

	test_rings_create_funnel(&net.wire[0], &net.wire[1]);
	workers_create(&net, 2);
	a = uroce_open_port(net.wire[0].port_id, &conf, net.workers, 2);
	b = uroce_open_port(net.wire[1].port_id, &conf, &net.workers[1], 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(uroce_add_address(a, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_add_address(b, "10.0.0.2/24"), 0);
	end_open(&net.ends[0], a, MEMORY_DPDK); /* worker 0 has it: take the next one */
	first = net.ends[0].qp;
	net.ends[0].qp = uroce_create_qp(
		net.ends[0].pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
							    .send_cq = net.ends[0].cq,
							    .recv_cq = net.ends[0].cq,
							    .cap = { .max_send_wr = 64,
								     .max_recv_wr = 64,
								     .max_send_sge = 2,
								     .max_recv_sge = 2 } });
	assert_non_null(net.ends[0].qp);
	end_open(&net.ends[1], b, MEMORY_DPDK);
	ends_connect(&net);
	run_operations(&net);
	assert_true(test_counter(a, "handed_over") > 0);
	assert_int_equal(uroce_destroy_qp(first), 0);
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net.ends[i]);
	assert_int_equal(uroce_close_device(a), 0);
	assert_int_equal(uroce_close_device(b), 0);
	workers_destroy(&net);
	rte_eth_dev_close(net.wire[1].port_id);
	test_rings_destroy(&net.wire[0]);
	assert_int_equal(uroce_pools_retired(), 0);
}

/* Poll some workers until there is a completion, but not for ever. */
static bool
poll_for_wc(struct uroce_worker *const *workers, unsigned int n, struct end *e, struct ibv_wc *wc)
{
	for (unsigned int i = 0; i < SPINS / 100; i++) {
		if (uroce_poll_cq(e->cq, 1, wc) == 1)
			return true;
		test_poll(workers, n, 1);
	}
	return false;
}

/* Retransmit after a millisecond. */
static void
set_short_timeout(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD, .timeout = 8 };

	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_TIMEOUT), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
}

/* A worker that nobody polls holds up its own QPs, not those of others: frames for it do not take
 * all mbufs. */
static void
test_handover_to_nobody(void **state)
{
	const struct uroce_port_conf conf = { .no_loopback = 1 };
	struct uroce_worker *asleep, *awake[2];
	struct end to[2], from[2];
	struct test_rings wire[2];
	struct ibv_context *a, *b;
	struct net net = { 0 };
	struct ibv_wc wc;

	test_rings_create_funnel(&wire[0], &wire[1]);
	workers_create(&net, 2);
	asleep = uroce_create_worker(-1);
	assert_non_null(asleep);
	awake[0] = net.workers[0];
	awake[1] = net.workers[1];
	a = uroce_open_port(wire[0].port_id, &conf, (struct uroce_worker *[]){ awake[0], asleep },
			    2);
	b = uroce_open_port(wire[1].port_id, &conf, &awake[1], 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(uroce_add_address(a, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_add_address(b, "10.0.0.2/24"), 0);
	for (unsigned int i = 0; i < 2; i++) { /* QPs go round the workers */
		end_open(&to[i], a, MEMORY_MALLOC);
		end_open(&from[i], b, MEMORY_MALLOC);
		end_connect(&to[i], &from[i]);
		end_connect(&from[i], &to[i]);
	}
	set_short_timeout(&from[1]);
	for (unsigned int i = 0; i < 32; i++)
		post(&from[1], IBV_WR_RDMA_WRITE, &to[1], BYTES, 0);
	assert_true(poll_for_wc(awake, 2, &from[1], &wc));
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	post(&from[0], IBV_WR_RDMA_WRITE, &to[0], BYTES, 0);
	assert_true(poll_for_wc(awake, 2, &from[0], &wc));
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_true(test_counter(a, "drop_handover") > 0);
	for (unsigned int i = 0; i < 2; i++) {
		end_close(&to[i]);
		end_close(&from[i]);
	}
	assert_int_equal(uroce_close_device(a), 0);
	assert_int_equal(uroce_close_device(b), 0);
	workers_destroy(&net);
	assert_int_equal(uroce_destroy_worker(asleep), 0);
	rte_eth_dev_close(wire[1].port_id);
	test_rings_destroy(&wire[0]);
	assert_int_equal(uroce_pools_retired(), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire),
		cmocka_unit_test(test_wire_two_workers),
		cmocka_unit_test(test_wire_ipv6_vlan),
		cmocka_unit_test(test_loopback_devices),
		cmocka_unit_test(test_loopback_self),
		cmocka_unit_test(test_handover),
		cmocka_unit_test(test_handover_to_nobody),
		cmocka_unit_test(test_wire_threads),
		cmocka_unit_test(test_control_under_load),
	};

	test_eal_init("--lcores", "0,1@(0-1),2@(0-1)", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
