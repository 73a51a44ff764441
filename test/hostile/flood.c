/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames with no valid receiver, damaged frames and forged ones are three of four that a poll receives, on a port that
 * sends as fast as it can. The port goes on sending, the frames return to their pool, and a counter names the reason of
 * the drop. Any host on the network can do this, without knowing a connection.
 */

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
#include "port/worker/pool.h"
#include "port/port.h"
#include "rings.h"
#include "uroce.h"
#include "uroce_config.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/template.h"

#define BYTES   65536
#define DEPTH   16
#define POLLS   400
#define FRAMES  (UROCE_BURST * 3 / 4) /* of the flood, per poll */
#define SHARE   80 /* % of the rate without a flood */
#define PAYLOAD 64

struct end {
	struct test_rings wire;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;
};

static struct end ends[2];
static struct uroce_worker *worker;
static struct rte_mempool *pool;
static uint64_t undisturbed;

/* ---- the innocent --------------------------------------------------------------------------- */

static void
end_open(struct end *e, const char *cidr)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	e->context = uroce_open_port(e->wire.port_id, &conf, &worker, 1);
	assert_non_null(e->context);
	assert_int_equal(uroce_add_address(e->context, cidr), 0);
	e->pd = uroce_alloc_pd(e->context);
	e->cq = uroce_create_cq(e->context, 2 * DEPTH, NULL, NULL, 0);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = uroce_create_qp(e->pd, &init);
	assert_non_null(e->qp);
	e->buffer = calloc(1, BYTES);
	e->mr = uroce_reg_mr(e->pd, e->buffer, BYTES,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	assert_non_null(e->mr);
}

static void
end_connect(struct end *e, const struct end *peer)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = 1,
		.sq_psn = 1,
		.timeout = 20,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .sgid_index = 1, .hop_limit = 64 } },
	};

	assert_int_equal(uroce_query_gid(peer->context, 1, 1, &attr.ah_attr.grh.dgid), 0);
	harness_qp_to(e->qp, attr, IBV_QPS_RTS);
}

static void
end_close(struct end *e)
{
	assert_int_equal(uroce_destroy_qp(e->qp), 0);
	assert_int_equal(uroce_destroy_cq(e->cq), 0);
	assert_int_equal(uroce_dereg_mr(e->mr), 0);
	assert_int_equal(uroce_dealloc_pd(e->pd), 0);
	assert_int_equal(uroce_close_device(e->context), 0);
	free(e->buffer);
}

static void
post(void)
{
	struct ibv_sge sge = { (uintptr_t)ends[0].buffer, BYTES, ends[0].mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)ends[1].buffer, ends[1].mr->rkey },
	};

	assert_int_equal(uroce_post_send(ends[0].qp, &wr, &bad), 0);
}

static void
work(unsigned int polls, void (*before)(void))
{
	struct ibv_wc wc;

	for (unsigned int i = 0; i < polls; i++) {
		if (before != NULL)
			before();
		uroce_worker_poll(worker);
		while (uroce_poll_cq(ends[0].cq, 1, &wc) == 1) {
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
			post();
		}
	}
}

static int
setup(void **state)
{
	test_rings_create_pair(&ends[0].wire, &ends[1].wire);
	worker = uroce_create_worker(-1);
	assert_non_null(worker);
	pool = rte_pktmbuf_pool_create("flood", 1023, 0, 0, RTE_PKTMBUF_HEADROOM + 512,
				       SOCKET_ID_ANY);
	assert_non_null(pool);
	end_open(&ends[0], "10.0.0.1/24");
	end_open(&ends[1], "10.0.0.2/24");
	end_connect(&ends[0], &ends[1]);
	end_connect(&ends[1], &ends[0]);
	for (unsigned int i = 0; i < DEPTH; i++)
		post();
	/* the neighbor is resolved */
	for (unsigned int i = 0; test_counter(ends[0].context, "sent_packets") < 1000; i++) {
		assert_true(i < 50000000);
		work(1, NULL);
	}
	return 0;
}

static int
teardown(void **state)
{
	end_close(&ends[0]);
	end_close(&ends[1]);
	assert_int_equal(uroce_destroy_worker(worker), 0);
	rte_eth_dev_close(ends[0].wire.port_id);
	test_rings_destroy(&ends[1].wire);
	assert_int_equal(uroce_pools_retired(), 0);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
	rte_mempool_free(pool);
	return 0;
}

