/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The limits of the library's workers and ports, from UROCE_LIMITS.
 */

#ifndef UROCE_VERBS_CONF_H
#define UROCE_VERBS_CONF_H

#include <stdbool.h>

#include "uroce.h"

/** Set the two structs to the defaults and the limits of UROCE_LIMITS. @return false: it is wrong, a message printed */
bool uroce_verbs_limits(struct uroce_worker_conf *worker, struct uroce_port_conf *port);

#endif /* UROCE_VERBS_CONF_H */
