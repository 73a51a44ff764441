/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_listen(3): an ID gets the requests for its port, on the device of its address or, with a wildcard, on all.
 * The application's threads.
 */

#include <errno.h>

#include <rte_common.h>

#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"

/* One that is not bound listens on a port that it is given. */
static int
bind_unbound(struct uroce_cma_id *id)
{
	int ret;

	if (id->state != UROCE_CMA_IDLE)
		return 0;
	uroce_cma_addr_set_any(&id->src, AF_INET);
	ret = uroce_cma_port_bind(id);
	if (ret == 0)
		id->state = UROCE_CMA_BOUND;
	return ret;
}

static int
start_listening(struct uroce_cma_id *id, int backlog)
{
	int ret = bind_unbound(id);

	if (ret != 0)
		return ret;
	if (id->state != UROCE_CMA_BOUND)
		return -EINVAL;
	ret = uroce_cma_port_check_listen(id);
	if (ret != 0)
		return ret;
	id->backlog = backlog > 0 ? RTE_MIN(backlog, UROCE_CMA_MAX_BACKLOG) : UROCE_CMA_MAX_BACKLOG;
	id->state = UROCE_CMA_LISTEN;
	ret = uroce_cma_port_sync(id->port);
	if (ret != 0) {
		id->state = UROCE_CMA_BOUND;
		(void)uroce_cma_port_sync(id->port); /* fewer listeners: cannot fail */
	}
	return ret;
}

int
uroce_rdma_listen(struct rdma_cm_id *ibv, int backlog)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret;

	uroce_cma_lock();
	ret = start_listening(id, backlog);
	if (ret == 0)
		uroce_cma_id_publish(id);
	uroce_cma_unlock();
	return uroce_cma_return(ret);
}
