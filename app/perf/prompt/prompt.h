/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The prompt: a thread that reads commands from a terminal, a pipe or a file, and executes them.
 */

#ifndef UROCE_PERF_PROMPT_PROMPT_H
#define UROCE_PERF_PROMPT_PROMPT_H

#include <cmdline_parse.h>

#include "prompt/session.h"

/** Start reading commands: first from the file, if there is one, then from the prompt, if there is one. The session
 * ends with the input. @return 0 or -1, a message printed */
int uroce_perf_prompt_start(struct perf_session *s, cmdline_parse_ctx_t *commands, FILE *script);

/** At the session's end: wait for the thread. Call it once, after uroce_perf_prompt_start() has succeeded. */
void uroce_perf_prompt_join(void);

/* ---- for commands, which run on the prompt's thread */

/** Get the stream to which commands print. */
FILE *uroce_perf_prompt_out(void);

/** Wait until no test runs, at most so many seconds; negative: no limit. */
void uroce_perf_prompt_wait(double seconds);

/** Stop reading commands. */
void uroce_perf_prompt_quit(void);

/** Refuse the current command, and print the reason. */
void uroce_perf_prompt_refuse(const char *format, ...) __rte_format_printf(1, 2);

#endif /* UROCE_PERF_PROMPT_PROMPT_H */
