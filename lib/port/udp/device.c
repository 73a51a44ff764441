/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Registers the driver of --vdev=net_uroce_udp0,local=10.0.0.1. DPDK's headers for drivers are not installed with it, so
 * the driver defines no ethdev of its own: it adds a net_null device, whose bursts do nothing, and to which a port adds
 * callbacks that send and receive (port/udp/udp.c). EAL's thread.
 */

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/queue.h>
#include <unistd.h>

#include <arpa/inet.h>

#include <rte_bus_vdev.h>
#include <rte_common.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_kvargs.h>

#include "base/log.h"
#include "port/udp/device.h"
#include "wire/headers.h"

#define DRIVER "net_uroce_udp"

/* DPDK's struct rte_vdev_driver, the same in 22.11 to 25.11. */
struct vdev_driver {
	TAILQ_ENTRY(vdev_driver) next;
	TAILQ_ENTRY(vdev_driver) next_of_bus;
	const char *name;
	const char *alias;
	int (*probe)(void *vdev);
	int (*remove)(void *vdev);
	int (*dma_map)(void *vdev, void *addr, uint64_t iova, size_t len);
	int (*dma_unmap)(void *vdev, void *addr, uint64_t iova, size_t len);
	uint32_t flags;
};

/* DPDK's struct rte_vdev_device begins with this. */
struct vdev_link {
	TAILQ_ENTRY(vdev_link) next;
};

void rte_vdev_register(struct vdev_driver *driver);

static struct uroce_udp_device devices[UROCE_MAX_DEVICES];

static const struct rte_device *
device_of(const void *vdev)
{
	return (const struct rte_device *)((const struct vdev_link *)vdev + 1);
}

const struct uroce_udp_device *
uroce_udp_device_find(const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(devices); i++)
		if (name[0] != '\0' && strcmp(devices[i].name, name) == 0)
			return &devices[i];
	return NULL;
}

static bool
is_same(const union uroce_udp_address *a, const struct sockaddr *b)
{
	if (b == NULL || a->any.sa_family != b->sa_family)
		return false;
	if (b->sa_family == AF_INET)
		return a->ipv4.sin_addr.s_addr == ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	return memcmp(&a->ipv6.sin6_addr, &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr,
		      sizeof(a->ipv6.sin6_addr)) == 0;
}

