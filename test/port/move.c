/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QPs move between the workers of a port, at each point of an operation. move_threads.c has the races.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "harness/qp.h"
#include "net.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "transport/qp/state.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"

#define WORKERS 2 /* of device 0, which receives all frames on the queue of worker 0; device 1 has worker 1 only */
#define SPINS   50000000u

static struct net net;

static int
setup(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };

	memset(&net, 0, sizeof(net));
	test_rings_create_funnel(&net.wire[0], &net.wire[1]);
	net_create_workers(&net, WORKERS);
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_context *context = uroce_open_port(net.wire[i].port_id, &conf, &net.workers[i], 2 - i);

		if (context == NULL || uroce_add_address(context, i == 0 ? "10.0.0.1/24" : "10.0.0.2/24") != 0)
			return -1;
		end_open(&net.ends[i], context, END_MEMORY_DPDK);
	}
	net_connect(&net);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net.ends[i]);
	for (unsigned int i = 0; i < 2; i++)
		if (uroce_close_device(net.ends[i].context) != 0)
			return -1;
	net_destroy_workers(&net);
	rte_eth_dev_close(net.wire[1].port_id);
	test_rings_destroy(&net.wire[0]);
	return uroce_pools_retired() == 0 ? 0 : -1;
}

static void
move(struct ibv_qp *qp, unsigned int worker)
{
	assert_int_equal(uroce_qp_move(qp, net.workers[worker]), 0);
	assert_ptr_equal(uroce_qp_worker(qp), net.workers[worker]);
}

/* No frame was lost, or overtaken by another one. */
static void
expect_no_gap(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(test_counter(net.ends[i].context, "sent_naks"), 0);
		assert_int_equal(test_counter(net.ends[i].context, "sent_sacks"), 0);
	}
}

static void
test_refused(void **state)
{
	struct uroce_worker *other = uroce_create_worker(-1);
	struct end *a = &net.ends[0], *b = &net.ends[1];

	assert_non_null(other);
	assert_int_equal(uroce_qp_move(a->qp, other), EINVAL);
	assert_int_equal(uroce_qp_move(a->qp, NULL), EINVAL);
	assert_int_equal(uroce_qp_move(b->qp, net.workers[0]), EINVAL); /* a worker of the other device */
	assert_ptr_equal(uroce_qp_worker(b->qp), net.workers[1]);
	move(a->qp, 0); /* it is there */
	assert_int_equal(uroce_destroy_worker(other), 0);
}

/* The CM's QP stays on its worker, which polls for it. */
static void
test_gsi_refused(void **state)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_UD, .send_cq = net.ends[0].cq, .recv_cq = net.ends[0].cq,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *gsi = uroce_qp_create(net.ends[0].pd, &attr, UROCE_GSI_QPN);

	assert_non_null(gsi);
	assert_int_equal(uroce_qp_move(gsi, net.workers[1]), EINVAL);
	assert_int_equal(uroce_destroy_qp(gsi), 0);
}

static void
test_all_operations(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		net_run_operations(&net);
		move(net.ends[0].qp, 1 - i % 2);
	}
	net_run_operations(&net);
	expect_no_gap();
}

/* Post an operation of END_BYTES, poll the workers `polls` times, move the QP, and wait for the completion.
 * @return whether the operation was complete before the move */
static bool
move_after(enum ibv_wr_opcode opcode, enum ibv_wc_opcode completion, unsigned int from, unsigned int polls)
{
	struct end *mover = &net.ends[0], *poster = &net.ends[from], *peer = &net.ends[1 - from];
	bool complete;

	end_fill(poster, polls);
	end_fill(peer, opcode == IBV_WR_RDMA_READ ? polls + 1 : 0);
	end_post(poster, opcode, peer, opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : END_BYTES, 1);
	test_poll(net.workers, WORKERS, polls);
	complete = !uroce_cq_is_empty(uroce_cq_of(poster->cq));
	move(mover->qp, polls % 2);
	net_expect_ok(&net, poster, completion);
	if (opcode != IBV_WR_ATOMIC_FETCH_AND_ADD)
		assert_memory_equal(poster->buffer, peer->buffer, END_BYTES);
	return complete;
}

/* Both as requester and as responder, at each point of the operation. */
static void
test_at_each_point(void **state)
{
	static const struct {
		enum ibv_wr_opcode opcode;
		enum ibv_wc_opcode completion;
	} ops[] = {
		{ IBV_WR_RDMA_WRITE, IBV_WC_RDMA_WRITE }, { IBV_WR_RDMA_READ, IBV_WC_RDMA_READ },
		{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WC_FETCH_ADD },
	};

	for (unsigned int i = 0; i < 2 * RTE_DIM(ops); i++)
		for (unsigned int polls = 0; !move_after(ops[i / 2].opcode, ops[i / 2].completion, i % 2, polls);)
			polls++;
	expect_no_gap();
}

