/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Raises PORT_ERR and PORT_ACTIVE when a port's link goes down and up, and DEVICE_FATAL when its device is removed.
 * Drivers with interrupts call back on EAL's interrupt thread. For the others (net_ring, net_memif, net_af_packet)
 * worker 0 polls the link every UROCE_LINK_POLL_NS.
 */

#include <errno.h>

#include <rte_pause.h>

#include "base/log.h"
#include "port/ethdev/watch.h"

#define PORT_NUM 1

static void
tell(struct uroce_port *port, enum ibv_event_type type)
{
	const struct ibv_async_event event = {
		.event_type = type,
		.element.port_num = PORT_NUM,
	};

	uroce_device_event(&port->dev, &event);
}

/* Store the link's speed, the first rate of congestion control; 0: unknown, or the link is down. */
static void
note_speed(struct uroce_port *port, const struct rte_eth_link *link)
{
	bool known = link->link_status == RTE_ETH_LINK_UP && link->link_speed != RTE_ETH_SPEED_NUM_UNKNOWN;

	__atomic_store_n(&port->dev.link_mbps, known ? link->link_speed : 0, __ATOMIC_RELAXED);
}

/* The driver may have got other descriptors from its peer: have sleeping workers look for them. */
static void
renew_rx_wakes(struct uroce_port *port)
{
	for (unsigned int i = 0; i < port->nb_queues; i++) {
		__atomic_store_n(&port->queues[i].rx_stale, true, __ATOMIC_RELAXED);
		uroce_worker_nudge(port->queues[i].worker);
	}
}

void
uroce_watch_link(struct uroce_port *port)
{
	struct rte_eth_link link;
	bool up;

	/* one thread at a time, so that the last event has the current state of the link */
	rte_spinlock_lock(&port->link_lock);
	if (port->removed || rte_eth_link_get_nowait(port->port_id, &link) < 0)
		goto unlock;
	up = link.link_status == RTE_ETH_LINK_UP;
	note_speed(port, &link);
	if (up == port->link_up)
		goto unlock;
	port->link_up = up;
	if (!up)
		uroce_counter_add(&port->link_downed, 1);
	uroce_neighbors_link(&port->neighbors, up);
	if (up) {
		/* the link may lead to another switch, which knows none of the port's groups */
		uroce_groups_renew(&port->groups);
		uroce_port_upkeep_by(port, 0);
		renew_rx_wakes(port);
	}
	tell(port, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
unlock:
	rte_spinlock_unlock(&port->link_lock);
}

bool
uroce_watch_is_removed(struct uroce_port *port)
{
	bool is_removed;

	rte_spinlock_lock(&port->link_lock);
	is_removed = port->removed;
	rte_spinlock_unlock(&port->link_lock);
	return is_removed;
}

uint64_t
uroce_watch_upkeep(struct uroce_port *port, uint64_t now_ns)
{
	if (now_ns >= port->link_due_ns) {
		port->link_due_ns = now_ns + UROCE_LINK_POLL_NS;
		uroce_watch_link(port);
	}
	return port->link_due_ns;
}

/* The device was removed: raise the last events (R43). */
static void
removed(struct uroce_port *port)
{
	bool up;

	rte_spinlock_lock(&port->link_lock);
	if (!port->removed) {
		port->removed = true;
		up = port->link_up;
		port->link_up = false;
		if (up) {
			uroce_counter_add(&port->link_downed, 1);
			tell(port, IBV_EVENT_PORT_ERR);
		}
		tell(port, IBV_EVENT_DEVICE_FATAL);
		UROCE_LOG(ERR, "%s: port %u was removed: the device is unusable, close it\n", port->dev.ibv.name,
			  port->port_id);
	}
	rte_spinlock_unlock(&port->link_lock);
}

static int
on_event(uint16_t port_id, enum rte_eth_event_type type, void *arg, void *ret_param)
{
	struct uroce_port *port = arg;

	RTE_SET_USED(port_id);
	RTE_SET_USED(ret_param);
	if (type == RTE_ETH_EVENT_INTR_RMV)
		removed(port);
	else
		uroce_watch_link(port);
	return 0;
}

static const enum rte_eth_event_type types[] = { RTE_ETH_EVENT_INTR_LSC, RTE_ETH_EVENT_INTR_RMV };

void
uroce_watch_start(struct uroce_port *port)
{
	struct rte_eth_link link = { 0 };

	rte_spinlock_init(&port->link_lock);
	port->link_up = rte_eth_link_get_nowait(port->port_id, &link) == 0 &&
			link.link_status == RTE_ETH_LINK_UP;
	note_speed(port, &link);
	port->link_due_ns = 0;
	for (unsigned int i = 0; i < RTE_DIM(types); i++)
		if (rte_eth_dev_callback_register(port->port_id, types[i], on_event, port) != 0)
			UROCE_LOG(NOTICE, "port %u: out of memory: a %s is not reported by interrupt\n",
				  port->port_id, types[i] == RTE_ETH_EVENT_INTR_RMV ? "removal" : "change of link");
}

void
uroce_watch_stop(struct uroce_port *port)
{
	for (unsigned int i = 0; i < RTE_DIM(types); i++)
		while (rte_eth_dev_callback_unregister(port->port_id, types[i], on_event, port) ==
		       -EAGAIN)
			rte_pause(); /* the callback is running */
}
