/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The limits that a program may set: the members of struct uroce_worker_conf and struct uroce_port_conf that are
 * numbers, with their ranges and defaults. Control threads.
 */

#ifndef UROCE_PORT_LIMITS_H
#define UROCE_PORT_LIMITS_H

#include "uroce.h"

/** Set limits that are 0 to their defaults, as far as these do not depend on the port or on other limits, and check the
 * others. @return 0; -EINVAL: one is out of its range */
int uroce_limits_worker(struct uroce_worker_conf *conf);
int uroce_limits_port(struct uroce_port_conf *conf);

#endif /* UROCE_PORT_LIMITS_H */
