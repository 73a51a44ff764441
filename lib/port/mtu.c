/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Chooses a port's MTU, when it is opened: what path MTU 4096 needs, or as much of it as the port can do.
 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "port/mtu.h"
#include "uroce_config.h"

#define MIN_MTU (256 + UROCE_MTU_OVERHEAD)

/* Drivers that announce frames of 1518 bytes at most, and pass any that their buffers can hold. */
static const char *const modest[] = { "net_af_packet", "net_memif" };

static bool
is_modest(const struct rte_eth_dev_info *info)
{
	for (unsigned int i = 0; i < RTE_DIM(modest); i++)
		if (info->driver_name != NULL && strcmp(info->driver_name, modest[i]) == 0)
			return true;
	return false;
}

/* The MTU of the kernel's interface below the port, 0 when there is none. */
static uint32_t
interface_mtu(unsigned int if_index)
{
	struct ifreq ifr = { 0 };
	uint32_t mtu = 0;
	int fd;

	if (if_index == 0 || if_indextoname(if_index, ifr.ifr_name) == NULL)
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu > 0)
		mtu = (uint32_t)ifr.ifr_mtu;
	close(fd);
	return mtu;
}

/* What rte_eth_dev_configure() accepts. */
static uint32_t
announced_mtu(const struct rte_eth_dev_info *info)
{
	uint32_t overhead = RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	if (info->max_mtu != UINT16_MAX && info->max_rx_pktlen > info->max_mtu)
		overhead = info->max_rx_pktlen - info->max_mtu;
	if (info->max_rx_pktlen < overhead)
		return 0;
	return RTE_MIN(info->max_rx_pktlen - overhead, info->max_mtu);
}

int
uroce_mtu_choose(const struct rte_eth_dev_info *info, uint16_t wanted, struct uroce_mtu *chosen)
{
	uint32_t announced = announced_mtu(info);
	uint32_t limit = announced;

	if (is_modest(info)) {
		limit = interface_mtu(info->if_index);
		if (limit == 0)
			limit = UINT16_MAX;
	}
	if (wanted == 0)
		wanted = (uint16_t)RTE_MIN(limit, UROCE_PORT_MTU);
	chosen->least = RTE_MAX((uint16_t)MIN_MTU, info->min_mtu);
	chosen->most = (uint16_t)limit;
	if (wanted > chosen->most || wanted < chosen->least)
		return -EINVAL;
	chosen->mtu = wanted;
	chosen->configured = (uint16_t)RTE_MIN(wanted, announced);
	return 0;
}
