/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Who has gone is noted by whoever sees it, and told to the CM by its service's thread.
 */

#include "cm/service.h"
#include "port/departure.h"
#include "port/registry.h"
#include "port/resolve.h"

void
uroce_depart_all(struct uroce_port *port)
{
	/* pairs with the acquire in uroce_departures_tell() */
	__atomic_add_fetch(&port->departures, 1, __ATOMIC_RELEASE);
	uroce_cm_service()->kick();
}

/* Connections of the process with itself do not go by the link. */
static bool
is_elsewhere(void *arg, const struct uroce_cm_path *path)
{
	const struct uroce_port *own;
	unsigned int index;

	RTE_SET_USED(arg);
	uroce_registry_lock();
	own = uroce_port_find(path->dgid.raw, &index);
	uroce_registry_unlock();
	return own == NULL;
}

void
uroce_departures_tell(struct uroce_port *port, struct uroce_cm *cm, uint64_t *seen, uint64_t now_ns)
{
	uint64_t departures = __atomic_load_n(&port->departures, __ATOMIC_ACQUIRE);

	if (likely(departures == *seen))
		return;
	*seen = departures;
	uroce_cm_depart(cm, is_elsewhere, NULL, now_ns);
}
