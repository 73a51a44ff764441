/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Device queries, also by callers whose structures are smaller or larger than the library's.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "mem/persistent.h"
#include "eal.h"
#include "fake.h"

static void
test_device(void **state)
{
	struct ibv_device_attr attr;

	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(uroce_query_device(fake.context, &attr), 0);
	assert_int_equal(attr.node_guid, 0x0807060504030201);
	assert_int_equal(attr.sys_image_guid, 0x0807060504030201);
	assert_int_equal(attr.vendor_id, UROCE_VENDOR_ID);
	assert_int_equal(attr.vendor_part_id, UROCE_VENDOR_PART_ID);
	assert_int_equal(attr.max_mr_size, UROCE_MAX_MR_BYTES);
	assert_int_equal(attr.max_qp, 256);
	assert_int_equal(attr.max_mr, 256);
	assert_int_equal(attr.max_qp_wr, UROCE_MAX_QP_WR);
	assert_int_equal(attr.max_sge, UROCE_MAX_SGE);
	assert_int_equal(attr.max_cq, UROCE_MAX_CQ);
	assert_int_equal(attr.max_cqe, UROCE_MAX_CQE);
	assert_int_equal(attr.max_pd, UROCE_MAX_PD);
	assert_int_equal(attr.max_qp_rd_atom, UROCE_MAX_RD_ATOMIC);
	assert_int_equal(attr.max_qp_init_rd_atom, UROCE_MAX_RD_ATOMIC);
	assert_int_equal(attr.max_res_rd_atom, UROCE_MAX_RD_ATOMIC * 256);
	assert_int_equal(attr.max_pkeys, 1);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(attr.max_srq, 1 << UROCE_LOG2_MAX_SRQ);
	assert_int_equal(attr.max_srq_wr, UROCE_MAX_SRQ_WR);
	assert_int_equal(attr.max_srq_sge, UROCE_MAX_SGE);
	assert_true(attr.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	assert_true(attr.device_cap_flags & IBV_DEVICE_XRC);
	/* windows use slots of the regions' table */
	assert_int_equal(attr.max_mw, attr.max_mr);
	/* a device has type 2A or 2B, not both (ib_verbs.h) */
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW);
	assert_true(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	assert_false(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A);
	assert_int_equal(attr.device_cap_flags & (IBV_DEVICE_AUTO_PATH_MIG | IBV_DEVICE_RESIZE_MAX_WR),
			 0);
}

/* The vendor ID is an OUI that IEEE does not assign. No application may take it for that of a device that needs
 * special treatment, not even if the application keeps only 16 bits of it, as UCX does. */
static void
test_vendor(void **state)
{
	static const uint32_t known[] = {
		0, 0xffffff,	/* of Linux Soft-RoCE; SPDK sends it no SEND with invalidate */
		0x02c9, 0x08f1, 0x05ad, 0x066a, 0x1397,	/* OUIs: rdma-core, UCX, perftest */
		0x15b3, 0x14e4, 0x1425, 0x8086, 0x1077, 0x1137, 0x19e5, 0x1d0f, 0x1dd8, 0x1ded, 0x1f0f, 0x1f67,
		0x209b,		/* PCI vendor IDs, with which perftest, libfabric and rdma-core compare it */
	};
	struct ibv_device_attr attr;

	assert_int_equal(uroce_query_device(fake.context, &attr), 0);
	assert_int_equal(attr.vendor_id >> 24, 0);
	/* first byte: not a group, locally administered, outside any standard (IEEE 802c) */
	assert_int_equal((attr.vendor_id >> 16) & 0x0f, 0x02);
	for (size_t i = 0; i < RTE_DIM(known); i++) {
		assert_int_not_equal(attr.vendor_id, known[i]);
		assert_int_not_equal(attr.vendor_id & 0xffff, known[i] & 0xffff);
	}
	assert_true(attr.vendor_part_id > 0 && attr.vendor_part_id <= UINT16_MAX);
}

static void
test_device_ex(void **state)
{
	struct verbs_context *vctx = verbs_get_ctx(fake.context);
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct {
		struct ibv_device_attr_ex attr;
		uint64_t more[4];
	} big;
	size_t small = offsetof(struct ibv_device_attr_ex, odp_caps);

	assert_int_equal(vctx->query_device_ex(fake.context, &input, &big.attr, sizeof(big.attr)),
			 EINVAL);
	assert_int_equal(vctx->query_device_ex(fake.context, NULL, &big.attr,
					       sizeof(big.attr.orig_attr) - 1), EINVAL);
	/* a caller with fewer fields: no byte behind them is written */
	memset(&big, 0xff, sizeof(big));
	assert_int_equal(vctx->query_device_ex(fake.context, NULL, &big.attr, small), 0);
	assert_int_equal(big.attr.orig_attr.max_cqe, UROCE_MAX_CQE);
	assert_int_equal(big.attr.comp_mask, 0);
	assert_int_equal(big.attr.odp_caps.general_caps, UINT64_MAX);
	/* a caller with more fields: they are zero */
	input.comp_mask = 0;
	memset(&big, 0xff, sizeof(big));
	assert_int_equal(vctx->query_device_ex(fake.context, &input, &big.attr, sizeof(big)), 0);
	assert_int_equal(big.attr.phys_port_cnt_ex, 1);
	assert_int_equal(big.attr.odp_caps.general_caps, 0);
	for (size_t i = 0; i < RTE_DIM(big.more); i++)
		assert_int_equal(big.more[i], 0);
}

/* The fields of the extension describe the capabilities. */
static void
test_device_ex_fields(void **state)
{
	struct ibv_query_device_ex_input input = { .comp_mask = 1 };
	struct ibv_device_attr_ex attr;

	assert_int_equal(uroce_query_device_ex(fake.context, &input, &attr), EINVAL);
	assert_int_equal(uroce_query_device_ex(fake.context, NULL, &attr), 0);
	assert_int_equal(attr.completion_timestamp_mask, UINT64_MAX);
	assert_int_equal(attr.hca_core_clock, 1000000);
	assert_int_equal((uint32_t)attr.device_cap_flags_ex, attr.orig_attr.device_cap_flags);
	assert_int_equal(attr.device_cap_flags_ex >> 32, (IBV_DEVICE_FLUSH_GLOBAL | IBV_DEVICE_ATOMIC_WRITE |
			 (UROCE_CAN_PERSIST ? IBV_DEVICE_FLUSH_PERSISTENT : 0)) >> 32);
	assert_int_equal(attr.cq_mod_caps.max_cq_count, UINT16_MAX);
	assert_int_equal(attr.cq_mod_caps.max_cq_period, UINT16_MAX);
	/* not supported */
	assert_int_equal(attr.odp_caps.general_caps, 0);
	assert_int_equal(attr.tso_caps.max_tso, 0);
	assert_int_equal(attr.rss_caps.supported_qpts, 0);
	assert_int_equal(attr.max_wq_type_rq, 0);
	assert_int_equal(attr.packet_pacing_caps.supported_qpts, 0);
	assert_int_equal(attr.raw_packet_caps, 0);
	assert_int_equal(attr.tm_caps.max_num_tags, 0);
	assert_int_equal(attr.max_dm_size, 0);
	assert_int_equal(attr.xrc_odp_caps, 0);
}

static void
test_rt_values(void **state)
{
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RESERVED };

	assert_int_equal(ibv_query_rt_values_ex(fake.context, &values), EINVAL);
	values.comp_mask = 0;
	values.raw_clock.tv_nsec = 77;
	assert_int_equal(ibv_query_rt_values_ex(fake.context, &values), 0);
	assert_int_equal(values.raw_clock.tv_nsec, 77);
	values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
	values.raw_clock.tv_sec = 77;
	fake.now_ns = 5000000001;
	assert_int_equal(uroce_query_rt_values_ex(fake.context, &values), 0);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(values.raw_clock.tv_sec, 0);
	assert_int_equal(values.raw_clock.tv_nsec, 5000000001);
}

