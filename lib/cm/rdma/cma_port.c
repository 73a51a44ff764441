/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Port spaces: the IDs that are bound to each port of RDMA_PS_TCP, UDP or IB, and the CM's listeners that a port has on
 * each device while one of its IDs listens; rdma_listen(3). Under uroce_cm_lock.
 */

#include <errno.h>
#include <stdlib.h>
#include <arpa/inet.h>

#include <rte_common.h>

#include "uroce_cma.h"
#include "uroce_config.h"
#include "cm/rdma/cma.h"
#include "cm/rdma/cma_sockaddr.h"
#include "base/random.h"

/* A port's listener on one device. */
struct listener {
	LIST_ENTRY(listener) link;
	struct uroce_cm_agent *agent;
	struct uroce_cm_conn *conn; /* its user is the port */
};

struct uroce_cma_port {
	LIST_ENTRY(uroce_cma_port) link;
	LIST_HEAD(, uroce_cma_id) owners;
	LIST_HEAD(, listener) listeners;
	enum rdma_port_space ps;
	uint16_t number;
};

LIST_HEAD(port_list, uroce_cma_port);

static struct port_list ports[UROCE_CMA_PORT_BUCKETS];

static struct port_list *
bucket(enum rdma_port_space ps, uint16_t number)
{
	return &ports[(number ^ ps * 31u) % UROCE_CMA_PORT_BUCKETS];
}

static struct uroce_cma_port *
port_find(enum rdma_port_space ps, uint16_t number)
{
	struct uroce_cma_port *port;

	LIST_FOREACH(port, bucket(ps, number), link)
	if (port->ps == ps && port->number == number)
		return port;
	return NULL;
}

static struct uroce_cma_port *
port_create(enum rdma_port_space ps, uint16_t number)
{
	struct uroce_cma_port *port = calloc(1, sizeof(*port));

	if (port == NULL)
		return NULL;
	LIST_INIT(&port->owners);
	LIST_INIT(&port->listeners);
	port->ps = ps;
	port->number = number;
	LIST_INSERT_HEAD(bucket(ps, number), port, link);
	return port;
}

/* Would both IDs get the same requests? */
static bool
overlap(const struct uroce_cma_id *a, const struct uroce_cma_id *b)
{
	const struct sockaddr *sa = (const struct sockaddr *)&a->src;
	const struct sockaddr *sb = (const struct sockaddr *)&b->src;

	if (a->afonly && b->afonly && sa->sa_family != sb->sa_family)
		return false;
	return uroce_cma_addr_unspecific(sa) || uroce_cma_addr_unspecific(sb) || uroce_cma_addr_same(sa, sb);
}

/* May the ID share the port with those that are bound to it? */
static int
check(const struct uroce_cma_port *port, const struct uroce_cma_id *id, bool reuseaddr)
{
	const struct uroce_cma_id *other;

	LIST_FOREACH(other, &port->owners, port_link)
	{
		if (other == id)
			continue;
		if (reuseaddr && other->reuseaddr && other->state != UROCE_CMA_LISTEN)
			continue;
		if (overlap(id, other))
			return -EADDRINUSE;
	}
	return 0;
}

static int
bind_to(struct uroce_cma_id *id, uint16_t number)
{
	struct uroce_cma_port *port = port_find(id->id.ps, number);
	int ret;

	if (port == NULL) {
		port = port_create(id->id.ps, number);
		if (port == NULL)
			return -ENOMEM;
	} else {
		ret = check(port, id, id->reuseaddr);
		if (ret != 0)
			return ret;
	}
	LIST_INSERT_HEAD(&port->owners, id, port_link);
	id->port = port;
	uroce_cma_addr_set_port(uroce_cma_src(id), htons(number));
	return 0;
}

/* Bind to a random free port, so that a peer that knows one port cannot guess the next. */
static int
bind_any(struct uroce_cma_id *id)
{
	const uint32_t range = UROCE_CMA_LAST_PORT - UROCE_CMA_FIRST_PORT + 1;
	const uint32_t start = uroce_random_below(range);

	for (uint32_t i = 0; i < range; i++) {
		const uint16_t number = (uint16_t)(UROCE_CMA_FIRST_PORT + (start + i) % range);

		if (port_find(id->id.ps, number) == NULL)
			return bind_to(id, number);
	}
	return -EADDRNOTAVAIL;
}

int
uroce_cma_port_bind(struct uroce_cma_id *id)
{
	const uint16_t number = ntohs(uroce_cma_addr_port(uroce_cma_src(id)));

	return number != 0 ? bind_to(id, number) : bind_any(id);
}

