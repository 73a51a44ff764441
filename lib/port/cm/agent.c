/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Carries MADs between QP1 and the CM of a device. The receive queue bounds the received MADs. A MAD to send is posted
 * inline, with an address handle of its own; while the send queue is full it waits in a bounded list. The service's
 * thread and the CM's callers, under uroce_cm_lock.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rte_malloc.h>

#include "port/cm/agent.h"
#include "port/ethdev/link.h"
#include "uroce.h"
#include "verbs/qp/gsi.h"
#include "wire/headers.h"

#define BUFFER_BYTES     (sizeof(struct ibv_grh) + UROCE_CM_MAD_BYTES)
#define BURST            32
#define PACKET_LIFE_TIME 18 /* the value of Linux for RoCE */

const char *const uroce_agent_counter_names[UROCE_AGENT_COUNTER_COUNT] = {
	[UROCE_AGENT_RECEIVED] = "mads_received",        [UROCE_AGENT_SENT] = "mads_sent",
	[UROCE_AGENT_DROP_SOURCE] = "mad_drop_source",   [UROCE_AGENT_DROP_PATH] = "mad_drop_path",
	[UROCE_AGENT_DROP_BACKLOG] = "mad_drop_backlog",
};

struct uroce_unsent {
	STAILQ_ENTRY(uroce_unsent) link;
	struct uroce_cm_path path;
	uint8_t mad[UROCE_CM_MAD_BYTES];
};

static struct ibv_context *
context_of(const struct uroce_agent *a)
{
	return &a->port->dev.vctx.context;
}

static void
count(struct uroce_agent *a, enum uroce_agent_counter which)
{
	uroce_counter_add(&a->counters[which], 1);
}

static void
sends_reap(struct uroce_agent *a)
{
	struct ibv_wc wc[BURST];
	int n;

	do {
		n = uroce_poll_cq(a->send_cq, RTE_DIM(wc), wc);
		if (n > 0)
			a->sending -= (uint32_t)n;
	} while (n == (int)RTE_DIM(wc));
}

static struct ibv_ah *
ah_create(const struct uroce_agent *a, const struct uroce_cm_path *path)
{
	struct ibv_ah_attr attr = {
		.grh = {
			.dgid = path->dgid,
			.flow_label = path->flow_label,
			.sgid_index = path->sgid_index,
			.hop_limit = path->hop_limit,
			.traffic_class = path->traffic_class,
		},
		.sl = path->sl,
		.is_global = 1,
		.port_num = 1,
	};
	union ibv_gid gid;

	/* the GID table's entry may have another address by now */
	if (uroce_query_gid(context_of(a), 1, path->sgid_index, &gid) != 0 ||
	    memcmp(&gid, &path->sgid, sizeof(gid)) != 0)
		return NULL;
	return uroce_create_ah(a->pd, &attr);
}

/* @return false: the send queue is full */
static bool
post(struct uroce_agent *a, const struct uroce_cm_path *path, const uint8_t *mad)
{
	struct ibv_sge sge = { .addr = (uintptr_t)mad, .length = UROCE_CM_MAD_BYTES };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
		.wr.ud = { .remote_qpn = UROCE_GSI_QPN, .remote_qkey = UROCE_GSI_QKEY },
	};

	if (a->sending == UROCE_CM_SENDS)
		sends_reap(a);
	if (a->sending == UROCE_CM_SENDS)
		return false;
	wr.wr.ud.ah = ah_create(a, path);
	if (wr.wr.ud.ah == NULL) {
		count(a, UROCE_AGENT_DROP_PATH);
		return true;
	}
	if (uroce_post_send(a->qp, &wr, &bad) == 0) {
		a->sending++;
		count(a, UROCE_AGENT_SENT);
	} else {
		count(a, UROCE_AGENT_DROP_PATH);
	}
	uroce_destroy_ah(wr.wr.ud.ah); /* the WQE holds a reference */
	return true;
}

/* struct uroce_cm_ops */
static void
send_mad(void *arg, const struct uroce_cm_path *path, const uint8_t mad[UROCE_CM_MAD_BYTES])
{
	struct uroce_agent *a = container_of(arg, struct uroce_agent, ibcm);
	struct uroce_unsent *u;

	if (a->unsent_count == 0 && post(a, path, mad))
		return;
	u = a->unsent_count < UROCE_CM_BACKLOG ? malloc(sizeof(*u)) : NULL;
	if (u == NULL) {
		count(a, UROCE_AGENT_DROP_BACKLOG);
		return;
	}
	u->path = *path;
	memcpy(u->mad, mad, sizeof(u->mad));
	STAILQ_INSERT_TAIL(&a->unsent, u, link);
	a->unsent_count++;
}

