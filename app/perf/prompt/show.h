/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command show: the objects of this process, by the library's public calls.
 */

#ifndef UROCE_PERF_PROMPT_SHOW_H
#define UROCE_PERF_PROMPT_SHOW_H

#include <stdio.h>

#include "prompt/session.h"

/**
 * The prompt's thread.
 *
 * @param what	port, qp, mr, cq, counters, config, worker or results
 * @param which	a number, or "all"; NULL: what fits on a screen
 * @return	0, or -EINVAL and what is wrong
 */
int uroce_perf_show(struct perf_session *s, FILE *out, const char *what, const char *which, char *error,
		    size_t room);

/** Show counters as from now on. */
void uroce_perf_show_clear(struct perf_session *s);

#endif /* UROCE_PERF_PROMPT_SHOW_H */