void
uroce_cma_port_unbind(struct uroce_cma_id *id)
{
	struct uroce_cma_port *port = id->port;

	LIST_REMOVE(id, port_link);
	id->port = NULL;
	(void)uroce_cma_port_sync(port); /* fewer listeners: cannot fail */
	if (!LIST_EMPTY(&port->owners))
		return;
	LIST_REMOVE(port, link);
	free(port);
}

int
uroce_cma_port_check_listen(const struct uroce_cma_id *id)
{
	return check(id->port, id, false);
}

static bool
listens_on(const struct uroce_cma_id *id, const struct uroce_cm_agent *agent)
{
	/* only an ID with a specific address is bound to a device */
	return id->state == UROCE_CMA_LISTEN && (id->device == NULL || id->agent == agent);
}

static bool
wanted_on(const struct uroce_cma_port *port, const struct uroce_cm_agent *agent)
{
	const struct uroce_cma_id *id;

	LIST_FOREACH(id, &port->owners, port_link)
	if (listens_on(id, agent))
		return true;
	return false;
}

static struct listener *
listener_find(const struct uroce_cma_port *port, const struct uroce_cm_agent *agent)
{
	struct listener *l;

	LIST_FOREACH(l, &port->listeners, link)
	if (l->agent == agent)
		return l;
	return NULL;
}

static int
listener_create(struct uroce_cma_port *port, struct uroce_cm_agent *agent)
{
	struct listener *l = calloc(1, sizeof(*l));
	int ret;

	if (l == NULL)
		return -ENOMEM;
	l->agent = agent;
	l->conn = uroce_cm_conn_create(agent->cm, port);
	if (l->conn == NULL) {
		free(l);
		return -ENOMEM;
	}
	ret = uroce_cm_listen(l->conn, uroce_cma_service_id(port->ps, htons(port->number)),
			      UINT64_MAX);
	if (ret != 0) {
		uroce_cm_conn_destroy(l->conn, uroce_cm_now(l->agent));
		free(l);
		return ret;
	}
	LIST_INSERT_HEAD(&port->listeners, l, link);
	return 0;
}

static void
listener_destroy(struct listener *l)
{
	LIST_REMOVE(l, link);
	uroce_cm_conn_destroy(l->conn, uroce_cm_now(l->agent));
	free(l);
}

int
uroce_cma_port_sync(struct uroce_cma_port *port)
{
	struct uroce_cm_agent *agent;
	int ret = 0;

	TAILQ_FOREACH(agent, &uroce_cm_agents, link) {
		const bool wanted = wanted_on(port, agent);
		struct listener *l = listener_find(port, agent);
		int error = 0;

		if (wanted && l == NULL)
			error = listener_create(port, agent);
		else if (!wanted && l != NULL)
			listener_destroy(l);
		if (ret == 0)
			ret = error;
	}
	return ret;
}

void
uroce_cma_ports_sync(void)
{
	struct uroce_cma_port *port;

	for (unsigned int i = 0; i < RTE_DIM(ports); i++)
		LIST_FOREACH(port, &ports[i], link)
	(void)uroce_cma_port_sync(port); /* a device that fails has no listener */
}

void
uroce_cma_ports_forget(const struct uroce_cm_agent *agent)
{
	struct uroce_cma_port *port;

	for (unsigned int i = 0; i < RTE_DIM(ports); i++)
		LIST_FOREACH(port, &ports[i], link)
		{
			struct listener *l = listener_find(port, agent);

			if (l != NULL)
				listener_destroy(l);
		}
}

struct uroce_cma_id *
uroce_cma_port_match(struct uroce_cma_port *port, const struct sockaddr *dst)
{
	struct uroce_cma_id *id, *wildcard = NULL;

	LIST_FOREACH(id, &port->owners, port_link)
	{
		const struct sockaddr *src = uroce_cma_src(id);

		if (id->state != UROCE_CMA_LISTEN)
			continue;
		if (id->afonly && src->sa_family != dst->sa_family)
			continue;
		if (uroce_cma_addr_unspecific(src))
			wildcard = id;
		else if (uroce_cma_addr_same(src, dst))
			return id;
	}
	return wildcard;
}

struct uroce_cma_port *
uroce_cma_port_of(const struct uroce_cm_conn *listener)
{
	return uroce_cm_conn_user(listener);
}

uint64_t
uroce_cma_service_id(enum rdma_port_space ps, __be16 port)
{
	return (uint64_t)ps << 16 | ntohs(port);
}

__be16
uroce_cma_port_number(const struct uroce_cma_port *port)
{
	return htons(port->number);
}

/* ---- rdma_listen(3) ---- */

/* An ID without an address listens on a free port of the IPv4 wildcard. */
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
