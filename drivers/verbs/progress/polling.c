/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Recognizes an application that polls again and again, but works between its polls, such as a storage target that
 * serves a batch of requests. The average gap between its polls in one interval tells how long a gap may become in the
 * next. An application that polls more often must also come back sooner: its silence means that it has stopped.
 */

#include <rte_common.h>

#include "progress/polling.h"
#include "uroce_config.h"

void
uroce_polling_init(struct uroce_polling *p, uint64_t least_ns, uint64_t now_ns)
{
	*p = (struct uroce_polling){ .since_ns = now_ns, .least_ns = least_ns };
}

bool
uroce_polling_is_recent(bool is_new, bool yields, uint64_t last_ns, uint64_t now_ns)
{
	/* the thread that yields polls again once it has a CPU, perhaps the one that the caller would use */
	return (is_new && now_ns < last_ns + UROCE_VERBS_POLLED_NS) ||
	       (yields && now_ns < last_ns + UROCE_VERBS_YIELDED_NS);
}

bool
uroce_polling_is_steady(struct uroce_polling *p, uint64_t polls, uint64_t last_ns, uint64_t now_ns)
{
	const uint64_t took_ns = now_ns > p->since_ns ? now_ns - p->since_ns : 0;

	p->polls += polls;
	if (polls != 0)
		p->polled_ns = last_ns;
	if (took_ns >= UROCE_VERBS_GAP_INTERVAL_NS) {
		p->gap_ns = p->polls >= UROCE_VERBS_GAP_POLLS ? took_ns / p->polls : 0;
		p->since_ns = now_ns;
		p->polls = 0;
	}
	return p->gap_ns != 0 && now_ns < p->polled_ns + RTE_MAX(UROCE_VERBS_GAP_FACTOR * p->gap_ns, p->least_ns);
}
