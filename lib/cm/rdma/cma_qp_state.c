/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves the QP of an ID through its states, with the attributes that the connection has agreed on. Application threads,
 * which take uroce_cm_lock only to read attributes.
 */

#include <errno.h>

#include <rte_common.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"

/* The attributes of a QP whose connection has not begun, or which has none. */
static int
unconnected_attr(const struct uroce_cma_id *id, struct ibv_qp_attr *attr, int *attr_mask)
{
	if (attr->qp_state != IBV_QPS_INIT || id->device == NULL)
		return -EINVAL;
	attr->pkey_index = 0;
	attr->port_num = 1;
	*attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
	if (uroce_cma_is_ud(id)) {
		attr->qkey = UROCE_CMA_QKEY;
		*attr_mask |= IBV_QP_QKEY;
	} else {
		attr->qp_access_flags = 0;
		*attr_mask |= IBV_QP_ACCESS_FLAGS;
	}
	return 0;
}

/* A peer may offer more than the device supports; 255 means the peer's maximum. */
static void
limit_to_device(const struct uroce_cma_id *id, struct ibv_qp_attr *attr, int attr_mask)
{
	if (id->device == NULL)
		return;
	if ((attr_mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0)
		attr->max_dest_rd_atomic =
			RTE_MIN(attr->max_dest_rd_atomic, id->device->max_responder_resources);
	if ((attr_mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		attr->max_rd_atomic =
			RTE_MIN(attr->max_rd_atomic, id->device->max_initiator_depth);
}

/* Fill in the attributes that take the QP to attr->qp_state. */
static int
state_attr(struct uroce_cma_id *id, struct ibv_qp_attr *attr, int *attr_mask)
{
	int ret;

	uroce_cma_lock();
	if (uroce_cma_is_ud(id) || id->conn == NULL)
		ret = unconnected_attr(id, attr, attr_mask);
	else
		ret = uroce_cm_qp_attr(id->conn, attr, attr_mask);
	/* the peer's first PSN, from the REQ or REP of this end; the REP is not sent yet */
	if (ret == 0 && (*attr_mask & IBV_QP_RQ_PSN))
		attr->rq_psn = id->starting_psn;
	if (ret == 0 && (*attr_mask & IBV_QP_TIMEOUT) && id->timeout_set)
		attr->timeout = id->timeout;
	if (ret == 0)
		limit_to_device(id, attr, *attr_mask);
	uroce_cma_unlock();
	return ret;
}

int
uroce_rdma_init_qp_attr(struct rdma_cm_id *ibv, struct ibv_qp_attr *qp_attr, int *qp_attr_mask)
{
	return uroce_cma_return(state_attr(uroce_cma_id_of(ibv), qp_attr, qp_attr_mask));
}

static int
modify_to(struct uroce_cma_id *id, struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;
	int ret = state_attr(id, &attr, &mask);

	return ret != 0 ? ret : -uroce_modify_qp(qp, &attr, mask);
}

static int
modify_ud(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE);

	if (ret != 0)
		return -ret;
	attr.qp_state = IBV_QPS_RTS;
	return -uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int
uroce_cma_qp_init(struct uroce_cma_id *id, struct ibv_qp *qp)
{
	int ret = modify_to(id, qp, IBV_QPS_INIT);

	return ret == 0 && uroce_cma_is_ud(id) ? modify_ud(qp) : ret;
}

int
uroce_cma_qp_connect(struct uroce_cma_id *id, uint8_t responder_resources, uint8_t initiator_depth)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask, ret;

	if (id->id.qp == NULL)
		return 0;
	/* INIT again, because the access that the peer needs is known now */
	ret = modify_to(id, id->id.qp, IBV_QPS_INIT);
	if (ret == 0)
		ret = state_attr(id, &attr, &mask);
	if (ret != 0)
		return ret;
	if (responder_resources != RDMA_MAX_RESP_RES)
		attr.max_dest_rd_atomic = responder_resources;
	ret = -uroce_modify_qp(id->id.qp, &attr, mask);
	if (ret != 0)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	ret = state_attr(id, &attr, &mask);
	if (ret != 0)
		return ret;
	if (initiator_depth != RDMA_MAX_INIT_DEPTH)
		attr.max_rd_atomic = initiator_depth;
	return -uroce_modify_qp(id->id.qp, &attr, mask);
}

int
uroce_cma_qp_error(struct uroce_cma_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->id.qp == NULL)
		return 0;
	return -uroce_modify_qp(id->id.qp, &attr, IBV_QP_STATE);
}

int
uroce_cma_establish(struct uroce_cma_id *id)
{
	const struct uroce_cm_private none = { .data = NULL };
	int ret = uroce_cma_qp_connect(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);

	if (ret == 0) {
		uroce_cma_lock();
		ret = id->conn == NULL
			      ? -EINVAL
			      : uroce_cm_send_rtu(id->conn, &none, uroce_cm_now(id->agent));
		if (ret == 0)
			uroce_cm_kick(id->agent);
		uroce_cma_unlock();
	}
	if (ret != 0)
		(void)uroce_cma_qp_error(id);
	return ret;
}
