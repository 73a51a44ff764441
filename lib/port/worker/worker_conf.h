/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The configuration of a worker.
 */

#ifndef UROCE_PORT_WORKER_WORKER_CONF_H
#define UROCE_PORT_WORKER_WORKER_CONF_H

#include "uroce.h"

/** Copy the program's configuration, fill in the defaults and check it.
 * @param program_conf	NULL: all defaults. @return 0; -EINVAL: a member is out of its range, or size; -E2BIG: size */
int uroce_worker_conf_get(struct uroce_worker_conf *conf, const struct uroce_worker_conf *program_conf);

#endif /* UROCE_PORT_WORKER_WORKER_CONF_H */