/* Post waiting MADs, as far as the send queue has room. @return their number */
static unsigned int
backlog_send(struct uroce_agent *a)
{
	struct uroce_unsent *u;
	unsigned int n = 0;

	while ((u = STAILQ_FIRST(&a->unsent)) != NULL && post(a, &u->path, u->mad)) {
		STAILQ_REMOVE_HEAD(&a->unsent, link);
		a->unsent_count--;
		free(u);
		n++;
	}
	return n;
}

bool
uroce_agent_flushed(struct uroce_agent *a)
{
	sends_reap(a);
	backlog_send(a);
	return a->sending == 0 && a->unsent_count == 0;
}

/* Make the path back to the sender of a MAD. @return 0 or errno */
static int
path_back(const struct uroce_agent *a, struct ibv_wc *wc, struct ibv_grh *grh,
	  struct uroce_cm_path *path)
{
	struct ibv_ah_attr attr;
	int ret;

	ret = uroce_init_ah_from_wc(context_of(a), 1, wc, grh, &attr);
	if (ret != 0)
		return ret;
	*path = (struct uroce_cm_path){
		.dgid = attr.grh.dgid,
		.sgid_index = attr.grh.sgid_index,
		.traffic_class = attr.grh.traffic_class,
		.hop_limit = attr.grh.hop_limit,
		.flow_label = attr.grh.flow_label,
		.sl = attr.sl,
		.pkey = UROCE_DEFAULT_PKEY,
		.mtu = uroce_mtu_of_ethernet(a->port->mtu),
		.packet_life_time = PACKET_LIFE_TIME,
	};
	return uroce_query_gid(context_of(a), 1, path->sgid_index, &path->sgid) == 0 ? 0 : errno;
}

static void
mad_receive(struct uroce_agent *a, struct ibv_wc *wc, uint64_t now_ns)
{
	uint8_t *buffer = a->buffers + wc->wr_id * BUFFER_BYTES;
	struct uroce_cm_path path;

	if (wc->status != IBV_WC_SUCCESS)
		return;
	if (wc->src_qp != UROCE_GSI_QPN || path_back(a, wc, (struct ibv_grh *)buffer, &path) != 0) {
		count(a, UROCE_AGENT_DROP_SOURCE);
		return;
	}
	count(a, UROCE_AGENT_RECEIVED);
	uroce_cm_receive(a->ibcm.cm, buffer + sizeof(struct ibv_grh),
			 wc->byte_len - (uint32_t)sizeof(struct ibv_grh), &path, now_ns);
}

/* @return 0 or errno */
static int
buffer_post(const struct uroce_agent *a, uint64_t index)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)(a->buffers + index * BUFFER_BYTES),
		.length = BUFFER_BYTES,
		.lkey = a->mr->lkey,
	};
	struct ibv_recv_wr *bad, wr = { .wr_id = index, .sg_list = &sge, .num_sge = 1 };

	return uroce_post_recv(a->qp, &wr, &bad);
}

unsigned int
uroce_agent_round(struct uroce_agent *a, uint64_t now_ns)
{
	unsigned int total = 0;
	struct ibv_wc wc[BURST];
	int n;

	do {
		n = uroce_poll_cq(a->recv_cq, RTE_DIM(wc), wc);
		uroce_departures_tell(a->port, a->ibcm.cm, &a->departures, now_ns);
		for (int i = 0; i < n; i++) {
			mad_receive(a, &wc[i], now_ns);
			buffer_post(a, wc[i].wr_id); /* the receive queue has room for all buffers */
		}
		total += n > 0 ? (unsigned int)n : 0;
	} while (n == (int)RTE_DIM(wc) && total < UROCE_CM_ROUND);
	uroce_cm_expire(a->ibcm.cm, now_ns);
	sends_reap(a);
	return total + backlog_send(a);
}

void
uroce_agent_rearm(struct uroce_agent *a)
{
	unsigned int events = 0;
	struct ibv_cq *cq;
	void *arg;

	while (uroce_get_cq_event(a->channel, &cq, &arg) == 0)
		events++;
	uroce_ack_cq_events(a->recv_cq, events);
	uroce_req_notify_cq(a->recv_cq, 0);
}

