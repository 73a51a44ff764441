/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: an engine as responder and requester, with QPs of each type, and a peer that knows all PSNs and keys. No byte
 * is written or read without permission, each work request completes at most once, nothing leaks, and once all QPs are
 * in error the engine is idle.
 *
 * The input: the device's configuration, and then, step by step, the peer's packets and the local calls.
 */

#include <string.h>

#include "device.h"
#include "fuzz.h"
#include "player.h"
#include "records.h"
#include "uroce_config.h"
#include "world.h"

#define CQE       (2 * RECORDS_MAX)
#define TINY_CQE  8
#define MAX_STEPS 400

static bool tiny; /* so small that the CQ overruns */

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_init(false);
	return 0;
}

/* Take all frames that the engine sends within ns. */
static void
take_frames(uint64_t ns)
{
	static struct device_frame frame;

	while (device_send_one(&frame, ns)) {
		world_check_frame(frame.bytes, frame.len);
		ns = 0;
	}
}

static void
poll_cq(void)
{
	struct ibv_wc wc;

	while (uroce_poll_cq(world.cq, 1, &wc) > 0)
		records_complete(&wc);
}

/* ---- work requests ------------------------------------------------------------------------ */

/* No posted entry refers to secret memory; the engine must detect a key of other memory. */
static struct ibv_sge
sge_of(struct fuzz_input *in)
{
	static const enum world_area picks[] = {
		WORLD_OWN,  WORLD_OWN,  WORLD_OWN,     WORLD_OPEN,
		WORLD_LENT, WORLD_READ, WORLD_FOREIGN, WORLD_BARE
	};
	uint8_t what = fuzz_u8(in);
	enum world_area area = picks[what % RTE_DIM(picks)];
	uint16_t offset = fuzz_u16(in), length = fuzz_u16(in);
	struct ibv_sge sge = {
		.addr = world_address(area) + offset % (WORLD_AREA_BYTES + 64),
		.length = length % ((what & 0x40) != 0 ? 5000 : 600),
		.lkey = (what & 0x80) != 0 ? world.null_mr->lkey : world.keys[area],
	};

	if ((what & 0x20) != 0) /* near the end */
		sge.addr = world_address(area) + WORLD_AREA_BYTES - sge.length + offset % 16;
	return sge;
}

static void
wr_set_remote(struct fuzz_input *in, enum world_qp qp, struct ibv_send_wr *wr)
{
	uint8_t mw = fuzz_u8(in);

	if (qp == WORLD_UD) {
		wr->wr.ud.ah = world.ah;
		wr->wr.ud.remote_qpn = WORLD_PEER_QPN;
		wr->wr.ud.remote_qkey = fuzz_u8(in);
		return;
	}
	if (qp == WORLD_XRC_SEND)
		wr->qp_type.xrc.remote_srqn = fuzz_u8(in);
	if (wr->opcode == IBV_WR_BIND_MW) {
		struct ibv_mr *mr = world.mrs[fuzz_below(in, WORLD_AREAS)];

		wr->bind_mw.mw = world.mws[mw % RTE_DIM(world.mws)];
		wr->bind_mw.rkey = wr->bind_mw.mw->rkey + fuzz_below(in, 3);
		wr->bind_mw.bind_info.mr = mr;
		wr->bind_mw.bind_info.addr =
			mr != NULL ? world_address(WORLD_OPEN) + fuzz_u16(in) % 5000 : 0;
		wr->bind_mw.bind_info.length = fuzz_u16(in) % 5000;
		wr->bind_mw.bind_info.mw_access_flags = fuzz_u8(in);
	} else if (wr->opcode == IBV_WR_LOCAL_INV || wr->opcode == IBV_WR_SEND_WITH_INV) {
		wr->invalidate_rkey = mw >= 0x80 ? world.mws[mw % RTE_DIM(world.mws)]->rkey
						 : world.keys[mw % WORLD_AREAS];
	} else {
		wr->wr.atomic.remote_addr = mw * 8u;
		wr->wr.atomic.compare_add = fuzz_u8(in);
		wr->wr.atomic.swap = fuzz_u8(in);
		wr->wr.atomic.rkey = mw;
		if (wr->opcode <= IBV_WR_SEND_WITH_IMM || wr->opcode == IBV_WR_RDMA_READ)
			wr->wr.rdma.rkey = mw;
	}
}

static void
post_send(struct fuzz_input *in)
{
	enum world_qp qp = fuzz_below(in, WORLD_QPS);
	uint8_t flags = fuzz_u8(in);
	struct ibv_sge sges[4] = { { 0 } };
	struct ibv_send_wr wr = { .sg_list = sges,
				  .send_flags = flags & 0xf,
				  .num_sge = flags >> 6 },
			   *bad;

	wr.opcode = fuzz_below(in, 18);
	if (records_full())
		return;
	if ((flags & 0x10) == 0)
		wr.send_flags |= IBV_SEND_SIGNALED;
	for (int i = 0; i < wr.num_sge; i++)
		sges[i] = sge_of(in);
	/* posting reads inline data with any key: let it read existing memory */
	for (int i = 0; i < wr.num_sge && (wr.send_flags & IBV_SEND_INLINE) != 0; i++)
		sges[i] = (struct ibv_sge){ (uintptr_t)world_area(WORLD_OPEN), sges[i].length % 100,
					    0 };
	wr_set_remote(in, qp, &wr);
	wr.wr_id = records_add(2 * qp, (wr.send_flags & IBV_SEND_SIGNALED) != 0);
	if (uroce_post_send(world.qps[qp], &wr, &bad) != 0)
		records_remove();
}

