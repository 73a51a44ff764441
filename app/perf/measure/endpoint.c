/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One lane of one end of a run: protection domains, regions, completion queues and queue pairs on the host's devices.
 * Main thread.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <rte_bitops.h>
#include <rte_debug.h>

#include "measure/endpoint.h"
#include "measure/endpoints.h"

/* QP attributes that the benchmark does not vary. */
#define MIN_RNR_TIMER   1          /* 0.01 ms (R35) */
#define TIMEOUT         17         /* 537 ms (R36): a delay by a busy machine's scheduler is no loss */
#define TIMEOUT_IMPAIRED 12        /* 17 ms: many packets are lost */
#define TIMEOUT_PACKETS (1u << 18) /* valid up to this many packets in flight */
#define RETRY_CNT       7
#define RNR_RETRY       7 /* unlimited */
#define HOP_LIMIT       64

static int fail(char *error, size_t room, const char *format, ...) __rte_format_printf(3, 4);

static int
fail(char *error, size_t room, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, room, format, args);
	va_end(args);
	return -1;
}

/* Get the device of QP `at` of the lane. */
static unsigned int
dev_of(const struct perf_end *end, uint32_t at)
{
	return at % end->host->nb_devs;
}

static int
check_limits(const struct perf_end *end, char *error, size_t room)
{
	const struct perf_params *p = &end->params;

	for (unsigned int d = 0; d < end->host->nb_devs; d++) {
		const struct ibv_device_attr *attr = &end->host->devs[d].attr;
		uint64_t cqes = (uint64_t)end->nb_qps * (end->send_depth + end->recv_depth);

		if (end->send_depth > (uint32_t)attr->max_qp_wr)
			return fail(error, room,
				    "--depth %u needs queues of %u work requests, the device's limit is %d: lower "
				    "--depth",
				    p->depth, end->send_depth, attr->max_qp_wr);
		if (p->qps > (uint32_t)attr->max_qp)
			return fail(error, room, "--qps %u: the device has %d queue pairs: lower --qps", p->qps,
				    attr->max_qp);
		if (cqes > (uint64_t)attr->max_cqe)
			return fail(error, room,
				    "--qps %u times --depth %u is more than the %d entries of a completion queue: "
				    "lower one of them",
				    p->qps, p->depth, attr->max_cqe);
		if (p->mtu > end->host->devs[d].mtu)
			return fail(error, room,
				    "--mtu %u is more than the port supports: use --mtu %u", p->mtu,
				    end->host->devs[d].mtu);
	}
	return 0;
}

/* Create domains of device d. QPs belong to the worker that the thread domain names. */
static int
domains_create(struct perf_end *end, unsigned int d, char *error, size_t room)
{
	struct ibv_context *ctx = end->host->devs[d].ctx;
	struct ibv_parent_domain_init_attr attr;

	end->pds[d] = uroce_alloc_pd(ctx);
	end->tds[d] = uroce_alloc_td_on(ctx, end->worker);
	attr = (struct ibv_parent_domain_init_attr){ .pd = end->pds[d], .td = end->tds[d] };
	if (attr.pd != NULL && attr.td != NULL)
		end->domains[d] = uroce_alloc_parent_domain(ctx, &attr);
	return end->domains[d] != NULL ? 0
				       : fail(error, room, "cannot create a protection domain: %s", strerror(errno));
}

static int
cq_create(struct perf_end *end, unsigned int d, char *error, size_t room)
{
	const uint32_t devs = end->host->nb_devs;
	const uint32_t qps = (end->nb_qps + devs - 1) / devs;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = qps * (end->send_depth + end->recv_depth),
		.comp_vector = end->lane,
		.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = end->domains[d],
	};
	struct ibv_cq_ex *cq = uroce_create_cq_ex(end->host->devs[d].ctx, &attr);

	if (cq == NULL)
		return fail(error, room, "cannot create a completion queue of %u entries: %s", attr.cqe,
			    strerror(errno));
	end->cqs[d] = ibv_cq_ex_to_cq(cq);
	return 0;
}

