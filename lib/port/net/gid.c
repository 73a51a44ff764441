/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keeps a port's GID table and gateways, and publishes each change to the workers as a new snapshot, with the
 * groups of group.c. Control threads, under the port's lock.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <rte_malloc.h>

#include "base/rcu.h"
#include "port/ethdev/ethdev.h"
#include "port/net/gid.h"
#include "base/log.h"
#include "port/port.h"
#include "uroce.h"
#include "verbs/address/ah.h"
#include "wire/gid.h"

static void
snapshot_add(struct uroce_addresses *a, const struct uroce_subnet *s, unsigned int slot)
{
	a->slots[a->count] = (uint16_t)slot;
	a->subnets[a->count++] = *s;
	if (uroce_gid_is_ipv4(s->gid))
		a->ipv4[a->ipv4_count++] = uroce_gid_to_ipv4(s->gid);
	else
		memcpy(a->ipv6[a->ipv6_count++], s->gid, sizeof(s->gid));
}

static int
compare(const void *a, const void *b)
{
	return memcmp(a, b, 16);
}

/* Add the groups to the snapshot, without those that have been left and are only still to be reported. */
static void
snapshot_groups(struct uroce_addresses *a, const struct uroce_groups *g)
{
	for (unsigned int i = 0; i < g->limit; i++)
		if (g->entries[i].refs != 0)
			memcpy(a->groups[a->group_count++], g->entries[i].gid,
			       sizeof(a->groups[0]));
	qsort(a->groups, a->group_count, sizeof(a->groups[0]), compare);
}

int
uroce_gids_publish(struct uroce_port *port)
{
	struct uroce_addresses *old = port->published;
	struct uroce_addresses *a;

	a = rte_zmalloc_socket("uroce_addresses", sizeof(*a), RTE_CACHE_LINE_SIZE, port->numa_node);
	if (a == NULL)
		return -ENOMEM;
	a->generation = old != NULL ? old->generation + 1 : 1;
	for (unsigned int i = 0; i < UROCE_MAX_GID; i++)
		if (port->gids[i].used)
			snapshot_add(a, &port->gids[i].subnet, i);
	snapshot_groups(a, &port->groups);
	a->has_ipv4_gateway = port->has_ipv4_gateway;
	a->has_ipv6_gateway = port->has_ipv6_gateway;
	memcpy(a->ipv4_gateway, port->ipv4_gateway, sizeof(a->ipv4_gateway));
	memcpy(a->ipv6_gateway, port->ipv6_gateway, sizeof(a->ipv6_gateway));
	port->published = a;
	/* pairs with the acquire in uroce_port_addresses() */
	__atomic_store_n(&port->addresses, a, __ATOMIC_RELEASE);
	if (old != NULL) {
		uroce_rcu_wait();
		rte_free(old);
	}
	return 0;
}

int
uroce_gids_init(struct uroce_port *port)
{
	struct uroce_gid *g = &port->gids[0];

	uroce_gid_link_local(g->subnet.gid, &port->mac);
	g->subnet.prefix_bits = 64;
	g->used = true;
	return uroce_gids_publish(port);
}

void
uroce_gids_fini(struct uroce_port *port)
{
	rte_free(port->published);
	port->published = NULL;
}

static struct uroce_gid *
find(struct uroce_port *port, const uint8_t gid[16])
{
	for (unsigned int i = 0; i < UROCE_MAX_GID; i++) {
		struct uroce_gid *g = &port->gids[i];

		if (g->used && memcmp(g->subnet.gid, gid, sizeof(g->subnet.gid)) == 0)
			return g;
	}
	return NULL;
}

int
uroce_gid_get(struct uroce_port *port, unsigned int index, uint8_t gid[16])
{
	if (index >= UROCE_MAX_GID || !port->gids[index].used)
		return -EINVAL;
	port->gids[index].refs++;
	memcpy(gid, port->gids[index].subnet.gid, 16);
	return 0;
}

void
uroce_gid_put(struct uroce_port *port, const uint8_t gid[16])
{
	struct uroce_gid *g = find(port, gid);

	RTE_VERIFY(g != NULL && g->refs > 0);
	g->refs--;
}

