/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_set_option(3), and the options of enhanced connection establishment (ECE) in requests and replies. QPs of uroce
 * have no such options, but QPs that the application creates elsewhere may. Application threads.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "uroce_cma.h"
#include "cm/rdma/cma.h"

#define MAX_TIMEOUT 31 /* 5 bits */

/* The setters are called with the lock held. */

static int
set_tos(struct uroce_cma_id *id, const void *value)
{
	id->tos = *(const uint8_t *)value;
	return 0;
}

static int
set_reuseaddr(struct uroce_cma_id *id, const void *value)
{
	int on;

	memcpy(&on, value, sizeof(on));
	/* later binds are checked against a bound ID, so it cannot be cleared; a listener stays exclusive */
	if (id->state != UROCE_CMA_IDLE && (on == 0 || id->state == UROCE_CMA_LISTEN))
		return -EINVAL;
	id->reuseaddr = on != 0;
	return 0;
}

static int
set_afonly(struct uroce_cma_id *id, const void *value)
{
	int on;

	memcpy(&on, value, sizeof(on));
	if (id->state != UROCE_CMA_IDLE && id->state != UROCE_CMA_BOUND)
		return -EINVAL;
	id->afonly = on != 0;
	id->afonly_set = true;
	return 0;
}

static int
set_ack_timeout(struct uroce_cma_id *id, const void *value)
{
	const uint8_t timeout = *(const uint8_t *)value;

	if (uroce_cma_is_ud(id) || timeout > MAX_TIMEOUT)
		return -EINVAL;
	id->timeout = timeout;
	id->timeout_set = true;
	return 0;
}

static const struct {
	int (*set)(struct uroce_cma_id *id, const void *value);
	size_t bytes;
} options[] = {
	[RDMA_OPTION_ID_TOS] = { set_tos, sizeof(uint8_t) },
	[RDMA_OPTION_ID_REUSEADDR] = { set_reuseaddr, sizeof(int) },
	[RDMA_OPTION_ID_AFONLY] = { set_afonly, sizeof(int) },
	[RDMA_OPTION_ID_ACK_TIMEOUT] = { set_ack_timeout, sizeof(uint8_t) },
};

static int
set_option(struct uroce_cma_id *id, int level, int optname, const void *optval, size_t optlen)
{
	/* RoCE has no subnet administrator, which would issue path records */
	if (level == RDMA_OPTION_IB && optname == RDMA_OPTION_IB_PATH)
		return -EOPNOTSUPP;
	if (level != RDMA_OPTION_ID || optname < 0 || (size_t)optname >= RTE_DIM(options))
		return -ENOSYS;
	if (optval == NULL || optlen != options[optname].bytes)
		return -EINVAL;
	return options[optname].set(id, optval);
}

int
uroce_rdma_set_option(struct rdma_cm_id *id, int level, int optname, void *optval, size_t optlen)
{
	int ret;

	uroce_cma_lock();
	ret = set_option(uroce_cma_id_of(id), level, optname, optval, optlen);
	uroce_cma_unlock();
	return uroce_cma_return(ret);
}

int
uroce_rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	/* a vendor ID has 24 bits on the wire */
	if (id == NULL || id->qp != NULL || ece == NULL || ece->vendor_id == 0 ||
	    ece->vendor_id > 0xffffff || ece->comp_mask != 0)
		return uroce_cma_return(-EINVAL);
	uroce_cma_lock();
	uroce_cma_id_of(id)->local_ece = *ece;
	uroce_cma_unlock();
	return 0;
}

int
uroce_rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (id == NULL || id->qp != NULL || ece == NULL)
		return uroce_cma_return(-EINVAL);
	uroce_cma_lock();
	*ece = uroce_cma_id_of(id)->remote_ece;
	uroce_cma_unlock();
	return 0;
}
