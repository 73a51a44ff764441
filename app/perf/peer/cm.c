/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A connection through the RDMA CM. Bytes are SENDs into receives that are reposted at once; RNR NAKs slow down a
 * sender that is too fast. Main thread, which polls the worker while it waits.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce_cma.h>

#include "peer/cm.h"
#include "options.h"
#include "signals.h"

#define CHUNK_BYTES UROCE_PERF_OOB_LINE_BYTES
#define RETRIES     7

struct perf_cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint32_t sending;  /* SENDs without a completion */
	uint32_t received; /* chunks received and not read yet, oldest first */
	struct ibv_wc arrived[UROCE_PERF_CM_CHUNKS];
	bool disconnected; /* the peer has disconnected */
	bool broken;
	uint8_t chunks[UROCE_PERF_CM_CHUNKS][CHUNK_BYTES];
};

/* Destroy the connection and its objects; the listener stays. */
static void
peer_drop(struct perf_cm *cm)
{
	if (cm->id != NULL && cm->id->qp != NULL)
		uroce_rdma_destroy_qp(cm->id);
	if (cm->mr != NULL)
		uroce_dereg_mr(cm->mr);
	if (cm->cq != NULL)
		uroce_destroy_cq(cm->cq);
	if (cm->pd != NULL)
		uroce_dealloc_pd(cm->pd);
	if (cm->id != NULL)
		uroce_rdma_destroy_id(cm->id);
	cm->id = NULL;
	cm->mr = NULL;
	cm->cq = NULL;
	cm->pd = NULL;
	cm->sending = 0;
	cm->received = 0;
	cm->disconnected = false;
	cm->broken = false;
}

static void
cm_free(struct perf_cm *cm)
{
	peer_drop(cm);
	if (cm->listener != NULL)
		uroce_rdma_destroy_id(cm->listener);
	if (cm->channel != NULL)
		uroce_rdma_destroy_event_channel(cm->channel);
	free(cm);
}

static struct perf_cm *
cm_alloc(struct rdma_cm_id **id)
{
	struct perf_cm *cm = calloc(1, sizeof(*cm));

	if (cm == NULL)
		return NULL;
	cm->channel = uroce_rdma_create_event_channel();
	if (cm->channel != NULL && fcntl(cm->channel->fd, F_SETFL, O_NONBLOCK) == 0 &&
	    uroce_rdma_create_id(cm->channel, id, NULL, RDMA_PS_TCP) == 0)
		return cm;
	cm_free(cm);
	return NULL;
}

/* Convert an event that ends an attempt to -errno. */
static int
event_errno(const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_REJECTED: return -ECONNREFUSED;
	case RDMA_CM_EVENT_DISCONNECTED: return -ECONNRESET;
	case RDMA_CM_EVENT_DEVICE_REMOVAL: return -ENODEV;
	default: return event->status < 0 ? event->status : -EHOSTUNREACH;
	}
}

/* Take the next event. @return 0: it is the wanted one, *id is its ID; -EAGAIN: no event; -errno: another event */
static int
event_take(struct perf_cm *cm, enum rdma_cm_event_type wanted, struct rdma_cm_id **id)
{
	struct rdma_cm_event *event;
	int ret;

	if (uroce_rdma_get_cm_event(cm->channel, &event) != 0)
		return errno == EINTR ? -EAGAIN : -errno;
	cm->disconnected |= event->event == RDMA_CM_EVENT_DISCONNECTED && event->id == cm->id;
	if (event->event == wanted)
		ret = 0;
	else if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT)
		ret = -EAGAIN;
	else
		ret = event_errno(event);
	*id = event->id;
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && ret != 0) { /* one client at a time */
		uroce_rdma_ack_cm_event(event);
		uroce_rdma_destroy_id(*id);
		return -EAGAIN;
	}
	uroce_rdma_ack_cm_event(event);
	return ret;
}

static int
event_wait(struct perf_conn *conn, struct perf_cm *cm, enum rdma_cm_event_type wanted,
	   struct rdma_cm_id **id, unsigned int timeout_ms)
{
	const uint64_t deadline = uroce_perf_now_ms() + timeout_ms;

	for (;;) {
		int ret = event_take(cm, wanted, id);

		if (ret != -EAGAIN)
			return ret;
		if (conn->interruptible && uroce_app_stopped())
			return -EINTR;
		if (timeout_ms != 0 && uroce_perf_now_ms() > deadline)
			return -ETIMEDOUT;
		uroce_perf_conn_wait(conn, false);
	}
}

static int
chunk_post(struct perf_cm *cm, uint64_t chunk)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)cm->chunks[chunk],
		.length = CHUNK_BYTES,
		.lkey = cm->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = chunk, .sg_list = &sge, .num_sge = 1 };

	return -ibv_post_recv(cm->id->qp, &wr, &bad);
}

