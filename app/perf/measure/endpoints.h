/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The endpoints of this process, for the prompt to show. Main thread and prompt's thread.
 */

#ifndef UROCE_PERF_MEASURE_ENDPOINTS_H
#define UROCE_PERF_MEASURE_ENDPOINTS_H

#include "measure/endpoint.h"

/** Add a complete endpoint. */
void uroce_perf_endpoints_add(struct perf_end *end);
/** Remove an endpoint before it is destroyed: waits until no thread reads it. Also for one that was never added. */
void uroce_perf_endpoints_remove(struct perf_end *end);

/** Call fn for each endpoint. The lock is held, so fn must be quick. @return number of endpoints */
unsigned int uroce_perf_endpoints_visit(void (*fn)(struct perf_end *end, void *arg), void *arg);

#endif /* UROCE_PERF_MEASURE_ENDPOINTS_H */
