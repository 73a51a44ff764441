/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * UD, UC and QP1 end to end over ports of the process: the receiver of a datagram replies by its header and completion,
 * on a wire and looped back, over IPv4, IPv6 and VLANs.
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

#include "eal.h"
#include "groups.h"
#include "port/worker/pool.h"
#include "rings.h"
#include "uroce.h"
#include "verbs/qp/gsi.h"
#include "wire/headers.h"

#define BYTES  8192
#define GRH    40
#define QKEY   0x00abcdef
#define SL     5
#define SL_IPV4 0xa
#define SL_IPV6 0x9
#define ROUNDS 2000 /* polls until a frame arrives, including the neighbor's resolution */

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer; /* the first half is sent, the second half is received into */
};

struct net {
	struct test_rings wire[2];
	struct uroce_worker *worker;
	struct end ends[2];
	uint8_t sl; /* of the completion: the VLAN's priority, or else the kind of header */
};

static const struct ibv_qp_cap cap = { 16, 16, 1, 1, 256 };

static void
end_open(struct end *e, struct ibv_context *context)
{
	e->context = context;
	e->buffer = calloc(1, BYTES);
	assert_non_null(e->buffer);
	e->pd = uroce_alloc_pd(context);
	assert_non_null(e->pd);
	e->cq = uroce_create_cq(context, 64, NULL, NULL, 0);
	assert_non_null(e->cq);
	e->mr = uroce_reg_mr(e->pd, e->buffer, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(e->mr);
	for (unsigned int i = 0; i < BYTES / 2; i++)
		e->buffer[i] = (uint8_t)(i * 31 + (uintptr_t)e);
}

static void
end_close(struct end *e)
{
	assert_int_equal(uroce_destroy_qp(e->qp), 0);
	assert_int_equal(uroce_destroy_cq(e->cq), 0);
	assert_int_equal(uroce_dereg_mr(e->mr), 0);
	assert_int_equal(uroce_dealloc_pd(e->pd), 0);
	free(e->buffer);
}

static void
net_open(struct net *net, const struct uroce_port_conf *conf, const char *a, const char *b)
{
	const char *const cidrs[2] = { a, b };

	memset(net, 0, sizeof(*net));
	net->sl = conf->vlan != 0 ? SL : strchr(a, ':') != NULL ? SL_IPV6 : SL_IPV4;
	test_rings_create_pair(&net->wire[0], &net->wire[1]);
	net->worker = uroce_create_worker(-1);
	assert_non_null(net->worker);
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_context *context;

		context = uroce_open_port(net->wire[i].port_id, conf, &net->worker, 1);
		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, cidrs[i]), 0);
		end_open(&net->ends[i], context);
	}
}

static void
net_close(struct net *net)
{
	for (unsigned int i = 0; i < 2; i++)
		end_close(&net->ends[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(net->ends[i].context), 0);
	assert_int_equal(uroce_destroy_worker(net->worker), 0);
	rte_eth_dev_close(net->wire[0].port_id);
	test_rings_destroy(&net->wire[1]);
	assert_int_equal(uroce_pools_retired(), 0);
}

static union ibv_gid
gid_of(const struct end *e)
{
	union ibv_gid gid;

	assert_int_equal(uroce_query_gid(e->context, 1, 1, &gid), 0);
	return gid;
}

static struct ibv_ah_attr
address_of(const struct end *peer)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.sl = SL,
		.grh = { .dgid = gid_of(peer), .sgid_index = 1, .hop_limit = 64, .traffic_class = 0x60 },
	};
}

static void
make_qp(struct end *e, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = { .qp_type = type, .send_cq = e->cq, .recv_cq = e->cq, .cap = cap };

	e->qp = uroce_create_qp(e->pd, &init);
	assert_non_null(e->qp);
}

static void
modify(struct end *e, struct ibv_qp_attr *attr, enum ibv_qp_state to, int mask)
{
	attr->qp_state = to;
	assert_int_equal(uroce_modify_qp(e->qp, attr, IBV_QP_STATE | mask), 0);
}