/* Frames wait in the inbox of the QP's worker. The move receives them, before the new worker receives later ones. */
static void
test_inbox_first(void **state)
{
	struct uroce_worker *first = net.workers[0], *second = net.workers[1];
	struct end *a = &net.ends[0], *b = &net.ends[1];
	uint32_t psn;

	net_run_operations(&net);
	psn = uroce_responder_of(uroce_qp_of(a->qp))->psn;
	move(a->qp, 1);
	end_fill(b, 1);
	end_post(b, IBV_WR_RDMA_WRITE, a, END_BYTES, 0);
	test_poll(&second, 1, 1); /* b sends, and worker 1 also drives a's QP */
	test_poll(&first, 1, 4);  /* the frames arrive on the queue of worker 0 */
	assert_true(rte_ring_count(second->inbox) > 4);
	assert_int_equal(uroce_responder_of(uroce_qp_of(a->qp))->psn, psn);
	move(a->qp, 0);
	assert_int_equal(rte_ring_count(second->inbox), 0);
	assert_true(uroce_responder_of(uroce_qp_of(a->qp))->psn != psn);
	net_expect_ok(&net, b, IBV_WC_RDMA_WRITE);
	assert_memory_equal(a->buffer, b->buffer, END_BYTES);
	expect_no_gap();
}

static struct ibv_qp *
create_qp(struct end *e, enum ibv_qp_type type, struct ibv_cq *send, struct ibv_cq *recv)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type, .send_cq = send, .recv_cq = recv,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp(e->pd, &attr);

	assert_non_null(qp);
	return qp;
}

/* A CQ with completions of one worker takes no lock. */
static void
test_cq_is_shared_if_it_must(void **state)
{
	struct end *a = &net.ends[0];
	struct ibv_cq *other = uroce_create_cq(a->context, 4, NULL, NULL, 0);
	struct ibv_qp *second;

	assert_non_null(other);
	move(a->qp, 1);
	assert_false(uroce_cq_of(a->cq)->shared);
	assert_ptr_equal(uroce_cq_of(a->cq)->producer, &net.workers[1]->engine);
	second = create_qp(a, IBV_QPT_RC, other, a->cq);
	assert_true(uroce_cq_of(a->cq)->shared); /* vector 0 */
	assert_false(uroce_cq_of(other)->shared);
	move(second, 1);
	assert_false(uroce_cq_of(a->cq)->shared);
	assert_false(uroce_cq_of(other)->shared);
	assert_ptr_equal(uroce_cq_of(other)->producer, &net.workers[1]->engine);
	assert_int_equal(uroce_destroy_qp(second), 0);
	move(a->qp, 0);
	assert_false(uroce_cq_of(a->cq)->shared);
	assert_int_equal(uroce_destroy_cq(other), 0);
	net_run_operations(&net);
}

/* Create another connection, from device 0 to device 1. */
static void
connect_another(struct end pair[2], enum ibv_qp_type type, struct ibv_cq *cq)
{
	pair[0] = net.ends[0];
	pair[1] = net.ends[1];
	pair[0].cq = cq;
	pair[0].qp = create_qp(&pair[0], type, cq, cq);
	pair[1].qp = create_qp(&pair[1], type, pair[1].cq, pair[1].cq);
	end_connect(&pair[0], &pair[1]);
	end_connect(&pair[1], &pair[0]);
}

/* Requests were posted, and no worker has seen them. */
static void
test_destroyed_after_the_move(void **state)
{
	struct end *a = &net.ends[0];

	for (unsigned int i = 0; i < 4; i++) {
		struct end e[2];

		connect_another(e, IBV_QPT_RC, a->cq);
		end_post(&e[0], IBV_WR_RDMA_WRITE, &e[1], END_BYTES, 0);
		test_poll(net.workers, WORKERS, i);
		move(e[0].qp, 1);
		end_post(&e[0], IBV_WR_RDMA_WRITE, &e[1], END_BYTES, 0);
		assert_int_equal(uroce_destroy_qp(e[0].qp), 0);
		test_poll(net.workers, WORKERS, 2);
		assert_int_equal(uroce_destroy_qp(e[1].qp), 0);
	}
	move(a->qp, 1);
	net_run_operations(&net);
}

static struct ibv_ah *
create_ah(struct end *e, const struct end *peer)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1, .hop_limit = 64 } };
	struct ibv_ah *ah;

	assert_int_equal(uroce_query_gid(peer->context, 1, 1, &attr.grh.dgid), 0);
	ah = uroce_create_ah(e->pd, &attr);
	assert_non_null(ah);
	return ah;
}

