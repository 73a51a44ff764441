/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a QP says of itself that is no attribute: ibv_query_qp_data_in_order(3), and the vendor's extensions of
 * connection establishment, ibv_query_ece(3). Any thread.
 */

#include <errno.h>

#include <rte_common.h>
#include <rte_config.h>

#include "uroce.h"

/* The responder places a peer's packets in order, and the bytes of each (wire/copy.h). The requester places READ
 * responses as they come when one before them is missing. */
int
uroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	RTE_SET_USED(qp);
	RTE_SET_USED(flags);
#ifdef RTE_ARCH_X86_64
	switch (op) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return 1;
	default:
		return 0;
	}
#else
	RTE_SET_USED(op);
	return 0;	/* only the last word of each packet comes last */
#endif
}

int
uroce_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	RTE_SET_USED(qp);
	*ece = (struct ibv_ece){ .vendor_id = 0 };
	return 0;
}

int
uroce_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
	RTE_SET_USED(qp);
	return ece->vendor_id == 0 && ece->options == 0 && ece->comp_mask == 0 ? 0 : EOPNOTSUPP;
}
