/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Records the peers that have departed, and reports them to the CM. Any thread records; the CM service's
 * thread reports.
 */

#include "cm/service.h"
#include "port/cm/departure.h"
#include "port/registry.h"
#include "port/resolve.h"

void
uroce_depart_all(struct uroce_port *port)
{
	/* pairs with the acquire in uroce_departures_now() */
	__atomic_add_fetch(&port->departures, 1, __ATOMIC_RELEASE);
	port->dev.ops.service->kick(&port->dev);
}

enum uroce_verdict
uroce_departure_receive(const struct uroce_rx *rx)
{
	const struct uroce_departure *said =
		rte_pktmbuf_mtod_offset(rx->mbuf, const struct uroce_departure *, rx->l3_offset);
	struct uroce_port *port = rx->q->port;

	/* otherwise the frame does not come from the other end of the link: any host could have sent it */
	if (!uroce_departure_may_be(port, &uroce_rx_ether(rx)->dst_addr))
		return UROCE_DROP_ETHERTYPE;
	if (uroce_rx_room(rx) < sizeof(*said))
		return UROCE_DROP_L2_SHORT;
	if (said->protocol != rte_cpu_to_be_32(UROCE_DEPARTURE_PROTOCOL) ||
	    said->version != rte_cpu_to_be_16(UROCE_DEPARTURE_VERSION))
		return UROCE_DROP_ETHERTYPE;
	if (uroce_neighbors_depart(&port->neighbors, &said->mac))
		port->dev.ops.service->kick(&port->dev);
	return UROCE_OK;
}

struct uroce_departures
uroce_departures_now(const struct uroce_port *port)
{
	/* pair with the releases in uroce_depart_all(), uroce_neighbors_depart() */
	return (struct uroce_departures){
		.of_all = __atomic_load_n(&port->departures, __ATOMIC_ACQUIRE),
		.of_neighbors = __atomic_load_n(&port->neighbors.departures, __ATOMIC_ACQUIRE),
	};
}

struct telling {
	struct uroce_port *port;
	bool all;
	uint64_t since; /* departures.of_neighbors of the last report */
};

static bool
is_gone(void *arg, const struct uroce_cm_path *path)
{
	const struct telling *t = arg;
	const struct uroce_port *own;
	unsigned int index;

	if (!t->all && !uroce_neighbor_departed(&t->port->neighbors, path->dgid.raw, t->since))
		return false;
	/* connections within this process do not use the link */
	uroce_registry_lock();
	own = uroce_port_find(path->dgid.raw, &index);
	uroce_registry_unlock();
	return own == NULL;
}

void
uroce_departures_tell(struct uroce_port *port, struct uroce_cm *cm, struct uroce_departures *seen,
		      uint64_t now_ns)
{
	const struct uroce_departures now = uroce_departures_now(port);
	struct telling t = {
		.port = port,
		.all = now.of_all != seen->of_all,
		.since = seen->of_neighbors,
	};

	if (likely(!t.all && now.of_neighbors == seen->of_neighbors))
		return;
	*seen = now;
	uroce_cm_depart(cm, is_gone, &t, now_ns);
}
