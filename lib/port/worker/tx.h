/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends the engine's frames and the port's own to ports, neighbors' queues and loopback inboxes. The worker, within
 * a poll. These functions take over the mbufs that they are given.
 */

#ifndef UROCE_PORT_WORKER_TX_H
#define UROCE_PORT_WORKER_TX_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/port.h"
#include "port/worker/worker.h"

/** Is there room for a burst of the engine, wherever it may go? */
bool uroce_tx_ready(const struct uroce_worker *w);

/** Send what the engine has cut; takes all. n up to UROCE_BURST, after uroce_tx_ready(). */
void uroce_tx_frames(struct uroce_worker *w, struct rte_mbuf **frames, unsigned int n);

/** Give the ports and inboxes what they have not yet taken; what stands too long is dropped and
 * counted.
 * @return how many frames left */
unsigned int uroce_tx_flush(struct uroce_worker *w, uint64_t now_ns);

/** The worker has not run for a while, and perhaps nobody else has: what stands does not stand for longer by it. */
void uroce_tx_away(struct uroce_worker *w, uint64_t ns);

/** Free what waits for this port; it is being closed. */
void uroce_tx_purge(struct uroce_port_queue *q);

/** Queue one frame of our own, to a neighbor whose MAC address is in it. */
void uroce_tx_local(struct uroce_port_queue *q, struct rte_mbuf *m);
/** The same to an IP address; if the MAC address in the frame is zero, the frame waits for the neighbor's. */
void uroce_tx_to(struct uroce_port_queue *q, struct rte_mbuf *m, const uint8_t dst[16]);

/** Send what a neighbor's answer has released. */
void uroce_tx_resolved(struct uroce_port_queue *q, struct rte_mbuf **frames, unsigned int n,
		       const struct rte_ether_addr *mac);

/**
 * Begin a frame of our own: Ethernet header, VLAN tag, and room for l3_bytes, padded with zeros to
 * the least that Ethernet takes.
 * @param l3	where the rest goes
 * @return	NULL when there is no mbuf, or none so large (counted)
 */
struct rte_mbuf *uroce_frame_create(struct uroce_port_queue *q, const struct rte_ether_addr *dst,
				    uint16_t ether_type, uint32_t l3_bytes, void **l3);

#endif /* UROCE_PORT_WORKER_TX_H */