/* Create the queue pair of cm->id, and post its receives. */
static int
qp_create(struct perf_cm *cm)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = {
			.max_send_wr = UROCE_PERF_CM_CHUNKS,
			.max_recv_wr = UROCE_PERF_CM_CHUNKS,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = CHUNK_BYTES,
		},
	};
	int ret = 0;

	cm->pd = uroce_alloc_pd(cm->id->verbs);
	if (cm->pd == NULL)
		return -errno;
	cm->mr = uroce_reg_mr(cm->pd, cm->chunks, sizeof(cm->chunks), IBV_ACCESS_LOCAL_WRITE);
	cm->cq = uroce_create_cq(cm->id->verbs, 2 * UROCE_PERF_CM_CHUNKS, NULL, NULL, 0);
	if (cm->mr == NULL || cm->cq == NULL)
		return -errno;
	init.send_cq = init.recv_cq = cm->cq;
	if (uroce_rdma_create_qp(cm->id, cm->pd, &init) != 0)
		return -errno;
	for (uint64_t i = 0; i < UROCE_PERF_CM_CHUNKS && ret == 0; i++)
		ret = chunk_post(cm, i);
	return ret;
}

/* Poll the CQ; messages are queued until they are read. */
static void
completions_take(struct perf_cm *cm)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cm->cq, 1, &wc) > 0) {
		if (wc.status != IBV_WC_SUCCESS)
			cm->broken = true;
		else if ((wc.opcode & IBV_WC_RECV) != 0)
			cm->arrived[cm->received++] = wc;
		else
			cm->sending--;
	}
}

static ssize_t
cm_read(struct perf_conn *conn, char *buffer, size_t room)
{
	struct perf_cm *cm = conn->cm;
	struct rdma_cm_id *id;
	struct ibv_wc wc;

	completions_take(cm);
	if (cm->received == 0) {
		if (!cm->disconnected)
			event_take(cm, RDMA_CM_EVENT_DISCONNECTED, &id);
		return cm->disconnected ? 0 : cm->broken ? -ECONNRESET : -EAGAIN;
	}
	wc = cm->arrived[0];
	if (wc.byte_len > room)
		return -EAGAIN;
	memcpy(buffer, cm->chunks[wc.wr_id], wc.byte_len);
	memmove(&cm->arrived[0], &cm->arrived[1], --cm->received * sizeof(cm->arrived[0]));
	cm->broken |= chunk_post(cm, wc.wr_id) != 0;
	return wc.byte_len > 0 ? (ssize_t)wc.byte_len : -EAGAIN;
}

static ssize_t
cm_write(struct perf_conn *conn, const char *bytes, size_t n)
{
	struct perf_cm *cm = conn->cm;
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = RTE_MIN(n, (size_t)CHUNK_BYTES) };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE,
	};

	completions_take(cm);
	if (cm->broken || cm->disconnected)
		return -ECONNRESET;
	if (cm->sending == UROCE_PERF_CM_CHUNKS)
		return -EAGAIN;
	if (ibv_post_send(cm->id->qp, &wr, &bad) != 0)
		return -ECONNRESET;
	cm->sending++;
	return sge.length;
}

static void
cm_wait(struct perf_conn *conn, bool write)
{
	struct pollfd pfd = { .fd = conn->cm->channel->fd, .events = POLLIN };

	RTE_SET_USED(write);
	poll(&pfd, 1, 1);
}

/* Disconnect once all sent messages have arrived. */
static void
cm_close(struct perf_conn *conn)
{
	const uint64_t deadline = uroce_perf_now_ms() + UROCE_PERF_CM_CLOSE_MS;
	struct perf_cm *cm = conn->cm;
	struct rdma_cm_id *id;

	conn->interruptible = false;
	while (cm->sending > 0 && !cm->broken && uroce_perf_now_ms() < deadline) {
		uroce_perf_conn_wait(conn, true);
		completions_take(cm);
	}
	if (cm->id != NULL && uroce_rdma_disconnect(cm->id) == 0 && !cm->disconnected)
		event_wait(conn, cm, RDMA_CM_EVENT_DISCONNECTED, &id, UROCE_PERF_CM_CLOSE_MS);
	cm_free(cm);
	conn->cm = NULL;
}

static const struct perf_conn_ops cm_ops = {
	.read = cm_read,
	.write = cm_write,
	.wait = cm_wait,
	.close = cm_close,
};

static void
sockaddr_of(struct sockaddr_storage *address, const union ibv_gid *gid)
{
	struct sockaddr_in *sin = (struct sockaddr_in *)address;
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	if (uroce_app_gid_is_v4(gid)) {
		sin->sin_family = AF_INET;
		sin->sin_port = htons(UROCE_PERF_CM_PORT);
		memcpy(&sin->sin_addr, gid->raw + 12, sizeof(sin->sin_addr));
	} else {
		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = htons(UROCE_PERF_CM_PORT);
		memcpy(&sin6->sin6_addr, gid->raw, sizeof(sin6->sin6_addr));
	}
}

