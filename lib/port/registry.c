/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of open devices. Control threads write it under its lock; workers read it without the lock.
 */

#include <errno.h>
#include <pthread.h>

#include "port/registry.h"

struct uroce_port *uroce_registry[UROCE_MAX_DEVICES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool used;
	uint16_t port_id;
} reserved[UROCE_MAX_DEVICES]; /* under lock */

void
uroce_registry_lock(void)
{
	pthread_mutex_lock(&lock);
}

void
uroce_registry_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

int
uroce_registry_reserve(uint16_t port_id)
{
	int index = -ENOSPC;

	pthread_mutex_lock(&lock);
	for (int i = UROCE_MAX_DEVICES - 1; i >= 0; i--) {
		if (!reserved[i].used) {
			index = i;
		} else if (reserved[i].port_id == port_id) {
			index = -EBUSY;
			goto unlock;
		}
	}
	if (index >= 0) {
		reserved[index].used = true;
		reserved[index].port_id = port_id;
	}
unlock:
	pthread_mutex_unlock(&lock);
	return index;
}

void
uroce_registry_release(unsigned int index)
{
	pthread_mutex_lock(&lock);
	reserved[index].used = false;
	pthread_mutex_unlock(&lock);
}

void
uroce_registry_publish(struct uroce_port *port)
{
	pthread_mutex_lock(&lock);
	/* pairs with the acquire in uroce_registry_port() */
	__atomic_store_n(&uroce_registry[port->dev.index], port, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

void
uroce_registry_unpublish(struct uroce_port *port)
{
	pthread_mutex_lock(&lock);
	/* relaxed: the caller waits for a grace period before it frees the port */
	__atomic_store_n(&uroce_registry[port->dev.index], NULL, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}
