/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tells whether the application polls steadily, if with gaps, from the number of its polls. It reads no clock.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_POLLING_H
#define UROCE_DRIVERS_VERBS_PROGRESS_POLLING_H

#include <stdbool.h>
#include <stdint.h>

struct uroce_polling {
	uint64_t since_ns;	/* begin of the current interval */
	uint64_t polls;		/* of the application in this interval */
	uint64_t gap_ns;	/* average between two polls in the interval before; 0: there were too few */
	uint64_t polled_ns;	/* time of the last poll */
	uint64_t least_ns;	/* constant: the application may always leave a gap of this length */
};

/** @param least_ns	a steady application may always leave a gap of this length */
void uroce_polling_init(struct uroce_polling *p, uint64_t least_ns, uint64_t now_ns);

/**
 * Does the application poll now?
 * @param is_new	it has polled since the last check
 * @param yields	one of its threads has yielded its CPU in a poll
 * @param last_ns	time of its last poll
 */
bool uroce_polling_is_recent(bool is_new, bool yields, uint64_t last_ns, uint64_t now_ns);

/**
 * Is the application likely to poll soon?
 * @param polls	of the application since the last call
 * @param last_ns	time of the last of them
 */
bool uroce_polling_is_steady(struct uroce_polling *p, uint64_t polls, uint64_t last_ns, uint64_t now_ns);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_POLLING_H */
