/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Chooses a port's Ethernet MTU.
 */

#ifndef UROCE_PORT_ETHDEV_MTU_H
#define UROCE_PORT_ETHDEV_MTU_H

#include <stdint.h>

#include <rte_ethdev.h>

struct uroce_mtu {
	uint16_t mtu;        /* to work with */
	uint16_t configured; /* to give to rte_eth_dev_configure() */
	uint16_t least;      /* what the port can have, for messages */
	uint16_t most;
};

/** @param wanted	0: the default. @return 0, or -EINVAL: the port cannot */
int uroce_mtu_choose(const struct rte_eth_dev_info *info, uint16_t wanted,
		     struct uroce_mtu *chosen);

#endif /* UROCE_PORT_ETHDEV_MTU_H */
