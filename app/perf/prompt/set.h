/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Changes options between one test and the next.
 */

#ifndef UROCE_PERF_PROMPT_SET_H
#define UROCE_PERF_PROMPT_SET_H

#include "options.h"

/**
 * Change an option, by its name without dashes and with the command line's values. verify, a flag on the command
 * line, takes on or off; impair and fault also take off. On an error nothing changes. The prompt's commands list the
 * options that can change.
 *
 * @param value	must live as long as *o
 * @param error	set to the error and its remedy when -EINVAL is returned
 */
int uroce_perf_set(struct perf_options *o, const char *name, const char *value, char *error, size_t room);

#endif /* UROCE_PERF_PROMPT_SET_H */
