/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The server's process.
 */

#ifndef UROCE_PERF_PEER_SERVICE_H
#define UROCE_PERF_PEER_SERVICE_H

#include "host.h"
#include "options.h"

/** Wait for one client and serve all its tests. @return the exit status; messages are printed */
int uroce_perf_serve(struct app_host *host, const struct perf_options *o);

#endif /* UROCE_PERF_PEER_SERVICE_H */
