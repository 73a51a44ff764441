/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_bind_addr(3), rdma_resolve_addr(3), rdma_resolve_route(3). The service probes for a neighbor that is not
 * known yet; IDs that wait for one are checked at intervals, in the order in which they began.
 */

#include <errno.h>
#include <string.h>

#include "uroce.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"

#define NS_PER_MS 1000000ull

static TAILQ_HEAD(,
		  uroce_cma_id) waiting = TAILQ_HEAD_INITIALIZER(waiting); /* by resolve_next_ns */

/* Bind the ID to a specific address of a device, or to a wildcard. */
static int
bind_address(struct uroce_cma_id *id, const struct sockaddr *addr)
{
	struct uroce_cm_agent *agent;
	union ibv_gid gid;
	uint8_t sgid_index;

	memset(&id->src, 0, sizeof(id->src));
	memcpy(&id->src, addr, uroce_cma_addr_len(addr));
	if (!id->afonly_set)
		id->afonly = addr->sa_family == AF_INET;
	if (uroce_cma_addr_unspecific(addr))
		return 0;
	uroce_cma_addr_to_gid(addr, &gid);
	agent = uroce_cm_find(&gid, &sgid_index);
	return agent == NULL ? -EADDRNOTAVAIL : uroce_cma_device_bind(id, agent, sgid_index);
}

static int
bind_id(struct uroce_cma_id *id, const struct sockaddr *addr)
{
	int ret;

	if (id->state != UROCE_CMA_IDLE)
		return -EINVAL;
	ret = bind_address(id, addr);
	if (ret == 0)
		ret = uroce_cma_port_bind(id);
	if (ret != 0) {
		uroce_cma_device_unbind(id);
		memset(&id->src, 0, sizeof(id->src));
		return ret;
	}
	id->state = UROCE_CMA_BOUND;
	return 0;
}

int
uroce_rdma_bind_addr(struct rdma_cm_id *ibv, struct sockaddr *addr)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret;

	if (uroce_cma_addr_len(addr) == 0)
		return uroce_cma_return(-EINVAL);
	uroce_cma_lock();
	ret = bind_id(id, addr);
	if (ret == 0)
		uroce_cma_id_publish(id);
	uroce_cma_unlock();
	return uroce_cma_return(ret);
}

/* Bind the ID to a device and source address with a route to dst. A specific source address stays. */
static int
route(struct uroce_cma_id *id, const struct sockaddr *dst)
{
	union ibv_gid sgid, dgid;
	struct uroce_cm_agent *agent;
	struct ibv_gid_entry entry;
	uint8_t sgid_index;
	const bool any = uroce_cma_addr_unspecific(uroce_cma_src(id));
	const __be16 port = uroce_cma_addr_port(uroce_cma_src(id));
	int ret;

	id->src_chosen = any;
	uroce_cma_addr_to_gid(uroce_cma_src(id), &sgid);
	uroce_cma_addr_to_gid(dst, &dgid);
	agent = uroce_cm_route(any ? NULL : &sgid, &dgid, &sgid_index);
	if (agent == NULL)
		return -ENETUNREACH;
	ret = uroce_cma_device_bind(id, agent, sgid_index);
	if (ret != 0 || !any)
		return ret;
	if (uroce_query_gid_ex(&agent->dev->vctx.context, 1, sgid_index, &entry, 0) != 0 ||
	    !uroce_cma_addr_from_gid(&id->src, dst->sa_family, &entry.gid))
		return -ENETUNREACH;
	uroce_cma_addr_set_port(uroce_cma_src(id), port);
	return 0;
}

/* Undo route(), because the next address may have a route by another device, and this device may be closed. */
static void
unroute(struct uroce_cma_id *id)
{
	const __be16 port = uroce_cma_addr_port(uroce_cma_src(id));
	const sa_family_t family = uroce_cma_src(id)->sa_family;

	if (!id->src_chosen)
		return;
	id->src_chosen = false;
	uroce_cma_device_unbind(id);
	uroce_cma_addr_set_any(&id->src, family);
	uroce_cma_addr_set_port(uroce_cma_src(id), port);
}

/* End a resolution, with its event. */
static void
resolved(struct uroce_cma_id *id, int ret)
{
	if (ret == 0) {
		id->state = UROCE_CMA_ADDR_RESOLVED;
		uroce_cma_event_simple(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0, UROCE_CMA_PUBLISH);
	} else {
		/* the application can retry */
		unroute(id);
		id->state = UROCE_CMA_BOUND;
		uroce_cma_event_simple(id, RDMA_CM_EVENT_ADDR_ERROR, ret, UROCE_CMA_NONE);
	}
}

