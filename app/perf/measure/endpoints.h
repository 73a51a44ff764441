/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The endpoints that exist in this process, for the prompt to show: main thread and prompt's.
 */

#ifndef UROCE_PERF_MEASURE_ENDPOINTS_H
#define UROCE_PERF_MEASURE_ENDPOINTS_H

#include "measure/endpoint.h"

/** Add an endpoint that is complete. */
void uroce_perf_endpoints_add(struct perf_end *end);
/** Before it is destroyed: waits until no thread reads it. Also for one that was never added. */
void uroce_perf_endpoints_remove(struct perf_end *end);

/** Call fn for each of them. They stay meanwhile, so be quick. @return how many there were */
unsigned int uroce_perf_endpoints_visit(void (*fn)(struct perf_end *end, void *arg), void *arg);

#endif /* UROCE_PERF_MEASURE_ENDPOINTS_H */
