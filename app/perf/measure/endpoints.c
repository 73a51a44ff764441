/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The list of endpoints: the main thread adds and removes them, the prompt's thread reads. Not on the measured path.
 */

#include <pthread.h>
#include <string.h>

#include <rte_debug.h>

#include "measure/endpoints.h"

#define MAX_ENDS (2 * UROCE_MAX_WORKERS) /* lanes of client and server */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list, and keeps its endpoints alive */
static struct perf_end *ends[MAX_ENDS];
static unsigned int nb_ends;

void
uroce_perf_endpoints_add(struct perf_end *end)
{
	pthread_mutex_lock(&lock);
	RTE_VERIFY(nb_ends < MAX_ENDS);
	ends[nb_ends++] = end;
	pthread_mutex_unlock(&lock);
}

void
uroce_perf_endpoints_remove(struct perf_end *end)
{
	unsigned int kept = 0;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < nb_ends; i++) {
		if (ends[i] != end)
			ends[kept++] = ends[i];
	}
	nb_ends = kept;
	pthread_mutex_unlock(&lock);
}

unsigned int
uroce_perf_endpoints_visit(void (*fn)(struct perf_end *end, void *arg), void *arg)
{
	unsigned int n;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; i < nb_ends; i++)
		fn(ends[i], arg);
	n = nb_ends;
	pthread_mutex_unlock(&lock);
	return n;
}
