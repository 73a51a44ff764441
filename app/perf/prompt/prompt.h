/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The prompt: a thread that reads commands, from a terminal, a pipe or a file, and has them executed.
 */

#ifndef UROCE_PERF_PROMPT_PROMPT_H
#define UROCE_PERF_PROMPT_PROMPT_H

#include <cmdline_parse.h>

#include "prompt/session.h"

/** Start reading commands: first those of the file, if there is one, then the prompt's, if there is one. The session
 * ends with the input. @return 0 or -1, a message printed */
int uroce_perf_prompt_start(struct perf_session *s, cmdline_parse_ctx_t *commands, FILE *script);

/** The session ends: wait for the thread. Call it once, after uroce_perf_prompt_start() was successful. */
void uroce_perf_prompt_join(void);

/* ---- for commands, which run on the prompt's thread */

/** Where commands print. */
FILE *uroce_perf_prompt_out(void);

/** Wait until no test runs, or so many seconds; below 0: without end. */
void uroce_perf_prompt_wait(double seconds);

/** Nothing more is read. */
void uroce_perf_prompt_quit(void);

/** What the command asked for cannot be: say why. */
void uroce_perf_prompt_refuse(const char *format, ...) __rte_format_printf(1, 2);

#endif /* UROCE_PERF_PROMPT_PROMPT_H */
