/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the device and the local address that lead to a peer, for rdma_cm, and requests the next hop's MAC address.
 * Control threads, with the registry locked.
 */

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "port/path.h"
#include "port/registry.h"
#include "port/resolve.h"
#include "wire/gid.h"

/* @return the GID index of an address, or -1 */
static int
index_of(const struct uroce_addresses *a, const uint8_t gid[16])
{
	for (unsigned int i = 0; i < a->count; i++)
		if (memcmp(a->subnets[i].gid, gid, sizeof(a->subnets[i].gid)) == 0)
			return a->slots[i];
	return -1;
}

int
uroce_port_find_gid(struct uroce_port *port, const uint8_t gid[16])
{
	int index;

	pthread_mutex_lock(&port->lock);
	index = index_of(port->published, gid);
	pthread_mutex_unlock(&port->lock);
	return index >= 0 ? index : -ENOENT;
}

struct uroce_port *
uroce_port_find(const uint8_t gid[16], unsigned int *sgid_index)
{
	for (unsigned int i = 0; i < UROCE_MAX_DEVICES; i++) {
		struct uroce_port *port = uroce_registry_port(i);
		int index = port != NULL ? uroce_port_find_gid(port, gid) : -ENOENT;

		if (index >= 0) {
			*sgid_index = (unsigned int)index;
			return port;
		}
	}
	return NULL;
}

/* How does the device reach dgid? The source address does not matter. Under the port's lock.
 * @return enum uroce_route, or -ENETUNREACH */
static int
route_to(const struct uroce_addresses *a, const uint8_t dgid[16], bool local, bool is_udp)
{
	uint8_t hop[16];

	if (uroce_gid_is_multicast(dgid))
		return UROCE_ROUTE_LINK;
	if (uroce_addresses_have(a, dgid))
		return UROCE_ROUTE_OWN;
	if (is_udp || (uroce_addresses_next_hop(a, dgid, hop) == 0 && memcmp(hop, dgid, sizeof(hop)) == 0))
		return UROCE_ROUTE_LINK;
	if (local)
		return UROCE_ROUTE_PROCESS;
	return uroce_addresses_next_hop(a, dgid, hop) == 0 ? UROCE_ROUTE_GATEWAY : -ENETUNREACH;
}

int
uroce_port_route(struct uroce_port *port, const uint8_t *sgid, const uint8_t dgid[16],
		 unsigned int *sgid_index)
{
	bool local = uroce_path_is_local(port, dgid);
	const struct uroce_addresses *a;
	int index = -1, route;

	pthread_mutex_lock(&port->lock);
	a = port->published;
	route = route_to(a, dgid, local, port->udp != NULL);
	if (sgid == NULL)
		sgid = route == UROCE_ROUTE_OWN ? dgid : uroce_addresses_source(a, dgid);
	if (sgid != NULL && uroce_gid_is_ipv4(sgid) == uroce_gid_is_ipv4(dgid))
		index = index_of(a, sgid);
	pthread_mutex_unlock(&port->lock);
	if (index < 0)
		return -ENETUNREACH;
	*sgid_index = (unsigned int)index;
	return route;
}

int
uroce_port_resolve(struct uroce_port *port, const uint8_t dgid[16])
{
	uint8_t hop[16];
	int ret;

	if (uroce_gid_is_multicast(dgid) || port->udp != NULL || uroce_path_is_local(port, dgid))
		return 0;
	pthread_mutex_lock(&port->lock);
	ret = uroce_addresses_next_hop(port->published, dgid, hop);
	pthread_mutex_unlock(&port->lock);
	if (ret < 0)
		return ret;
	ret = uroce_neighbor_ask(&port->neighbors, hop, uroce_clock_ns());
	if (ret == -EINPROGRESS)
		uroce_port_upkeep_by(port, 0);
	return ret;
}
