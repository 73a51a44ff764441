/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A client of memif that does what the test says, and not what it should.
 */

#ifndef UROCE_TEST_SWITCH_MEMIF_PEER_H
#define UROCE_TEST_SWITCH_MEMIF_PEER_H

#include "memif/link.h"

struct memif_peer {
	int fd;     /* the socket; -1 */
	int memory; /* one ring each way, then their slots' buffers */
	int wake;
	uint64_t bytes;
	uint32_t slots;
	uint32_t room; /* of a buffer */
	uint8_t *at;
	struct memif_ring *out; /* to the switch */
	struct memif_ring *in;
	struct memif_add_ring rings[2]; /* out, in */
	uint16_t read;
};

/** Memory with rings of 1 << log2 slots, all of those to the switch empty, all of those from it free. */
void memif_peer_init(struct memif_peer *p, unsigned int log2, uint32_t room);
void memif_peer_fini(struct memif_peer *p);

/** Give its memory and rings to a link, as if by messages. */
void memif_peer_join(struct memif_peer *p, struct memif_link *link);

/** Fill a slot with so many bytes of a value; it is the switch's after memif_peer_publish(). */
void memif_peer_fill(struct memif_peer *p, uint16_t slot, uint8_t value, uint32_t bytes, bool more);
void memif_peer_publish(struct memif_peer *p, uint16_t slots);
/** Free the slots of what has come. */
void memif_peer_free(struct memif_peer *p, uint16_t slots);

void memif_peer_dial(struct memif_peer *p, const char *path);
/** A message, with so many copies of a descriptor. */
void memif_peer_say(struct memif_peer *p, const struct memif_message *m, size_t bytes, int fd, unsigned int copies);
/** @return the type of what has come; 0: nothing; -1: the switch has closed */
int memif_peer_hear(struct memif_peer *p, struct memif_message *m);

#endif /* UROCE_TEST_SWITCH_MEMIF_PEER_H */
