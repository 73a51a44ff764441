/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * memif, version 2.0: the messages of server and client on their socket, and the layout of the rings in the memory
 * that the client shares. All in the host's byte order.
 */

#ifndef UROCE_SWITCH_MEMIF_WIRE_H
#define UROCE_SWITCH_MEMIF_WIRE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_common.h>

#define MEMIF_VERSION 0x0200
#define MEMIF_COOKIE  0x3e31f20
#define MEMIF_NAME    32
#define MEMIF_REASON  96
#define MEMIF_MAX_LOG2_SLOTS 14

enum memif_type {
	MEMIF_ACK = 1,
	MEMIF_HELLO,      /* server to client; then, each of them answered by an ACK: */
	MEMIF_INIT,
	MEMIF_ADD_REGION, /* with a descriptor of the memory */
	MEMIF_ADD_RING,   /* with an eventfd, which the side that has filled slots writes to */
	MEMIF_CONNECT,    /* answered by: */
	MEMIF_CONNECTED,
	MEMIF_DISCONNECT, /* either way, at any time */
};

struct memif_hello {
	char name[MEMIF_NAME];
	uint16_t min_version;
	uint16_t max_version;
	uint16_t max_region; /* the highest index, as of rings */
	uint16_t max_s2c_ring;
	uint16_t max_c2s_ring;
	uint8_t max_log2_slots;
} __rte_packed;

enum { MEMIF_MODE_ETHERNET };

struct memif_init {
	uint16_t version;
	uint32_t id;
	uint8_t mode;
	char secret[24];
	char name[MEMIF_NAME];
} __rte_packed;

struct memif_add_region {
	uint16_t index;
	uint64_t bytes;
} __rte_packed;

#define MEMIF_RING_C2S 1 /* in memif_add_ring.flags: from client to server */

struct memif_add_ring {
	uint16_t flags;
	uint16_t index;
	uint16_t region;
	uint32_t offset;
	uint8_t log2_slots;
	uint16_t private_bytes;
} __rte_packed;

struct memif_disconnect {
	uint32_t code;
	char reason[MEMIF_REASON];
} __rte_packed;

struct memif_message {
	uint16_t type;
	union {
		struct memif_hello hello;
		struct memif_init init;
		struct memif_add_region region;
		struct memif_add_ring ring;
		char interface[MEMIF_NAME]; /* of CONNECT and CONNECTED */
		struct memif_disconnect disconnect;
		uint8_t bytes[126];
	};
} __rte_packed;

static_assert(sizeof(struct memif_message) == 128, "as both ends send it");
static_assert(offsetof(struct memif_message, hello.max_log2_slots) == 44, "as both ends have it");
static_assert(offsetof(struct memif_message, init.name) == 33, "as both ends have it");
static_assert(offsetof(struct memif_message, ring.private_bytes) == 13, "as both ends have it");

#define MEMIF_DESC_NEXT 1 /* the frame goes on in the next slot */

struct memif_desc {
	uint16_t flags;
	uint16_t region;
	uint32_t length; /* of the frame's part; in a free slot from server to client, of its room */
	uint32_t offset;
	uint32_t metadata;
};

#define MEMIF_RING_NO_WAKING 1 /* in memif_ring.flags: the reader polls */

/* Client to server: the client fills from head on, the server frees from tail on. Server to client: the client frees
 * from head on, the server fills from tail on. Both run freely; modulo the number of slots they are indices. */
struct memif_ring {
	uint32_t cookie;
	uint16_t flags;
	uint16_t head; /* client: rw, server: ro */
	uint8_t unused[56];
	uint16_t tail; /* server: rw, client: ro */
	uint8_t unused_too[62];
	struct memif_desc slots[];
};

static_assert(sizeof(struct memif_desc) == 16, "as both ends have it");
static_assert(offsetof(struct memif_ring, tail) == 64, "as both ends have it");
static_assert(offsetof(struct memif_ring, slots) == 128, "as both ends have it");

#endif /* UROCE_SWITCH_MEMIF_WIRE_H */
