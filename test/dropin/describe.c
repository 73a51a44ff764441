/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The files that describe devices. The test replaces libibverbs' calls: its devices differ in all visible attributes.
 */

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "sysfs/describe.h"

#undef ibv_get_device_list
#undef ibv_query_port

static char root[] = "/tmp/uroce-describe-XXXXXX";
static struct ibv_device devices[2];
static struct ibv_context contexts[2];
static struct ibv_port_attr ports[2];
static int count;
static int opened, query_error;

struct ibv_device **
ibv_get_device_list(int *num_devices)
{
	struct ibv_device **list = calloc(3, sizeof(list[0]));

	assert_non_null(list);
	*num_devices = count;
	for (int i = 0; i < count; i++)
		list[i] = &devices[i];
	return list;
}

void
ibv_free_device_list(struct ibv_device **list)
{
	free(list);
}

const char *
ibv_get_device_name(struct ibv_device *device)
{
	return device->name;
}

struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
	opened++;
	return &contexts[device - devices];
}

int
ibv_close_device(struct ibv_context *context)
{
	opened--;
	return 0;
}

int
ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	*attr = (struct ibv_device_attr){ .fw_ver = "1.2", .node_guid = htobe64(0x0123456789abcdef),
		.sys_image_guid = htobe64(0xfedcba9800000001), .vendor_id = 0x15b3, .hw_ver = 0x2a };
	return query_error;
}

int
ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	assert_int_equal(port_num, 1);
	memcpy(attr, &ports[context - contexts], offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

/* Entry 1 is empty. */
int
_ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index, struct ibv_gid_entry *entry,
		  uint32_t flags, size_t entry_size)
{
	*entry = (struct ibv_gid_entry){ .gid_index = gid_index, .port_num = port_num,
		.gid_type = gid_index == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2,
		.ndev_ifindex = context == &contexts[0] && gid_index != 1 ? 1 : 0 };	/* the loopback interface */
	return gid_index == 1 ? ENODATA : 0;
}

int
ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	return index == 1 ? 0 : inet_pton(AF_INET6, index == 0 ? "fe80::ab:cdef" : "::ffff:10.0.0.1", gid) - 1;
}

int
ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	*pkey = htobe16(0xffff);
	return 0;
}

/* text NULL: the file does not exist */
static void
assert_file(const char *name, const char *text)
{
	char path[256], got[128] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/sys/class/%s", root, name);
	file = fopen(path, "r");
	if (text == NULL) {
		assert_null(file);
		return;
	}
	if (file == NULL)
		fail_msg("%s does not exist", name);
	assert_true(fread(got, 1, sizeof(got) - 1, file) > 0);
	fclose(file);
	assert_string_equal(strtok(got, "\n"), text);
}

