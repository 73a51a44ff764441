/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Chooses a port's Ethernet MTU when the port is opened: the MTU that path MTU 4096 needs, or the device's maximum if
 * that is lower.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>

#include "port/ethdev/mtu.h"
#include "port/udp/device.h"
#include "uroce_config.h"

#define L2_BYTES           18   /* Ethernet header and VLAN tag */
#define MEMIF_BUFFER_BYTES 2048 /* default of net_memif's bsize */
#define XDP_ROOM_BYTES     3072 /* largest data room, in whole KiB, of an mbuf that fits a page */
#define XDP_KERNEL_BYTES   256  /* bytes before each frame that the kernel reserves for XDP */
#define MIN_MTU            (256 + UROCE_MTU_OVERHEAD)

/* @return the MTU of the kernel's interface below the port; 0: there is none */
static uint32_t
interface_mtu(const struct rte_eth_dev_info *info)
{
	struct ifreq ifr = { 0 };
	uint32_t mtu = 0;
	int fd;

	if (info->if_index == 0 || if_indextoname(info->if_index, ifr.ifr_name) == NULL)
		return 0;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	if (ioctl(fd, SIOCGIFMTU, &ifr) == 0 && ifr.ifr_mtu > 0)
		mtu = (uint32_t)ifr.ifr_mtu;
	close(fd);
	return mtu;
}

static uint32_t
packet_mtu(const struct rte_eth_dev_info *info, uint32_t announced)
{
	return RTE_MAX(interface_mtu(info), announced);
}

/* A frame of AF_XDP shares one page with its mbuf and the bytes that the kernel reserves. The MTU of the interface
 * below may be lower; the driver does not check that. */
static uint32_t
xdp_mtu(const struct rte_eth_dev_info *info, uint32_t announced)
{
	uint32_t page = XDP_ROOM_BYTES - XDP_KERNEL_BYTES - L2_BYTES - RTE_ETHER_CRC_LEN;
	uint32_t interface = interface_mtu(info);

	announced = RTE_MIN(announced, page);
	return interface != 0 ? RTE_MIN(interface, announced) : announced;
}

/* The size of one buffer of net_memif, which its argument bsize sets. The driver can spread a frame over several
 * buffers, but then miscounts the slots when its ring is nearly full (DPDK 22.11): it writes to one slot more than is
 * free, and corrupts the ring. */
static uint32_t
memif_mtu(const struct rte_eth_dev_info *info, uint32_t announced)
{
	const struct rte_devargs *devargs = info->device != NULL ? rte_dev_devargs(info->device)
								 : NULL;
	struct rte_kvargs *args = NULL;
	uint32_t bytes = MEMIF_BUFFER_BYTES;
	const char *value = NULL;

	if (devargs != NULL && devargs->args != NULL)
		args = rte_kvargs_parse(devargs->args, NULL);
	if (args != NULL)
		value = rte_kvargs_get(args, "bsize");
	if (value != NULL)
		bytes = (uint32_t)RTE_MIN(strtoul(value, NULL, 10), UINT16_MAX);
	rte_kvargs_free(args);
	return bytes > L2_BYTES ? RTE_MAX(bytes - L2_BYTES, announced) : announced;
}

/* A port on UDP sockets is a net_null device. */
static uint32_t
null_mtu(const struct rte_eth_dev_info *info, uint32_t announced)
{
	const struct uroce_udp_device *udp = info->device != NULL ? uroce_udp_device_find(rte_dev_name(info->device))
								  : NULL;

	return udp != NULL ? RTE_MIN(udp->mtu, announced) : announced;
}

/* Drivers whose real limit differs from the one that they announce: higher, for frames larger than 1518 bytes, or
 * lower. */
static const struct {
	const char *driver;
	uint32_t (*limit)(const struct rte_eth_dev_info *info, uint32_t announced);
} others[] = {
	{ "net_af_packet", packet_mtu },
	{ "net_af_xdp", xdp_mtu },
	{ "net_memif", memif_mtu },
	{ "net_null", null_mtu },
};

/* @return the highest MTU that rte_eth_dev_configure() accepts */
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

uint32_t
uroce_mtu_most(const struct rte_eth_dev_info *info)
{
	uint32_t announced = announced_mtu(info);
	uint32_t limit = announced;

	for (unsigned int i = 0; i < RTE_DIM(others); i++)
		if (info->driver_name != NULL && strcmp(info->driver_name, others[i].driver) == 0)
			limit = others[i].limit(info, announced);
	return RTE_MIN(limit, UINT16_MAX); /* the loopback interface has an MTU of 65536 */
}

int
uroce_mtu_choose(const struct rte_eth_dev_info *info, uint16_t wanted, struct uroce_mtu *chosen)
{
	uint32_t announced = announced_mtu(info);
	uint32_t limit = uroce_mtu_most(info);

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
