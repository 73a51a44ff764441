/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reports the state, speed and MTU of a port's link in verbs' terms. Control threads.
 */

#include "port/ethdev/link.h"
#include "port/ethdev/watch.h"

#define WIDTH_1X 1
#define WIDTH_4X 2

#define SPEED_SDR   1   /* 2.5 Gb/s per lane */
#define SPEED_DDR   2   /* 5 Gb/s per lane */
#define SPEED_FDR10 8   /* 10 Gb/s per lane */
#define SPEED_EDR   32  /* 25 Gb/s per lane */
#define SPEED_HDR   64  /* 50 Gb/s per lane */
#define SPEED_NDR   128 /* 100 Gb/s per lane */

#define PHYS_DISABLED 3
#define PHYS_LINK_UP  5

static const struct {
	uint32_t mbps;
	uint8_t width;
	uint8_t speed;
} speeds[] = {
	{ RTE_ETH_SPEED_NUM_1G, WIDTH_1X, SPEED_SDR },
	{ RTE_ETH_SPEED_NUM_10G, WIDTH_1X, SPEED_FDR10 },
	{ RTE_ETH_SPEED_NUM_20G, WIDTH_4X, SPEED_DDR },
	{ RTE_ETH_SPEED_NUM_25G, WIDTH_1X, SPEED_EDR },
	{ RTE_ETH_SPEED_NUM_40G, WIDTH_4X, SPEED_FDR10 },
	{ RTE_ETH_SPEED_NUM_50G, WIDTH_1X, SPEED_HDR },
	{ RTE_ETH_SPEED_NUM_100G, WIDTH_4X, SPEED_EDR },
	{ RTE_ETH_SPEED_NUM_200G, WIDTH_4X, SPEED_HDR },
	{ UINT32_MAX, WIDTH_4X, SPEED_NDR },
};

enum ibv_mtu
uroce_mtu_of_ethernet(uint16_t ethernet_mtu)
{
	enum ibv_mtu mtu = 0;

	for (enum ibv_mtu m = IBV_MTU_256; m <= IBV_MTU_4096; m++)
		if ((128u << m) + UROCE_MTU_OVERHEAD <= ethernet_mtu)
			mtu = m;
	return mtu;
}

int
uroce_port_query(struct uroce_device *dev, struct ibv_port_attr *attr)
{
	struct uroce_port *port = uroce_port_of(dev);
	struct rte_eth_link link;
	unsigned int i = 0;
	int ret;

	ret = uroce_watch_get_link(port, &link);
	if (ret < 0)
		return ret;
	attr->state = link.link_status == RTE_ETH_LINK_UP ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr->phys_state = link.link_status == RTE_ETH_LINK_UP ? PHYS_LINK_UP : PHYS_DISABLED;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = uroce_mtu_of_ethernet(port->mtu);
	attr->max_vl_num = 1;
	if (link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN)
		link.link_speed = RTE_ETH_SPEED_NUM_NONE;
	while (link.link_speed > speeds[i].mbps)
		i++;
	attr->active_width = speeds[i].width;
	attr->active_speed = speeds[i].speed;
	return 0;
}
