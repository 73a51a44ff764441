/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates IDs for the application or for a request, and discards an ID of a request that no thread has got. Any
 * thread.
 */

#include <errno.h>
#include <stdlib.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "base/random.h"
#include "wire/psn.h"

void
uroce_cma_call_suspend(struct uroce_cma_id *id)
{
	id->calls++;
	uroce_cma_unlock();
}

void
uroce_cma_call_resume(struct uroce_cma_id *id)
{
	uroce_cma_lock();
	id->calls--;
	pthread_cond_broadcast(&id->cond);
}

static struct uroce_cma_id *
id_alloc(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
	 enum ibv_qp_type qp_type)
{
	struct uroce_cma_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	uroce_cma_channel_get(uroce_cma_channel_of(channel));
	id->id.channel = channel;
	id->id.context = context;
	id->id.ps = ps;
	id->id.qp_type = qp_type;
	STAILQ_INIT(&id->events);
	LIST_INIT(&id->mcasts);
	id->starting_psn = (uint32_t)uroce_random() & UROCE_PSN_MASK;
	pthread_cond_init(&id->cond, NULL);
	return id;
}

void
uroce_cma_id_free(struct uroce_cma_id *id)
{
	uroce_cma_channel_put(uroce_cma_channel_of(id->id.channel));
	pthread_cond_destroy(&id->cond);
	free(id->id.route.path_rec);
	free(id->init_attr);
	free(id->connect_data);
	free(id);
}

static bool
port_space_known(enum rdma_port_space ps)
{
	return ps == RDMA_PS_TCP || ps == RDMA_PS_UDP || ps == RDMA_PS_IB;
}

int
uroce_cma_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		    enum ibv_qp_type qp_type, struct uroce_cma_id **created)
{
	struct uroce_cma_channel *own = NULL;
	struct uroce_cma_id *id;
	int ret;

	/* RDMA_PS_IPOIB exists only on InfiniBand */
	if (!port_space_known(ps))
		return ps == RDMA_PS_IPOIB ? -EPROTONOSUPPORT : -EINVAL;
	ret = uroce_cm_users_get();
	if (ret != 0)
		return ret;
	if (channel == NULL) {
		own = uroce_cma_channel_create();
		if (own == NULL) {
			ret = -errno;
			goto put_user;
		}
		channel = &own->ibv;
	}
	id = id_alloc(channel, context, ps, qp_type);
	if (own != NULL)
		uroce_cma_channel_put(own); /* the ID is its only user */
	if (id == NULL) {
		ret = -ENOMEM;
		goto put_user;
	}
	id->sync = own != NULL;
	id->answered = true;
	*created = id;
	return 0;

put_user:
	uroce_cm_users_put();
	return ret;
}

struct uroce_cma_id *
uroce_cma_id_create_passive(struct uroce_cma_id *listener)
{
	struct uroce_cma_id *id = id_alloc(listener->id.channel, listener->id.context,
					   listener->id.ps, listener->id.qp_type);

	if (id == NULL)
		return NULL;
	id->passive = true;
	id->state = UROCE_CMA_CONNECT;
	id->tos = listener->tos;
	id->timeout_set = listener->timeout_set;
	id->timeout = listener->timeout;
	id->afonly = listener->afonly;
	uroce_cm_users_more();
	return id;
}

int
uroce_rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		     enum rdma_port_space ps)
{
	const bool ud = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB;
	struct uroce_cma_id *created = NULL;
	int ret = uroce_cma_id_create(channel, context, ps, ud ? IBV_QPT_UD : IBV_QPT_RC, &created);

	if (ret == 0)
		*id = &created->id;
	return uroce_cma_return(ret);
}

void
uroce_cma_id_discard(struct uroce_cma_id *id)
{
	id->leaving = true;
	if (id->conn != NULL)
		uroce_cm_conn_destroy(id->conn, uroce_cm_now(id->agent));
	uroce_cma_device_unbind(id);
	uroce_cm_users_less();
	uroce_cma_id_free(id);
}
