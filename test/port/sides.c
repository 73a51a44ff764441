/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/qp.h"
#include "port/worker/pool.h"
#include "rings.h"
#include "sides.h"

struct side sides[2];

/* ---- Devices ---------------------------------------------------------------------------------------------------- */

static void
side_open(struct side *s, unsigned int host, uint32_t inbox_frames)
{
	const struct uroce_worker_conf worker_conf = {
		.size = sizeof(worker_conf),
		.numa_node = -1,
		.inbox_frames = inbox_frames,
		.header_mbufs = 2047,
		.payload_mbufs = 255,
		.reorder_frames = 64,
	};
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	char address[32];

	for (unsigned int i = 0; i < SIDE_WORKERS; i++)
		assert_non_null(s->workers[i] = uroce_create_worker_ex(&worker_conf));
	assert_non_null(s->context = uroce_open_port(s->nic.port_id, &conf, s->workers, SIDE_WORKERS));
	snprintf(address, sizeof(address), "10.0.0.%u/24", host);
	assert_int_equal(uroce_add_address(s->context, address), 0);
	snprintf(address, sizeof(address), "fd00::%u/64", host);
	assert_int_equal(uroce_add_address(s->context, address), 0);
	assert_non_null(s->pd = uroce_alloc_pd(s->context));
	for (int i = 0; i < SIDE_WORKERS; i++)
		assert_non_null(s->cqs[i] = uroce_create_cq(s->context, 4096, NULL, NULL, i));
	assert_non_null(s->buffer = calloc(2 * SIDE_QPS, SIDE_BYTES + SIDE_GRH));
	s->mr = uroce_reg_mr(s->pd, s->buffer, (size_t)2 * SIDE_QPS * (SIDE_BYTES + SIDE_GRH), IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(s->mr);
}

static void
side_close(struct side *s)
{
	for (unsigned int i = 0; i < SIDE_QPS; i++)
		if (s->qps[i] != NULL)
			assert_int_equal(uroce_destroy_qp(s->qps[i]), 0);
	for (unsigned int i = 0; i < SIDE_WORKERS; i++)
		assert_int_equal(uroce_destroy_cq(s->cqs[i]), 0);
	assert_int_equal(uroce_dereg_mr(s->mr), 0);
	assert_int_equal(uroce_dealloc_pd(s->pd), 0);
	assert_int_equal(uroce_close_device(s->context), 0);
	free(s->buffer);
}

void
sides_open(uint32_t inbox_frames)
{
	for (unsigned int i = 0; i < 2; i++)
		side_open(&sides[i], i + 1, inbox_frames);
}

int
sides_setup(void **state)
{
	memset(sides, 0, sizeof(sides));
	nic_create_pair(&sides[0].nic, &sides[1].nic, SIDE_WORKERS);
	return 0;
}

int
sides_teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		side_close(&sides[i]);
	nic_destroy_pair(&sides[0].nic, &sides[1].nic);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int j = 0; j < SIDE_WORKERS; j++)
			assert_int_equal(uroce_destroy_worker(sides[i].workers[j]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	return 0;
}

/* ---- QPs and traffic -------------------------------------------------------------------------------------------- */

unsigned int
side_worker(const struct side *s, unsigned int i)
{
	return (s == &sides[0] ? i : i / SIDE_WORKERS + 3 * i) % SIDE_WORKERS;
}

static void
side_qp_create(struct side *s, unsigned int i, enum ibv_qp_type type)
{
	struct ibv_cq *cq = s->cqs[side_worker(s, i)];
	struct ibv_qp_init_attr attr = {
		.qp_type = type,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 64, .max_recv_wr = 512, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	assert_non_null(s->qps[i] = uroce_create_qp(s->pd, &attr));
	assert_ptr_equal(uroce_qp_worker(s->qps[i]), s->workers[side_worker(s, i)]);
}

void
side_qp_connect(struct side *s, unsigned int i, uint8_t gid_index, uint32_t flow_label)
{
	const struct side *peer = &sides[s == &sides[0]];
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qps[i]->qp_num,
		.qkey = SIDE_QKEY,
		.timeout = 20, /* 4 s: no retransmission on a busy machine */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = gid_index, .hop_limit = 64, .flow_label = flow_label } },
	};

	assert_int_equal(uroce_query_gid(peer->context, 1, gid_index, &attr.ah_attr.grh.dgid), 0);
	harness_qp_to(s->qps[i], attr, IBV_QPS_RTS);
}