static void
post_recv(struct fuzz_input *in)
{
	unsigned int queue = fuzz_below(in, WORLD_QPS + 2);
	uint8_t n = fuzz_u8(in);
	struct ibv_sge sges[4] = { { 0 } };
	struct ibv_recv_wr wr = { .sg_list = sges, .num_sge = n % 4 }, *bad;
	int error;

	if (records_full())
		return;
	for (int i = 0; i < wr.num_sge; i++)
		sges[i] = sge_of(in);
	wr.wr_id = records_add(2 * queue + 1, true);
	if (queue < WORLD_QPS)
		error = uroce_post_recv(world.qps[queue], &wr, &bad);
	else
		error = uroce_post_srq_recv(queue == WORLD_QPS ? world.srq : world.xrc_srq, &wr,
					    &bad);
	if (error != 0)
		records_remove();
}

/* Bind a type 1 window by its call. */
static void
bind(struct fuzz_input *in)
{
	enum world_qp qp = fuzz_below(in, WORLD_QPS);
	struct ibv_mw_bind b = {
		.send_flags = IBV_SEND_SIGNALED,
		.bind_info = {
			.mr = world.mrs[fuzz_below(in, WORLD_AREAS)],
			.addr = world_address(WORLD_OPEN) + fuzz_u16(in) % 4500, .length = fuzz_u16(in) % 4500,
			.mw_access_flags = fuzz_u8(in),
		},
	};

	if (records_full())
		return;
	b.wr_id = records_add(2 * qp, true);
	if (uroce_bind_mw(world.qps[qp], world.mws[0], &b) != 0)
		records_remove();
}

/* ---- other calls ------------------------------------------------------------------------------ */

static void
forget(enum world_qp qp)
{
	take_frames(0);
	poll_cq();
	records_forget(2 * qp);
	records_forget(2 * qp + 1);
}

static void
modify(struct fuzz_input *in)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPS_ERR,
						    IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD };
	enum world_qp qp = fuzz_below(in, WORLD_QPS);
	struct ibv_qp_attr attr = { .qp_state = states[fuzz_below(in, RTE_DIM(states))] };
	uint8_t what = fuzz_u8(in);
	int mask = IBV_QP_STATE;

	if ((what & 1) != 0) {
		attr.qp_access_flags = fuzz_u8(in) & 0xf;
		mask |= IBV_QP_ACCESS_FLAGS;
	}
	if ((what & 2) != 0) {
		attr.min_rnr_timer = fuzz_u8(in) & 0x1f;
		mask |= IBV_QP_MIN_RNR_TIMER;
	}
	if ((what & 4) != 0)
		mask &= ~IBV_QP_STATE;
	uroce_modify_qp(world.qps[qp], &attr, mask);
}

/* Reset the QP, and connect it again. */
static void
reconnect(enum world_qp qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	forget(qp);
	RTE_VERIFY(uroce_modify_qp(world.qps[qp], &attr, IBV_QP_STATE) == 0);
	RTE_VERIFY(world_connect(world.qps[qp]));
}

/* Most errors end a connection: reconnect it. */
static void
revive(void)
{
	player_flush();
	for (unsigned int i = 0; i < WORLD_QPS; i++)
		if (world_qp(i)->state == IBV_QPS_ERR)
			reconnect(i);
}

static void
control(struct fuzz_input *in)
{
	struct ibv_srq_attr srq = { .max_wr = fuzz_below(in, 40), .srq_limit = fuzz_below(in, 40) };

	switch (fuzz_below(in, 8)) {
	case 0: world_take_back(); break;
	case 1: uroce_modify_srq(world.srq, &srq, IBV_SRQ_LIMIT); break;
	case 2: uroce_modify_srq(world.xrc_srq, &srq, IBV_SRQ_MAX_WR); break;
	case 3: uroce_req_notify_cq(world.cq, (int)srq.max_wr % 2); break;
	case 4: reconnect(fuzz_below(in, WORLD_QPS)); break;
	case 5: uroce_resize_cq(world.cq, tiny ? (int)srq.max_wr : CQE + (int)srq.max_wr); break;
	default: modify(in); break;
	}
}

static void
step(struct fuzz_input *in)
{
	switch (fuzz_u8(in) % 16) {
	case 0:
	case 1:
	case 2: player_packet(in); return;
	case 3:
	case 4:
	case 5:
		revive();
		player_packet(in);
		return;
	case 6:
	case 7: post_send(in); break;
	case 8:
	case 9: post_recv(in); break;
	case 10: poll_cq(); break;
	case 11:
	case 12: take_frames(0); break;
	case 13:
		player_flush();
		take_frames(UINT64_C(1) << fuzz_below(in, 36));
		break;
	case 14: bind(in); break;
	default:
		player_flush();
		control(in);
		break;
	}
}

/* Move each QP to error, which flushes its queues. */
static void
finish(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	player_flush();
	take_frames(0);
	for (unsigned int i = 0; i < WORLD_QPS; i++) {
		poll_cq();
		RTE_VERIFY(uroce_modify_qp(world.qps[i], &attr, IBV_QP_STATE) == 0);
		take_frames(0);
	}
	poll_cq();
	for (unsigned int i = 0; i < WORLD_QPS && !tiny; i++) {
		records_settle(2 * i);
		records_settle(2 * i + 1);
	}
	world_check_memory();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	uint8_t how = fuzz_u8(&in);

	tiny = (how & 2) != 0;
	records_reset();
	world_open(tiny ? TINY_CQE : CQE, (how & 1) != 0, (how & 4) != 0,
		   (how & 8) != 0);
	for (unsigned int i = 0; i < MAX_STEPS && fuzz_more(&in); i++)
		step(&in);
	finish();
	world_close();
	return 0;
}
