/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Echo requests in flight. A control thread claims a slot and waits; worker 0 sends; the worker that receives the
 * reply completes the slot.
 */

#ifndef UROCE_PORT_NET_PING_H
#define UROCE_PORT_NET_PING_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_neighbor;
struct uroce_port;
struct uroce_port_queue;

/* Who may touch the slot; each transition is an atomic exchange, with acquire and release. */
enum uroce_ping_state {
	UROCE_PING_FREE,
	UROCE_PING_CLAIMED, /* the control thread fills it in */
	UROCE_PING_WANTED,  /* worker 0 may take it */
	UROCE_PING_SENDING, /* worker 0 has it */
	UROCE_PING_SENT,    /* waits for its answer */
	UROCE_PING_ANSWERED,
};

struct uroce_ping {
	uint32_t state;
	uint16_t id;
	uint16_t sequence;
	uint8_t src[16];
	uint8_t dst[16];
	uint8_t hop[16];                   /* the neighbor to send to */
	struct uroce_neighbor *neighbor; /* held */
};

/** Send what is wanted. Worker 0, within a poll. */
void uroce_pings_send(struct uroce_port_queue *q);

/** An answer has come. Worker, within a poll. @return false: nobody waits for it */
bool uroce_ping_answered(struct uroce_port *port, const uint8_t src[16], uint16_t id,
			 uint16_t sequence);

#endif /* UROCE_PORT_NET_PING_H */
