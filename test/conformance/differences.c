/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of differences from the captures. For one thread.
 */

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "differences.h"

struct row {
	const char *file;
	uint8_t role;
	uint8_t kind;
	unsigned int frame;
	const char *reason;
	bool met;
};

static struct row rows[] = {
	{ "loss_ack.pcap", REPLAY_REQUESTER, CAPTURED_IS_NOT_OURS, 8,
	  "frame 7 has acknowledged it: there is nothing to retransmit" },
	{ "loss_send.pcap", REPLAY_REQUESTER, OURS_IS_NOT_CAPTURED, 2, "PSN 4097 was lost before the capture" },
	{ "loss_write_last.pcap", REPLAY_REQUESTER, OURS_IS_NOT_CAPTURED, 8,
	  "PSN 4103 was lost before the capture" },
	{ "loss_write_mid.pcap", REPLAY_REQUESTER, OURS_IS_NOT_CAPTURED, 4,
	  "PSN 4099 was lost before the capture" },
	{ "swap_write.pcap", REPLAY_REQUESTER, OURS_IS_NOT_CAPTURED, 3,
	  "PSN 4098 was sent before it, and captured behind it" },
	{ "swap_write.pcap", REPLAY_REQUESTER, CAPTURED_IS_NOT_OURS, 4,
	  "PSN 4098 was sent before frame 3, and captured behind it" },
	{ "swap_write.pcap", REPLAY_REQUESTER, CAPTURED_IS_NOT_OURS, 11,
	  "the NAK of frame 10 has acknowledged it: there is nothing to retransmit" },
	{ "v_send_too_long.pcap", REPLAY_RESPONDER, NOT_THE_SAME, 4,
	  "a SEND longer than its receive is NAK 1 (R17), rxe says 3" },
};

/* Captured responses that did not arrive, or arrived corrupted. */
static const struct {
	const char *file;
	unsigned int frame;
} lost[] = {
	{ "loss_ack.pcap", 5 }, { "loss_atomic_ack.pcap", 2 }, { "loss_read_resp.pcap", 4 },
	{ "corrupt_read.pcap", 3 },
};

enum difference_kind
difference_find(const char *file, enum replay_role role, unsigned int frame)
{
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		struct row *r = &rows[i];

		if (strcmp(r->file, file) != 0 || r->role != role || r->frame != frame ||
		    r->met)
			continue;
		r->met = true;
		return r->kind;
	}
	return DIFFERENCE_NONE;
}

bool
difference_lost(const char *file, unsigned int frame)
{
	for (unsigned int i = 0; i < RTE_DIM(lost); i++)
		if (strcmp(lost[i].file, file) == 0 && lost[i].frame == frame)
			return true;
	return false;
}

unsigned int
difference_report(void)
{
	unsigned int unmet = 0;

	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		const struct row *r = &rows[i];

		printf("%s %s frame %u: %s%s\n", r->file, r->role == REPLAY_RESPONDER ? "responder" : "requester",
		       r->frame, r->reason, r->met ? "" : ": NOT MET");
		unmet += !r->met;
	}
	return unmet;
}