static void
test_port(void **state)
{
	struct verbs_context *vctx = verbs_get_ctx(fake.context);
	struct ibv_port_attr attr, compat;

	fake.active_mtu = IBV_MTU_2048;
	memset(&attr, 0xff, sizeof(attr));
	assert_int_equal(uroce_query_port(fake.context, 1, &attr), 0);
	assert_int_equal(attr.state, IBV_PORT_ACTIVE);
	assert_int_equal(attr.active_mtu, IBV_MTU_2048);
	assert_int_equal(attr.max_mtu, IBV_MTU_4096);
	assert_int_equal(attr.gid_tbl_len, UROCE_MAX_GID);
	assert_int_equal(attr.pkey_tbl_len, 1);
	assert_int_equal(attr.max_msg_sz, UROCE_MAX_MSG_BYTES);
	assert_int_equal(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(attr.lid, 0);
	assert_int_equal(attr.port_cap_flags2, 0);

	assert_int_equal(uroce_query_port(fake.context, 0, &attr), EINVAL);
	assert_int_equal(uroce_query_port(fake.context, 2, &attr), EINVAL);
	assert_int_equal(vctx->query_port(fake.context, 2, &attr, sizeof(attr)), EINVAL);
	fake.port_error = -EIO;
	assert_int_equal(uroce_query_port(fake.context, 1, &attr), EIO);
	fake.port_error = 0;

	/* in old programs, the structure ends before port_cap_flags2 */
	memset(&compat, 0xff, sizeof(compat));
	assert_int_equal(fake.context->ops._compat_query_port(
				 fake.context, 1, (struct _compat_ibv_port_attr *)&compat), 0);
	assert_int_equal(compat.active_mtu, IBV_MTU_2048);
	assert_int_equal(compat.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(compat.flags, 0);
	assert_int_equal(compat.port_cap_flags2, 0xffff);
}

static void
test_gid(void **state)
{
	struct ibv_gid_entry entry;
	union ibv_gid gid, zero;

	memset(&zero, 0, sizeof(zero));
	assert_int_equal(uroce_query_gid(fake.context, 1, 1, &gid), 0);
	assert_int_equal(gid.raw[12], 10);
	/* an empty entry: this call returns zeros, the other one ENODATA */
	memset(&gid, 0xff, sizeof(gid));
	assert_int_equal(uroce_query_gid(fake.context, 1, 0, &gid), 0);
	assert_memory_equal(&gid, &zero, sizeof(gid));
	assert_int_equal(uroce_query_gid_ex(fake.context, 1, 0, &entry, 0), ENODATA);
	assert_int_equal(uroce_query_gid_ex(fake.context, 1, 1, &entry, 0), 0);
	assert_int_equal(entry.gid.raw[15], 1);
	assert_int_equal(entry.gid_index, 1);
	assert_int_equal(entry.port_num, 1);
	assert_int_equal(entry.gid_type, IBV_GID_TYPE_ROCE_V2);

	errno = 0;
	assert_int_equal(uroce_query_gid(fake.context, 2, 1, &gid), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_query_gid(fake.context, 1, -1, &gid), -1);
	assert_int_equal(uroce_query_gid(fake.context, 1, UROCE_MAX_GID, &gid), -1);
	assert_int_equal(uroce_query_gid_ex(fake.context, 0, 1, &entry, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(fake.context, 1, UROCE_MAX_GID, &entry, 0), EINVAL);
	assert_int_equal(uroce_query_gid_ex(fake.context, 1, 1, &entry, 1), EINVAL);
	fake.port_error = -EIO;
	assert_int_equal(uroce_query_gid_table(fake.context, &entry, 1, 0), -EIO);
	assert_int_equal(uroce_query_gid(fake.context, 1, 1, &gid), -1);
	assert_int_equal(errno, EIO);
	fake.port_error = 0;
}

static void
test_gid_table(void **state)
{
	struct ibv_gid_entry entries[3];

	memset(entries, 0xff, sizeof(entries));
	assert_int_equal(uroce_query_gid_table(fake.context, entries, 3, 0), 1);
	assert_int_equal(entries[0].gid_index, 1);
	assert_int_equal(entries[0].port_num, 1);
	assert_int_equal(entries[0].gid.raw[12], 10);
	assert_int_equal(entries[0].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entries[1].gid_index, UINT32_MAX);
	assert_int_equal(uroce_query_gid_table(fake.context, entries, 1, 0), 1);
	assert_int_equal(uroce_query_gid_table(fake.context, entries, 0, 0), -EINVAL);
	assert_int_equal(uroce_query_gid_table(fake.context, entries, 3, 1), -EINVAL);
	/* more entries than room */
	fake.all_gids = true;
	assert_int_equal(uroce_query_gid_table(fake.context, entries, 3, 0), -EINVAL);
}

static void
test_index(void **state)
{
	assert_int_equal(uroce_get_device_index(fake.context->device), 3);
	assert_int_equal(uroce_get_pkey_index(fake.context, 1, 0xffff), 0);
	errno = 0;
	assert_int_equal(uroce_get_pkey_index(fake.context, 1, 0x7fff), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_get_pkey_index(fake.context, 2, 0xffff), -1);
}

static void
test_pkey(void **state)
{
	__be16 pkey = 0;

	assert_int_equal(uroce_query_pkey(fake.context, 1, 0, &pkey), 0);
	assert_int_equal(pkey, 0xffff);
	errno = 0;
	assert_int_equal(uroce_query_pkey(fake.context, 1, 1, &pkey), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(uroce_query_pkey(fake.context, 1, -1, &pkey), -1);
	assert_int_equal(uroce_query_pkey(fake.context, 2, 0, &pkey), -1);
}

UROCE_TESTS(query)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_device, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_vendor, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_device_ex, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_device_ex_fields, fake_setup,
						fake_teardown),
		cmocka_unit_test_setup_teardown(test_rt_values, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_port, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_gid, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_gid_table, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_index, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_pkey, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
