/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Configurations of workers and ports with the limits of --limits.
 */

#ifndef UROCE_APP_CONF_H
#define UROCE_APP_CONF_H

#include <stdbool.h>
#include <stddef.h>

#include "uroce.h"

/** Set the two structs to the defaults with these limits; NULL: none. @return as uroce_parse_limits() */
int uroce_app_conf(const char *limits, struct uroce_worker_conf *worker, struct uroce_port_conf *port, char *reason,
		   size_t room);
/** @return whether the limits are right; else the reason is set */
bool uroce_app_limits_check(const char *limits, char *reason, size_t room);

#endif /* UROCE_APP_CONF_H */
