/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates QP1 of a device, a UD QP that differs from others only in its number, which uroce_qp_lookup() knows. Control
 * threads.
 */

#include <errno.h>

#include "base/random.h"
#include "uroce.h"
#include "verbs/qp/gsi.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/psn.h"

static int
bring_up(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = UROCE_GSI_QKEY,
		.sq_psn = uroce_random() & UROCE_PSN_MASK,
	};
	int ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	if (ret != 0)
		return ret;
	attr.qp_state = IBV_QPS_RTR;
	ret = uroce_modify_qp(qp, &attr, IBV_QP_STATE);
	if (ret != 0)
		return ret;
	attr.qp_state = IBV_QPS_RTS;
	return uroce_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

struct ibv_qp *
uroce_gsi_create(struct ibv_pd *pd, struct ibv_cq *send_cq, struct ibv_cq *recv_cq,
		 const struct ibv_qp_cap *cap)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD, .send_cq = send_cq, .recv_cq = recv_cq, .cap = *cap,
	};
	struct ibv_qp *qp = uroce_qp_create(pd, &init, UROCE_GSI_QPN);
	int ret;

	if (qp == NULL)
		return NULL;
	ret = bring_up(qp);
	if (ret == 0)
		return qp;
	uroce_destroy_qp(qp);
	errno = ret;
	return NULL;
}
