/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Counts the users of the service, event channels and IDs: the first starts it, the last stops it. Without
 * uroce_cm_lock, since the service's thread takes that. Any thread.
 */

#include <errno.h>

#include <rte_debug.h>

#include "cm/rdma/cma.h"

/* Held while the service starts or stops; before uroce_cm_lock. */
static pthread_mutex_t transition = PTHREAD_MUTEX_INITIALIZER;
static uint32_t users; /* under uroce_cm_lock */

int
uroce_cma_users_get(void)
{
	const struct uroce_cm_service_ops *service = uroce_cm_service();
	bool first;
	int ret = 0;

	if (service == NULL)
		return -ENODEV;
	pthread_mutex_lock(&transition);
	uroce_cma_lock();
	first = users == 0;
	uroce_cma_unlock();
	if (first)
		ret = service->start();
	if (ret == 0) {
		uroce_cma_lock();
		users++;
		uroce_cma_unlock();
	}
	pthread_mutex_unlock(&transition);
	return ret;
}

void
uroce_cma_users_put(void)
{
	bool last;

	pthread_mutex_lock(&transition);
	uroce_cma_lock();
	uroce_cma_users_less();
	last = users == 0;
	uroce_cma_unlock();
	if (last)
		uroce_cm_service()->stop();
	pthread_mutex_unlock(&transition);
}

void
uroce_cma_users_more(void)
{
	RTE_VERIFY(users > 0);
	users++;
}

void
uroce_cma_users_less(void)
{
	RTE_VERIFY(users > 0);
	users--;
}