static void
make_ud(struct end *e)
{
	struct ibv_qp_attr attr = { .port_num = 1, .qkey = QKEY };

	make_qp(e, IBV_QPT_UD);
	modify(e, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	modify(e, &attr, IBV_QPS_RTR, 0);
	modify(e, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

static void
post_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buffer + BYTES / 2, BYTES / 2, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(e->qp, &wr, &bad), 0);
}

static void
post_send(struct end *e, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, uint32_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)e->buffer, bytes, e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge, .num_sge = 1 };
	struct ibv_send_wr *bad;

	if (bytes <= cap.max_inline_data)
		wr.send_flags |= IBV_SEND_INLINE;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	assert_int_equal(uroce_post_send(e->qp, &wr, &bad), 0);
}

static struct ibv_wc
wait_wc(struct net *net, struct end *e, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		test_poll(&net->worker, 1, 1);
		if (uroce_poll_cq(e->cq, 1, &wc) == 0)
			continue;
		assert_string_equal(uroce_wc_status_str(wc.status), "success");
		assert_int_equal(wc.opcode, opcode);
		return wc;
	}
	fail_msg("no completion");
	return wc;
}

/* a sends to b; b replies by the header and the completion. */
static void
ping_pong(struct net *net, uint32_t qkey, uint32_t bytes)
{
	struct end *a = &net->ends[0], *b = &net->ends[1];
	struct ibv_ah_attr attr = address_of(b);
	struct ibv_ah *there = uroce_create_ah(a->pd, &attr), *back;
	struct ibv_wc wc;

	assert_non_null(there);
	post_recv(a);
	post_recv(b);
	post_send(a, there, b->qp->qp_num, qkey, bytes);
	wait_wc(net, a, IBV_WC_SEND);
	wc = wait_wc(net, b, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, GRH + bytes);
	assert_int_equal(wc.src_qp, a->qp->qp_num);
	assert_int_equal(wc.sl, net->sl);
	assert_memory_equal(b->buffer + BYTES / 2 + GRH, a->buffer, bytes);
	back = uroce_create_ah_from_wc(b->pd, &wc, (struct ibv_grh *)(b->buffer + BYTES / 2), 1);
	assert_non_null(back);
	post_send(b, back, wc.src_qp, qkey, bytes);
	/* while the send is queued */
	assert_int_equal(uroce_destroy_ah(back), 0);
	wc = wait_wc(net, a, IBV_WC_RECV);
	assert_int_equal(wc.src_qp, b->qp->qp_num);
	assert_int_equal(wc.sl, net->sl);
	assert_memory_equal(a->buffer + BYTES / 2 + GRH, b->buffer, bytes);
	wait_wc(net, b, IBV_WC_SEND);
	assert_int_equal(uroce_destroy_ah(there), 0);
}

static void
run_ud(const struct uroce_port_conf *conf, const char *a, const char *b)
{
	struct net net;

	net_open(&net, conf, a, b);
	make_ud(&net.ends[0]);
	make_ud(&net.ends[1]);
	ping_pong(&net, QKEY, 4000);
	ping_pong(&net, 0x80000000, 3);	/* R7 */
	ping_pong(&net, QKEY, 0);
	assert_true(test_counter(net.ends[0].context, "loopback_frames") > 0 || conf->no_loopback);
	net_close(&net);
}

static void
test_ud(void **state)
{
	static const struct uroce_port_conf confs[] = {
		{ .size = sizeof(confs[0]), .no_loopback = 1 },
		{ .size = sizeof(confs[0]) },
		{ .size = sizeof(confs[0]), .no_loopback = 1, .vlan = 7 },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(confs); i++) {
		run_ud(&confs[i], "10.0.0.1/24", "10.0.0.2/24");
		run_ud(&confs[i], "fd00::1/64", "fd00::2/64");
	}
}

static void
test_qp1(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct net net;

	(void)state;
	net_open(&net, &conf, "10.0.0.1/24", "10.0.0.2/24");
	for (unsigned int i = 0; i < 2; i++) {
		struct end *e = &net.ends[i];

		e->qp = uroce_gsi_create(e->pd, e->cq, e->cq, &cap);
		assert_non_null(e->qp);
	}
	ping_pong(&net, UROCE_GSI_QKEY, 256);
	net_close(&net);
}

