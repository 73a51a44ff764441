/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connections: creates their objects, posts work requests, and closes them. Main thread.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>

#include "conn.h"
#include "program.h"

#define SEND_DEPTH 4 /* one in progress, and completions not polled yet */
#define RECV_DEPTH 2
#define CQ_DEPTH   (SEND_DEPTH + RECV_DEPTH)

struct rping_conn *
uroce_rping_conn_create(const struct rping_options *o, struct rdma_cm_id *id, bool server)
{
	struct rping_conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL)
		return NULL;
	conn->options = o;
	conn->id = id;
	conn->server = server;
	id->context = conn;
	return conn;
}

static void
mr_free(struct ibv_mr *mr)
{
	if (mr != NULL)
		uroce_dereg_mr(mr);
}

void
uroce_rping_conn_destroy(struct rping_conn *conn)
{
	if (conn->id->qp != NULL)
		uroce_rdma_destroy_qp(conn->id);
	else if (conn->qp != NULL)
		uroce_destroy_qp(conn->qp);
	mr_free(conn->info_mr);
	mr_free(conn->start_mr);
	mr_free(conn->data_mr);
	if (conn->cq != NULL)
		uroce_destroy_cq(conn->cq);
	if (conn->pd != NULL)
		uroce_dealloc_pd(conn->pd);
	(void)uroce_rdma_destroy_id(conn->id);
	free(conn);
}

static int
say(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", uroce_app_name, what, strerror(errno));
	return -1;
}

/* one region covers recv_info and send_info, which are adjacent */
static int
buffers_register(struct rping_conn *conn)
{
	const int remote = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_WRITE;

	conn->info_mr = uroce_reg_mr(conn->pd, &conn->recv_info, 2 * sizeof(conn->recv_info),
				     IBV_ACCESS_LOCAL_WRITE);
	/* the server grants no access to its memory */
	conn->start_mr = uroce_reg_mr(conn->pd, conn->start, sizeof(conn->start),
				      conn->server ? 0 : IBV_ACCESS_REMOTE_READ);
	conn->data_mr = uroce_reg_mr(conn->pd, conn->data, sizeof(conn->data),
				     conn->server ? IBV_ACCESS_LOCAL_WRITE : remote);
	if (conn->info_mr == NULL || conn->start_mr == NULL || conn->data_mr == NULL)
		return say("cannot register memory");
	return 0;
}

/* Create a QP and move it to INIT, so that receives can be posted. */
static int
own_qp_create(struct rping_conn *conn, struct ibv_qp_init_attr *init)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	conn->qp = uroce_create_qp(conn->pd, init);
	if (conn->qp == NULL)
		return say("cannot create a QP");
	if (uroce_rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
		return say("rdma_init_qp_attr");
	errno = uroce_modify_qp(conn->qp, &attr, mask);
	return errno == 0 ? 0 : say("cannot modify the QP to INIT");
}

static int
qp_create(struct rping_conn *conn)
{
	struct ibv_qp_init_attr init = {
		.send_cq = conn->cq,
		.recv_cq = conn->cq,
		.cap = { .max_send_wr = SEND_DEPTH,
			 .max_recv_wr = RECV_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	if (conn->options->own_qp)
		return own_qp_create(conn, &init);
	if (uroce_rdma_create_qp(conn->id, conn->pd, &init) != 0)
		return say("cannot create a QP");
	conn->qp = conn->id->qp;
	return 0;
}

int
uroce_rping_conn_prepare(struct rping_conn *conn)
{
	conn->pd = uroce_alloc_pd(conn->id->verbs);
	if (conn->pd == NULL)
		return say("cannot allocate a PD");
	conn->cq = uroce_create_cq(conn->id->verbs, CQ_DEPTH, NULL, NULL, 0);
	if (conn->cq == NULL)
		return say("cannot create a CQ");
	if (qp_create(conn) != 0 || buffers_register(conn) != 0)
		return -1;
	return uroce_rping_conn_receive(conn);
}

int
uroce_rping_conn_modify(struct rping_conn *conn)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	for (unsigned int i = 0; i < RTE_DIM(states); i++) {
		struct ibv_qp_attr attr = { .qp_state = states[i] };
		int mask;

		if (uroce_rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
			return say("rdma_init_qp_attr");
		errno = uroce_modify_qp(conn->qp, &attr, mask);
		if (errno != 0)
			return say("cannot modify the QP");
	}
	return 0;
}

void
uroce_rping_conn_fail(struct rping_conn *conn, const char *format, ...)
{
	va_list args;

	if (!conn->failed) {
		fprintf(stderr, "%s: %s: ", uroce_app_name, conn->server ? "server" : "client");
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
		fputc('\n', stderr);
	}
	conn->failed = true;
	uroce_rping_conn_leave(conn);
}

void
uroce_rping_conn_leave(struct rping_conn *conn)
{
	if (conn->phase >= RPING_LEAVING)
		return;
	if (conn->options->own_qp && conn->qp != NULL) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

		(void)uroce_modify_qp(conn->qp, &attr, IBV_QP_STATE);
	}
	conn->phase = RPING_OVER;
	if (!conn->established && !conn->disconnected)
		return;
	/* moves the QP to ERR, which flushes its work requests */
	if (uroce_rdma_disconnect(conn->id) != 0 || conn->disconnected)
		return;
	conn->phase = RPING_LEAVING;
	conn->leave_tsc = rte_rdtsc() + UROCE_RPING_LEAVE_S * rte_get_tsc_hz();
}

/* ---- posting ---- */

static int
posted(struct rping_conn *conn, int ret)
{
	if (ret != 0)
		uroce_rping_conn_fail(conn, "cannot post a work request: %s", strerror(ret));
	return ret == 0 ? 0 : -1;
}

int
uroce_rping_conn_receive(struct rping_conn *conn)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)&conn->recv_info,
		.length = sizeof(conn->recv_info),
		.lkey = conn->info_mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	return posted(conn, ibv_post_recv(conn->qp, &wr, &bad));
}

int
uroce_rping_conn_send(struct rping_conn *conn)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)&conn->send_info,
		.length = sizeof(conn->send_info),
		.lkey = conn->info_mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return posted(conn, ibv_post_send(conn->qp, &wr, &bad));
}

int
uroce_rping_conn_rdma(struct rping_conn *conn, enum ibv_wr_opcode opcode, uint32_t bytes)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)conn->data,
		.length = bytes,
		.lkey = conn->data_mr->lkey,
	};
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = conn->peer.addr, .rkey = conn->peer.rkey },
	};

	return posted(conn, ibv_post_send(conn->qp, &wr, &bad));
}

int
uroce_rping_conn_probe(struct rping_conn *conn)
{
	struct ibv_send_wr *bad, wr = {
		.wr_id = RPING_PROBE_ID,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	};

	return posted(conn, ibv_post_send(conn->qp, &wr, &bad));
}
