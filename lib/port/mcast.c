/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Joins and leaves multicast groups for the QPs of a device: in the snapshot that workers read, in the port's
 * filter and, by worker 0, at the routers. Control threads, under the port's lock.
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
		/* workers that go on with the old snapshot find no QP in the group */
		if (uroce_gids_publish(port) < 0)
			UROCE_LOG(NOTICE, "%s: no memory to leave a group\n", dev->ibv.name);
		uroce_ethdev_listen(port, port->published);
	}
	pthread_mutex_unlock(&port->lock);
	uroce_port_upkeep_by(port, 0);
}
