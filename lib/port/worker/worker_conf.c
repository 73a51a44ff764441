/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks struct uroce_worker_conf, and fills in its defaults. Control threads.
 */

#include <rte_lcore.h>

#include "base/sized.h"
#include "port/limits.h"
#include "port/worker/worker_conf.h"

#define LEAST_BYTES UROCE_SIZED_UP_TO(struct uroce_worker_conf, path_mtu)

int
uroce_worker_conf_get(struct uroce_worker_conf *conf, const struct uroce_worker_conf *program_conf)
{
	int ret = 0;

	*conf = (struct uroce_worker_conf){ .size = sizeof(*conf), .numa_node = -1 };
	if (program_conf != NULL)
		ret = uroce_sized_get("uroce_worker_conf", conf, sizeof(*conf), LEAST_BYTES, program_conf);
	if (ret == 0)
		ret = uroce_limits_worker(conf);
	if (conf->numa_node < 0)
		conf->numa_node = (int)rte_socket_id();
	return ret;
}