static int
ask_neighbor(struct uroce_cma_id *id)
{
	union ibv_gid dgid;

	uroce_cma_addr_to_gid(uroce_cma_dst(id), &dgid);
	return id->agent->dev->ops.port->resolve(id->agent->dev, &dgid);
}

static void
wait_on(struct uroce_cma_id *id, uint64_t now_ns)
{
	id->resolve_next_ns = now_ns + UROCE_CMA_RESOLVE_NS;
	TAILQ_INSERT_TAIL(&waiting, id, resolve_link);
}

static void
start_resolving(struct uroce_cma_id *id, int timeout_ms)
{
	int ret = route(id, uroce_cma_dst(id));
	uint64_t now_ns;

	if (ret == 0)
		ret = ask_neighbor(id);
	if (ret != -EINPROGRESS) {
		resolved(id, ret);
		return;
	}
	id->state = UROCE_CMA_ADDR_QUERY;
	now_ns = uroce_cm_now(id->agent);
	id->resolve_until_ns = now_ns + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * NS_PER_MS;
	wait_on(id, now_ns);
}

void
uroce_cma_resolve_cancel(struct uroce_cma_id *id)
{
	if (id->state != UROCE_CMA_ADDR_QUERY)
		return;
	TAILQ_REMOVE(&waiting, id, resolve_link);
	id->state = UROCE_CMA_BOUND;
}

uint64_t
uroce_cma_deadline(void)
{
	const struct uroce_cma_id *first = TAILQ_FIRST(&waiting);

	return first == NULL ? UINT64_MAX : first->resolve_next_ns;
}

void
uroce_cma_expire(uint64_t now_ns)
{
	struct uroce_cma_id *id;
	int ret;

	while ((id = TAILQ_FIRST(&waiting)) != NULL && id->resolve_next_ns <= now_ns) {
		TAILQ_REMOVE(&waiting, id, resolve_link);
		ret = ask_neighbor(id);
		if (ret == -EINPROGRESS && now_ns >= id->resolve_until_ns)
			ret = -ETIMEDOUT;
		if (ret == -EINPROGRESS)
			wait_on(id, now_ns);
		else
			resolved(id, ret);
	}
}

/* Bind an unbound ID to src, or without src to the wildcard of dst's family. */
static int
bind_source(struct uroce_cma_id *id, const struct sockaddr *src, const struct sockaddr *dst)
{
	struct sockaddr_storage any;

	if (id->state != UROCE_CMA_IDLE)
		return 0;
	if (src != NULL)
		return bind_id(id, src);
	uroce_cma_addr_set_any(&any, dst->sa_family);
	return bind_id(id, (const struct sockaddr *)&any);
}

static int
resolve_addr(struct uroce_cma_id *id, const struct sockaddr *src, const struct sockaddr *dst,
	     int timeout_ms)
{
	int ret = bind_source(id, src, dst);

	if (ret != 0)
		return ret;
	if (id->state != UROCE_CMA_BOUND || uroce_cma_src(id)->sa_family != dst->sa_family)
		return -EINVAL;
	memset(&id->dst, 0, sizeof(id->dst));
	memcpy(&id->dst, dst, uroce_cma_addr_len(dst));
	start_resolving(id, timeout_ms);
	return 0;
}

int
uroce_rdma_resolve_addr(struct rdma_cm_id *ibv, struct sockaddr *src_addr,
			struct sockaddr *dst_addr, int timeout_ms)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret;

	if (uroce_cma_addr_len(dst_addr) == 0 ||
	    (src_addr != NULL && uroce_cma_addr_len(src_addr) == 0) || uroce_cma_addr_any(dst_addr))
		return uroce_cma_return(-EINVAL);
	uroce_cma_lock();
	ret = resolve_addr(id, src_addr, dst_addr, timeout_ms);
	if (ret == 0)
		uroce_cm_kick(id->agent);
	uroce_cma_unlock();
	if (ret == 0)
		ret = uroce_cma_complete(id);
	return uroce_cma_return(ret);
}

int
uroce_rdma_resolve_route(struct rdma_cm_id *ibv, int timeout_ms)
{
	struct uroce_cma_id *id = uroce_cma_id_of(ibv);
	int ret = -EINVAL;

	(void)timeout_ms; /* a RoCE route needs only the address, which is known */
	uroce_cma_lock();
	if (id->state == UROCE_CMA_ADDR_RESOLVED) {
		id->state = UROCE_CMA_ROUTE_RESOLVED;
		uroce_cma_event_simple(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, UROCE_CMA_PUBLISH);
		ret = 0;
	}
	uroce_cma_unlock();
	if (ret == 0)
		ret = uroce_cma_complete(id);
	return uroce_cma_return(ret);
}
