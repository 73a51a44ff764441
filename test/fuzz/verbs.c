/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: the calls of control threads in any order with any arguments, mixed with work requests and time steps.
 * Objects in use stay, and at the end all objects can be destroyed and nothing leaks.
 */

#include <string.h>

#include "device.h"
#include "fuzz.h"
#include "base/random.h"
#include "objects.h"

#define MAX_STEPS 300

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_init(false);
	return 0;
}

/* ---- QPs
 * ------------------------------------------------------------------------------------------ */

static struct ibv_qp_attr
good_attr(enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 0x123456,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = 2,
		.min_rnr_timer = 12,
		.timeout = 10,
		.retry_cnt = 2,
		.rnr_retry = 1,
		.qkey = 0x11111111,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};

	memcpy(attr.ah_attr.grh.dgid.raw, device_conf_get()->peer_gid.raw, 16);
	return attr;
}

/* The attributes of each transition, by type of QP: the connected types, and UD. */
static int
good_mask(enum ibv_qp_type type, enum ibv_qp_state to)
{
	const int connected = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	int mask = IBV_QP_STATE;

	if (to == IBV_QPS_INIT)
		return mask | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	if (to == IBV_QPS_RTR && type != IBV_QPT_UD)
		mask |= connected;
	if (to == IBV_QPS_RTR && (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV))
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (to == IBV_QPS_RTS)
		mask |= IBV_QP_SQ_PSN;
	if (to == IBV_QPS_RTS && (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND))
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	if (to == IBV_QPS_RTS && type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_TIMEOUT;
	return mask;
}

static void
spoil(struct fuzz_input *in, struct ibv_qp_attr *attr)
{
	for (unsigned int n = fuzz_below(in, 4); n > 0; n--)
		fuzz_poke(in, attr, sizeof(*attr));
}

static void
modify(struct fuzz_input *in, struct ibv_qp *qp)
{
	uint8_t how = fuzz_u8(in);
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	int mask;

	RTE_VERIFY(uroce_query_qp(qp, &attr, ~0, &init) == 0);
	if ((how & 1) != 0) { /* one transition, or all of them */
		for (enum ibv_qp_state s = attr.qp_state + 1; s <= IBV_QPS_RTS; s++) {
			attr = good_attr(s);
			if (uroce_modify_qp(qp, &attr, good_mask(qp->qp_type, s)) != 0 ||
			    (how & 2) != 0)
				break;
		}
		return;
	}
	attr = good_attr(fuzz_below(in, 8));
	mask = good_mask(qp->qp_type, attr.qp_state);
	if ((how & 4) != 0)
		spoil(in, &attr);
	if ((how & 8) != 0)
		mask ^= 1 << fuzz_below(in, 26);
	if ((how & 16) != 0)
		mask = (int)fuzz_u32(in);
	uroce_modify_qp(qp, &attr, mask);
}

/* ---- work requests
 * ---------------------------------------------------------------------------------- */

static void
post_send(struct fuzz_input *in, struct ibv_qp *qp)
{
	struct ibv_sge sges[2] = { objects_sge(in), objects_sge(in) };
	struct ibv_send_wr wr = { .opcode = fuzz_below(in, 20),
				  .send_flags = fuzz_u8(in),
				  .sg_list = sges,
				  .num_sge = (int)fuzz_below(in, 3) },
			   *bad;
	const struct ibv_mr *mr = OBJECTS_PICK(in, mrs);

	if ((wr.send_flags & IBV_SEND_INLINE) != 0) /* posting reads inline data from its address */
		for (unsigned int i = 0; i < RTE_DIM(sges); i++)
			sges[i] = (struct ibv_sge){ (uintptr_t)objects.buffer, sges[i].length, 0 };
	if (qp->qp_type == IBV_QPT_UD) {
		wr.wr.ud.ah = OBJECTS_PICK(in, ahs);
		wr.wr.ud.remote_qpn = fuzz_u32(in);
		if (wr.wr.ud.ah == NULL)
			return;
	} else if (wr.opcode == IBV_WR_BIND_MW) {
		wr.bind_mw.mw = OBJECTS_PICK(in, mws);
		if (wr.bind_mw.mw == NULL)
			return;
		wr.bind_mw.rkey = wr.bind_mw.mw->rkey + fuzz_below(in, 2);
		wr.bind_mw.bind_info =
			(struct ibv_mw_bind_info){ OBJECTS_PICK(in, mrs),
						   (uintptr_t)objects.buffer + fuzz_u16(in),
						   fuzz_u16(in), fuzz_u8(in) };
	} else {
		wr.invalidate_rkey = mr != NULL ? mr->rkey : fuzz_u32(in);
		wr.wr.atomic.remote_addr = fuzz_u64(in);
		wr.wr.atomic.rkey = fuzz_u32(in);
	}
	uroce_post_send(qp, &wr, &bad);
}

static void
bind(struct fuzz_input *in, struct ibv_qp *qp)
{
	struct ibv_mw *mw = OBJECTS_PICK(in, mws);
	struct ibv_mw_bind b = { .send_flags = fuzz_u8(in),
				 .bind_info = { OBJECTS_PICK(in, mrs),
						(uintptr_t)objects.buffer + fuzz_u16(in),
						fuzz_u16(in), fuzz_u8(in) } };

	if (mw != NULL)
		uroce_bind_mw(qp, mw, &b);
}

/* Build one request, by one of the calls requested at the QP's creation. */
static void
build_one(struct fuzz_input *in, struct ibv_qp_ex *ex)
{
	uint32_t key = fuzz_u32(in);
	uint64_t at = fuzz_u64(in);

	ex->wr_flags = fuzz_u8(in) & 0xf & ~(unsigned int)IBV_SEND_INLINE;
	switch (fuzz_below(in, 8)) {
	case 0:
		if (ex->wr_send != NULL)
			ibv_wr_send(ex);
		break;
	case 1:
		if (ex->wr_send_imm != NULL)
			ibv_wr_send_imm(ex, key);
		break;
	case 2:
		if (ex->wr_rdma_write != NULL)
			ibv_wr_rdma_write(ex, key, at);
		break;
	case 3:
		if (ex->wr_rdma_read != NULL)
			ibv_wr_rdma_read(ex, key, at);
		break;
	case 4:
		if (ex->wr_atomic_fetch_add != NULL)
			ibv_wr_atomic_fetch_add(ex, key, at, 1);
		break;
	case 5:
		if (ex->wr_local_inv != NULL)
			ibv_wr_local_inv(ex, key);
		break;
	default: break;
	}
}

static void
build(struct fuzz_input *in, struct ibv_qp *qp)
{
	struct ibv_qp_ex *ex = uroce_qp_to_qp_ex(qp);
	struct ibv_sge sge = objects_sge(in);
	struct ibv_ah *ah = OBJECTS_PICK(in, ahs);

	if (ex == NULL)
		return;
	ibv_wr_start(ex);
	for (unsigned int n = fuzz_below(in, 6); n > 0; n--) {
		build_one(in, ex);
		switch (fuzz_below(in, 5)) {
		case 0: ibv_wr_set_sge(ex, sge.lkey, sge.addr, sge.length); break;
		case 1: ibv_wr_set_sge_list(ex, 1, &sge); break;
		case 2: ibv_wr_set_inline_data(ex, objects.buffer, fuzz_u8(in)); break;
		case 3:
			if (ah != NULL && ex->wr_set_ud_addr != NULL)
				ibv_wr_set_ud_addr(ex, ah, 0x123456, 0x11111111);
			break;
		default: break;
		}
	}
	if (fuzz_below(in, 4) == 0)
		ibv_wr_abort(ex);
	else
		ibv_wr_complete(ex);
}

static void
post_recv(struct fuzz_input *in, struct ibv_qp *qp)
{
	struct ibv_sge sge = objects_sge(in);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = fuzz_below(in, 2) }, *bad;
	struct ibv_srq *srq = OBJECTS_PICK(in, srqs);

	if (srq != NULL && fuzz_below(in, 2) == 0)
		uroce_post_srq_recv(srq, &wr, &bad);
	else
		uroce_post_recv(qp, &wr, &bad);
}

