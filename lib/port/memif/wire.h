/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * memif, version 2.0: the messages between server and client on their socket, and the layout of the rings in the
 * memory that the client shares. All fields are in the host's byte order. uroce sends its own messages only to peers
 * with MEMIF_MARK in their name. It sets its own flags of a ring for all peers; others ignore them.
 */

#ifndef UROCE_PORT_MEMIF_WIRE_H
#define UROCE_PORT_MEMIF_WIRE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <rte_common.h>

#include "wire/packet.h"

#define MEMIF_VERSION 0x0200
#define MEMIF_COOKIE  0x3e31f20
#define MEMIF_NAME    32
#define MEMIF_REASON  96
#define MEMIF_MAX_LOG2_SLOTS 14

enum memif_type {
	MEMIF_ACK = 1,
	MEMIF_HELLO,      /* from the server; the client then sends these, each answered by an ACK: */
	MEMIF_INIT,
	MEMIF_ADD_REGION, /* passes a descriptor of the memory */
	MEMIF_ADD_RING,   /* passes an eventfd, to which the side that fills slots writes */
	MEMIF_CONNECT,    /* answered by CONNECTED */
	MEMIF_CONNECTED,
	MEMIF_DISCONNECT, /* in either direction, at any time */
	/* uroce's own, in either direction, while connected; the driver never sees them: */
	MEMIF_ASK = 0x7572, /* show your memory */
	MEMIF_SHOW,	    /* map memory, whose descriptor is passed, or unmap it */
};

#define MEMIF_MARK "uroce-1" /* at the end of the name in HELLO and INIT: the sender understands ASK and SHOW */

static inline void
memif_mark(char name[MEMIF_NAME])
{
	memcpy(name + MEMIF_NAME - sizeof(MEMIF_MARK), MEMIF_MARK, sizeof(MEMIF_MARK));
	name[MEMIF_NAME - sizeof(MEMIF_MARK) - 1] = '\0';
}

static inline bool
memif_is_marked(const char name[MEMIF_NAME])
{
	return memcmp(name + MEMIF_NAME - sizeof(MEMIF_MARK), MEMIF_MARK, sizeof(MEMIF_MARK)) == 0;
}

struct memif_hello {
	char name[MEMIF_NAME];
	uint16_t min_version;
	uint16_t max_version;
	uint16_t max_region; /* the highest index, as for rings */
	uint16_t max_s2c_ring;
	uint16_t max_c2s_ring;
	uint8_t max_log2_slots;
} __attribute__((packed));

enum { MEMIF_MODE_ETHERNET };

struct memif_init {
	uint16_t version;
	uint32_t id;
	uint8_t mode;
	char secret[24];
	char name[MEMIF_NAME];
} __attribute__((packed));

struct memif_add_region {
	uint16_t index;
	uint64_t bytes;
} __attribute__((packed));

#define MEMIF_RING_C2S 1 /* memif_add_ring.flags: from client to server */

struct memif_add_ring {
	uint16_t flags;
	uint16_t index;
	uint16_t region;
	uint32_t offset;
	uint8_t log2_slots;
	uint16_t private_bytes;
} __attribute__((packed));

struct memif_disconnect {
	uint32_t code;
	char reason[MEMIF_REASON];
} __attribute__((packed));

/* Show a part of a window, which is an address range of the sender. */
struct memif_show {
	uint16_t window;
	uint8_t is_gone;	/* the part is no longer shown; no descriptor is passed */
	uint64_t window_bytes;
	uint64_t at;		/* where the part begins in the window */
	uint64_t bytes;
	uint64_t file_at;	/* where it begins in the descriptor's file */
} __attribute__((packed));

struct memif_message {
	uint16_t type;
	union {
		struct memif_hello hello;
		struct memif_init init;
		struct memif_add_region region;
		struct memif_add_ring ring;
		char interface[MEMIF_NAME]; /* CONNECT and CONNECTED */
		struct memif_disconnect disconnect;
		struct memif_show show;
		uint8_t bytes[126];
	};
} __attribute__((packed));

static_assert(sizeof(struct memif_message) == 128, "as both ends send it");
static_assert(offsetof(struct memif_message, hello.max_log2_slots) == 44, "as both ends have it");
static_assert(offsetof(struct memif_message, init.name) == 33, "as both ends have it");
static_assert(offsetof(struct memif_message, ring.private_bytes) == 13, "as both ends have it");

#define MEMIF_DESC_NEXT 1 /* the frame continues in the next slot */
/* uroce's own, which the peer must ask for by MEMIF_RING_NO_ICRC; in the first slot of a frame */
#define MEMIF_DESC_NO_ICRC 2 /* the ICRC is not computed */
/* uroce's own, in a frame's only slot: headers and a struct memif_reference, in place of payload, pad and ICRC */
#define MEMIF_DESC_REFERENCE 4
#define MEMIF_DESC_REVOKED UROCE_GUARD_REVOKED /* set by the sender later: the payload may have changed */

struct memif_desc {
	uint16_t flags;
	uint16_t region;
	uint32_t length; /* bytes of the frame in this slot; of a free slot to the client: its room */
	uint32_t offset;
	uint32_t metadata;
};

/* A payload in the memory that the sender shows, valid until the reader returns the slot. */
struct memif_reference {
	uint64_t at; /* where it begins in the window */
	uint32_t bytes;
	uint16_t window;
	uint16_t unused;
};

static_assert(sizeof(struct memif_reference) == 16, "as both ends have it");

#define MEMIF_RING_NO_WAKING 1 /* memif_ring.flags: the reader polls */
#define MEMIF_RING_NO_ICRC 2   /* uroce's own: the reader accepts MEMIF_DESC_NO_ICRC */

/* Client to server: the client fills at head, the server frees at tail. Server to client: the client frees at head,
 * the server fills at tail. Both count freely; modulo the number of slots they are indexes. */
struct memif_ring {
	uint32_t cookie;
	uint16_t flags;
	uint16_t head; /* client: rw, server: ro */
	uint32_t seen; /* uroce's own, in the first ring: how many SHOWs the reader has carried out */
	uint8_t unused[52];
	uint16_t tail; /* server: rw, client: ro */
	uint8_t unused_too[62];
	struct memif_desc slots[];
};

static_assert(sizeof(struct memif_desc) == 16, "as both ends have it");
static_assert(offsetof(struct memif_ring, tail) == 64, "as both ends have it");
static_assert(offsetof(struct memif_ring, slots) == 128, "as both ends have it");

#endif /* UROCE_PORT_MEMIF_WIRE_H */
