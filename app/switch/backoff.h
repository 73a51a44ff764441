/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides when the switch polls, and when it leaves its CPU to its clients, which produce the next frame. Main
 * thread.
 */

#ifndef UROCE_SWITCH_PACE_H
#define UROCE_SWITCH_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum switch_step {
	SWITCH_POLL,  /* poll again at once */
	SWITCH_YIELD, /* yield the CPU, then poll */
	SWITCH_ASK,   /* ask the clients to wake the switch, then poll: a frame may have arrived before that */
	SWITCH_THANK, /* tell the clients not to wake the switch, then poll */
	SWITCH_WAIT,  /* poll after an event, or after wait_ns */
};

struct switch_backoff {
	bool busy;           /* never yields or waits */
	bool ethdevs;        /* some ports do not wake the switch */
	bool asked;          /* the clients have been asked to wake the switch */
	uint64_t moved_ns;   /* time of the last frame */
	uint64_t asked_ns;
	uint64_t yielded_ns; /* time of the yield; 0: the last step was no yield */
	uint64_t crowd_ns;   /* until then the CPU counts as shared */
	uint64_t wait_ns;
};

/** Get the step before the next round. `moved`: frames moved in the last round. */
enum switch_step uroce_switch_backoff(struct switch_backoff *p, bool moved, uint64_t now_ns);

#endif /* UROCE_SWITCH_PACE_H */
