/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Moves the frames of a net_memif port in place of the driver, which sets up its connections. The driver copies each
 * frame from the shared memory to an mbuf; this folder leaves the payload there until the engine has placed it.
 *
 * The peer may change the shared memory at any time. So indices and slots are read once and checked, and the headers
 * of a frame are copied before they are parsed. The worker, within a poll, except where a function says otherwise.
 */

#ifndef UROCE_PORT_MEMIF_MEMIF_H
#define UROCE_PORT_MEMIF_MEMIF_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/memif/region.h"
#include "port/memif/show.h"
#include "port/memif/window.h"
#include "port/memif/wire.h"
#include "uroce_config.h"

struct uroce_port;

enum uroce_memif_direction { UROCE_MEMIF_S2C, UROCE_MEMIF_C2S, UROCE_MEMIF_DIRECTIONS };

/* The memory and the rings of a connection, from the client's messages. */
struct uroce_memif_offer {
	bool is_server;
	bool is_wrong; /* messages of another order, or more rings or regions than there is room for */
	int socket;    /* of the connection; 0: the peer does not understand ASK and SHOW */
	uint16_t nb_regions;
	uint16_t nb_rings[UROCE_MEMIF_DIRECTIONS];
	struct {
		int fd;
		uint64_t bytes;
	} regions[UROCE_MEMIF_REGIONS];
	struct memif_add_ring rings[UROCE_MEMIF_DIRECTIONS][UROCE_MEMIF_RINGS];
	int wakes[UROCE_MEMIF_DIRECTIONS][UROCE_MEMIF_RINGS]; /* eventfds; -1: none */
};

/* One direction of one queue. The server advances `tail` of a ring, the client `head`. */
struct uroce_memif_ring {
	const struct memif_regions *regions;
	struct memif_ring *ring;
	uint16_t slots;
	uint16_t next; /* the next slot to read or to fill; never read from shared memory */
	uint16_t port_id;
	uint16_t queue;
	bool is_server;
	bool is_started; /* the driver has connected, and has reset the ring */
	bool is_broken;	 /* the peer has written nonsense: nothing more is read or sent */
	int wake;	 /* eventfd, to which the side that fills slots writes; -1: none */
	uint32_t room;	 /* the client's: bytes of a slot's buffer */
};

/* A frame in the shared memory, with a copy of its headers. */
struct uroce_memif_frame {
	struct rte_mbuf head;
	uint8_t bytes[UROCE_MEMIF_COPY_BYTES];
	struct rte_mbuf body;
	/* if the slot refers to the payload: */
	struct rte_mbuf far;
	struct rte_mbuf end;
	uint8_t zeros[8]; /* pad and ICRC */
};

struct uroce_memif_rx {
	struct uroce_memif_ring ring;
	uint16_t flags; /* as last written to the ring */
	bool is_asleep; /* the peer is asked to wake the worker */
	struct uroce_memif_frame frames[UROCE_BURST];
} __rte_cache_aligned;

struct uroce_memif_tx {
	struct uroce_memif_ring ring;
	uint32_t nb_held; /* frames held since the connection began; wraps */
	uint32_t nb_freed; /* frames freed of nb_held; wraps */
	struct uroce_memif_held {
		struct rte_mbuf *frame;
		uint16_t slot;
	} held[UROCE_MEMIF_HELD]; /* frames whose payloads the peer reads from this process's memory */
} __rte_cache_aligned;

struct uroce_memif {
	struct memif_regions regions;
	struct uroce_memif_show show;
	struct uroce_memif_windows windows;
	uint32_t nb_seen; /* SHOWs of the peer that were carried out */
	uint16_t nb_queues;
	struct uroce_memif_rx *rx;
	struct uroce_memif_tx *tx;
};

/**
 * Receive a burst of a queue's frames. They are valid until uroce_memif_release(), and uroce_packet_keep() copies one
 * that must live longer.
 *
 * @param pool	for frames that cannot be read in place, which the caller frees
 * @param frames	set to up to UROCE_BURST frames. Those of uroce_mbuf_is_borrowed() are not freed
 * @return		the number of frames
 */
