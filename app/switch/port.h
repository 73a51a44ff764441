/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port of the switch: a client at its socket, or an ethdev with one RX and one TX queue; and the frames queued for
 * it. One thread.
 */

#ifndef UROCE_SWITCH_PORT_H
#define UROCE_SWITCH_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include <uroce_config.h>

#include "memif/link.h"

struct switch_port {
	uint16_t id;             /* the ethdev's ID, or the ID at the socket */
	bool is_memif;
	bool up;                 /* link state at the last check */
	bool gone;               /* the client has disconnected since the last check */
	struct memif_link *link; /* the client's rings; NULL: no client */
	struct rte_mempool *pool;
	uint32_t head;           /* queue[head .. tail - 1], modulo its slots */
	uint32_t tail;
	uint32_t stalled;        /* `head` at the last check, to detect a stalled port */
	uint64_t stalled_ns;
	uint16_t waiting[UROCE_SWITCH_PORTS]; /* queued frames by source port (frame->port) */
	uint64_t received;       /* frames */
	uint64_t received_bytes;
	uint64_t sent;
	uint64_t sent_bytes;
	uint64_t dropped;        /* frames lost: queue full, link down, or not sendable */
	uint64_t marked;         /* frames marked Congestion Experienced: long queue */
	uint64_t malformed;      /* received frames that a switch must not forward */
	uint64_t forged;         /* received frames with another client's address */
	struct rte_mbuf *queue[UROCE_SWITCH_SLOTS];
};

/** Configure and start the ethdev. @return 0 or -errno */
int uroce_switch_port_open(struct switch_port *p, uint16_t id, struct rte_mempool *pool);
/** Prepare a port of the socket, which has no client yet. */
void uroce_switch_port_open_memif(struct switch_port *p, uint16_t id, struct rte_mempool *pool);

/** Stop the port, and free its queued frames. */
void uroce_switch_port_close(struct switch_port *p);

/** A client has connected; a client has disconnected. */
void uroce_switch_port_attach(struct switch_port *p, struct memif_link *link);
void uroce_switch_port_detach(struct switch_port *p);

/** The port's name, in RTE_ETH_NAME_MAX_LEN bytes. */
void uroce_switch_port_name(const struct switch_port *p, char *name);

/** Check the link, and drop a frame that the port does not take.
 * @return true: the link has just gone down, and the queued frames are dropped */
bool uroce_switch_port_watch(struct switch_port *p, uint64_t now_ns);

/** Receive frames; the caller frees them. @return number of frames */
uint16_t uroce_switch_port_receive(struct switch_port *p, struct rte_mbuf **frames, uint16_t room);

/** Queue a frame that was received on frame->port; the port frees it. If the queue is long, the frame gets an ECN
 * mark, unless it is not ECN-capable or other ports share it. */
void uroce_switch_port_queue(struct switch_port *p, struct rte_mbuf *frame);

/** The same for a control frame, of which there are few: some slots are reserved for them. */
void uroce_switch_port_tell(struct switch_port *p, struct rte_mbuf *frame);

/** Send queued frames as far as there is room. @return frames sent */
unsigned int uroce_switch_port_send(struct switch_port *p);

#endif /* UROCE_SWITCH_PORT_H */
