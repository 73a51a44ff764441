/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports that bond other ports.
 */

#ifndef UROCE_PORT_ETHDEV_BONDING_H
#define UROCE_PORT_ETHDEV_BONDING_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "uroce_config.h"

/* The members of a bonding device; none of other devices. Control threads write it before workers poll the port. */
struct uroce_bond {
	uint16_t count;
	uint16_t members[UROCE_BOND_MEMBERS];
	uint64_t up; /* bit i: the link of member i was up at the last check; worker 0: rw */
	unsigned int introductions; /* announcements due after the last change; worker 0: rw */
};

/**
 * As rte_eth_dev_info_get(), before the port is configured. Of a bonding device: its members, and what each of them can
 * do. Afterward the port is configured, but has no queues that could be used.
 *
 * @return 0 or -errno
 */
int uroce_bonding_info_get(uint16_t port_id, struct rte_eth_dev_info *info, struct uroce_bond *bond);

/** Is the port a member of a bonding device, which drives it? */
bool uroce_bonding_is_member(uint16_t port_id);

/** Check the links of the members. @return true: traffic may use another member than before, so that the port must
 * announce its addresses to the switch; also in some checks after that. Worker 0 of the port, within a poll */
bool uroce_bonding_has_moved(struct uroce_bond *bond);

#endif /* UROCE_PORT_ETHDEV_BONDING_H */
