/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The log type "uroce". Control paths only.
 */

#ifndef UROCE_BASE_LOG_H
#define UROCE_BASE_LOG_H

#include <rte_log.h>

extern int uroce_logtype;

#define UROCE_LOG(level, ...) \
	rte_log(RTE_LOG_##level, (uint32_t)uroce_logtype, "uroce: " __VA_ARGS__)

#endif /* UROCE_BASE_LOG_H */