static void
poll_cq(struct fuzz_input *in)
{
	unsigned int i = fuzz_below(in, OBJECTS_EACH);
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc[3];
	struct ibv_cq_ex *ex;

	if (objects.cqs[i] == NULL)
		return;
	if (!objects.extended[i]) {
		RTE_VERIFY(uroce_poll_cq(objects.cqs[i], RTE_DIM(wc), wc) <= (int)RTE_DIM(wc));
		return;
	}
	ex = (struct ibv_cq_ex *)objects.cqs[i];
	if (ibv_start_poll(ex, &attr) != 0)
		return;
	do
		RTE_VERIFY(ex->status <= IBV_WC_TM_RNDV_INCOMPLETE);
	while (fuzz_below(in, 2) == 0 && ibv_next_poll(ex) == 0);
	ibv_end_poll(ex);
}

/* ---- the target
 * --------------------------------------------------------------------------------------- */

static void
pass(uint64_t ns)
{
	static struct device_frame frame;

	while (device_send_one(&frame, ns))
		ns = 0;
}

static void
step(struct fuzz_input *in)
{
	uint8_t what = fuzz_u8(in);
	struct ibv_qp *qp = OBJECTS_PICK(in, qps);

	if (what % 16 < 6)
		objects_toggle(in);
	else if (what % 16 < 8)
		objects_change(in);
	else if (what % 16 == 8)
		pass(UINT64_C(1) << fuzz_below(in, 34));
	else if (what % 16 == 9)
		poll_cq(in);
	else if (qp == NULL)
		return;
	else if (what % 16 < 12)
		modify(in, qp);
	else if (what % 16 == 12)
		post_send(in, qp);
	else if (what % 16 == 13)
		post_recv(in, qp);
	else if (what % 16 == 14)
		build(in, qp);
	else
		bind(in, qp);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	const char *left;

	uroce_random_seed(1);
	device_open(&device_ipv4);
	for (unsigned int i = 0; i < MAX_STEPS && fuzz_more(&in); i++)
		step(&in);
	objects_end();
	left = device_close();
	if (left != NULL)
		rte_panic("%s leak\n", left);
	return 0;
}
