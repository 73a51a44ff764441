/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake.h"
#include "uroce.h"
#include "verbs/address/mcast.h"

struct harness_device fake;
static const struct uroce_port_ops *harness_ops;

/* The last QP is already detached: no QP gets a packet of the group. */
static void
mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid)
{
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];

	assert_int_equal(uroce_mcast_receivers(dev, mgid->raw, qps), 0);
	harness_ops->mcast_leave(dev, mgid);
}

void
fake_open(unsigned int log2_max_qp)
{
	static struct uroce_port_ops port_ops;
	const struct uroce_device_conf conf = {
		.name = "fake0",
		.node_guid = 0x0807060504030201,
		.index = 3,
		.port_id = 5,
		.numa_node = -1,
		.log2_max_mr = 8,
		.log2_max_qp = log2_max_qp,
	};

	harness_device_init_standin(&fake, &conf);
	harness_ops = fake.dev.ops.port;
	port_ops = *harness_ops;
	port_ops.mcast_leave = mcast_leave;
	fake.dev.ops.port = &port_ops;
	fake.gids[1] = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 } };
}

int
fake_setup(void **state)
{
	(void)state;
	fake_open(8);
	return 0;
}

int
fake_teardown(void **state)
{
	(void)state;
	assert_int_equal(harness_device_fini(&fake), 0);
	assert_int_equal(fake.attached, 0);
	assert_int_equal(fake.paths, 0);
	return 0;
}

struct fake_pair
fake_pair_create(int cqe)
{
	struct fake_pair pair = {
		.pd = uroce_alloc_pd(fake.context),
		.cq = uroce_create_cq(fake.context, cqe, NULL, NULL, 0),
	};

	assert_non_null(pair.pd);
	assert_non_null(pair.cq);
	return pair;
}

void
fake_pair_destroy(struct fake_pair *pair)
{
	assert_int_equal(uroce_destroy_cq(pair->cq), 0);
	assert_int_equal(uroce_dealloc_pd(pair->pd), 0);
}

struct ibv_qp_init_attr
fake_init_attr(const struct fake_pair *pair)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = pair->cq,
		.recv_cq = pair->cq,
		.cap = {
			.max_send_wr = 5,
			.max_recv_wr = 3,
			.max_send_sge = 2,
			.max_recv_sge = 3,
			.max_inline_data = 40,
		},
		.qp_type = IBV_QPT_RC,
	};

	return attr;
}

struct ibv_qp *
fake_qp_create(const struct fake_pair *pair)
{
	struct ibv_qp_init_attr attr = fake_init_attr(pair);
	struct ibv_qp *qp = uroce_create_qp(pair->pd, &attr);

	assert_non_null(qp);
	return qp;
}

struct ibv_qp_attr
fake_attr(enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = {
		.qp_state = to,
		.path_mtu = IBV_MTU_1024,
		.rq_psn = 0xfffffe,
		.sq_psn = 0x123456,
		.dest_qp_num = 0xabcdef,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .sgid_index = 1, .hop_limit = 64, .dgid.raw = { [15] = 9 } },
		},
		.port_num = 1,
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 5,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 6,
	};

	return attr;
}

void
fake_qp_to(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr = fake_attr(to);

	if (to == IBV_QPS_ERR)
		assert_int_equal(uroce_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	else
		harness_qp_to(qp, attr, to);
}