struct perf_cm *
uroce_perf_cm_listen(void)
{
	static const union ibv_gid any;	/* IPv6's any address includes IPv4's */
	struct sockaddr_storage address;
	struct rdma_cm_id *listener;
	struct perf_cm *cm = cm_alloc(&listener);
	int error;

	if (cm == NULL)
		return NULL;
	cm->listener = listener;
	sockaddr_of(&address, &any);
	if (uroce_rdma_bind_addr(listener, (struct sockaddr *)&address) == 0 &&
	    uroce_rdma_listen(listener, 1) == 0)
		return cm;
	error = errno;
	cm_free(cm);
	errno = error;
	return NULL;
}

/* @return 0; -EAGAIN: a client vanished before it was connected, wait for another; -errno */
static int
client_meet(struct perf_conn *conn, struct perf_cm *cm)
{
	struct rdma_conn_param param = { .rnr_retry_count = RETRIES };
	struct rdma_cm_id *id;
	int ret = event_wait(conn, cm, RDMA_CM_EVENT_CONNECT_REQUEST, &id, 0);

	if (ret != 0)
		return ret;
	cm->id = id;
	ret = qp_create(cm);
	if (ret != 0)
		return ret;
	if (uroce_rdma_accept(cm->id, &param) != 0)
		ret = -errno;
	else
		ret = event_wait(conn, cm, RDMA_CM_EVENT_ESTABLISHED, &id, UROCE_PERF_OOB_TIMEOUT_MS);
	if (ret == 0 || ret == -EINTR)
		return ret;
	fprintf(stderr, "uroce-perf: a client disconnected before it was connected (%s): waiting for another\n",
		strerror(-ret));
	peer_drop(cm);
	return -EAGAIN;
}

int
uroce_perf_cm_accept(struct perf_conn *conn, struct perf_cm *cm)
{
	int ret;

	conn->cm = cm;
	conn->ops = &cm_ops;
	conn->length = 0;
	do
		ret = client_meet(conn, cm);
	while (ret == -EAGAIN);
	if (ret != 0) {
		uroce_perf_conn_close(conn);
		return ret;
	}
	uroce_rdma_destroy_id(cm->listener);
	cm->listener = NULL;
	return 0;
}

static int
cm_connect(struct perf_conn *conn, struct perf_cm *cm, const union ibv_gid *to)
{
	struct rdma_conn_param param = { .retry_count = RETRIES, .rnr_retry_count = RETRIES };
	struct sockaddr_storage address;
	struct rdma_cm_id *id;
	int ret;

	sockaddr_of(&address, to);
	if (uroce_rdma_resolve_addr(cm->id, NULL, (struct sockaddr *)&address,
				    UROCE_PERF_OOB_TIMEOUT_MS) != 0)
		return -errno;
	ret = event_wait(conn, cm, RDMA_CM_EVENT_ADDR_RESOLVED, &id, 0);
	if (ret == -ETIMEDOUT) /* no host has answered, unlike a timeout after this */
		return -EHOSTUNREACH;
	if (ret != 0)
		return ret;
	if (uroce_rdma_resolve_route(cm->id, UROCE_PERF_OOB_TIMEOUT_MS) != 0)
		return -errno;
	ret = event_wait(conn, cm, RDMA_CM_EVENT_ROUTE_RESOLVED, &id, 0);
	if (ret == 0)
		ret = qp_create(cm);
	if (ret != 0)
		return ret;
	if (uroce_rdma_connect(cm->id, &param) != 0)
		return -errno;
	return event_wait(conn, cm, RDMA_CM_EVENT_ESTABLISHED, &id, UROCE_PERF_CM_CONNECT_MS);
}

int
uroce_perf_cm_connect(struct perf_conn *conn, const union ibv_gid *to)
{
	struct rdma_cm_id *id;
	struct perf_cm *cm = cm_alloc(&id);
	const bool interruptible = conn->interruptible;
	int ret;

	if (cm == NULL)
		return -errno;
	cm->id = id;
	conn->cm = cm;
	conn->ops = &cm_ops;
	conn->length = 0;
	conn->interruptible = true;
	ret = cm_connect(conn, cm, to);
	conn->interruptible = interruptible;
	if (ret != 0)
		uroce_perf_conn_close(conn);
	return ret;
}

void
uroce_perf_cm_leave(struct perf_conn *conn)
{
	struct rdma_cm_id *id;

	conn->interruptible = false;
	if (conn->cm == NULL || conn->cm->disconnected)
		return;
	if (event_wait(conn, conn->cm, RDMA_CM_EVENT_DISCONNECTED, &id, UROCE_PERF_OOB_TIMEOUT_MS) == -ETIMEDOUT)
		fprintf(stderr, "uroce-perf: the client has not disconnected within %u s\n",
			UROCE_PERF_OOB_TIMEOUT_MS / 1000);
}
