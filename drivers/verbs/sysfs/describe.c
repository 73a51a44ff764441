/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes the files below /sys/class in which programs find devices without libibverbs. Names and formats are the
 * kernel's (Documentation/ABI/stable/sysfs-class-infiniband); the contents are libibverbs' description of the same
 * device. One thread.
 */

#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <infiniband/verbs.h>

#include "sysfs/describe.h"
#include "sysfs/tree.h"

#define CLASS "sys/class/"
#define NOTHING_BEHIND "0:0"	/* major:minor of the character devices, which have no driver */
#define GID_TEXT_BYTES sizeof("0000:0000:0000:0000:0000:0000:0000:0000")

/* Versions of the kernel's interfaces: IB_USER_VERBS_ABI_VERSION, RDMA_USER_CM_ABI_VERSION, IB_USER_MAD_ABI_VERSION. */
enum { VERBS_ABI = 6, DRIVER_ABI = 1, CM_ABI = 4, MAD_ABI = 5 };

static const char *
state_name(enum ibv_port_state state)
{
	static const char *const names[] = {
		[IBV_PORT_NOP] = "NOP", [IBV_PORT_DOWN] = "DOWN", [IBV_PORT_INIT] = "INIT",
		[IBV_PORT_ARMED] = "ARMED", [IBV_PORT_ACTIVE] = "ACTIVE", [IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
	};

	return (size_t)state < sizeof(names) / sizeof(names[0]) ? names[state] : "UNKNOWN";
}

static const char *
phys_state_name(uint8_t state)
{
	static const char *const names[] = { [1] = "Sleep", [2] = "Polling", [3] = "Disabled",
		[4] = "PortConfigurationTraining", [5] = "LinkUp", [6] = "LinkErrorRecovery", [7] = "Phy Test" };

	return state >= 1 && state < sizeof(names) / sizeof(names[0]) ? names[state] : "<unknown>";
}

/* Speeds of one lane; the rate is in units of 100 Mb/s. */
static const struct {
	uint8_t speed;
	uint16_t rate;
	const char *name;
} speeds[] = {
	{ 1, 25, "SDR" }, { 2, 50, "DDR" }, { 4, 100, "QDR" }, { 8, 100, "FDR10" }, { 16, 140, "FDR" },
	{ 32, 250, "EDR" }, { 64, 500, "HDR" }, { 128, 1000, "NDR" },
};

static void
put_rate(struct uroce_tree *tree, const struct ibv_port_attr *attr)
{
	const unsigned int lanes = attr->active_width == 16 ? 2 : attr->active_width == 2 ? 4 :
				   attr->active_width == 4 ? 8 : attr->active_width == 8 ? 12 : 1;
	unsigned int i = 0, rate;

	while (i < sizeof(speeds) / sizeof(speeds[0]) - 1 && speeds[i].speed != attr->active_speed)
		i++;
	rate = lanes * speeds[i].rate;
	if (rate % 10 != 0)
		uroce_tree_put(tree, "rate", "%u.%u Gb/sec (%uX %s)", rate / 10, rate % 10, lanes, speeds[i].name);
	else
		uroce_tree_put(tree, "rate", "%u Gb/sec (%uX %s)", rate / 10, lanes, speeds[i].name);
}

static void
put_guid(struct uroce_tree *tree, const char *name, __be64 guid)
{
	const uint64_t value = be64toh(guid);

	uroce_tree_put(tree, name, "%04x:%04x:%04x:%04x", (unsigned int)(value >> 48),
		       (unsigned int)(value >> 32) & 0xffff, (unsigned int)(value >> 16) & 0xffff,
		       (unsigned int)value & 0xffff);
}

static void
put_gid(struct uroce_tree *tree, unsigned int index, const union ibv_gid *gid)
{
	char name[12], text[GID_TEXT_BYTES];
	size_t n = 0;

	snprintf(name, sizeof(name), "%u", index);
	for (unsigned int i = 0; i < sizeof(gid->raw); i += 2)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%02x%02x", i == 0 ? "" : ":", gid->raw[i],
				      gid->raw[i + 1]);
	uroce_tree_put(tree, name, "%s", text);
}

