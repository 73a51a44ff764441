/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The stages of a WRITE of one packet at both ends, and their TSC cycles.
 */

#ifndef UROCE_STAGES_H
#define UROCE_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "pair.h"

/* In the order of execution. Indented stages are parts of others, measured again separately. */
#define STAGES \
	STAGE(POST, "post", "packet", true) \
	STAGE(REQUESTER, "requester: frames with ICRC", "packet", true) \
	STAGE(TX, "transmit", "packet", true) \
	STAGE(RX, "receive", "packet", true) \
	STAGE(DECODE, "parse and ICRC", "packet", true) \
	STAGE(ICRC, "  ICRC", "packet", false) \
	STAGE(LOOKUP, "QP look-up", "packet", true) \
	STAGE(RESPONDER, "responder with placement", "packet", true) \
	STAGE(KEY, "  key look-up", "packet", false) \
	STAGE(PLACEMENT, "  placement", "packet", false) \
	STAGE(FREE, "free mbufs", "packet", true) \
	STAGE(ACK, "acknowledgement: made", "burst", true) \
	STAGE(ACK_DECODE, "acknowledgement: parse and ICRC", "burst", true) \
	STAGE(COMPLETER, "completer with CQE", "packet", true) \
	STAGE(POLL, "poll of the CQ", "packet", true) \
	STAGE(TIMER, "timer armed and taken back", "timer", false) \
	STAGE(ROUND, "round of a worker with nothing to do", "round", false) \
	STAGE(POLL_EMPTY, "poll of an empty CQ", "poll", false)

enum stage {
#define STAGE(name, text, per, sums) STAGE_##name,
	STAGES
#undef STAGE
	STAGE_COUNT,
};

struct stage_info {
	const char *text;
	const char *per;	/* unit of the cycles */
	bool sums;		/* counts for the sum: not part of another stage */
};

extern const struct stage_info stage_infos[STAGE_COUNT];

/**
 * Run one burst from post to completion.
 * @param bytes		of each message, one packet at most
 * @param cycles	of the TSC, all UROCE_BURST packets together, or as many timers, rounds, polls
 * @return	0, or -1 and a printed message: a stage has not done its work
 */
int stages_pass(struct pair_end ends[2], uint32_t bytes, uint32_t cycles[STAGE_COUNT]);

#endif /* UROCE_STAGES_H */
