/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The commands of the prompt, in rte_cmdline's format. They run on the prompt's thread.
 */

#ifndef UROCE_PERF_PROMPT_COMMANDS_H
#define UROCE_PERF_PROMPT_COMMANDS_H

#include <cmdline_parse.h>

#include "prompt/session.h"

/** Build the commands of a session. @return NULL: out of memory */
cmdline_parse_ctx_t *uroce_perf_commands(struct perf_session *s);

#endif /* UROCE_PERF_PROMPT_COMMANDS_H */
