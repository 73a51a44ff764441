/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * See world.h.
 */

#include "world.h"

#include <fcntl.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_malloc.h>

#include "device.h"
#include "frames.h"
#include "base/random.h"
#include "harness/qp.h"
#include "uroce_config.h"
#include "verbs/srq/xrc.h"
#include "wire/packet.h"

#define STRIDE      (WORLD_AREA_BYTES + WORLD_GUARD_BYTES)
#define SECRET_WORD 0x5ec3e7a1b2c3d4e5
#define EVERYTHING                                                                   \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_FLUSH_GLOBAL)

struct world world;

#define ARENA_BYTES (WORLD_GUARD_BYTES + WORLD_AREAS * STRIDE)

/* A guard, then areas and guards in turn. It is DPDK memory, which is sent without a copy, or other memory. */
static uint8_t *arena;
static bool large_mtu;
/* The expected contents of areas that must not change. */
static uint8_t secrets[WORLD_AREA_BYTES], readable[WORLD_AREA_BYTES];

static const struct {
	int access;
	bool zero_based;
} areas[WORLD_AREAS] = {
	[WORLD_OPEN] = { EVERYTHING, false },
	[WORLD_LENT] = { EVERYTHING, true },
	[WORLD_READ] = { IBV_ACCESS_REMOTE_READ, false },
	[WORLD_OWN] = { IBV_ACCESS_LOCAL_WRITE, false },
	[WORLD_SECRET] = { IBV_ACCESS_LOCAL_WRITE, false },
	[WORLD_FOREIGN] = { EVERYTHING, false },
};

uint8_t *
world_area(enum world_area area)
{
	return arena + WORLD_GUARD_BYTES + area * STRIDE;
}

uint64_t
world_address(enum world_area area)
{
	return areas[area].zero_based ? 0 : (uintptr_t)world_area(area);
}

/* ---- memory ----------------------------------------------------------------------------- */

static void
fill(uint8_t *at, size_t bytes)
{
	const uint64_t word = SECRET_WORD;

	for (size_t i = 0; i < bytes; i += sizeof(word))
		memcpy(at + i, &word, sizeof(word));
}

static bool
is_secret(enum world_area area)
{
	return area == WORLD_SECRET || area == WORLD_FOREIGN || area == WORLD_BARE ||
	       (area == WORLD_LENT && world.mrs[area] == NULL);
}

void
world_check_memory(void)
{
	RTE_VERIFY(memcmp(arena, secrets, WORLD_GUARD_BYTES) == 0);
	for (unsigned int i = 0; i < WORLD_AREAS; i++) {
		const uint8_t *at = world_area(i);

		RTE_VERIFY(memcmp(at + WORLD_AREA_BYTES, secrets, WORLD_GUARD_BYTES) == 0);
		RTE_VERIFY(!is_secret(i) || memcmp(at, secrets, WORLD_AREA_BYTES) == 0);
		RTE_VERIFY(i != WORLD_READ || memcmp(at, readable, WORLD_AREA_BYTES) == 0);
	}
}

void
world_check_frame(const uint8_t *frame, uint32_t len)
{
	static struct test_chain chain;
	const uint64_t word = SECRET_WORD;
	struct uroce_packet p;

	if (chain.ends[0] == NULL)
		test_chain_init(&chain);
	RTE_VERIFY(uroce_packet_decode(test_chain_set(&chain, frame, len, NULL, 0),
				       RTE_ETHER_HDR_LEN, &p) == UROCE_OK);
	RTE_VERIFY(p.payload_bytes <= 4096 && p.dest_qpn == WORLD_PEER_QPN);
	RTE_VERIFY(memmem(frame, len, &word, sizeof(word)) == NULL);
}