/* An address stays while an address handle uses it, even a destroyed one whose send is still queued. */
static void
test_addresses_that_handles_use(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	struct net net;

	(void)state;
	net_open(&net, &conf, "10.0.0.1/24", "10.0.0.2/24");
	make_ud(&net.ends[0]);
	make_ud(&net.ends[1]);
	attr = address_of(&net.ends[1]);
	ah = uroce_create_ah(net.ends[0].pd, &attr);
	assert_non_null(ah);
	assert_int_equal(uroce_del_address(net.ends[0].context, "10.0.0.1/24"), EBUSY);
	post_send(&net.ends[0], ah, net.ends[1].qp->qp_num, QKEY, 8);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_del_address(net.ends[0].context, "10.0.0.1/24"), EBUSY);
	wait_wc(&net, &net.ends[0], IBV_WC_SEND);
	assert_int_equal(uroce_del_address(net.ends[0].context, "10.0.0.1/24"), 0);
	net_close(&net);
}

static void
connect_uc(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num, .rq_psn = 7, .sq_psn = 7, .ah_attr = address_of(peer),
	};

	modify(e, &attr, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(e, &attr, IBV_QPS_RTR, IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
	modify(e, &attr, IBV_QPS_RTS, IBV_QP_SQ_PSN);
}

/* An application that sends datagrams may exit without waiting for completions, as with an RNIC: they are sent. */
static void
run_leave(enum ibv_qp_type type)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct end *a, *b;
	struct ibv_ah_attr attr;
	struct ibv_ah *ah;
	struct net net;

	net_open(&net, &conf, "10.0.0.1/24", "10.0.0.2/24");
	a = &net.ends[0];
	b = &net.ends[1];
	attr = address_of(b);
	ah = uroce_create_ah(a->pd, &attr);
	assert_non_null(ah);
	if (type == IBV_QPT_UD) {
		make_ud(a);
		make_ud(b);
	} else {
		make_qp(a, type);
		make_qp(b, type);
		connect_uc(a, b);
		connect_uc(b, a);
	}
	for (unsigned int i = 0; i < cap.max_recv_wr; i++) {
		post_recv(b);
		post_send(a, ah, b->qp->qp_num, QKEY, 8);
	}
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_destroy_qp(a->qp), 0);
	for (unsigned int i = 0; i < cap.max_recv_wr; i++)
		wait_wc(&net, b, IBV_WC_RECV);
	make_ud(a);
	net_close(&net);
}

static void
test_leave(void **state)
{
	(void)state;
	run_leave(IBV_QPT_UD);
	run_leave(IBV_QPT_UC);
}

static void
run_uc(const struct uroce_port_conf *conf)
{
	struct end *a, *b;
	struct net net;

	net_open(&net, conf, "10.0.0.1/24", "10.0.0.2/24");
	a = &net.ends[0];
	b = &net.ends[1];
	make_qp(a, IBV_QPT_UC);
	make_qp(b, IBV_QPT_UC);
	connect_uc(a, b);
	connect_uc(b, a);
	post_recv(b);
	post_send(a, NULL, 0, 0, 3000);
	wait_wc(&net, a, IBV_WC_SEND);
	assert_int_equal(wait_wc(&net, b, IBV_WC_RECV).byte_len, 3000);
	assert_memory_equal(b->buffer + BYTES / 2, a->buffer, 3000);
	net_close(&net);
}

static void
test_uc(void **state)
{
	static const struct uroce_port_conf confs[] = {
		{ .size = sizeof(confs[0]), .no_loopback = 1 },
		{ .size = sizeof(confs[0]) },
	};

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(confs); i++)
		run_uc(&confs[i]);
}

UROCE_TESTS(port_datagram)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ud),
		cmocka_unit_test(test_qp1),
		cmocka_unit_test(test_addresses_that_handles_use),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_uc),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