/* READ responses from a region that grants atomic operations would be copied. */
static int
access_of(const struct perf_end *end)
{
	return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
	       (uroce_perf_ops[end->params.op].atomic ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static int
objects_create(struct perf_end *end, char *error, size_t room)
{
	for (unsigned int d = 0; d < end->host->nb_devs; d++) {
		if (domains_create(end, d, error, room) != 0)
			return -1;
		end->mrs[d] = uroce_reg_mr(end->pds[d], end->buffer, end->buffer_bytes, access_of(end));
		if (end->mrs[d] == NULL)
			return fail(error, room, "cannot register %zu bytes: %s", end->buffer_bytes,
				    strerror(errno));
		if (cq_create(end, d, error, room) != 0)
			return -1;
	}
	return 0;
}

static struct ibv_qp *
qp_create(struct perf_end *end, unsigned int dev)
{
	struct ibv_qp_init_attr init = {
		.send_cq = end->cqs[dev],
		.recv_cq = end->cqs[dev],
		.qp_type = uroce_perf_transports[end->params.transport].qp_type,
		.cap = {
			.max_send_wr = end->send_depth,
			.max_recv_wr = end->recv_depth,
			.max_send_sge = 1,
			.max_recv_sge = end->recv_depth > 0 ? 1 : 0,
			.max_inline_data = UROCE_PERF_INLINE_BYTES,
		},
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = PERF_QKEY,
		.qp_access_flags = (unsigned int)access_of(end),
	};
	const int rights = end->params.transport == PERF_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	struct ibv_qp *qp = uroce_create_qp(end->domains[dev], &init);
	int ret;

	if (qp == NULL)
		return NULL;
	ret = uroce_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | rights);
	if (ret == 0)
		return qp;
	uroce_destroy_qp(qp);
	errno = ret;
	return NULL;
}

/* A random PSN: a sender of forged frames cannot guess it. */
static uint32_t
random_psn(void)
{
	uint32_t psn = 0;

	RTE_VERIFY(getrandom(&psn, sizeof(psn), 0) == (ssize_t)sizeof(psn));
	return psn & 0xffffff;
}

static int
qps_create(struct perf_end *end, const union ibv_gid *peer, const union ibv_gid *ours, char *error,
	   size_t room)
{
	const bool v4 = uroce_app_gid_is_v4(peer);

	for (uint32_t i = 0; i < end->nb_qps; i++) {
		const unsigned int d = dev_of(end, i);
		const struct app_address *a = uroce_app_device_address(&end->host->devs[d], v4,
									 ours);
		struct perf_qp *q = &end->qps[i];

		if (a == NULL)
			return fail(error, room,
				    "port %u has no %s address, but its peer's is one: add one with --addr",
				    d, v4 ? "IPv4" : "IPv6");
		q->ibv = qp_create(end, d);
		if (q->ibv == NULL)
			return fail(error, room, "cannot create queue pair %u of %u: %s", q->index + 1,
				    end->params.qps, strerror(errno));
		q->lkey = end->mrs[d]->lkey;
		q->local = (struct perf_qp_info){
			.qpn = q->ibv->qp_num,
			.psn = random_psn(),
			.gid = a->gid,
			.rkey = end->mrs[d]->rkey,
			.out = (uintptr_t)q->out,
			.in = (uintptr_t)q->in,
			.credit = (uintptr_t)q->credit,
		};
	}
	return 0;
}

int
uroce_perf_end_create(struct perf_end *end, struct app_host *host,
		      const struct perf_params *params, bool server, unsigned int lane, unsigned int lanes,
		      const union ibv_gid *peer, const union ibv_gid *ours, char *error, size_t room)
{
	memset(end, 0, sizeof(*end));
	end->params = *params;
	end->host = host;
	end->worker = host->workers[lane];
	end->lane = lane;
	end->lanes = lanes;
	end->server = server;
	uroce_perf_layout(end);
	if (check_limits(end, error, room) != 0)
		return -1;
	end->inlined = params->size > 0 && params->size <= UROCE_PERF_INLINE_BYTES &&
		       !uroce_perf_ops[params->op].fetches;
	end->qps = uroce_perf_lines_alloc(end->nb_qps * sizeof(*end->qps));
	if (end->qps == NULL || uroce_perf_buffers_create(end) != 0) {
		fail(error, room,
		     "out of memory for messages of %u bytes on %u queue pairs: lower --size or "
		     "--qps",
		     params->size, params->qps);
		uroce_perf_end_destroy(end);
		return -1;
	}
	if (objects_create(end, error, room) == 0 && qps_create(end, peer, ours, error, room) == 0) {
		uroce_perf_endpoints_add(end);
		return 0;
	}
	uroce_perf_end_destroy(end);
	return -1;
}

static enum ibv_mtu
mtu_enum(uint32_t bytes)
{
	return (enum ibv_mtu)(rte_log2_u32(bytes) - 7);
}

/* With many QPs an ACK is delayed: twice as many packets in flight, twice the timeout. */
static uint8_t
timeout_of(const struct perf_params *p, bool impaired)
{
	const uint64_t message = RTE_MAX((p->size + p->mtu - 1) / p->mtu, 1u);
	const uint64_t window = RTE_MIN(message * p->depth, (uint64_t)UROCE_WINDOW_PACKETS);
	const uint64_t packets = window * p->qps;

	return (impaired ? TIMEOUT_IMPAIRED : TIMEOUT) +
	       (packets > TIMEOUT_PACKETS ? rte_log2_u64(packets / TIMEOUT_PACKETS) : 0);
}

/* Attribute masks of each transition, by transport. */
static const struct {
	int rtr;
	int rts;
} connect_masks[PERF_TRANSPORT_COUNT] = {
	[PERF_RC] = { IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC },
	[PERF_UC] = { IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		      IBV_QP_STATE | IBV_QP_SQ_PSN },
	[PERF_UD] = { IBV_QP_STATE, IBV_QP_STATE | IBV_QP_SQ_PSN },
};

static int
qp_connect(struct perf_end *end, struct perf_qp *q)
{
	const struct app_device *dev = &end->host->devs[dev_of(end, q->at)];
	const bool v4 = uroce_app_gid_is_v4(&q->local.gid);
	const struct app_address *a = uroce_app_device_address(dev, v4, &q->local.gid);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_enum(end->params.mtu),
		.dest_qp_num = q->remote.qpn,
		.rq_psn = q->remote.psn,
		.max_dest_rd_atomic = (uint8_t)end->params.rd_atomic,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = q->remote.gid,
				.sgid_index = a->index,
				.hop_limit = HOP_LIMIT,
			},
		},
	};
	int ret = uroce_modify_qp(q->ibv, &attr, connect_masks[end->params.transport].rtr);

	if (ret != 0)
		return ret;
	if (end->params.transport == PERF_UD) {
		q->ah = uroce_create_ah(q->ibv->pd, &attr.ah_attr);
		if (q->ah == NULL)
			return errno;
	}
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = timeout_of(&end->params, end->host->impaired && end->host->go_back_n);
	attr.retry_cnt = RETRY_CNT;
	attr.rnr_retry = RNR_RETRY;
	attr.sq_psn = q->local.psn;
	attr.max_rd_atomic = (uint8_t)end->params.rd_atomic;
	return uroce_modify_qp(q->ibv, &attr, connect_masks[end->params.transport].rts);
}

