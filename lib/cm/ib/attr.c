/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the attributes for ibv_modify_qp(3) from the REQ and REP of the QP's connection, with the same results as
 * Linux. Under the CM's lock.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "cm/ib/internal.h"

#define DEFAULT_PKEY_INDEX 0
#define PORT               1
#define MIN_RNR_TIMER      0 /* 655 ms, as in Linux; a consumer may modify its QP */

/* The round trip is twice the packet's lifetime, which adds 1 to the exponent. The sum of the round trip and the delay
 * is rounded up to twice the larger only if their exponents differ by at most 1. */
uint8_t
uroce_cm_ack_timeout(uint8_t ack_delay, uint8_t packet_life_time)
{
	unsigned int trip = packet_life_time + 1u;
	unsigned int larger = RTE_MAX(trip, ack_delay), smaller = RTE_MIN(trip, ack_delay);

	return (uint8_t)RTE_MIN(larger + (smaller + 1 >= larger), 31u);
}

static int
init_attr(const struct uroce_cm_conn *conn, struct ibv_qp_attr *attr)
{
	attr->pkey_index = DEFAULT_PKEY_INDEX;
	attr->port_num = PORT;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
	if (conn->responder_resources > 0)
		attr->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static void
address(const struct uroce_cm_path *path, struct ibv_ah_attr *ah)
{
	*ah = (struct ibv_ah_attr){
		.grh = {
			.dgid = path->dgid,
			.flow_label = path->flow_label,
			.sgid_index = path->sgid_index,
			.hop_limit = path->hop_limit,
			.traffic_class = path->traffic_class,
		},
		.sl = path->sl,
		.is_global = 1,
		.port_num = PORT,
	};
}

static int
rtr_attr(const struct uroce_cm_conn *conn, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	address(&conn->path, &attr->ah_attr);
	attr->path_mtu = (enum ibv_mtu)conn->path.mtu;
	attr->dest_qp_num = conn->remote_qpn;
	attr->rq_psn = conn->rq_psn;
	if (conn->qp_type == IBV_QPT_RC || conn->qp_type == IBV_QPT_XRC_RECV) {
		attr->max_dest_rd_atomic = conn->responder_resources;
		attr->min_rnr_timer = MIN_RNR_TIMER;
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return mask;
}

static int
rts_attr(const struct uroce_cm_conn *conn, struct ibv_qp_attr *attr)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	attr->sq_psn = conn->sq_psn;
	if (conn->qp_type != IBV_QPT_UC) {
		attr->timeout = conn->ack_timeout;
		mask |= IBV_QP_TIMEOUT;
	}
	if (conn->qp_type == IBV_QPT_RC || conn->qp_type == IBV_QPT_XRC_SEND) {
		attr->retry_cnt = conn->retry_count;
		attr->rnr_retry = conn->rnr_retry_count;
		attr->max_rd_atomic = conn->initiator_depth;
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	return mask;
}

/* Has a REQ been sent or received, and has the connection not ended? */
static bool
has_begun(const struct uroce_cm_conn *conn)
{
	return conn->state >= UROCE_CM_REQ_SENT && conn->state <= UROCE_CM_MRA_LAP_RCVD;
}

/* Is the peer's QP known, too? */
static bool
knows_peer(const struct uroce_cm_conn *conn)
{
	return has_begun(conn) && conn->state != UROCE_CM_REQ_SENT &&
	       conn->state != UROCE_CM_MRA_REQ_RCVD;
}

int
uroce_cm_qp_attr(const struct uroce_cm_conn *conn, struct ibv_qp_attr *attr, int *attr_mask)
{
	enum ibv_qp_state state = attr->qp_state;

	if (state == IBV_QPS_INIT ? !has_begun(conn) : !knows_peer(conn))
		return -EINVAL;
	switch (state) {
	case IBV_QPS_INIT: *attr_mask = init_attr(conn, attr); return 0;
	case IBV_QPS_RTR: *attr_mask = rtr_attr(conn, attr); return 0;
	case IBV_QPS_RTS: *attr_mask = rts_attr(conn, attr); return 0;
	default: return -EINVAL;
	}
}
