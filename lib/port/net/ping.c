/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * uroce_ping(): claims a slot, has worker 0 send the echo request (icmp.c), and polls until the reply has arrived.
 * Control threads.
 */

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_debug.h>

#include "base/random.h"
#include "base/clock.h"
#include "base/log.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "uroce.h"

#define NS_PER_MS 1000000ull
#define WAIT_NS   20000 /* interval of polling for the reply */

static struct uroce_ping *
claim(struct uroce_port *port)
{
	for (unsigned int i = 0; i < RTE_DIM(port->pings); i++)
		if (uroce_ping_transit(&port->pings[i], UROCE_PING_FREE, UROCE_PING_CLAIMED))
			return &port->pings[i];
	return NULL;
}

/* Release the slot, in any state. @return whether the reply has arrived */
static bool
unclaim(struct uroce_ping *ping)
{
	for (;;) {
		if (uroce_ping_transit(ping, UROCE_PING_ANSWERED, UROCE_PING_FREE))
			return true;
		if (uroce_ping_transit(ping, UROCE_PING_SENT, UROCE_PING_FREE) ||
		    uroce_ping_transit(ping, UROCE_PING_WANTED, UROCE_PING_FREE) ||
		    uroce_ping_transit(ping, UROCE_PING_CLAIMED, UROCE_PING_FREE))
			return false;
		rte_pause(); /* SENDING: worker 0 finishes soon */
	}
}

/* Find the next hop and the source address. Under the port's lock. @return 0; 1: dst is an address of the device;
 * -errno */
static int
route(struct uroce_port *port, struct uroce_ping *ping)
{
	const struct uroce_addresses *own = port->published;
	const uint8_t *src;
	int ret;

	if (uroce_addresses_have(own, ping->dst))
		return 1;
	ret = uroce_addresses_next_hop(own, ping->dst, ping->hop);
	if (ret < 0)
		return ret;
	src = uroce_addresses_source(own, ping->dst);
	if (src == NULL)
		return -ENETUNREACH;
	memcpy(ping->src, src, sizeof(ping->src));
	return 0;
}

static void
wait_for_answer(struct uroce_ping *ping, uint64_t deadline_ns)
{
	const struct timespec pause = { .tv_nsec = WAIT_NS };

	while (uroce_clock_ns() < deadline_ns) {
		uroce_workers_progress();
		/* pairs with the transit in ping_answered() */
		if (__atomic_load_n(&ping->state, __ATOMIC_ACQUIRE) == UROCE_PING_ANSWERED)
			return;
		nanosleep(&pause, NULL);
	}
}

static int
ping_send(struct uroce_port *port, struct uroce_ping *ping, unsigned int timeout_ms)
{
	int ret;

	pthread_mutex_lock(&port->lock);
	ret = route(port, ping);
	pthread_mutex_unlock(&port->lock);
	if (ret != 0)
		return ret;
	ping->neighbor = uroce_neighbor_get(&port->neighbors, ping->hop);
	if (ping->neighbor == NULL)
		return -ENOBUFS;
	ping->id = (uint16_t)uroce_random_below(UINT16_MAX + 1);
	ping->sequence++;
	/* pairs with the transit in uroce_pings_send() */
	__atomic_store_n(&ping->state, UROCE_PING_WANTED, __ATOMIC_RELEASE);
	uroce_port_upkeep_by(port, 0);
	wait_for_answer(ping, uroce_clock_ns() + timeout_ms * NS_PER_MS);
	return -ETIMEDOUT;
}

int
uroce_ping(struct ibv_context *context, const char *address, unsigned int timeout_ms)
{
	struct uroce_port *port = uroce_port_of_context(context);
	struct uroce_neighbor *held;
	struct uroce_ping *ping;
	uint8_t dst[16];
	int ret;

	if (uroce_gid_parse(dst, address) < 0)
		return EINVAL;
	ping = claim(port);
	if (ping == NULL)
		return ENOBUFS;
	memcpy(ping->dst, dst, sizeof(ping->dst));
	ping->neighbor = NULL;
	ret = ping_send(port, ping, timeout_ms);
	held = ping->neighbor;
	if (unclaim(ping) || ret > 0)
		ret = 0;
	if (held != NULL)
		uroce_neighbor_put(&port->neighbors, held, uroce_clock_ns());
	return -ret;
}