/* SEND messages of `bytes` from device 1 to device 0, whose QP moves in between: none is lost, and they stay in order. */
static void
move_while_receiving(enum ibv_qp_type type, uint32_t bytes)
{
	struct end pair[2], to = net.ends[0], from = net.ends[1];
	struct ibv_ah *ah = create_ah(&from, &to);
	struct ibv_sge sge = { (uintptr_t)to.buffer, bytes + 40, to.mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	struct ibv_sge out = { (uintptr_t)from.buffer, bytes, from.mr->lkey };
	struct ibv_send_wr send = { .sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM }, *bad;
	unsigned int posted = 0, received = 0;
	struct ibv_wc wc;

	connect_another(pair, type, to.cq);
	to.qp = pair[0].qp;
	from.qp = pair[1].qp;
	if (type == IBV_QPT_UD) {
		send.wr.ud.ah = ah;
		send.wr.ud.remote_qpn = to.qp->qp_num;
		send.wr.ud.remote_qkey = 0; /* end_connect() sets none */
	}
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(uroce_post_recv(to.qp, &recv, &bad_recv), 0);
	for (unsigned int i = 0; received < 1000; i++) {
		send.imm_data = posted;
		if (posted - received < 32 && posted < 1000)
			posted += uroce_post_send(from.qp, &send, &bad) == 0;
		test_poll(&net.workers[i % 3 == 0], 1, 1);
		if (i % 5 == 0)
			move(to.qp, i / 5 % 2);
		while (uroce_poll_cq(to.cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			assert_int_equal(wc.imm_data, received++);
			assert_int_equal(uroce_post_recv(to.qp, &recv, &bad_recv), 0);
		}
	}
	assert_int_equal(uroce_destroy_qp(to.qp), 0);
	assert_int_equal(uroce_destroy_qp(from.qp), 0);
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

static void
test_unreliable_loses_nothing(void **state)
{
	move_while_receiving(IBV_QPT_UD, 1000);
	move_while_receiving(IBV_QPT_UC, 20000);
	move_while_receiving(IBV_QPT_RC, 20000);
	expect_no_gap();
}

static struct ibv_xrcd *
open_xrcd(struct ibv_context *context)
{
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1, .oflags = O_CREAT };
	struct ibv_xrcd *xrcd = uroce_open_xrcd(context, &attr);

	assert_non_null(xrcd);
	return xrcd;
}

/* Each handle moves the target QP. */
static void
test_xrc_target(void **state)
{
	struct end *a = &net.ends[0];
	struct ibv_xrcd *xrcd = open_xrcd(a->context);
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd,
	};
	struct ibv_qp *handles[2] = { uroce_create_qp_ex(a->context, &init) };
	struct ibv_qp_open_attr open = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
		.xrcd = xrcd, .qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp_init_attr queried;
	struct ibv_qp_attr attr;

	assert_non_null(handles[0]);
	open.qp_num = handles[0]->qp_num;
	handles[1] = uroce_open_qp(a->context, &open);
	assert_non_null(handles[1]);
	for (unsigned int i = 0; i < 4; i++) {
		move(handles[i % 2], i / 2);
		assert_ptr_equal(uroce_qp_worker(handles[1 - i % 2]), net.workers[i / 2]);
		assert_int_equal(uroce_query_qp(handles[1 - i % 2], &attr, IBV_QP_STATE, &queried), 0);
	}
	assert_int_equal(uroce_destroy_qp(handles[0]), 0);
	move(handles[1], 0);
	assert_int_equal(uroce_destroy_qp(handles[1]), 0);
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
}

/* The period of a moderated CQ began on the previous worker. */
static void
test_moderated_cq(void **state)
{
	struct ibv_modify_cq_attr moderate = { .attr_mask = IBV_CQ_ATTR_MODERATE, .moderate = { 100, 100 } };
	struct ibv_comp_channel *channel = uroce_create_comp_channel(net.ends[0].context);
	struct ibv_cq *cq = uroce_create_cq(net.ends[0].context, 64, NULL, channel, 0), *got = NULL;
	struct end e[2];
	void *context;

	assert_non_null(cq);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(uroce_modify_cq(cq, &moderate), 0);
	connect_another(e, IBV_QPT_RC, cq);
	uroce_req_notify_cq(cq, 0);
	for (unsigned int i = 0; i < 2; i++) {
		end_post(&e[0], IBV_WR_RDMA_WRITE, &e[1], 8, 0);
		net_expect_ok(&net, &e[0], IBV_WC_RDMA_WRITE);
		move(e[0].qp, 1);
		assert_ptr_not_equal(uroce_cq_of(cq)->moderation.timer_engine, &net.workers[0]->engine);
	}
	for (unsigned int i = 0; i < SPINS && uroce_get_cq_event(channel, &got, &context) != 0; i++)
		test_poll(net.workers, WORKERS, 1);
	assert_ptr_equal(got, cq);
	uroce_ack_cq_events(cq, 1);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_qp(e[i].qp), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

UROCE_TESTS(port_move)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(refused),
		TEST(gsi_refused),
		TEST(all_operations),
		TEST(at_each_point),
		TEST(inbox_first),
		TEST(cq_is_shared_if_it_must),
		TEST(destroyed_after_the_move),
		TEST(unreliable_loses_nothing),
		TEST(xrc_target),
		TEST(moderated_cq),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
