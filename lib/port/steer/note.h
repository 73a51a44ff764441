/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The notes of a queue: QPs of other workers whose frames it has received, for flow rules. The queue's worker writes
 * them, one thread at a time reads and clears them.
 */

#ifndef UROCE_PORT_STEER_NOTE_H
#define UROCE_PORT_STEER_NOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "uroce_config.h"
#include "wire/packet.h"

struct uroce_port;
struct uroce_port_queue;

/* A QP and its peer. */
struct uroce_noted {
	uint32_t qpn;
	uint16_t src_port;
	uint8_t src[16]; /* GID */
};

/* A slot for the QPs with the same hash; the first one has it until it has been read. */
struct uroce_note {
	bool taken; /* atomic: not read yet */
	struct uroce_noted noted;
};

struct uroce_notes {
	struct uroce_note slots[UROCE_STEER_NOTES];
};

/** Note a packet that is handed over. The queue's worker, within a poll. */
void uroce_notes_add(struct uroce_port_queue *q, const struct uroce_packet *p);

/** Have rules made for new notes, every UROCE_STEER_NS. Worker 0, within a poll. @return the time of the next call */
uint64_t uroce_notes_upkeep(struct uroce_port *port, uint64_t now_ns);

/** Copy the notes and clear them. @return their number */
unsigned int uroce_notes_take(struct uroce_notes *notes, struct uroce_noted noted[UROCE_STEER_NOTES]);

#endif /* UROCE_PORT_STEER_NOTE_H */