/* Write the name of the port's network interface to `name`. @return NULL: the system has no such interface */
static const char *
interface_of(struct ibv_context *context, int index, char name[IF_NAMESIZE])
{
	struct ibv_gid_entry entry;

	if (ibv_query_gid_ex(context, 1, (uint32_t)index, &entry, 0) != 0 || entry.ndev_ifindex == 0)
		return NULL;
	return if_indextoname(entry.ndev_ifindex, name);
}

/* An empty entry has a GID of zeros, and neither a type nor an interface. */
static void
put_gids(struct uroce_tree *tree, const char *port, struct ibv_context *context, int count)
{
	struct ibv_gid_entry entry;
	char name[IF_NAMESIZE], index[12];
	union ibv_gid gid;

	uroce_tree_within(tree, "%s/gids", port);
	for (int i = 0; i < count && tree->error == 0; i++)
		if (ibv_query_gid(context, 1, i, &gid) == 0)
			put_gid(tree, (unsigned int)i, &gid);
	uroce_tree_within(tree, "%s/gid_attrs/ndevs", port);
	for (int i = 0; i < count && tree->error == 0; i++) {
		snprintf(index, sizeof(index), "%d", i);
		if (interface_of(context, i, name) != NULL)
			uroce_tree_put(tree, index, "%s", name);
	}
	uroce_tree_within(tree, "%s/gid_attrs/types", port);
	for (int i = 0; i < count && tree->error == 0; i++) {
		snprintf(index, sizeof(index), "%d", i);
		if (ibv_query_gid_ex(context, 1, (uint32_t)i, &entry, 0) == 0)
			uroce_tree_put(tree, index, "%s",
				       entry.gid_type == IBV_GID_TYPE_ROCE_V2 ? "RoCE v2" : "IB/RoCE v1");
	}
}