uint16_t uroce_memif_receive(struct uroce_memif *memif, uint16_t queue, struct rte_mempool *pool,
			     struct rte_mbuf **frames);

/** Give the slots of the last burst back to the peer. */
void uroce_memif_release(struct uroce_memif *memif, uint16_t queue);

/**
 * Send frames: copies and frees them, or keeps those whose payloads the peer reads from this process's memory.
 *
 * @param references	incremented by the number of frames kept
 * @return		the number of frames, the first ones; the ring had no room for more
 */
uint16_t uroce_memif_send(struct uroce_memif *memif, uint16_t queue, struct rte_mbuf **frames, uint16_t n,
			  uint64_t *references);

/**
 * Revoke the requests that are held for this QP of the peer: the peer drops those that it has not copied yet.
 *
 * @param bth		offset of the BTH in the frames
 * @param dest_qpn	UROCE_MEMIF_ALL_QPS: revoke the requests of all QPs, before the connection ends
 */
#define UROCE_MEMIF_ALL_QPS UINT32_MAX
void uroce_memif_revoke(struct uroce_memif *memif, uint16_t queue, uint32_t bth, uint32_t dest_qpn);

/** Free the frames that the peer has read. */
void uroce_memif_free_held(struct uroce_memif *memif, uint16_t queue);

/** @return the descriptor that becomes readable when the peer wakes the queue's worker; -1: none. Worker's turn */
int uroce_memif_wake_fd(const struct uroce_memif *memif, uint16_t queue);
/** Ask the peer to wake the worker, or not to. Frames that it has sent before do not wake the worker. Worker's turn. */
void uroce_memif_wake_enable(struct uroce_memif *memif, uint16_t queue, bool on);
/** Does the peer always do so? net_memif may read the flag too early. Worker's turn. */
bool uroce_memif_wake_is_sure(const struct uroce_memif *memif, uint16_t queue);

/** Add a message of the client to an offer, which takes a duplicate of the descriptor. EAL's interrupt thread. */
void uroce_memif_offer_add(struct uroce_memif_offer *offer, const struct memif_message *m, int fd);
/** Empty an offer, and close its descriptors. EAL's interrupt thread. */
void uroce_memif_offer_clear(struct uroce_memif_offer *offer, bool is_server);

/** The driver is about to connect the port: move its frames from now on, if the memory is safe. Empties the offer. EAL's
 * interrupt thread. */
void uroce_memif_connect(uint16_t port_id, struct uroce_memif_offer *offer);
/** Carry out an ASK or a SHOW of the port's peer; the caller keeps the descriptor. EAL's interrupt thread. */
void uroce_memif_obey(uint16_t port_id, const struct memif_message *m, int fd);
/** Leave the frames of ports whose link is down to the driver, and unmap their memory. EAL's interrupt thread. */
void uroce_memif_disconnect(void);

/* wake.c */
/** Prepare the process for uroce_memif_wake_peer(). EAL's interrupt thread. */
void uroce_memif_wake_init(void);
/** Signal an eventfd of the peer, which cannot make the caller wait. @param fd	-1: none */
void uroce_memif_wake_peer(int fd);

/* moved.c */
/** Note whether this folder, and not the driver, moves the frames of the port's last connection. EAL's interrupt thread. */
void uroce_memif_set_moved(uint16_t port_id, bool is_moved);
/** Does it? Control threads. */
bool uroce_memif_is_moved(uint16_t port_id);

/** Set port->memif whenever the port is connected. Control threads, before workers poll the port. */
void uroce_memif_attach(struct uroce_port *port);
/** Do so no longer, and end the connection, whose port is about to be stopped. Control threads, after the workers have
 * stopped polling the port. */
void uroce_memif_detach(struct uroce_port *port);

#endif /* UROCE_PORT_MEMIF_MEMIF_H */
