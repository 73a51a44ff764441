/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Lines on stderr that a host can cause. Any thread.
 */

#ifndef UROCE_NVMF_LOG_H
#define UROCE_NVMF_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

/* Each kind is limited by itself, so that a flood of one does not hide the others. */
enum nvmf_log_kind {
	NVMF_LOG_CONNECTED,
	NVMF_LOG_GONE,
	NVMF_LOG_SILENT,	/* no keep-alive */
	NVMF_LOG_REFUSED,
	NVMF_LOG_AUTHENTICATION,
	NVMF_LOG_KINDS,
};

struct nvmf_log_limit {
	uint64_t since_ns;	/* start of the interval */
	unsigned int lines;	/* printed since then */
	uint64_t left_out;	/* since the last line that was printed */
};

/** May one more line be printed? @param now_ns	any clock that does not go back. @param left_out	lines that were not
 * printed before this one */
bool uroce_nvmf_log_may(struct nvmf_log_limit *limit, uint64_t now_ns, uint64_t *left_out);

/** Print a line, with the program's name before it; at most UROCE_NVMF_LOG_LINES of a kind in UROCE_NVMF_LOG_NS. */
void uroce_nvmf_log(enum nvmf_log_kind kind, const char *format, ...) __rte_format_printf(2, 3);

#endif /* UROCE_NVMF_LOG_H */
