/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A memif client that sends and writes exactly as the test asks, right or wrong.
 */

#ifndef UROCE_TEST_SWITCH_MEMIF_PEER_H
#define UROCE_TEST_SWITCH_MEMIF_PEER_H

#include "memif/link.h"

struct memif_peer {
	int fd;     /* the socket, or -1 */
	int memory; /* memfd: one ring each way, then the buffers of their slots */
	int wake;
	uint64_t bytes;
	uint32_t slots;
	uint32_t room; /* size of a buffer */
	uint8_t *at;
	struct memif_ring *out; /* to the switch */
	struct memif_ring *in;
	struct memif_add_ring rings[2]; /* out, in */
	uint16_t read;
};

/** Create memory with rings of 1 << log2 slots: to the switch all empty, from the switch all free. */
void memif_peer_init(struct memif_peer *p, unsigned int log2, uint32_t room);
void memif_peer_fini(struct memif_peer *p);

/** Give the memory and the rings to a link, as the messages would. */
void memif_peer_join(struct memif_peer *p, struct memif_link *link);

/** Fill a slot with this many bytes of a value; memif_peer_publish() passes it to the switch. */
void memif_peer_fill(struct memif_peer *p, uint16_t slot, uint8_t value, uint32_t bytes, bool more);
void memif_peer_publish(struct memif_peer *p, uint16_t slots);
/** Free the slots of received frames. */
void memif_peer_free(struct memif_peer *p, uint16_t slots);

void memif_peer_dial(struct memif_peer *p, const char *path);
/** Send a message, with this many copies of a descriptor. */
void memif_peer_say(struct memif_peer *p, const struct memif_message *m, size_t bytes, int fd, unsigned int copies);
/** @return the type of the next message; 0: none; -1: the switch closed the socket */
int memif_peer_hear(struct memif_peer *p, struct memif_message *m);

#endif /* UROCE_TEST_SWITCH_MEMIF_PEER_H */
