/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <rte_debug.h>

#include "qp.h"
#include "uroce.h"

static int
rtr_mask(enum ibv_qp_type type)
{
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;

	if (type == IBV_QPT_UD)
		return IBV_QP_STATE;
	/* each end of XRC has half of RC's attributes */
	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return mask;
}

static int
rts_mask(enum ibv_qp_type type)
{
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	if (type != IBV_QPT_UC && type != IBV_QPT_UD)
		mask |= IBV_QP_TIMEOUT;
	return mask;
}

int
harness_qp_mask(enum ibv_qp_type type, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_INIT:
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
	case IBV_QPS_RTR:
		return rtr_mask(type);
	case IBV_QPS_RTS:
		return rts_mask(type);
	default:
		return IBV_QP_STATE;
	}
}

void
harness_qp_to(struct ibv_qp *qp, struct ibv_qp_attr attr, enum ibv_qp_state to)
{
	for (attr.qp_state = IBV_QPS_INIT; attr.qp_state <= to; attr.qp_state++)
		RTE_VERIFY(uroce_modify_qp(qp, &attr, harness_qp_mask(qp->qp_type, attr.qp_state)) == 0);
}