static void
arena_choose(bool dpdk)
{
	static uint8_t ordinary[ARENA_BYTES] __rte_aligned(4096);
	static uint8_t *own;

	if (own == NULL)
		own = rte_zmalloc("arena", ARENA_BYTES, 4096);
	RTE_VERIFY(own != NULL);
	arena = dpdk ? own : ordinary;
	large_mtu = dpdk;
}

static void
memory_open(void)
{
	fill(arena, ARENA_BYTES);
	fill(secrets, sizeof(secrets));
	memset(readable, WORLD_READ, sizeof(readable));
	for (unsigned int i = 0; i < WORLD_AREAS; i++) {
		struct ibv_pd *pd = i == WORLD_FOREIGN ? world.foreign_pd : world.pd;

		world.mrs[i] = NULL;
		world.keys[i] = 0x12345600 + i;
		if (areas[i].access == 0)
			continue;
		world.mrs[i] = uroce_reg_mr_iova(pd, world_area(i), WORLD_AREA_BYTES,
						 world_address(i), areas[i].access);
		RTE_VERIFY(world.mrs[i] != NULL);
		world.keys[i] = world.mrs[i]->rkey;
		if (!is_secret(i))
			memset(world_area(i), (int)i, WORLD_AREA_BYTES);
	}
	world.null_mr = uroce_alloc_null_mr(world.pd);
	for (unsigned int i = 0; i < RTE_DIM(world.mws); i++) {
		world.mws[i] = uroce_alloc_mw(world.pd, i == 0 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		RTE_VERIFY(world.mws[i] != NULL);
	}
}

void
world_take_back(void)
{
	if (world.mrs[WORLD_LENT] == NULL || uroce_dereg_mr(world.mrs[WORLD_LENT]) != 0)
		return;
	world.mrs[WORLD_LENT] = NULL;
	fill(world_area(WORLD_LENT), WORLD_AREA_BYTES);
}

static void
memory_close(void)
{
	for (unsigned int i = 0; i < RTE_DIM(world.mws); i++)
		RTE_VERIFY(uroce_dealloc_mw(world.mws[i]) == 0);
	for (unsigned int i = 0; i < WORLD_AREAS; i++)
		RTE_VERIFY(world.mrs[i] == NULL || uroce_dereg_mr(world.mrs[i]) == 0);
	RTE_VERIFY(uroce_dereg_mr(world.null_mr) == 0);
}

/* ---- QPs -------------------------------------------------------------------------------- */

static struct ibv_ah_attr
peer_address(void)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };

	memcpy(attr.grh.dgid.raw, device_conf_get()->peer_gid.raw, 16);
	return attr;
}

bool
world_connect(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.path_mtu = large_mtu ? IBV_MTU_1024 : IBV_MTU_256,
		.dest_qp_num = WORLD_PEER_QPN,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_FLUSH_GLOBAL,
		.rq_psn = 0xfffff0,
		.sq_psn = 0xfffff8,
		.max_rd_atomic = 4,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
		.qkey = WORLD_QKEY,
		.ah_attr = peer_address(),
	};

	for (attr.qp_state = IBV_QPS_INIT; attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		if (uroce_modify_qp(qp, &attr, harness_qp_mask(qp->qp_type, attr.qp_state)) != 0)
			return false;
	return true;
}

static struct ibv_qp *
qp_create(enum world_qp which)
{
	static const enum ibv_qp_type types[WORLD_QPS] = { IBV_QPT_RC,       IBV_QPT_RC,
							   IBV_QPT_UC,       IBV_QPT_UD,
							   IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV };
	struct ibv_qp_init_attr_ex init = {
		.comp_mask = which == WORLD_XRC_RECV ? IBV_QP_INIT_ATTR_XRCD : IBV_QP_INIT_ATTR_PD,
		.qp_type = types[which],
		.pd = world.pd,
		.xrcd = world.xrcd,
		.send_cq = world.cq,
		.recv_cq = world.cq,
		.srq = which == WORLD_RC_SRQ ? world.srq : NULL,
		.cap = { .max_send_wr = WORLD_WR, .max_send_sge = 3, .max_inline_data = 64 },
	};
	struct ibv_qp *qp;

	if (which != WORLD_RC_SRQ && which != WORLD_XRC_SEND) {
		init.cap.max_recv_wr = WORLD_WR;
		init.cap.max_recv_sge = 3;
	}
	qp = uroce_create_qp_ex(device_context(), &init);
	RTE_VERIFY(qp != NULL && world_connect(qp));
	return qp;
}

