/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Encodes and decodes the selective acknowledgement (SACK), whose opcode is reserved for manufacturers. A responder
 * sends it only to a requester that has sent an ASK; a requester sends an ASK only to a responder that has identified
 * itself as uroce. A SACK acknowledges all PSNs before its own, as a NAK does, and lists runs of PSNs received out of
 * order. No state; any thread.
 */

#ifndef UROCE_WIRE_SACK_H
#define UROCE_WIRE_SACK_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

#include "uroce_config.h"
#include "wire/headers.h"

/*
 * The mark by which a responder identifies itself: 'u' in ASCII, in the 7 reserved bits of BTH byte 8 of its NAKs of a
 * PSN sequence error. Other peers ignore these bits (R1, C9-6); the ICRC covers them. ASK and SACK carry the mark, too:
 * without it their opcodes belong to another manufacturer.
 */
#define UROCE_BTH_MARK 0x75

static inline bool
uroce_bth_is_marked(const struct uroce_bth *bth)
{
	return (bth->ack & UROCE_BTH_RESV7_MASK) == UROCE_BTH_MARK;
}

/* A run of `count` received PSNs, of which the first is the BTH's PSN plus `offset` (> 0). */
struct uroce_sack_run {
	rte_be16_t offset;
	rte_be16_t count;
} __attribute__((packed));

/* The payload of a SACK. */
struct uroce_sack {
	uint8_t reserved;
	uint8_t asked[3]; /* PSN of the latest ASK: earlier PSNs that are in no run are missing */
	struct uroce_sack_run runs[UROCE_SACK_RUNS]; /* ascending, with a gap before each */
} __attribute__((packed));

static_assert(sizeof(struct uroce_sack_run) == 4, "run of a SACK");
static_assert(sizeof(struct uroce_sack) == 4 + 4 * UROCE_SACK_RUNS, "SACK");
static_assert(1 << (UROCE_MAX_LOG2_WINDOW + UROCE_LOG2_REORDER_WINDOWS) <= UINT16_MAX, "offsets of a SACK");

#define UROCE_SACK_BYTES(runs) (4u + 4u * (runs))

/** @return the number of runs in a payload of this size; -1: not a SACK */
static inline int
uroce_sack_runs(uint32_t payload_bytes)
{
	if (payload_bytes < UROCE_SACK_BYTES(0) || payload_bytes > UROCE_SACK_BYTES(UROCE_SACK_RUNS) ||
	    payload_bytes % 4 != 0)
		return -1;
	return (int)(payload_bytes / 4 - 1);
}

#endif /* UROCE_WIRE_SACK_H */
