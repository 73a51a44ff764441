/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * When the switch polls, and when it leaves its CPU to its clients, which produce the next frame. Main thread.
 */

#ifndef UROCE_SWITCH_PACE_H
#define UROCE_SWITCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum switch_step {
	SWITCH_POLL,  /* at once */
	SWITCH_YIELD, /* when others have had their turn */
	SWITCH_ASK,   /* when the clients have been asked to wake the switch: something may have come meanwhile */
	SWITCH_THANK, /* when they have been asked not to any more */
	SWITCH_WAIT,  /* when something comes, or after wait_ns */
};

struct switch_backoff {
	bool busy;           /* never waits */
	bool ethdevs;        /* there are ports that do not wake the switch */
	bool asked;          /* the clients do */
	uint64_t moved_ns;   /* the last frame */
	uint64_t asked_ns;
	uint64_t yielded_ns; /* 0: it has not just yielded */
	uint64_t crowd_ns;   /* until then other processes want the CPU */
	uint64_t wait_ns;
};

/** A round has ended in which frames moved, or not: what comes before the next. */
enum switch_step uroce_switch_backoff(struct switch_backoff *p, bool moved, uint64_t now_ns);

#endif /* UROCE_SWITCH_PACE_H */