/* ---- the flood ------------------------------------------------------------------------------ */

struct kind {
	const char *name;
	const char *counter;
	/* Change a valid WRITE of the peer; offsets are from the start of the frame. */
	void (*spoil)(uint8_t *frame, struct rte_mbuf *m);
	bool late; /* spoil after the ICRC is computed; otherwise the ICRC stays right */
};

#define IP_AT  14
#define UDP_AT 34
#define BTH_AT 42

static const struct kind *kind;

/* Recompute the checksum of the IP header after a change of its length or address. */
static void
ip_checksum(uint8_t *frame)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + IP_AT);
	uint16_t sum;

	memset(frame + IP_AT + 10, 0, 2);
	sum = rte_ipv4_cksum(ip);
	memcpy(frame + IP_AT + 10, &sum, 2);
}

/* Make all lengths say that the packet ends this many bytes behind the UDP header, ICRC included. */
static void
cut(uint8_t *frame, struct rte_mbuf *m, unsigned int bytes, unsigned int icrc_bytes)
{
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(frame + IP_AT);
	rte_be16_t length = rte_cpu_to_be_16((uint16_t)(8 + bytes));

	memcpy(frame + UDP_AT + 4, &length, 2);
	ip->total_length = rte_cpu_to_be_16((uint16_t)(28 + bytes));
	ip_checksum(frame);
	m->data_len = m->pkt_len = (uint16_t)(BTH_AT + bytes - icrc_bytes);
}

/* A payload whose length is not a multiple of four, without padding. */
static void
spoil_pad(uint8_t *frame, struct rte_mbuf *m)
{
	cut(frame, m, 12 + 16 + PAYLOAD - 1 + 4, 4);
}

/* Cut the packet behind the BTH: the headers that the opcode needs are missing. */
static void
spoil_length(uint8_t *frame, struct rte_mbuf *m)
{
	cut(frame, m, 12 + 4, 4);
}

static void
spoil_icrc(uint8_t *frame, struct rte_mbuf *m)
{
	frame[m->data_len - 1] ^= 1;
}

static void
spoil_nothing(uint8_t *frame, struct rte_mbuf *m)
{
}

static void
spoil_opcode(uint8_t *frame, struct rte_mbuf *m)
{
	frame[BTH_AT] = 0x1f;
}

static void
spoil_version(uint8_t *frame, struct rte_mbuf *m)
{
	frame[BTH_AT + 1] |= 0x0f;
}

/* A UDP length beyond the frame. */
static void
spoil_udp_length(uint8_t *frame, struct rte_mbuf *m)
{
	frame[UDP_AT + 4] = 0xff;
}

static void
spoil_udp_port(uint8_t *frame, struct rte_mbuf *m)
{
	frame[UDP_AT + 3] ^= 1;
}

static void
spoil_ethertype(uint8_t *frame, struct rte_mbuf *m)
{
	frame[12] = 0x88;
}

static void
spoil_mac(uint8_t *frame, struct rte_mbuf *m)
{
	frame[5] ^= 1;
}

static void
spoil_everything(uint8_t *frame, struct rte_mbuf *m)
{
	m->data_len = m->pkt_len = 13;
}

static void
spoil_address(uint8_t *frame, struct rte_mbuf *m)
{
	frame[IP_AT + 19] = 99;
	ip_checksum(frame);
}

static void
spoil_fragment(uint8_t *frame, struct rte_mbuf *m)
{
	frame[IP_AT + 6] = 0x20;
	ip_checksum(frame);
}

static void
spoil_ip_checksum(uint8_t *frame, struct rte_mbuf *m)
{
	frame[IP_AT + 10] ^= 0x55;
}

