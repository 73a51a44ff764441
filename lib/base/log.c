/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Registers the log type "uroce" with EAL.
 */

#include "base/log.h"

RTE_LOG_REGISTER(uroce_logtype, uroce, NOTICE);
