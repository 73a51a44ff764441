/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_create_qp_ex(3): checks and applies what its comp_mask adds to ibv_create_qp(3). Control threads.
 */

#include <errno.h>
#include <stddef.h>

#include <rte_common.h>

#include "uroce.h"
#include "verbs/device/device.h"
#include "verbs/qp/wr.h"
#include "verbs/srq/xrc.h"

#define KNOWN_MASK (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS | \
		    IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

/* An XRC target belongs to an XRCD, any other QP to a PD. */
static int
check_domain(const struct ibv_context *context, const struct ibv_qp_init_attr_ex *attr)
{
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return (attr->comp_mask & IBV_QP_INIT_ATTR_XRCD) && attr->xrcd->context == context ? 0 : EINVAL;
	return (attr->comp_mask & IBV_QP_INIT_ATTR_PD) && attr->pd->context == context ? 0 : EINVAL;
}

static bool
blocks_self(const struct ibv_qp_init_attr_ex *attr)
{
	return (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	       (attr->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
}

static int
check_extensions(const struct ibv_qp_init_attr_ex *attr)
{
	if ((attr->comp_mask & ~KNOWN_MASK) != 0)
		return EOPNOTSUPP;
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
	    (attr->create_flags & ~IBV_QP_CREATE_BLOCK_SELF_MCAST_LB) != 0)
		return EOPNOTSUPP;
	if (blocks_self(attr) && attr->qp_type != IBV_QPT_UD)	/* only UD QPs join groups */
		return EOPNOTSUPP;
	return attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS ?
	       uroce_wr_check(attr->qp_type, attr->send_ops_flags) : 0;
}

/* An XRC target has no queues, and sends no requests. */
static struct ibv_qp *
create_target(struct ibv_qp_init_attr_ex *attr)
{
	static const struct ibv_qp_cap nothing;
	struct ibv_qp *qp;

	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	qp = uroce_xrc_target_create(uroce_xrcd_of(attr->xrcd), attr->qp_context);
	if (qp == NULL)
		return NULL;
	attr->cap = nothing;
	/* the QP does not use the PD, but rdma_create_srq(3) takes it from here */
	qp->pd = attr->comp_mask & IBV_QP_INIT_ATTR_PD ? attr->pd : NULL;
	return qp;
}

struct ibv_qp *
uroce_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	int ret = check_extensions(attr);
	struct ibv_qp *qp;

	if (ret == 0)
		ret = check_domain(context, attr);
	if (ret != 0) {
		errno = ret;
		return NULL;
	}
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return create_target(attr);
	/* the 8 bytes of an ATOMIC_WRITE are written into the WQE */
	if ((attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
	    (attr->send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE))
		attr->cap.max_inline_data = RTE_MAX(attr->cap.max_inline_data, (uint32_t)sizeof(uint64_t));
	/* struct ibv_qp_init_attr_ex begins with the fields of struct ibv_qp_init_attr */
	qp = uroce_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
	if (qp == NULL)
		return NULL;
	uroce_qp_of(qp)->mcast_block_self = blocks_self(attr);
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		uroce_wr_init(uroce_qp_of(qp), attr->send_ops_flags);
	return qp;
}