static int
setup(void **state)
{
	strcpy(root + strlen(root) - 6, "XXXXXX");
	for (int i = 0; i < 2; i++) {
		snprintf(devices[i].name, sizeof(devices[i].name), "uroce%d", i);
		snprintf(devices[i].dev_name, sizeof(devices[i].dev_name), "uverbs%d", i);
		devices[i].node_type = IBV_NODE_CA;
		contexts[i] = (struct ibv_context){ .device = &devices[i] };
	}
	ports[0] = (struct ibv_port_attr){ .state = IBV_PORT_ACTIVE, .phys_state = 5, .active_width = 2,
		.active_speed = 32, .gid_tbl_len = 3, .pkey_tbl_len = 1, .link_layer = IBV_LINK_LAYER_ETHERNET,
		.port_cap_flags = 0x04010000 };
	ports[1] = (struct ibv_port_attr){ .state = IBV_PORT_DOWN, .phys_state = 3, .active_width = 1,
		.active_speed = 1, .lid = 0x1f, .lmc = 2, .sm_lid = 0x20, .sm_sl = 3,
		.link_layer = IBV_LINK_LAYER_INFINIBAND };
	count = 2;
	opened = 0;
	query_error = 0;
	return mkdtemp(root) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void
test_device(void **state)
{
	assert_int_equal(uroce_describe(root), 0);
	assert_int_equal(opened, 0);
	assert_file("infiniband/uroce0/node_type", "1: CA");
	assert_file("infiniband/uroce0/node_guid", "0123:4567:89ab:cdef");
	assert_file("infiniband/uroce0/sys_image_guid", "fedc:ba98:0000:0001");
	assert_file("infiniband/uroce0/node_desc", "uroce0");
	assert_file("infiniband/uroce0/fw_ver", "1.2");
	assert_file("infiniband/uroce0/hw_rev", "2a");
	assert_file("infiniband/uroce1/device/vendor", "0x15b3");
	assert_file("infiniband/uroce1/device/numa_node", "-1");
	assert_file("infiniband_verbs/uverbs1/ibdev", "uroce1");
	assert_file("infiniband_verbs/uverbs1/device/vendor", "0x15b3");	/* by a symbolic link */
	assert_file("infiniband_verbs/abi_version", "6");
	assert_file("infiniband_mad/abi_version", "5");
	assert_file("misc/rdma_cm/abi_version", "4");
}

static void
test_ports(void **state)
{
	assert_int_equal(uroce_describe(root), 0);
	assert_file("infiniband/uroce0/ports/1/state", "4: ACTIVE");
	assert_file("infiniband/uroce0/ports/1/phys_state", "5: LinkUp");
	assert_file("infiniband/uroce0/ports/1/rate", "100 Gb/sec (4X EDR)");
	assert_file("infiniband/uroce0/ports/1/cap_mask", "0x04010000");
	assert_file("infiniband/uroce0/ports/1/link_layer", "Ethernet");
	assert_file("infiniband/uroce0/ports/1/pkeys/0", "0xffff");
	assert_file("infiniband/uroce0/ports/1/pkeys/1", NULL);
	assert_file("infiniband/uroce1/ports/1/state", "1: DOWN");
	assert_file("infiniband/uroce1/ports/1/phys_state", "3: Disabled");
	assert_file("infiniband/uroce1/ports/1/rate", "2.5 Gb/sec (1X SDR)");
	assert_file("infiniband/uroce1/ports/1/lid", "0x1f");
	assert_file("infiniband/uroce1/ports/1/lid_mask_count", "2");
	assert_file("infiniband/uroce1/ports/1/sm_lid", "0x20");
	assert_file("infiniband/uroce1/ports/1/sm_sl", "3");
	assert_file("infiniband/uroce1/ports/1/link_layer", "InfiniBand");
	assert_file("infiniband/uroce1/ports/1/gids/0", NULL);
}

static void
test_gids(void **state)
{
	assert_int_equal(uroce_describe(root), 0);
	assert_file("infiniband/uroce0/ports/1/gids/0", "fe80:0000:0000:0000:0000:0000:00ab:cdef");
	assert_file("infiniband/uroce0/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
	assert_file("infiniband/uroce0/ports/1/gids/2", "0000:0000:0000:0000:0000:ffff:0a00:0001");
	assert_file("infiniband/uroce0/ports/1/gids/3", NULL);
	assert_file("infiniband/uroce0/ports/1/gid_attrs/types/0", "IB/RoCE v1");
	assert_file("infiniband/uroce0/ports/1/gid_attrs/types/1", NULL);
	assert_file("infiniband/uroce0/ports/1/gid_attrs/types/2", "RoCE v2");
	assert_file("infiniband/uroce0/ports/1/gid_attrs/ndevs/0", "lo");
	assert_file("infiniband/uroce0/ports/1/gid_attrs/ndevs/1", NULL);
	assert_file("infiniband/uroce0/ports/1/gid_attrs/ndevs/2", "lo");
}

/* The link leads to the interface's directory, wherever that is. */
static void
test_interface(void **state)
{
	char path[256], target[64] = "";

	assert_int_equal(uroce_describe(root), 0);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/uroce0/device/net/lo", root);
	assert_true(readlink(path, target, sizeof(target) - 1) > 0);
	assert_string_equal(target, "../../../../net/lo");
	snprintf(path, sizeof(path), "%s/sys/class/net", root);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/sys/class/net/lo", root);
	assert_int_equal(mkdir(path, 0755), 0);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband_verbs/uverbs0/device/net/lo/.", root);
	assert_int_equal(access(path, F_OK), 0);
	snprintf(path, sizeof(path), "%s/sys/class/infiniband/uroce1/device/net", root);
	assert_int_equal(access(path, F_OK), -1);
}

/* Unknown values of a port. */
static void
test_unknown(void **state)
{
	ports[1].state = (enum ibv_port_state)77;
	ports[1].phys_state = 200;
	ports[1].active_width = 99;
	ports[1].active_speed = 99;
	assert_int_equal(uroce_describe(root), 0);
	assert_file("infiniband/uroce1/ports/1/state", "77: UNKNOWN");
	assert_file("infiniband/uroce1/ports/1/phys_state", "200: <unknown>");
	assert_file("infiniband/uroce1/ports/1/rate", "100 Gb/sec (1X NDR)");
}

static void
test_errors(void **state)
{
	query_error = EIO;
	assert_int_equal(uroce_describe(root), -EIO);
	assert_int_equal(opened, 0);
	query_error = 0;
	assert_int_equal(uroce_describe(root), -EEXIST);	/* some of the files exist by then */
	count = 0;
	assert_int_equal(uroce_describe(root), -ENODEV);
	assert_int_equal(opened, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interface, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
