/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes the progress thread's next sleep. For a while after the last frame, the thread does not sleep. Then it
 * sleeps for a fraction of the time waited so far: with longer sleeps, two ends that wait for each other would slow
 * each other down more and more. On an oversubscribed CPU it sleeps soon after the last frame: a thread that wakes
 * runs at once, one that yields runs only after the others.
 *
 * The longer the application has been polling, the less often this thread wakes. A gap in the application's polling
 * halves that time but does not reset it, so that the thread does not take the core from an application that is about
 * to poll again.
 */

#include <rte_common.h>

#include "progress/backoff.h"
#include "uroce_config.h"

void
uroce_backoff_wake(struct uroce_backoff *p, uint64_t now_ns)
{
	p->needed_ns = now_ns;
}

void
uroce_backoff_init(struct uroce_backoff *p, uint64_t busy_ns, uint64_t now_ns)
{
	p->busy_ns = busy_ns;
	p->looked_ns = now_ns;
	p->spared_ns = 0;
	uroce_backoff_wake(p, now_ns);
}

/* The clocks of two cores may differ a little. */
static uint64_t
idle_ns(const struct uroce_backoff *p, uint64_t now_ns)
{
	return now_ns > p->needed_ns ? now_ns - p->needed_ns : 0;
}

bool
uroce_backoff_is_busy(const struct uroce_backoff *p, uint64_t now_ns)
{
	return idle_ns(p, now_ns) < p->busy_ns;
}

/* Has the application polled for at least busy_ns, so that this thread was not needed? */
static bool
is_spared(const struct uroce_backoff *p)
{
	return p->spared_ns != 0 && p->spared_ns >= p->busy_ns;
}

bool
uroce_backoff_trusts(const struct uroce_backoff *p)
{
	return p->spared_ns >= UROCE_VERBS_SPARED_NS / 2;
}

bool
uroce_backoff_asks(const struct uroce_backoff *p, uint64_t now_ns)
{
	return uroce_backoff_is_busy(p, now_ns) || is_spared(p);
}

static uint64_t
part_of(uint64_t ns, uint64_t most_ns)
{
	return RTE_MAX(UROCE_VERBS_MIN_SLEEP_NS, RTE_MIN(ns / UROCE_VERBS_SLEEP_PART, most_ns));
}

uint64_t
uroce_backoff_spare(struct uroce_backoff *p, uint64_t now_ns, bool crowded)
{
	if (now_ns > p->looked_ns)
		p->spared_ns = RTE_MIN(p->spared_ns + now_ns - p->looked_ns, UROCE_VERBS_SPARED_NS);
	p->looked_ns = now_ns;
	if (uroce_backoff_is_busy(p, now_ns) && !is_spared(p))
		return crowded ? UROCE_VERBS_MIN_SLEEP_NS : 0;
	return part_of(p->spared_ns, UROCE_VERBS_MAX_SLEEP_NS);
}

uint64_t
uroce_backoff_step(struct uroce_backoff *p, uint64_t now_ns, unsigned int frames, bool crowded)
{
	bool spared = is_spared(p);
	uint64_t idle;

	p->looked_ns = now_ns;
	p->spared_ns /= 2;
	if (frames != 0 || spared)
		uroce_backoff_wake(p, now_ns);
	if (frames != 0 && !spared)
		return 0;
	idle = idle_ns(p, now_ns);
	if (idle < p->busy_ns)
		return crowded && (spared || idle >= UROCE_VERBS_CROWDED_NS) ? UROCE_VERBS_MIN_SLEEP_NS : 0;
	return part_of(idle, idle < UROCE_VERBS_IDLE_NS ? UROCE_VERBS_MAX_SLEEP_NS : UROCE_VERBS_IDLE_SLEEP_NS);
}
