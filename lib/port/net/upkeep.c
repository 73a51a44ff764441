/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends the frames of a port that are due by time. Control threads only request them (uroce_port_upkeep_by()), because
 * only workers send. Worker 0, within a poll.
 */

#include <string.h>

#include <rte_atomic.h>

#include "base/rcu.h"
#include "port/net/arp.h"
#include "port/net/icmp.h"
#include "port/net/igmp.h"
#include "port/net/mld.h"
#include "port/net/nd.h"
#include "port/net/upkeep.h"
#include "port/ethdev/watch.h"
#include "port/worker/worker.h"
#include "wire/gid.h"

static void
announce(struct uroce_port_queue *q)
{
	static const struct rte_ether_addr everybody;
	/* pairs with the release in uroce_add_address(): the snapshot that is read next has the address */
	uint64_t wanted = __atomic_exchange_n(&q->port->announce, 0, __ATOMIC_ACQUIRE);
	const struct uroce_addresses *own = uroce_port_addresses(q->port);

	for (unsigned int i = 0; wanted != 0 && i < own->count; i++) {
		const uint8_t *gid = own->subnets[i].gid;

		if ((wanted >> own->slots[i] & 1) == 0)
			continue;
		if (uroce_gid_is_ipv4(gid))
			uroce_arp_request(q, &everybody, uroce_gid_to_ipv4(gid), uroce_gid_to_ipv4(gid));
		else
			uroce_nd_announce(q, gid);
	}
}

static void
probe(struct uroce_port_queue *q, const struct uroce_addresses *own, const struct uroce_probe *p)
{
	const uint8_t *src = uroce_addresses_source(own, p->addr);

	if (src == NULL)
		return; /* the device's last address of this family was removed */
	if (uroce_gid_is_ipv4(p->addr))
		uroce_arp_request(q, &p->mac, uroce_gid_to_ipv4(src), uroce_gid_to_ipv4(p->addr));
	else
		uroce_nd_solicit(q, &p->mac, src, p->addr);
	uroce_counter_add(&q->counters[UROCE_PORT_PROBES_SENT], 1);
}

static void
report_groups(struct uroce_port_queue *q, uint64_t now_ns)
{
	struct uroce_group_report report;
	uint64_t next_ns;

	for (unsigned int i = 0; i < UROCE_BURST / 2; i++) {
		if (!uroce_groups_due(&q->port->groups, now_ns, &report, &next_ns))
			break;
		next_ns = now_ns; /* there may be more */
		if (report.family == UROCE_GROUP_IPV4)
			uroce_igmp_send(q, &report);
		else
			uroce_mld_send(q, &report);
	}
	uroce_port_upkeep_by(q->port, next_ns);
}

void
uroce_port_upkeep(struct uroce_port_queue *q, uint64_t now_ns)
{
	struct uroce_probe probes[UROCE_BURST / 2];
	struct uroce_port *port = q->port;
	const struct uroce_addresses *own;
	uint64_t next_ns;
	unsigned int n;

	/* Before this thread reads the requests: a later request sets upkeep_ns again. The exchange pairs with that in
	 * uroce_port_upkeep_by(), and the fence with its fence: without it, arm64 may read the requests before the
	 * exchange is visible. */
	__atomic_exchange_n(&port->upkeep_ns, UINT64_MAX, __ATOMIC_ACQ_REL);
	rte_atomic_thread_fence(__ATOMIC_SEQ_CST);
	n = uroce_neighbors_due(&port->neighbors, now_ns, probes, RTE_DIM(probes), &next_ns);
	uroce_port_upkeep_by(port, next_ns);
	own = uroce_port_addresses(port);
	for (unsigned int i = 0; i < n; i++)
		probe(q, own, &probes[i]);
	uroce_pings_send(q);
	announce(q);
	report_groups(q, now_ns);
	uroce_rcu_enter_driver(q->worker->index);
	next_ns = uroce_watch_upkeep(port, now_ns);
	uroce_rcu_leave_driver(q->worker->index);
	uroce_port_upkeep_by(port, RTE_MIN(next_ns, uroce_notes_upkeep(port, now_ns)));
}
