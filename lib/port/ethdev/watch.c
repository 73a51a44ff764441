/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Raises PORT_ERR and PORT_ACTIVE when a port's link goes down and up, also when the port is stopped and started or its
 * driver requests a reset, and DEVICE_FATAL when its device is removed.
 * Drivers with interrupts call back on EAL's interrupt thread. For the others (net_ring, net_memif, net_af_packet)
 * worker 0 polls the link every UROCE_LINK_POLL_NS.
 */

#include <errno.h>
#include <string.h>

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

/* Does the driver answer? Under link_lock. */
static bool
is_usable(const struct uroce_port *port)
{
	return !port->removed && !port->stopped && !port->wants_reset;
}

/* Under link_lock. @return 0 or -errno */
static int
get_link(const struct uroce_port *port, struct rte_eth_link *link)
{
	memset(link, 0, sizeof(*link));
	return is_usable(port) ? rte_eth_link_get_nowait(port->port_id, link) : 0;
}

int
uroce_watch_get_link(struct uroce_port *port, struct rte_eth_link *link)
{
	int ret;

	rte_spinlock_lock(&port->link_lock);
	ret = get_link(port, link);
	rte_spinlock_unlock(&port->link_lock);
	return ret;
}

/* The link may lead to another switch, which knows neither the port's addresses nor its groups. */
static void
introduce(struct uroce_port *port)
{
	/* pairs with the exchange in announce() of upkeep.c, which skips unused indices */
	__atomic_store_n(&port->announce, UINT64_MAX, __ATOMIC_RELEASE);
	uroce_groups_renew(&port->groups);
	uroce_port_upkeep_by(port, 0);
}

/* The link has changed. Under link_lock. */
static void
changed(struct uroce_port *port, bool up)
{
	port->link_up = up;
	if (!up)
		uroce_counter_add(&port->link_downed, 1);
	uroce_neighbors_link(&port->neighbors, up);
	if (up) {
		introduce(port);
		renew_rx_wakes(port);
	}
	tell(port, up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
}

void
uroce_watch_link(struct uroce_port *port)
{
	struct rte_eth_link link;
	bool up;

	/* one thread at a time, so that the last event has the current state of the link */
	rte_spinlock_lock(&port->link_lock);
	if (get_link(port, &link) >= 0) {
		up = link.link_status == RTE_ETH_LINK_UP;
		note_speed(port, &link);
		if (up != port->link_up)
			changed(port, up);
	}
	rte_spinlock_unlock(&port->link_lock);
}

static bool
flag_read(struct uroce_port *port, const bool *flag)
{
	bool value;

	rte_spinlock_lock(&port->link_lock);
	value = *flag;
	rte_spinlock_unlock(&port->link_lock);
	return value;
}

bool
uroce_watch_is_removed(struct uroce_port *port)
{
	return flag_read(port, &port->removed);
}

bool
uroce_watch_wants_reset(struct uroce_port *port)
{
	return flag_read(port, &port->wants_reset);
}

uint64_t
uroce_watch_upkeep(struct uroce_port *port, uint64_t now_ns)
{
	if (now_ns >= port->link_due_ns) {
		port->link_due_ns = now_ns + UROCE_LINK_POLL_NS;
		uroce_watch_link(port);
		if (uroce_bonding_has_moved(&port->bond))
			introduce(port);
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

/* The driver works again only after a reset, such as that of a VF after its PF was reset. */
static void
wants_reset(struct uroce_port *port)
{
	rte_spinlock_lock(&port->link_lock);
	if (is_usable(port)) {
		port->wants_reset = true;
		if (port->link_up)
			changed(port, false);
		UROCE_LOG(ERR,
			  "%s: the driver of port %u requests a reset: call uroce_stop_port() and uroce_start_port(), "
			  "which resets it\n",
			  port->dev.ibv.name, port->port_id);
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
	else if (type == RTE_ETH_EVENT_INTR_RESET)
		wants_reset(port);
	else
		uroce_watch_link(port);
	return 0;
}

static const struct {
	enum rte_eth_event_type type;
	const char *what;
} types[] = {
	{ RTE_ETH_EVENT_INTR_LSC, "change of link" },
	{ RTE_ETH_EVENT_INTR_RMV, "removal" },
	{ RTE_ETH_EVENT_INTR_RESET, "request for a reset" },
};

void
uroce_watch_start(struct uroce_port *port)
{
	struct rte_eth_link link;

	rte_spinlock_init(&port->link_lock);
	port->link_up = uroce_watch_get_link(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
	note_speed(port, &link);
	port->link_due_ns = 0;
	for (unsigned int i = 0; i < RTE_DIM(types); i++)
		if (rte_eth_dev_callback_register(port->port_id, types[i].type, on_event, port) != 0)
			UROCE_LOG(NOTICE, "port %u: out of memory: a %s is not reported by interrupt\n",
				  port->port_id, types[i].what);
}

void
uroce_watch_stop(struct uroce_port *port)
{
	for (unsigned int i = 0; i < RTE_DIM(types); i++)
		while (rte_eth_dev_callback_unregister(port->port_id, types[i].type, on_event, port) ==
		       -EAGAIN)
			rte_pause(); /* the callback is running */
}

void
uroce_watch_pause(struct uroce_port *port)
{
	rte_spinlock_lock(&port->link_lock);
	port->stopped = true;
	if (port->link_up)
		changed(port, false);
	rte_spinlock_unlock(&port->link_lock);
}

void
uroce_watch_resume(struct uroce_port *port)
{
	rte_spinlock_lock(&port->link_lock);
	port->stopped = false;
	port->wants_reset = false;
	rte_spinlock_unlock(&port->link_lock);
	port->link_due_ns = 0;
	uroce_watch_link(port);
}
