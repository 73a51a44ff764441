/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Changes options between one test and the next.
 */

#ifndef UROCE_PERF_PROMPT_SET_H
#define UROCE_PERF_PROMPT_SET_H

#include "options.h"

/**
 * Change an option, all or nothing: by its name without dashes, with the words of the command line. verify, which is a
 * flag there, takes on or off; impair and fault take off, too. The prompt's commands say which options can change.
 *
 * @param value	has to live as long as *o
 * @param error	what is wrong and what to do about it, when -EINVAL is returned
 */
int uroce_perf_set(struct perf_options *o, const char *name, const char *value, char *error, size_t room);

#endif /* UROCE_PERF_PROMPT_SET_H */
