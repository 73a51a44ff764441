/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Stores the service that lib/port registers, and uroce_cm_lock. Registered once, before a device opens; any thread
 * reads.
 */

#include <stddef.h>

#include "cm/service.h"

pthread_mutex_t uroce_cm_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct uroce_cm_service_ops *registered;

void
uroce_cm_service_register(const struct uroce_cm_service_ops *ops)
{
	/* pairs with the acquire in uroce_cm_service() */
	__atomic_store_n(&registered, ops, __ATOMIC_RELEASE);
}

const struct uroce_cm_service_ops *
uroce_cm_service(void)
{
	return __atomic_load_n(&registered, __ATOMIC_ACQUIRE);
}