static void
srqs_create(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = WORLD_WR, .max_sge = 3 } };
	struct ibv_srq_init_attr_ex xrc = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = world.pd,
		.xrcd = world.xrcd,
		.cq = world.cq,
		.attr = { .max_wr = WORLD_WR, .max_sge = 3 },
	};

	world.srq = uroce_create_srq(world.pd, &init);
	world.xrc_srq = uroce_create_srq_ex(device_context(), &xrc);
	RTE_VERIFY(world.srq != NULL && world.xrc_srq != NULL);
	RTE_VERIFY(uroce_get_srq_num(world.xrc_srq, &world.srqn) == 0);
}

struct uroce_qp *
world_qp(enum world_qp qp)
{
	struct uroce_qp *handle = uroce_qp_of(world.qps[qp]);

	return handle->target != NULL ? handle->target->qp : handle;
}

void
world_open(int cqe, bool copy, bool dpdk, bool go_back_n)
{
	struct device_conf conf = device_ipv4;
	struct ibv_xrcd_init_attr xrcd = { .comp_mask = IBV_XRCD_INIT_ATTR_FD |
							IBV_XRCD_INIT_ATTR_OFLAGS,
					   .fd = -1,
					   .oflags = O_CREAT };
	struct ibv_ah_attr ah;

	conf.copy = copy;
	conf.go_back_n = go_back_n;
	uroce_random_seed(1);
	device_open(&conf);
	arena_choose(dpdk);
	world.pd = uroce_alloc_pd(device_context());
	world.foreign_pd = uroce_alloc_pd(device_context());
	world.cq = uroce_create_cq(device_context(), cqe, NULL, NULL, 0);
	world.xrcd = uroce_open_xrcd(device_context(), &xrcd);
	RTE_VERIFY(world.pd != NULL && world.foreign_pd != NULL && world.cq != NULL &&
		   world.xrcd != NULL);
	ah = peer_address();
	world.ah = uroce_create_ah(world.pd, &ah);
	RTE_VERIFY(world.ah != NULL);
	memory_open();
	srqs_create();
	for (unsigned int i = 0; i < WORLD_QPS; i++)
		world.qps[i] = qp_create(i);
}

/* Drain the events, without waiting for further ones. */
static void
events_drain(void)
{
	struct ibv_async_event event;

	RTE_VERIFY(fcntl(device_context()->async_fd, F_SETFL, O_NONBLOCK) == 0);
	while (uroce_get_async_event(device_context(), &event) == 0)
		uroce_ack_async_event(&event);
}

void
world_close(void)
{
	const char *left;

	events_drain();
	for (unsigned int i = 0; i < WORLD_QPS; i++)
		RTE_VERIFY(uroce_destroy_qp(world.qps[i]) == 0);
	RTE_VERIFY(uroce_destroy_srq(world.srq) == 0 && uroce_destroy_srq(world.xrc_srq) == 0);
	RTE_VERIFY(uroce_destroy_ah(world.ah) == 0);
	memory_close();
	RTE_VERIFY(uroce_close_xrcd(world.xrcd) == 0);
	RTE_VERIFY(uroce_destroy_cq(world.cq) == 0);
	RTE_VERIFY(uroce_dealloc_pd(world.pd) == 0 && uroce_dealloc_pd(world.foreign_pd) == 0);
	left = device_close();
	if (left != NULL)
		rte_panic("%s leak\n", left);
	world_check_memory();
}
