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
	uint16_t mtu;        /* the port's MTU */
	uint16_t configured; /* MTU to pass to rte_eth_dev_configure() */
	uint16_t least;      /* lowest MTU of the port, for messages */
	uint16_t most;       /* highest MTU of the port, for messages */
};

/** @return the highest MTU that the device passes, which may differ from the one that it announces */
uint32_t uroce_mtu_most(const struct rte_eth_dev_info *info);

/** Choose the MTU. @param wanted	0: the default. @return 0; -EINVAL: not in least..most */
int uroce_mtu_choose(const struct rte_eth_dev_info *info, uint16_t wanted,
		     struct uroce_mtu *chosen);

#endif /* UROCE_PORT_ETHDEV_MTU_H */
