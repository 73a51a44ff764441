/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates the two ends of the benchmark, and sends a first message, which resolves the neighbors. Main thread.
 */

#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_malloc.h>

#include <uroce.h>
#include <uroce_config.h>

#include "pair.h"

#define DEPTH (4 * UROCE_BURST)
#define CONNECT_S 5
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static int
end_open(struct pair_end *e, uint16_t port_id, const char *address)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = UROCE_PERF_INLINE_BYTES },
	};

	/* without loopback: through the rings, although both devices are in one process */
	if (uroce_app_host_workers(&e->host, 1) != 0 || uroce_app_host_open(&e->host, port_id, 1, true) != 0 ||
	    uroce_app_host_address(&e->host, 0, address) != 0)
		return -1;
	e->worker = e->host.workers[0];
	e->queue = e->worker->by_port[port_id];
	e->buffer = rte_zmalloc("uroce_stages", PAIR_BYTES, 4096);
	e->pd = uroce_alloc_pd(e->host.devs[0].ctx);
	e->cq = uroce_create_cq(e->host.devs[0].ctx, DEPTH, NULL, NULL, 0);
	if (e->buffer == NULL || e->pd == NULL || e->cq == NULL)
		return -1;
	attr.send_cq = attr.recv_cq = e->cq;
	e->qp = uroce_create_qp(e->pd, &attr);
	e->mr = uroce_reg_mr(e->pd, e->buffer, PAIR_BYTES, ACCESS);
	return e->qp != NULL && e->mr != NULL ? 0 : -1;
}

static int
end_connect(struct pair_end *e, const struct pair_end *peer)
{
	const struct app_address *ours = &e->host.devs[0].addrs[0], *theirs = &peer->host.devs[0].addrs[0];
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = ACCESS,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qp->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 1,
		.timeout = 18,	/* a second */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = { .is_global = 1, .port_num = 1,
			     .grh = { .dgid = theirs->gid, .sgid_index = ours->index, .hop_limit = 64 } },
	};

	if (uroce_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
		return -1;
	attr.qp_state = IBV_QPS_RTR;
	if (uroce_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
		return -1;
	attr.qp_state = IBV_QPS_RTS;
	return uroce_modify_qp(e->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0 ? 0 : -1;
}

/* Send an empty WRITE, which waits for the neighbor's address. */
static int
greet(struct pair_end ends[2])
{
	const uint64_t end = rte_rdtsc() + CONNECT_S * rte_get_tsc_hz();
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	if (uroce_post_send(ends[0].qp, &wr, &bad) != 0)
		return -1;
	while (uroce_poll_cq(ends[0].cq, 1, &wc) == 0) {
		if (rte_rdtsc() > end)
			return -1;
		uroce_worker_poll(ends[0].worker);
		uroce_worker_poll(ends[1].worker);
	}
	return wc.status == IBV_WC_SUCCESS ? 0 : -1;
}

int
pair_open(struct pair_end ends[2])
{
	static const char *const addresses[2] = { "10.0.0.1/24", "10.0.0.2/24" };
	uint16_t ports[2];

	memset(ends, 0, 2 * sizeof(ends[0]));
	if (uroce_app_ring_ports(ports, 1) != 0)
		return -1;
	for (unsigned int i = 0; i < 2; i++) {
		if (end_open(&ends[i], ports[i], addresses[i]) != 0)
			goto failed;
	}
	if (end_connect(&ends[0], &ends[1]) == 0 && end_connect(&ends[1], &ends[0]) == 0 && greet(ends) == 0)
		return 0;
failed:
	fprintf(stderr, "stages: the two ends do not come up\n");
	pair_close(ends);
	return -1;
}

void
pair_close(struct pair_end ends[2])
{
	for (unsigned int i = 0; i < 2; i++) {
		struct pair_end *e = &ends[i];

		if (e->qp != NULL)
			uroce_destroy_qp(e->qp);
		if (e->cq != NULL)
			uroce_destroy_cq(e->cq);
		if (e->mr != NULL)
			uroce_dereg_mr(e->mr);
		if (e->pd != NULL)
			uroce_dealloc_pd(e->pd);
		rte_free(e->buffer);
	}
	uroce_app_host_close(&ends[0].host);
	uroce_app_host_close(&ends[1].host);
}
