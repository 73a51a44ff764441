/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Echo requests in flight. A control thread claims a slot and waits (ping.c); worker 0 sends; the worker that receives
 * the reply completes the slot (icmp.c).
 */

#ifndef UROCE_PORT_NET_PING_H
#define UROCE_PORT_NET_PING_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_neighbor;

/* The owner of a slot. Each transition is an atomic compare-and-exchange, with acquire and release. */
enum uroce_ping_state {
	UROCE_PING_FREE,
	UROCE_PING_CLAIMED, /* the control thread fills it in */
	UROCE_PING_WANTED,  /* worker 0 may take it */
	UROCE_PING_SENDING, /* worker 0 builds the request */
	UROCE_PING_SENT,    /* waits for the reply */
	UROCE_PING_ANSWERED,
};

struct uroce_ping {
	uint32_t state;
	uint16_t id;
	uint16_t sequence;
	uint8_t src[16];
	uint8_t dst[16];
	uint8_t hop[16];                   /* the neighbor to send to */
	struct uroce_neighbor *neighbor; /* entry of hop, held */
};

/** Pairs with the release of `from` and the acquire of `to`. @return false: the slot is not in `from` */
static inline bool
uroce_ping_transit(struct uroce_ping *ping, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&ping->state, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif /* UROCE_PORT_NET_PING_H */
