/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Uses as many queues of a net_memif port as its connection has rings: the peer may have fewer workers. Runs on EAL's
 * interrupt thread, before the driver connects the port; at the start also on the thread that opens the ports.
 */

#include <rte_ethdev.h>

#include "memif_rings.h"
#include "port/ethdev/ethdev.h"
#include "port/port.h"
#include "port_state.h"
#include "progress/queues.h"
#include "uroce.h"

static struct connected {
	struct uroce_port *port;	/* release/acquire; NULL: not open yet */
	unsigned int rings;		/* atomic: of the last connection; 0: there has been none */
} ports[RTE_MAX_ETHPORTS];

/* Runs while all workers are held. The last call applies the rings of the last connection. */
static void
apply(void *arg)
{
	const struct connected *c = arg;
	const unsigned int rings = __atomic_load_n(&c->rings, __ATOMIC_RELAXED);

	if (c->port != NULL)
		uroce_port_use_queues(c->port, RTE_MAX(1u, RTE_MIN(rings, (unsigned int)c->port->open_queues)));
}

bool
uroce_memif_rings(uint16_t port_id, unsigned int rings, unsigned int queues)
{
	struct connected *c = &ports[port_id];
	/* pairs with the store in uroce_queues_watch(): one of the two threads applies the number */
	const bool is_same = __atomic_exchange_n(&c->rings, rings, __ATOMIC_SEQ_CST) == rings;

	(void)queues;
	if (!is_same && __atomic_load_n(&c->port, __ATOMIC_SEQ_CST) != NULL)
		uroce_hold_workers(apply, c);
	return true;
}

void
uroce_queues_watch(struct ibv_context *context, uint16_t port_id)
{
	struct connected *c = &ports[port_id];

	if (!uroce_port_state_is_shared(port_id))
		return;
	/* pairs with the load in uroce_memif_rings() */
	__atomic_store_n(&c->port, uroce_port_of_context(context), __ATOMIC_SEQ_CST);
	uroce_hold_workers(apply, c);
}

static void
forget(void *arg)
{
	(void)arg;
	/* pairs with the load in uroce_memif_rings() */
	for (unsigned int i = 0; i < RTE_DIM(ports); i++)
		__atomic_store_n(&ports[i].port, NULL, __ATOMIC_SEQ_CST);
}

void
uroce_queues_stop(void)
{
	uroce_hold_workers(forget, NULL);
}