/* @return 0 or errno */
static int
queues_create(struct uroce_agent *a)
{
	struct ibv_context *context = context_of(a);

	a->pd = uroce_alloc_pd(context);
	if (a->pd == NULL)
		return errno;
	a->channel = uroce_create_comp_channel(context);
	if (a->channel == NULL)
		return errno;
	if (fcntl(a->channel->fd, F_SETFL, O_NONBLOCK) != 0)
		return errno;
	a->recv_cq = uroce_create_cq(context, UROCE_CM_RECVS, NULL, a->channel, 0);
	if (a->recv_cq == NULL)
		return errno;
	a->send_cq = uroce_create_cq(context, UROCE_CM_SENDS, NULL, NULL, 0);
	return a->send_cq != NULL ? 0 : errno;
}

/* @return 0 or errno */
static int
qp_create(struct uroce_agent *a)
{
	const struct ibv_qp_cap cap = {
		.max_send_wr = UROCE_CM_SENDS,
		.max_recv_wr = UROCE_CM_RECVS,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_data = UROCE_CM_MAD_BYTES,
	};
	int ret = 0;

	static_assert(UROCE_CM_RECVS <= UROCE_MAX_QP_WR, "UROCE_CM_RECVS");
	static_assert(UROCE_CM_MAD_BYTES <= UROCE_MAX_INLINE_BYTES, "a MAD is sent inline");
	/* not DPDK's memory: the kernel allocates a page only when a MAD is written to it */
	a->buffers = calloc(UROCE_CM_RECVS, BUFFER_BYTES);
	if (a->buffers == NULL)
		return ENOMEM;
	a->mr = uroce_reg_mr(a->pd, a->buffers, UROCE_CM_RECVS * BUFFER_BYTES,
			     IBV_ACCESS_LOCAL_WRITE);
	if (a->mr == NULL)
		return errno;
	a->qp = uroce_gsi_create(a->pd, a->send_cq, a->recv_cq, &cap);
	if (a->qp == NULL)
		return errno;
	for (uint64_t i = 0; ret == 0 && i < UROCE_CM_RECVS; i++)
		ret = buffer_post(a, i);
	return ret;
}

/* @return 0 or errno */
static int
cm_create(struct uroce_agent *a)
{
	static const struct uroce_cm_ops ops = { .send = send_mad, .event = uroce_cma_event };
	const struct uroce_cm_conf conf = {
		.ops = &ops,
		.arg = &a->ibcm,
		.ca_guid = a->port->dev.node_guid,
		.ca_ack_delay = UROCE_LOCAL_CA_ACK_DELAY,
		.max_conns = UROCE_CM_MAX_CONNS,
	};

	a->ibcm.dev = &a->port->dev;
	a->ibcm.cm = uroce_cm_create(&conf);
	return a->ibcm.cm != NULL ? 0 : ENOMEM;
}

struct uroce_agent *
uroce_agent_create(struct uroce_port *port)
{
	struct uroce_agent *a;
	int ret;

	a = rte_zmalloc("uroce_agent", sizeof(*a), 0);
	if (a == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	a->port = port;
	a->departures = uroce_departures_now(port);
	STAILQ_INIT(&a->unsent);
	ret = queues_create(a);
	if (ret == 0)
		ret = qp_create(a);
	if (ret == 0)
		ret = cm_create(a);
	if (ret == 0) {
		uroce_req_notify_cq(a->recv_cq, 0);
		return a;
	}
	uroce_agent_destroy(a);
	errno = ret;
	return NULL;
}

void
uroce_agent_destroy(struct uroce_agent *a)
{
	struct uroce_unsent *u;

	if (a->ibcm.cm != NULL)
		uroce_cm_destroy(a->ibcm.cm);
	while ((u = STAILQ_FIRST(&a->unsent)) != NULL) {
		STAILQ_REMOVE_HEAD(&a->unsent, link);
		free(u);
	}
	if (a->qp != NULL)
		uroce_destroy_qp(a->qp);
	if (a->mr != NULL)
		uroce_dereg_mr(a->mr);
	if (a->send_cq != NULL)
		uroce_destroy_cq(a->send_cq);
	if (a->recv_cq != NULL)
		uroce_destroy_cq(a->recv_cq);
	if (a->channel != NULL)
		uroce_destroy_comp_channel(a->channel);
	if (a->pd != NULL)
		uroce_dealloc_pd(a->pd);
	free(a->buffers);
	rte_free(a);
}