static uint32_t
mtu_of(const char *interface)
{
	struct ifreq ifr = { .ifr_mtu = 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", interface);
	if (ioctl(fd, SIOCGIFMTU, &ifr) != 0)
		ifr.ifr_mtu = 0;
	close(fd);
	return (uint32_t)RTE_MIN(ifr.ifr_mtu, UINT16_MAX);
}

/* All of 127.0.0.0/8 are addresses of the loopback interface, although it lists only one. @return 0: no interface has
 * the address */
static uint32_t
local_mtu(const union uroce_udp_address *local)
{
	struct ifaddrs *all = NULL;
	uint32_t mtu = 0;

	if (getifaddrs(&all) != 0)
		return 0;
	for (const struct ifaddrs *a = all; a != NULL && mtu == 0; a = a->ifa_next)
		if (is_same(local, a->ifa_addr) ||
		    (local->any.sa_family == AF_INET && ntohl(local->ipv4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET &&
		     (a->ifa_flags & IFF_LOOPBACK) != 0))
			mtu = mtu_of(a->ifa_name);
	freeifaddrs(all);
	return mtu;
}

static int
local_parse(struct uroce_udp_device *d, const char *text)
{
	union uroce_udp_address *local = &d->locals[d->nb_locals];
	uint32_t mtu;

	if (d->nb_locals == UROCE_UDP_LOCALS) {
		UROCE_LOG(ERR, "local=%s: a device has at most %u local addresses\n", text, UROCE_UDP_LOCALS);
		return -EINVAL;
	}
	memset(local, 0, sizeof(*local));
	if (inet_pton(AF_INET, text, &local->ipv4.sin_addr) == 1) {
		local->any.sa_family = AF_INET;
		local->ipv4.sin_port = htons(UROCE_UDP_PORT);
	} else if (inet_pton(AF_INET6, text, &local->ipv6.sin6_addr) == 1) {
		local->any.sa_family = AF_INET6;
		local->ipv6.sin6_port = htons(UROCE_UDP_PORT);
	} else {
		UROCE_LOG(ERR, "local=%s: no IPv4 or IPv6 address: use e.g. local=10.0.0.1, without /24\n", text);
		return -EINVAL;
	}
	mtu = local_mtu(local);
	if (mtu == 0) {
		UROCE_LOG(ERR, "local=%s: no interface of this host has this address: see ip address\n", text);
		return -EADDRNOTAVAIL;
	}
	d->mtu = d->nb_locals == 0 ? mtu : RTE_MIN(d->mtu, mtu);
	d->nb_locals++;
	return 0;
}

static int
pair_parse(const char *key, const char *text, void *arg)
{
	struct uroce_udp_device *d = arg;

	if (strcmp(key, "local") == 0)
		return local_parse(d, text);
	if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0) {
		UROCE_LOG(ERR, "gso=%s: give gso=0 or gso=1\n", text);
		return -EINVAL;
	}
	d->gso = text[0] == '1';
	return 0;
}

/* @return 0 or -errno; logs the error */
static int
args_parse(struct uroce_udp_device *d, const char *args)
{
	static const char *const keys[] = { "local", "gso", NULL };
	struct rte_kvargs *list = rte_kvargs_parse(args, keys);
	int ret = -EINVAL;

	if (list != NULL)
		ret = rte_kvargs_process(list, NULL, pair_parse, d) == 0 ? 0 : -EINVAL;
	else
		UROCE_LOG(ERR, "'%s' is not a list of local=ADDRESS and gso=0 or gso=1\n", args);
	rte_kvargs_free(list);
	if (ret == 0 && d->nb_locals == 0) {
		UROCE_LOG(ERR, "no local address: give one, as --vdev=" DRIVER "0,local=10.0.0.1\n");
		ret = -EINVAL;
	}
	return ret;
}

static struct uroce_udp_device *
slot_find(void)
{
	for (unsigned int i = 0; i < RTE_DIM(devices); i++)
		if (devices[i].name[0] == '\0')
			return &devices[i];
	return NULL;
}

static int
probe(void *vdev)
{
	const struct rte_devargs *devargs = rte_dev_devargs(device_of(vdev));
	struct uroce_udp_device d = { .gso = true }, *slot = slot_find();
	int ret;

	if (slot == NULL)
		return -ENOSPC;
	ret = args_parse(&d, devargs != NULL && devargs->args != NULL ? devargs->args : "");
	if (ret < 0)
		return ret;
	snprintf(d.name, sizeof(d.name), UROCE_UDP_PREFIX "%s", rte_dev_name(device_of(vdev)));
	ret = rte_vdev_init(d.name, "no-rx=1");
	if (ret != 0 && ret != -EEXIST) {
		UROCE_LOG(ERR, "%s needs DPDK's driver net_null: install librte_net_null, or link it\n",
			  rte_dev_name(device_of(vdev)));
		return ret < 0 ? ret : -ENODEV;
	}
	*slot = d;
	return 0;
}

/* The net_null device stays, for the next device of this name: EAL's cleanup calls this function while it walks the list
 * of devices. */
static int
remove_device(void *vdev)
{
	char name[sizeof(devices[0].name)];

	snprintf(name, sizeof(name), UROCE_UDP_PREFIX "%s", rte_dev_name(device_of(vdev)));
	for (unsigned int i = 0; i < RTE_DIM(devices); i++)
		if (strcmp(devices[i].name, name) == 0)
			devices[i].name[0] = '\0';
	return 0;
}

static struct vdev_driver driver = {
	.name = DRIVER,
	.probe = probe,
	.remove = remove_device,
};

RTE_INIT(driver_register)
{
	rte_vdev_register(&driver);
}
