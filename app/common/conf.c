/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The configurations of a program's workers and ports, from --limits. Main thread.
 */

#include "conf.h"

int
uroce_app_conf(const char *limits, struct uroce_worker_conf *worker, struct uroce_port_conf *port, char *reason,
	       size_t room)
{
	*worker = (struct uroce_worker_conf){ .size = sizeof(*worker), .numa_node = -1 };
	*port = (struct uroce_port_conf){ .size = sizeof(*port) };
	return limits != NULL ? uroce_parse_limits(limits, worker, port, reason, room) : 0;
}

bool
uroce_app_limits_check(const char *limits, char *reason, size_t room)
{
	struct uroce_worker_conf worker;
	struct uroce_port_conf port;

	return uroce_app_conf(limits, &worker, &port, reason, room) == 0;
}
