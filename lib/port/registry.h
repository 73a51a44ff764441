/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process's open devices by index, for loopback, progress and telemetry.
 */

#ifndef UROCE_PORT_REGISTRY_H
#define UROCE_PORT_REGISTRY_H

#include <stdint.h>

#include "port/port.h"
#include "uroce_config.h"

extern struct uroce_port
	*uroce_registry[UROCE_MAX_DEVICES]; /* control: release; workers: acquire */

/** Keep devices from being opened and closed until unlock. Take it before any port's lock. Control threads. */
void uroce_registry_lock(void);
void uroce_registry_unlock(void);

/** Reserve an index for a device. @return the index; -ENOSPC: UROCE_MAX_DEVICES are open; -EBUSY: a device has the
 * port */
int uroce_registry_reserve(uint16_t port_id);
void uroce_registry_release(unsigned int index);
/** Publish the device to workers and telemetry. After unpublish and uroce_rcu_wait() no thread uses it. */
void uroce_registry_publish(struct uroce_port *port);
void uroce_registry_unpublish(struct uroce_port *port);

/** @return the device of this index, or NULL. Workers within a poll; other threads with the lock held */
static inline struct uroce_port *
uroce_registry_port(unsigned int index)
{
	if (index >= UROCE_MAX_DEVICES)
		return NULL;
	/* pairs with the release in uroce_registry_publish() */
	return __atomic_load_n(&uroce_registry[index], __ATOMIC_ACQUIRE);
}

#endif /* UROCE_PORT_REGISTRY_H */