/* @return the index, or -errno */
static int
add(struct uroce_port *port, const struct uroce_subnet *s)
{
	unsigned int i;
	int ret;

	if (find(port, s->gid) != NULL)
		return -EEXIST;
	for (i = 0; i < UROCE_MAX_GID && port->gids[i].used; i++)
		;
	if (i == UROCE_MAX_GID)
		return -ENOSPC;
	port->gids[i] = (struct uroce_gid){ .subnet = *s, .used = true };
	ret = uroce_gids_publish(port);
	if (ret < 0) {
		port->gids[i].used = false;
		return ret;
	}
	return (int)i;
}

static void
changed(struct uroce_port *port)
{
	const struct ibv_async_event event = {
		.event_type = IBV_EVENT_GID_CHANGE,
		.element.port_num = 1,
	};

	uroce_device_event(&port->dev, &event);
}

int
uroce_add_address(struct ibv_context *context, const char *cidr)
{
	struct uroce_port *port = uroce_port_of_context(context);
	struct uroce_subnet s;
	int index;

	if (uroce_subnet_parse(&s, cidr) < 0) {
		UROCE_LOG(
			ERR,
			"%s: \"%s\" is not an address with a prefix length, like 10.0.0.1/24 or fd00::1/64\n",
			port->dev.ibv.name, cidr != NULL ? cidr : "");
		return EINVAL;
	}
	if (uroce_gid_is_loopback(s.gid) && port->udp == NULL) {
		UROCE_LOG(ERR, "%s: %s is a loopback address, which only a port on UDP sockets can have (net_uroce_udp)\n",
			  port->dev.ibv.name, cidr);
		return EINVAL;
	}
	pthread_mutex_lock(&port->lock);
	index = add(port, &s);
	if (index >= 0)
		uroce_ethdev_listen(port, port->published);
	pthread_mutex_unlock(&port->lock);
	if (index < 0)
		return -index;
	/* pairs with the exchange in announce() of upkeep.c */
	__atomic_fetch_or(&port->announce, UINT64_C(1) << index, __ATOMIC_RELEASE);
	uroce_port_upkeep_by(port, 0);
	changed(port);
	return 0;
}

static int
del(struct uroce_port *port, const struct uroce_subnet *s)
{
	struct uroce_gid *g = find(port, s->gid);
	int ret;

	if (g == NULL || g->subnet.prefix_bits != s->prefix_bits)
		return -ENOENT;
	if (g->refs != 0)
		return -EBUSY;
	g->used = false;
	ret = uroce_gids_publish(port);
	if (ret < 0)
		g->used = true;
	return ret;
}

int
uroce_del_address(struct ibv_context *context, const char *cidr)
{
	struct uroce_port *port = uroce_port_of_context(context);
	struct uroce_subnet s;
	int ret;

	if (uroce_subnet_parse(&s, cidr) < 0)
		return EINVAL;
	uroce_ahs_reap(&port->dev); /* destroyed address handles may still hold the address */
	pthread_mutex_lock(&port->lock);
	ret = del(port, &s);
	if (ret == 0)
		uroce_ethdev_listen(port, port->published);
	pthread_mutex_unlock(&port->lock);
	if (ret == 0)
		changed(port);
	return -ret;
}

static int
gateway_set(struct uroce_port *port, const char *address)
{
	uint8_t gid[16];
	bool ipv4;

	if (address == NULL) {
		port->has_ipv4_gateway = false;
		port->has_ipv6_gateway = false;
		return uroce_gids_publish(port);
	}
	if (uroce_gid_parse(gid, address) < 0 || find(port, gid) != NULL)
		return -EINVAL;
	ipv4 = uroce_gid_is_ipv4(gid);
	memcpy(ipv4 ? port->ipv4_gateway : port->ipv6_gateway, gid, sizeof(gid));
	*(ipv4 ? &port->has_ipv4_gateway : &port->has_ipv6_gateway) = true;
	return uroce_gids_publish(port);
}

int
uroce_set_gateway(struct ibv_context *context, const char *address)
{
	struct uroce_port *port = uroce_port_of_context(context);
	int ret;

	pthread_mutex_lock(&port->lock);
	ret = gateway_set(port, address);
	pthread_mutex_unlock(&port->lock);
	return -ret;
}
