/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port of the switch: a client at its socket, or an ethdev with one queue each way; and the frames that wait for
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
	uint16_t id;             /* of the ethdev, or of the client's port */
	bool is_memif;
	bool up;                 /* the link, as it was last looked at */
	bool gone;               /* the client has, since then */
	struct memif_link *link; /* of the client; NULL: no client */
	struct rte_mempool *pool;
	uint32_t head;           /* queue[head .. tail - 1], modulo its slots */
	uint32_t tail;
	uint32_t stalled;        /* head, since when it has been where it is */
	uint64_t stalled_ns;
	uint16_t waiting[UROCE_SWITCH_PORTS]; /* of them, that came from there: frame->port */
	uint64_t received;       /* frames */
	uint64_t received_bytes;
	uint64_t sent;
	uint64_t sent_bytes;
	uint64_t dropped;        /* the queue was full, the link went, or the frame could not be sent */
	uint64_t marked;         /* Congestion Experienced: it was long */
	uint64_t malformed;      /* frames from there that no switch forwards */
	uint64_t forged;         /* ... or with an address that is another client's */
	struct rte_mbuf *queue[UROCE_SWITCH_SLOTS];
};

/** Configure and start the ethdev. @return 0 or -errno */
int uroce_switch_port_open(struct switch_port *p, uint16_t id, struct rte_mempool *pool);
/** A port of the socket, which has no client yet. */
void uroce_switch_port_open_memif(struct switch_port *p, uint16_t id, struct rte_mempool *pool);

/** Stop it, and free what waits. */
void uroce_switch_port_close(struct switch_port *p);

/** A client has come, and has gone. */
void uroce_switch_port_attach(struct switch_port *p, struct memif_link *link);
void uroce_switch_port_detach(struct switch_port *p);

/** The port's name, in RTE_ETH_NAME_MAX_LEN bytes. */
void uroce_switch_port_name(const struct switch_port *p, char *name);

/** Look at the link, and at a frame that does not leave.
 * @return true: the link has just gone, and what waited with it */
bool uroce_switch_port_watch(struct switch_port *p, uint64_t now_ns);

/** Frames that have come in; the caller frees them. @return how many */
uint16_t uroce_switch_port_receive(struct switch_port *p, struct rte_mbuf **frames, uint16_t room);

/** Queue a frame that came in at frame->port; the port frees it. With a long queue the frame gets an ECN mark, if it is
 * ECN-capable and no other port shares it. */
void uroce_switch_port_queue(struct switch_port *p, struct rte_mbuf *frame);

/** The same for a control frame, of which there are few: it has slots that other frames do not get. */
void uroce_switch_port_tell(struct switch_port *p, struct rte_mbuf *frame);

/** Send what waits, as far as there is room. @return frames */
unsigned int uroce_switch_port_send(struct switch_port *p);

#endif /* UROCE_SWITCH_PORT_H */
