/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command show: shows the objects of this process, by the library's public calls.
 */

#ifndef UROCE_PERF_PROMPT_SHOW_H
#define UROCE_PERF_PROMPT_SHOW_H

#include <stdio.h>

#include "prompt/session.h"

/**
 * Show objects. The prompt's thread.
 *
 * @param what	port, qp, mr, cq, counters, config, worker or results
 * @param which	a number, or "all"; NULL: as many as fit on a screen
 * @return	0, or -EINVAL and the reason
 */
int uroce_perf_show(struct perf_session *s, FILE *out, const char *what, const char *which, char *error,
		    size_t room);

/** Show later counters relative to now. */
void uroce_perf_show_clear(struct perf_session *s);

#endif /* UROCE_PERF_PROMPT_SHOW_H */
