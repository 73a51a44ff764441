/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes how long the progress thread sleeps between two polls, from the times and results of its polls. It reads
 * no clock and starts no thread.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_BACKOFF_H
#define UROCE_DRIVERS_VERBS_PROGRESS_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_backoff {
	uint64_t busy_ns;	/* constant: how long it polls without a pause after a frame */
	uint64_t needed_ns;	/* time of the last frame or wake-up */
	uint64_t looked_ns;	/* time of the last check */
	uint64_t spared_ns;	/* how long the application has polled without this thread */
};

void uroce_backoff_init(struct uroce_backoff *p, uint64_t busy_ns, uint64_t now_ns);

/** Does the thread still poll without a pause, unless the CPUs are oversubscribed? */
bool uroce_backoff_is_busy(const struct uroce_backoff *p, uint64_t now_ns);

/**
 * Has the application polled for so long that one check without a poll does not count? An application that polls only
 * at times, and otherwise waits for this thread, does not reach this state.
 */
bool uroce_backoff_trusts(const struct uroce_backoff *p);

/** Does the next sleep depend on whether the CPUs are oversubscribed? */
bool uroce_backoff_asks(const struct uroce_backoff *p, uint64_t now_ns);

/**
 * Get the next sleep after a check that found the application polling.
 * @return nanoseconds to sleep; 0: check again at once
 */
uint64_t uroce_backoff_spare(struct uroce_backoff *p, uint64_t now_ns, bool crowded);

/**
 * Get the next sleep after the progress thread has polled the worker itself.
 * @param frames	frames that this poll has moved
 * @param crowded	the CPUs are oversubscribed
 * @return nanoseconds to sleep; 0: check again at once
 */
uint64_t uroce_backoff_step(struct uroce_backoff *p, uint64_t now_ns, unsigned int frames, bool crowded);

/** A thread waits for frames: poll without a pause again. */
void uroce_backoff_wake(struct uroce_backoff *p, uint64_t now_ns);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_BACKOFF_H */
