/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The GID table of a port: index 0 is the link-local address; the application adds the other addresses.
 */

#ifndef UROCE_PORT_NET_GID_H
#define UROCE_PORT_NET_GID_H

#include "port/net/address.h"

struct uroce_port;

/* Control threads, under the port's lock. */
struct uroce_gid {
	struct uroce_subnet subnet;
	bool used;
	uint32_t refs; /* paths with this source address */
};

/** Fill in index 0 and publish the first snapshot. @return 0 or -errno */
int uroce_gids_init(struct uroce_port *port);
void uroce_gids_fini(struct uroce_port *port);

/** Publish a snapshot of the current addresses and groups to the workers. Under the port's lock.
 * @return 0; -ENOMEM: the workers keep the previous snapshot */
int uroce_gids_publish(struct uroce_port *port);

/** Hold the GID table's entry `index` as a path's source address. Under the port's lock. @param gid	set to its GID.
 * @return 0; -EINVAL: the entry is not used */
int uroce_gid_get(struct uroce_port *port, unsigned int index, uint8_t gid[16]);
void uroce_gid_put(struct uroce_port *port, const uint8_t gid[16]);

#endif /* UROCE_PORT_NET_GID_H */
