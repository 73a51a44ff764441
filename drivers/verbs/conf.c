/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reads UROCE_LIMITS: NAME=N, separated by commas, for the limits of struct uroce_worker_conf and struct
 * uroce_port_conf. The thread that starts EAL.
 */

#include <stdlib.h>

#include "complain.h"
#include "conf.h"

bool
uroce_verbs_limits(struct uroce_worker_conf *worker, struct uroce_port_conf *port)
{
	const char *limits = getenv("UROCE_LIMITS");
	char reason[256];

	*worker = (struct uroce_worker_conf){ .size = sizeof(*worker), .numa_node = -1 };
	*port = (struct uroce_port_conf){ .size = sizeof(*port) };
	if (limits == NULL || uroce_parse_limits(limits, worker, port, reason, sizeof(reason)) == 0)
		return true;
	uroce_complain("UROCE_LIMITS: %s", reason);
	return false;
}