struct ibv_sge
side_sge(const struct side *s, unsigned int buffer, uint32_t bytes)
{
	return (struct ibv_sge){ (uintptr_t)s->buffer + (size_t)buffer * (SIDE_BYTES + SIDE_GRH), bytes, s->mr->lkey };
}

void
side_receive_post(struct side *s, unsigned int i)
{
	struct ibv_sge list = side_sge(s, SIDE_QPS + i, SIDE_BYTES + SIDE_GRH);
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &list, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(s->qps[i], &wr, &bad), 0);
}

void
side_send_post(struct side *s, unsigned int i, uint32_t bytes, struct ibv_ah *ah)
{
	struct ibv_sge list = side_sge(s, i, bytes);
	struct ibv_send_wr wr = { .wr_id = i,
				  .sg_list = &list,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	if (ah != NULL) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = sides[s == &sides[0]].qps[i]->qp_num;
		wr.wr.ud.remote_qkey = SIDE_QKEY;
	}
	assert_int_equal(uroce_post_send(s->qps[i], &wr, &bad), 0);
}

void
side_take_completions(struct side *s)
{
	struct ibv_wc wc[32];

	for (unsigned int i = 0; i < SIDE_WORKERS; i++) {
		int n = uroce_poll_cq(s->cqs[i], RTE_DIM(wc), wc);

		for (int k = 0; k < n; k++) {
			assert_string_equal(uroce_wc_status_str(wc[k].status), "success");
			s->sent += wc[k].opcode == IBV_WC_SEND;
			s->received += wc[k].opcode == IBV_WC_RECV;
		}
	}
}

void
sides_poll(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		test_poll(sides[k].workers, SIDE_WORKERS, 1);
		side_take_completions(&sides[k]);
	}
}

void
sides_datagrams(struct side *from, unsigned int n, unsigned int each, struct ibv_ah *ah, void (*poll)(void))
{
	struct side *to = &sides[from == &sides[0]];

	to->received = 0;
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < each; k++) {
			side_receive_post(to, i);
			side_send_post(from, i, 100, ah);
		}
	while (to->received < n * each)
		poll();
}

void
sides_traffic(unsigned int first, unsigned int n)
{
	sides[0].sent = sides[0].received = sides[1].sent = sides[1].received = 0;
	for (unsigned int i = first; i < first + n; i++)
		for (unsigned int k = 0; k < 2; k++)
			side_receive_post(&sides[k], i);
	for (unsigned int i = first; i < first + n; i++)
		for (unsigned int k = 0; k < 2; k++)
			side_send_post(&sides[k], i, SIDE_BYTES, NULL);
	while (sides[0].sent < n || sides[0].received < n || sides[1].sent < n || sides[1].received < n)
		sides_poll();
	for (unsigned int i = 0; i < 8; i++) /* the last ACKs */
		sides_poll();
}

void
sides_connect(enum ibv_qp_type type, unsigned int n, uint8_t gid_index, uint32_t label)
{
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < 2; k++)
			side_qp_create(&sides[k], i, type);
	for (unsigned int i = 0; i < n; i++)
		for (unsigned int k = 0; k < 2; k++)
			side_qp_connect(&sides[k], i, gid_index, label * (2 * i + k + 1));
	if (type != IBV_QPT_UD)
		sides_traffic(0, 1); /* resolves the neighbors: only a few frames may wait for that */
}

uint64_t
side_counter(unsigned int side, const char *name)
{
	return test_counter(sides[side].context, name);
}

void
sides_expect_nothing_lost(void)
{
	/* not retransmitted_packets: on a busy machine, probes are sent for packets that wait */
	static const char *const counters[] = { "drop_handover", "sent_naks", "sent_sacks", "timeouts" };

	for (unsigned int k = 0; k < 2; k++) {
		for (unsigned int i = 0; i < RTE_DIM(counters); i++)
			assert_int_equal(side_counter(k, counters[i]), 0);
		assert_int_equal(sides[k].nic.missed, 0);
	}
}

void
sides_expect_all_steered(void)
{
	for (unsigned int k = 0; k < 2; k++) {
		assert_int_equal(side_counter(k, "handed_over"), 0);
		assert_true(side_counter(k, "steered") >= 2 * SIDE_QPS);
		for (unsigned int i = 0; i < SIDE_WORKERS; i++)
			assert_true(sides[k].nic.received[i] > 0);
	}
	sides_expect_nothing_lost();
}
