/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decides when the switch polls. With a CPU of its own it polls for a while, for the lowest latency. On a CPU that it
 * shares with polling clients, a yield would give each of them its whole time slice (3 ms and more). A thread that
 * waits for an event runs as soon as the event arrives.
 */

#include <uroce_config.h>

#include "backoff.h"

/* How long to wait. The first wait is short: a client that filled its slots just before the switch asked for a
 * wake-up does not wake it. */
static uint64_t
patience(const struct switch_backoff *p, uint64_t now_ns)
{
	if (p->ethdevs)
		return now_ns - p->moved_ns < UROCE_SWITCH_IDLE_NS ? UROCE_SWITCH_NAP_NS : UROCE_SWITCH_SLEEP_NS;
	return now_ns - p->asked_ns < UROCE_SWITCH_WAKE_NS ? UROCE_SWITCH_WAKE_NS : UROCE_SWITCH_WAIT_NS;
}

enum switch_step
uroce_switch_backoff(struct switch_backoff *p, bool moved, uint64_t now_ns)
{
	if (p->yielded_ns != 0 && now_ns - p->yielded_ns >= UROCE_SWITCH_CROWDED_NS)
		p->crowd_ns = now_ns + UROCE_SWITCH_CROWD_NS;
	p->yielded_ns = 0;
	if (moved) {
		p->moved_ns = now_ns;
		if (!p->asked)
			return SWITCH_POLL;
		p->asked = false;
		return SWITCH_THANK;
	}
	if (p->busy)
		return SWITCH_POLL;
	if (now_ns - p->moved_ns < UROCE_SWITCH_YIELD_NS && now_ns >= p->crowd_ns) {
		p->yielded_ns = now_ns;
		return SWITCH_YIELD;
	}
	if (!p->asked) {
		p->asked = true;
		p->asked_ns = now_ns;
		return SWITCH_ASK;
	}
	p->wait_ns = patience(p, now_ns);
	return SWITCH_WAIT;
}