static const struct kind kinds[] = {
	{ "wrong_icrc", "drop_icrc", spoil_icrc, true },
	{ "unknown_qpn", "drop_qpn", spoil_nothing, false },
	{ "unknown_opcode", "drop_opcode", spoil_opcode, false },
	{ "other_version", "drop_tver", spoil_version, false },
	{ "not_padded", "drop_pad", spoil_pad, false },
	{ "cut_short", "drop_length", spoil_length, false },
	{ "udp_length", "drop_udp_length", spoil_udp_length, true },
	{ "udp_port", "drop_udp_port", spoil_udp_port, true },
	{ "ethertype", "drop_ethertype", spoil_ethertype, true },
	{ "other_mac", "drop_l2_address", spoil_mac, true },
	{ "no_header", "drop_l2_short", spoil_everything, true },
	{ "other_address", "drop_ip_address", spoil_address, true },
	{ "fragments", "drop_ip_fragment", spoil_fragment, true },
	{ "ip_checksum", "drop_ip_header", spoil_ip_checksum, true },
};

/* A WRITE from the peer's address, with a right ICRC, to a QPN that does not exist. */
static struct rte_mbuf *
frame_make(void)
{
	struct uroce_template_conf conf = { .vlan_tci = 0xffff,
					    .hop_limit = 64,
					    .udp_src_port = 0xc001 };
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	union ibv_gid gid[2];
	struct uroce_template t;
	uint8_t *frame;

	assert_non_null(m);
	frame = rte_pktmbuf_mtod(m, uint8_t *);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_query_gid(ends[i].context, 1, 1, &gid[i]), 0);
	conf.dst_mac = uroce_port_of_context(ends[0].context)->mac;
	conf.src_mac = uroce_port_of_context(ends[1].context)->mac;
	memcpy(conf.src_gid, gid[1].raw, 16);
	memcpy(conf.dst_gid, gid[0].raw, 16);
	assert_int_equal(uroce_template_init(&t, &conf), 0);
	assert_int_equal(t.header_bytes, BTH_AT);
	memset(frame, 0, 512);
	uroce_template_write(&t, frame, 12 + 16 + PAYLOAD + 4);
	uroce_bth_write(frame + BTH_AT, &(const struct uroce_bth_values){
		.opcode = UROCE_RC_WRITE_ONLY, .flags = UROCE_BTH_MIGREQ, .pkey = UROCE_DEFAULT_PKEY,
		.dest_qpn = ends[0].qp->qp_num ^ 1,
	});
	m->data_len = BTH_AT + 12 + 16 + PAYLOAD;
	m->pkt_len = m->data_len;
	if (!kind->late)
		kind->spoil(frame, m);
	uroce_icrc_append(m, m, IP_AT, UDP_AT, 0);
	if (kind->late)
		kind->spoil(frame, m);
	return m;
}

static void
flood(void)
{
	for (unsigned int i = 0; i < FRAMES; i++) {
		struct rte_mbuf *m = frame_make();

		if (rte_ring_enqueue(ends[0].wire.rx[0], m) != 0)
			rte_pktmbuf_free(m); /* as a NIC with a full ring drops it */
	}
}

static uint64_t
sent_by_polls(void (*before)(void))
{
	uint64_t from = test_counter(ends[0].context, "sent_packets");

	work(POLLS, before);
	return test_counter(ends[0].context, "sent_packets") - from;
}

static void
no_flood(void **state)
{
	undisturbed = sent_by_polls(NULL);
	assert_true(undisturbed > POLLS);
}

static void
flooded(void **state)
{
	uint64_t before, sent, counted;

	kind = *state;
	before = test_counter(ends[0].context, kind->counter);
	sent = sent_by_polls(flood);
	work(20, NULL); /* drain the ring */
	counted = test_counter(ends[0].context, kind->counter) - before;
	/* except for frames that found the ring full */
	if (counted < POLLS * FRAMES * 9 / 10 || counted > POLLS * FRAMES)
		fail_msg("%s: %lu of %u", kind->counter, counted, POLLS * FRAMES);
	assert_true(sent * 100 >= undisturbed * SHARE);
	assert_int_equal(rte_mempool_in_use_count(pool), 0);
}

UROCE_TESTS(hostile_flood)
{
	struct CMUnitTest tests[RTE_DIM(kinds) + 1] = { cmocka_unit_test(no_flood) };

	for (unsigned int i = 0; i < RTE_DIM(kinds); i++)
		tests[i + 1] = (struct CMUnitTest){ .name = kinds[i].name,
						    .test_func = flooded,
						    .initial_state = (void *)(uintptr_t)&kinds[i] };
	test_eal_init(NULL);
	return _cmocka_run_group_tests("flood", tests, RTE_DIM(tests), setup, teardown);
}
