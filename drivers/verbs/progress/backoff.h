/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * How long the progress thread sleeps between two polls, from what its polls have found and when. No clock, no
 * thread.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_BACKOFF_H
#define UROCE_DRIVERS_VERBS_PROGRESS_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_backoff {
	uint64_t busy_ns;	/* constant: how long it goes on without a pause */
	uint64_t needed_ns;	/* when it last moved frames, or was woken */
	uint64_t looked_ns;	/* the last look */
	uint64_t spared_ns;	/* the program has polled for so long, and did not need it */
};

void uroce_backoff_init(struct uroce_backoff *p, uint64_t busy_ns, uint64_t now_ns);

/** Is it within the time in which there is no pause, but for others' sake? */
bool uroce_backoff_is_busy(const struct uroce_backoff *p, uint64_t now_ns);

/**
 * Has the program polled for so long that a moment in which it does not means nothing? One that polls in between, and
 * waits for the thread otherwise, does not get there.
 */
bool uroce_backoff_trusts(const struct uroce_backoff *p);

/** Would the answer of the next step depend on whether others want the core? */
bool uroce_backoff_asks(const struct uroce_backoff *p, uint64_t now_ns);

/**
 * After a look at a worker that the program itself polls.
 * @return how long to sleep; 0: look again at once
 */
uint64_t uroce_backoff_spare(struct uroce_backoff *p, uint64_t now_ns, bool crowded);

/**
 * After the thread has polled a worker that no other thread has polled.
 * @param frames	that the thread itself has moved
 * @param crowded	others want its core
 * @return how long to sleep; 0: look again at once
 */
uint64_t uroce_backoff_step(struct uroce_backoff *p, uint64_t now_ns, unsigned int frames, bool crowded);

/** A thread waits for frames. */
void uroce_backoff_wake(struct uroce_backoff *p, uint64_t now_ns);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_BACKOFF_H */
