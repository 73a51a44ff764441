/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Joins and leaves multicast groups for the QPs of a device: updates the snapshot that workers read and the port's
 * filter, and has worker 0 report to routers. Control threads, under the port's lock.
 */

#include <errno.h>

#include "port/ethdev/ethdev.h"
#include "port/net/gid.h"
#include "base/log.h"
#include "port/mcast.h"

static int
join(struct uroce_port *port, const uint8_t gid[16])
{
	int ret;

	ret = uroce_groups_join(&port->groups, gid);
	if (ret <= 0)
		return ret;
	ret = uroce_gids_publish(port);
	if (ret < 0) {
		uroce_groups_leave(&port->groups, gid);
		return ret;
	}
	uroce_ethdev_listen(port, port->published);
	return 0;
}

int
uroce_port_mcast_join(struct uroce_device *dev, const union ibv_gid *mgid)
{
	struct uroce_port *port = uroce_port_of(dev);
	int ret;

	if (!uroce_gid_is_multicast(mgid->raw))
		return -EINVAL;
	pthread_mutex_lock(&port->lock);
	ret = join(port, mgid->raw);
	pthread_mutex_unlock(&port->lock);
	if (ret == 0)
		uroce_port_upkeep_by(port, 0);
	return ret;
}

void
uroce_port_mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid)
{
	struct uroce_port *port = uroce_port_of(dev);

	pthread_mutex_lock(&port->lock);
	if (uroce_groups_leave(&port->groups, mgid->raw)) {
		/* without a new snapshot the workers still accept the group's packets, but find no QP for them */
		if (uroce_gids_publish(port) < 0)
			UROCE_LOG(NOTICE,
				  "%s: no memory for %zu bytes of addresses: the device still accepts packets to a "
				  "multicast group that it has left\n",
				  dev->ibv.name, sizeof(struct uroce_addresses));
		uroce_ethdev_listen(port, port->published);
	}
	pthread_mutex_unlock(&port->lock);
	uroce_port_upkeep_by(port, 0);
}
