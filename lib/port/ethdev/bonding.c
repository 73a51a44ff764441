/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports that bond other ports (net_bonding). The driver fails over by itself, but does not report it: it raises no
 * event while any member is up, and the switch goes on sending to the old member. So worker 0 watches the links of the
 * members. The code uses only ethdev's functions, because a program need not have the driver.
 */

#include <string.h>

#include "base/dpdk_compat.h"
#include "base/log.h"
#include "port/ethdev/bonding.h"
#include "port/ethdev/mtu.h"

static_assert(UROCE_BOND_MEMBERS <= 64, "uroce_bond.up has a bit for each");

bool
uroce_bonding_is_member(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_is_valid_port(port_id) && rte_eth_dev_info_get(port_id, &info) == 0 &&
	       (*info.dev_flags & RTE_ETH_DEV_BONDING_MEMBER) != 0;
}

/* Ethdev does not say of which device a port is a member. If the process has several, each has the members of all. */
static void
find_members(uint16_t port_id, struct uroce_bond *bond)
{
	for (uint16_t id = 0; id < RTE_MAX_ETHPORTS && bond->count < UROCE_BOND_MEMBERS; id++)
		if (id != port_id && uroce_bonding_is_member(id))
			bond->members[bond->count++] = id;
}

/* net_bonding relies on the limits that the members' drivers announce, which may be wrong. */
static int
limit_mtu(const struct uroce_bond *bond, struct rte_eth_dev_info *info)
{
	struct rte_eth_dev_info member;
	int ret;

	for (uint16_t i = 0; i < bond->count; i++) {
		ret = rte_eth_dev_info_get(bond->members[i], &member);
		if (ret < 0)
			return ret;
		info->max_mtu = (uint16_t)RTE_MIN(info->max_mtu, uroce_mtu_most(&member));
	}
	return 0;
}

/* A bonding device of EAL's arguments gets its members, and their capabilities, when it is configured for the first
 * time. */
int
uroce_bonding_info_get(uint16_t port_id, struct rte_eth_dev_info *info, struct uroce_bond *bond)
{
	static const struct rte_eth_conf none;
	int ret;

	memset(bond, 0, sizeof(*bond));
	ret = rte_eth_dev_info_get(port_id, info);
	if (ret < 0 || strcmp(info->driver_name, "net_bonding") != 0)
		return ret;
	ret = rte_eth_dev_configure(port_id, 1, 1, &none);
	if (ret == 0)
		ret = rte_eth_dev_info_get(port_id, info);
	if (ret < 0)
		return ret;
	find_members(port_id, bond);
	return limit_mtu(bond, info);
}

bool
uroce_bonding_has_moved(struct uroce_bond *bond)
{
	struct rte_eth_link link;
	uint64_t up = 0;

	for (uint16_t i = 0; i < bond->count; i++)
		if (rte_eth_link_get_nowait(bond->members[i], &link) == 0 && link.link_status == RTE_ETH_LINK_UP)
			up |= UINT64_C(1) << i;
	if (up != bond->up)
		bond->introductions = UROCE_BOND_INTRODUCTIONS;
	bond->up = up;
	if (bond->introductions == 0)
		return false;
	bond->introductions--;
	return true;
}