int
uroce_perf_end_connect(struct perf_end *end, char *error, size_t room)
{
	for (uint32_t i = 0; i < end->nb_qps; i++) {
		struct perf_qp *q = &end->qps[i];
		int ret = uroce_perf_end_receive(end, q);

		if (ret == 0)
			ret = qp_connect(end, q);
		if (ret != 0)
			return fail(error, room, "cannot connect queue pair %u: %s", q->index, strerror(ret));
	}
	return 0;
}

int
uroce_perf_end_receive(struct perf_end *end, struct perf_qp *q)
{
	struct ibv_recv_wr wrs[UROCE_PERF_BATCH], *bad;
	struct ibv_sge sges[UROCE_PERF_BATCH];
	const bool to_memory = end->params.size + end->grh > 0 && end->params.op != PERF_WRITE &&
			       end->params.op != PERF_WRITE_IMM;

	while (q->recv_posted - q->received < end->recv_depth) {
		uint64_t n = RTE_MIN(end->recv_depth - (q->recv_posted - q->received),
				     (uint64_t)UROCE_PERF_BATCH);
		int ret;

		for (uint64_t i = 0; i < n; i++) {
			sges[i].addr = (uintptr_t)uroce_perf_slot(end, q->in, q->recv_posted + i);
			sges[i].length = end->params.size + end->grh;
			sges[i].lkey = q->lkey;
			wrs[i].wr_id = uroce_perf_wr_id(q, q->recv_posted + i);
			wrs[i].next = i + 1 < n ? &wrs[i + 1] : NULL;
			wrs[i].sg_list = &sges[i];
			wrs[i].num_sge = to_memory ? 1 : 0;
		}
		ret = ibv_post_recv(q->ibv, wrs, &bad);
		if (ret != 0)
			return ret;
		q->recv_posted += n;
	}
	return 0;
}

void
uroce_perf_end_destroy(struct perf_end *end)
{
	int ret = 0;

	uroce_perf_endpoints_remove(end);
	for (uint32_t i = 0; i < end->nb_qps && end->qps != NULL; i++) {
		if (end->qps[i].ibv != NULL)
			ret |= uroce_destroy_qp(end->qps[i].ibv);
		if (end->qps[i].ah != NULL)
			ret |= uroce_destroy_ah(end->qps[i].ah);
	}
	for (unsigned int d = 0; d < end->host->nb_devs; d++) {
		if (end->cqs[d] != NULL)
			ret |= uroce_destroy_cq(end->cqs[d]);
		if (end->mrs[d] != NULL)
			ret |= uroce_dereg_mr(end->mrs[d]);
		if (end->domains[d] != NULL)
			ret |= uroce_dealloc_pd(end->domains[d]);
		if (end->tds[d] != NULL)
			ret |= uroce_dealloc_td(end->tds[d]);
		if (end->pds[d] != NULL)
			ret |= uroce_dealloc_pd(end->pds[d]);
	}
	RTE_VERIFY(ret == 0);
	uroce_perf_buffers_destroy(end);
	free(end->qps);
	end->qps = NULL;
}
