/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends the engine's frames and the port's own frames to ports, neighbors' queues and loopback inboxes. These functions
 * take ownership of the mbufs. The worker, within a poll.
 */

#ifndef UROCE_PORT_WORKER_TX_H
#define UROCE_PORT_WORKER_TX_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/port.h"
#include "port/worker/worker.h"

/**
 * Pass frames to the queue's port, outside of the queue's own frames. Worker's turn.
 * @return	the number of frames that the port has accepted, the first ones; -EBUSY: another worker is sending to the
 *		same TX queue
 */
int uroce_tx_burst(struct uroce_port_queue *q, struct rte_mbuf **frames, unsigned int n);

/** Have the driver free transmitted mbufs of the queue. Worker's turn. @return as rte_eth_tx_done_cleanup(); -EBUSY: as
 * uroce_tx_burst() */
int uroce_tx_cleanup(struct uroce_port_queue *q);
/** Revoke the QP's frames whose payloads the peer has yet to read from this process's memory. Worker's turn. */
void uroce_tx_revoke(struct uroce_port_queue *q, const struct uroce_qp *qp);

/** Drop the frames of a burst that refer to registered memory, because uroce_tx_revoke() was called while it was built.
 * Those of QPs that have not failed are retransmitted. @return the number of frames that are left */
unsigned int uroce_tx_drop_revoked(struct rte_mbuf **frames, unsigned int n);

/** Is there room for a burst of the engine in every queue, whichever ports the frames are for? */
bool uroce_tx_ready(const struct uroce_worker *w);

/** Send frames of the engine. @param n	up to UROCE_BURST, after uroce_tx_ready() has returned true */
void uroce_tx_frames(struct uroce_worker *w, struct rte_mbuf **frames, unsigned int n);

/** Pass the queued frames to the ports and inboxes. Drops and counts the frames for one that has accepted none for
 * UROCE_TX_STALL_NS. @return the number of frames sent */
unsigned int uroce_tx_flush(struct uroce_worker *w, uint64_t now_ns);

/** Try to pass on all queued frames, for at most wait_ns. Control thread, within the worker's turn. */
void uroce_tx_drain(struct uroce_worker *w, uint64_t wait_ns);

/** The worker has not run for `ns`: do not count this time as a stall of the ports and inboxes. */
void uroce_tx_away(struct uroce_worker *w, uint64_t ns);

/** Free the queued frames of this port, which is being closed. */
void uroce_tx_purge(struct uroce_port_queue *q);

/** Queue one frame that the port itself has built, with the destination MAC address in it. */
void uroce_tx_local(struct uroce_port_queue *q, struct rte_mbuf *m);
/** The same for a frame to an IP address: if its MAC address is zero, it waits until the neighbor's is known. */
void uroce_tx_to(struct uroce_port_queue *q, struct rte_mbuf *m, const uint8_t dst[16]);

/** Queue the frames that waited for a neighbor's MAC address, which is now known. */
void uroce_tx_resolved(struct uroce_port_queue *q, struct rte_mbuf **frames, unsigned int n,
		       const struct rte_ether_addr *mac);

/**
 * Begin a frame that the port itself sends: Ethernet header, VLAN tag, and l3_bytes of zeros, padded to Ethernet's
 * minimum.
 * @param l3	set to the address of the network header
 * @return	NULL: there is no mbuf, or none is large enough (counted)
 */
struct rte_mbuf *uroce_frame_create(struct uroce_port_queue *q, const struct rte_ether_addr *dst,
				    uint16_t ether_type, uint32_t l3_bytes, void **l3);

#endif /* UROCE_PORT_WORKER_TX_H */
