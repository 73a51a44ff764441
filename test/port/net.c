/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>

#include "harness/qp.h"
#include "net.h"
#include "port/worker/pool.h"

#define SPINS 50000000u	/* polls by the test itself */

void
end_open_on(struct end *e, struct ibv_context *context, enum end_memory memory, int comp_vector)
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
	e->buffer = memory == END_MEMORY_DPDK ? rte_zmalloc("test", END_BYTES, 4096) : calloc(1, END_BYTES);
	assert_non_null(e->buffer);
	e->pd = uroce_alloc_pd(context);
	assert_non_null(e->pd);
	e->cq = uroce_create_cq(context, 256, NULL, NULL, comp_vector);
	assert_non_null(e->cq);
	attr.send_cq = e->cq;
	attr.recv_cq = e->cq;
	e->qp = uroce_create_qp(e->pd, &attr);
	assert_non_null(e->qp);
	e->mr = uroce_reg_mr(e->pd, e->buffer, END_BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				     IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(e->mr);
}

void
end_open(struct end *e, struct ibv_context *context, enum end_memory memory)
{
	end_open_on(e, context, memory, 0);
}

void
end_close(struct end *e)
{
	assert_int_equal(uroce_destroy_qp(e->qp), 0);
	assert_int_equal(uroce_destroy_cq(e->cq), 0);
	assert_int_equal(uroce_dereg_mr(e->mr), 0);
	assert_int_equal(uroce_dealloc_pd(e->pd), 0);
	if (e->memory == END_MEMORY_DPDK)
		rte_free(e->buffer);
	else
		free(e->buffer);
}

void
end_connect(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 0xfffff0,
		.sq_psn = 0xfffff0,
		.max_dest_rd_atomic = 8,
		.max_rd_atomic = 8,
		.min_rnr_timer = 1,
		.timeout = 18, /* 1 s: no retransmission on a busy machine */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	assert_int_equal(uroce_query_gid(peer->context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	harness_qp_to(e->qp, attr, IBV_QPS_RTS);
}

static void
wait_wc(struct net *net, struct end *e, struct ibv_wc *wc)
{
	/* a busy machine may not run the lcores during any number of polls: only the test's timeout ends that wait */
	for (unsigned int i = 0; net->threads || i < SPINS; i++) {
		if (uroce_poll_cq(e->cq, 1, wc) == 1)
			return;
		if (!net->threads)
			test_poll(net->workers, net->nb_workers, 1);
	}
	fail_msg("no completion");
}

void
end_post(struct end *e, enum ibv_wr_opcode opcode, const struct end *peer, size_t bytes, uint64_t add)
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

void
net_expect_ok(struct net *net, struct end *e, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	wait_wc(net, e, &wc);
	assert_string_equal(uroce_wc_status_str(wc.status), uroce_wc_status_str(IBV_WC_SUCCESS));
	assert_int_equal(wc.opcode, opcode);
}

void
end_fill(struct end *e, unsigned int seed)
{
	for (unsigned int i = 0; i < END_BYTES; i++)
		e->buffer[i] = (uint8_t)(i * 31 + seed);
}

void
net_run_operations(struct net *net)
{
	struct end *a = &net->ends[0], *b = &net->ends[1];
	struct ibv_sge sge = { (uintptr_t)b->buffer, END_BYTES, b->mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 8, .sg_list = &sge, .num_sge = 1 }, *bad;
	uint64_t value = 41;

	end_fill(a, 1);
	end_post(a, IBV_WR_RDMA_WRITE, b, END_BYTES, 0);
	net_expect_ok(net, a, IBV_WC_RDMA_WRITE);
	assert_memory_equal(a->buffer, b->buffer, END_BYTES);

	end_fill(a, 2);
	assert_int_equal(uroce_post_recv(b->qp, &recv, &bad), 0);
	end_post(a, IBV_WR_SEND, b, END_BYTES - 1, 0);
	net_expect_ok(net, a, IBV_WC_SEND);
	net_expect_ok(net, b, IBV_WC_RECV);
	assert_memory_equal(a->buffer, b->buffer, END_BYTES - 1);

	end_fill(b, 3);
	end_post(a, IBV_WR_RDMA_READ, b, END_BYTES, 0);
	net_expect_ok(net, a, IBV_WC_RDMA_READ);
	assert_memory_equal(a->buffer, b->buffer, END_BYTES);

	memcpy(b->buffer, &value, sizeof(value));
	end_post(a, IBV_WR_ATOMIC_FETCH_AND_ADD, b, 8, 1);
	net_expect_ok(net, a, IBV_WC_FETCH_ADD);
	assert_memory_equal(a->buffer, &value, sizeof(value));
	value = 42;
	assert_memory_equal(b->buffer, &value, sizeof(value));

	/* and in the other direction */
	end_fill(b, 4);
	end_post(b, IBV_WR_RDMA_WRITE, a, 4097, 0);
	net_expect_ok(net, b, IBV_WC_RDMA_WRITE);
	assert_memory_equal(a->buffer, b->buffer, 4097);
}

void
net_connect(struct net *net)
{
	end_connect(&net->ends[0], &net->ends[1]);
	end_connect(&net->ends[1], &net->ends[0]);
}

void
net_create_workers(struct net *net, unsigned int n)
{
	net->nb_workers = n;
	for (unsigned int i = 0; i < n; i++) {
		net->workers[i] = uroce_create_worker(-1);
		assert_non_null(net->workers[i]);
	}
}

void
net_destroy_workers(struct net *net)
{
	for (unsigned int i = 0; i < net->nb_workers; i++)
		assert_int_equal(uroce_destroy_worker(net->workers[i]), 0);
}

void
net_open(struct net *net, const struct uroce_port_conf *conf, unsigned int nb_workers,
	  const char *a, const char *b)
{
	const char *const cidrs[2] = { a, b };

	memset(net, 0, sizeof(*net));
	test_rings_create_pair(&net->wire[0], &net->wire[1]);
	net_create_workers(net, nb_workers);
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_context *context;

		context = uroce_open_port(net->wire[i].port_id, conf, &net->workers[i % nb_workers],
					  1);
		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, cidrs[i]), 0);
		end_open(&net->ends[i], context, i == 0 ? END_MEMORY_DPDK : END_MEMORY_MALLOC);
	}
	net_connect(net);
}

void
net_close(struct net *net)
{
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net->ends[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(net->ends[i].context), 0);
	net_destroy_workers(net);
	rte_eth_dev_close(net->wire[0].port_id);
	test_rings_destroy(&net->wire[1]);
	assert_int_equal(uroce_pools_retired(), 0);
}

void
net_run_handed_over(struct net *net, const struct uroce_port_conf *conf)
{
	struct ibv_context *a, *b;

	net_create_workers(net, 2);
	a = uroce_open_port(net->wire[0].port_id, conf, net->workers, 2);
	b = uroce_open_port(net->wire[1].port_id, conf, &net->workers[1], 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(uroce_add_address(a, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_add_address(b, "10.0.0.2/24"), 0);
	end_open_on(&net->ends[0], a, END_MEMORY_DPDK, 1);
	end_open(&net->ends[1], b, END_MEMORY_DPDK);
	net_connect(net);
	net_run_operations(net);
	assert_true(test_counter(a, "handed_over") > 0);
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net->ends[i]);
	assert_int_equal(uroce_close_device(a), 0);
	assert_int_equal(uroce_close_device(b), 0);
	net_destroy_workers(net);
	rte_eth_dev_close(net->wire[1].port_id);
	test_rings_destroy(&net->wire[0]);
	assert_int_equal(uroce_pools_retired(), 0);
}