static int
put_port(struct uroce_tree *tree, const char *device, struct ibv_context *context)
{
	char port[UROCE_VERBS_PATH_BYTES];
	struct ibv_port_attr attr;
	__be16 pkey;
	int error = ibv_query_port(context, 1, &attr);

	if (error != 0)
		return error;
	if (snprintf(port, sizeof(port), "%s/ports/1", device) >= (int)sizeof(port))
		return ENAMETOOLONG;
	uroce_tree_within(tree, "%s", port);
	uroce_tree_put(tree, "state", "%d: %s", attr.state, state_name(attr.state));
	uroce_tree_put(tree, "phys_state", "%u: %s", attr.phys_state, phys_state_name(attr.phys_state));
	put_rate(tree, &attr);
	uroce_tree_put(tree, "lid", "0x%x", attr.lid);
	uroce_tree_put(tree, "lid_mask_count", "%u", attr.lmc);
	uroce_tree_put(tree, "sm_lid", "0x%x", attr.sm_lid);
	uroce_tree_put(tree, "sm_sl", "%u", attr.sm_sl);
	uroce_tree_put(tree, "cap_mask", "0x%08x", attr.port_cap_flags);
	uroce_tree_put(tree, "link_layer", "%s",
		       attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand");
	put_gids(tree, port, context, attr.gid_tbl_len);
	uroce_tree_within(tree, "%s/pkeys", port);
	for (int i = 0; i < attr.pkey_tbl_len && tree->error == 0; i++) {
		char name[12];

		snprintf(name, sizeof(name), "%d", i);
		if (ibv_query_pkey(context, 1, i, &pkey) == 0)
			uroce_tree_put(tree, name, "0x%04x", be16toh(pkey));
	}
	return tree->error;
}

/* The device's parent has no bus, and libibverbs does not know its NUMA node. Programs look for a device's network
 * interface in device/net; a device without an interface has no such directory. */
static void
put_parent(struct uroce_tree *tree, const char *device, struct ibv_context *context,
	   const struct ibv_device_attr *attr)
{
	char name[IF_NAMESIZE], target[IF_NAMESIZE + sizeof("../../../../net/")];

	uroce_tree_within(tree, "%s/device", device);
	uroce_tree_put(tree, "vendor", "0x%04x", attr->vendor_id);
	uroce_tree_put(tree, "device", "0x%04x", attr->vendor_part_id);
	uroce_tree_put(tree, "numa_node", "-1");
	if (interface_of(context, 0, name) == NULL)
		return;
	uroce_tree_within(tree, "%s/device/net", device);
	snprintf(target, sizeof(target), "../../../../net/%s", name);
	uroce_tree_link(tree, name, target);
}

static int
put_device(struct uroce_tree *tree, struct ibv_device *ibv, struct ibv_context *context)
{
	const char *name = ibv_get_device_name(ibv);
	char device[UROCE_VERBS_PATH_BYTES];
	struct ibv_device_attr attr;
	int error = ibv_query_device(context, &attr);

	if (error != 0)
		return error;
	snprintf(device, sizeof(device), CLASS "infiniband/%s", name);
	uroce_tree_within(tree, "%s", device);
	uroce_tree_put(tree, "node_type", "%d: CA", ibv->node_type);
	put_guid(tree, "node_guid", attr.node_guid);
	put_guid(tree, "sys_image_guid", attr.sys_image_guid);
	uroce_tree_put(tree, "node_desc", "%s", name);
	uroce_tree_put(tree, "fw_ver", "%s", attr.fw_ver);
	uroce_tree_put(tree, "hw_rev", "%x", attr.hw_ver);
	uroce_tree_put(tree, "hca_type", "uroce");
	uroce_tree_put(tree, "board_id", "uroce");
	put_parent(tree, device, context, &attr);
	error = put_port(tree, device, context);
	if (error != 0)
		return error;
	uroce_tree_within(tree, CLASS "infiniband_verbs/%s", ibv->dev_name);
	uroce_tree_put(tree, "abi_version", "%d", DRIVER_ABI);
	uroce_tree_put(tree, "dev", NOTHING_BEHIND);
	uroce_tree_put(tree, "ibdev", "%s", name);
	snprintf(device, sizeof(device), "../../infiniband/%s/device", name);
	uroce_tree_link(tree, "device", device);
	uroce_tree_within(tree, "dev/infiniband");
	uroce_tree_device(tree, ibv->dev_name);
	return tree->error;
}

static void
put_interfaces(struct uroce_tree *tree)
{
	uroce_tree_within(tree, CLASS "infiniband_verbs");
	uroce_tree_put(tree, "abi_version", "%d", VERBS_ABI);
	uroce_tree_within(tree, CLASS "infiniband_mad");
	uroce_tree_put(tree, "abi_version", "%d", MAD_ABI);
	uroce_tree_within(tree, CLASS "misc/rdma_cm");
	uroce_tree_put(tree, "abi_version", "%d", CM_ABI);
	uroce_tree_put(tree, "dev", NOTHING_BEHIND);
	uroce_tree_within(tree, "dev/infiniband");
	uroce_tree_device(tree, "rdma_cm");
}

int
uroce_describe(const char *root)
{
	struct uroce_tree tree = { .root = root };
	struct ibv_device **list;
	struct ibv_context *context;
	int count = 0, error;

	list = ibv_get_device_list(&count);
	error = list == NULL ? ENOMEM : count == 0 ? ENODEV : 0;
	if (error == 0)
		put_interfaces(&tree);
	for (int i = 0; i < count && error == 0; i++) {
		context = ibv_open_device(list[i]);
		error = context == NULL ? errno : put_device(&tree, list[i], context);
		if (context != NULL)
			ibv_close_device(context);
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return -error;
}
