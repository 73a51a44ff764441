/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps registered external memory for a device by rte_dev_dma_map(). mlx5's driver maps the memory itself; VFIO
 * maps it for devices bound to vfio-pci. Other devices return ENOTSUP, and need no mapping. Control threads.
 */

#define ALLOW_EXPERIMENTAL_API	/* for DPDK 22.11 */

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <rte_bus.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_vfio.h>

#include "port/ethdev/dma.h"
#include "base/log.h"
#include "port/port.h"

/* Can the device send through a NIC behind an IOMMU without mapping memory for it? net_bonding and net_failsafe do. */
static bool
may_hide_an_iommu(const struct rte_device *device)
{
	return strcmp(rte_bus_name(rte_dev_bus(device)), "vdev") == 0 && rte_vfio_is_enabled("vfio") &&
	       rte_vfio_noiommu_is_enabled() != 1;
}

static int
map(void *arg, void *va, rte_iova_t iova, size_t bytes)
{
	struct rte_device *device = arg;
	int error;

	if (rte_dev_dma_map(device, va, iova, bytes) == 0)
		return 0;
	error = rte_errno;
	if (error == ENOTSUP && !may_hide_an_iommu(device))
		return -ENOTSUP;
	UROCE_LOG(WARNING,
		  "device %s cannot map %zu bytes of external memory at %p: %s: payloads in this memory are copied\n",
		  rte_dev_name(device), bytes, va, rte_strerror(error));
	return error != ENOTSUP ? -error : -EIO;
}

/* Does the device still exist? It may have been removed while another port kept the area mapped. */
static bool
is_there(const struct rte_device *device)
{
	struct rte_eth_dev_info info;

	for (uint16_t port_id = 0; port_id < RTE_MAX_ETHPORTS; port_id++)
		if (rte_eth_dev_is_valid_port(port_id) && rte_eth_dev_info_get(port_id, &info) == 0 &&
		    info.device == device)
			return true;
	return false;
}

static void
unmap(void *arg, void *va, rte_iova_t iova, size_t bytes)
{
	struct rte_device *device = arg;

	if (is_there(device) && rte_dev_dma_unmap(device, va, iova, bytes) != 0)
		UROCE_LOG(WARNING, "device %s cannot unmap %zu bytes of external memory at %p: %s\n",
			  rte_dev_name(device), bytes, va, rte_strerror(rte_errno));
}

void
uroce_port_dma_init(struct uroce_port *port)
{
	static const struct uroce_dma_ops ops = { .map = map, .unmap = unmap };
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port->port_id, &info) != 0 || info.device == NULL)
		return;
	port->dev.mrs.dma.ops = &ops;
	/* the device, not the port, which may be closed before the area is unmapped */
	port->dev.mrs.dma.arg = info.device;
}
