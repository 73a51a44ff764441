/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reports capabilities of a QP that are not attributes: ibv_query_qp_data_in_order(3), and the vendor's extensions
 * of connection establishment, ibv_query_ece(3). Any thread.
 */

#include <errno.h>

#include <rte_common.h>

#include "uroce.h"

/* The responder places payloads in address order, the last word last (wire/copy.h), so an application may poll the last
 * byte. A result of 1 would promise more: x86-64 does not guarantee that other threads see the bytes of one 32-byte
 * store in order. */
int
uroce_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	RTE_SET_USED(qp);
	RTE_SET_USED(op);
	RTE_SET_USED(flags);
	return 0;
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
