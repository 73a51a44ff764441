/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "uroce.h"
#include "fake.h"
#include "wire/gid.h"

struct fake fake;

struct uroce_engine *
fake_engine(unsigned int i)
{
	return (struct uroce_engine *)&fake.engines[i];
}

static struct fake_engine *
engine_of(struct uroce_engine *engine)
{
	return (struct fake_engine *)engine;
}

static int
qp_attach(struct uroce_qp *qp)
{
	if (fake.attach_error != 0)
		return fake.attach_error;
	assert_int_not_equal(qp->ibv.qp_num, 0);
	qp->engine = fake_engine(fake.engine);
	fake.attached++;
	return 0;
}

static void
qp_detach(struct uroce_qp *qp)
{
	assert_true(engine_of(qp->engine)->inside);
	/* who comes later does not find it any more */
	assert_null(uroce_qp_lookup(&fake.dev, qp->ibv.qp_num));
	fake.attached--;
}

static void
engine_enter(struct uroce_engine *engine)
{
	if (fake.entering != NULL)
		fake.entering();
	pthread_mutex_lock(&engine_of(engine)->lock);
	engine_of(engine)->inside = true;
}

static void
engine_exit(struct uroce_engine *engine)
{
	engine_of(engine)->inside = false;
	pthread_mutex_unlock(&engine_of(engine)->lock);
}

static void
qp_changed(struct uroce_qp *qp, enum ibv_qp_state from, int attr_mask)
{
	assert_true(engine_of(qp->engine)->inside);
	fake.changes++;
	fake.changed_qp = qp;
	fake.changed_from = from;
	fake.changed_to = qp->state;
	fake.changed_mask = attr_mask;
}

static void
doorbell(struct uroce_qp *qp)
{
	(void)qp;
	__atomic_fetch_add(&fake.doorbells, 1, __ATOMIC_RELAXED);
}

static int
path_init(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t local_qpn,
	  uint32_t remote_qpn, struct uroce_path *path)
{
	assert_ptr_equal(dev, &fake.dev);
	fake.path_inits++;
	if (fake.path_error != 0)
		return fake.path_error;
	fake.path_local_qpn = local_qpn;
	fake.path_remote_qpn = remote_qpn;
	path->dgid = attr->grh.dgid;
	path->set_up = true;
	fake.paths++;
	return 0;
}

static void
path_fini(struct uroce_device *dev, struct uroce_path *path)
{
	assert_ptr_equal(dev, &fake.dev);
	assert_true(path->set_up);
	fake.paths--;
}

static void
progress(struct uroce_device *dev)
{
	(void)dev;
}

static int
query_port(struct uroce_device *dev, struct ibv_port_attr *attr)
{
	(void)dev;
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = fake.active_mtu;
	return fake.port_error;
}

/* Entry 1 of the table is ::ffff:10.0.0.1, entry 2 is up to the test, the others are empty. */
static int
query_gid(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry)
{
	static const union ibv_gid gid = {
		.raw = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 },
	};

	(void)dev;
	if (fake.port_error != 0)
		return fake.port_error;
	if (index != 1 && !fake.all_gids && (index != 2 || fake.gid2.global.interface_id == 0))
		return -ENODATA;
	entry->gid = index == 2 ? fake.gid2 : gid;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static uint64_t
engine_now(const struct uroce_engine *engine)
{
	return ((const struct fake_engine *)engine)->now_ns;
}

static void
timer_arm(struct uroce_engine *engine, struct uroce_timer *timer, uint64_t deadline_ns)
{
	assert_null(engine_of(engine)->timer);
	engine_of(engine)->timer = timer;
	engine_of(engine)->deadline_ns = deadline_ns;
}

static void
timer_remove(struct uroce_engine *engine, struct uroce_timer *timer)
{
	assert_true(engine_of(engine)->inside);
	assert_ptr_equal(engine_of(engine)->timer, timer);
	engine_of(engine)->timer = NULL;
}

static void
clocks(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns)
{
	assert_ptr_equal(dev, &fake.dev);
	*device_ns = fake.clock_ns;
	*wall_ns = fake.wall_ns;
}

static int
mcast_join(struct uroce_device *dev, const union ibv_gid *mgid)
{
	assert_ptr_equal(dev, &fake.dev);
	assert_true(uroce_gid_is_multicast(mgid->raw));
	fake.joined += fake.join_error == 0;
	return fake.join_error;
}

static void
mcast_leave(struct uroce_device *dev, const union ibv_gid *mgid)
{
	struct uroce_qp *qps[UROCE_MAX_MCAST_QPS];

	/* nobody is given anything any more */
	assert_int_equal(uroce_mcast_receivers(dev, mgid->raw, qps), 0);
	fake.joined--;
}

static const struct uroce_transport_ops transport_ops = {
	.qp_detach = qp_detach,
	.engine_now = engine_now,
	.timer_arm = timer_arm,
	.timer_remove = timer_remove,
	.qp_changed = qp_changed,
};

static const struct uroce_worker_ops worker_ops = {
	.qp_attach = qp_attach,
	.engine_enter = engine_enter,
	.engine_exit = engine_exit,
	.doorbell = doorbell,
	.progress = progress,
};

static const struct uroce_port_ops port_ops = {
	.clocks = clocks,
	.path_init = path_init,
	.path_fini = path_fini,
	.query_port = query_port,
	.query_gid = query_gid,
	.mcast_join = mcast_join,
	.mcast_leave = mcast_leave,
};

static const struct uroce_device_ops ops = {
	.transport = &transport_ops,
	.worker = &worker_ops,
	.port = &port_ops,
};

void
fake_open(unsigned int log2_max_qp)
{
	static const struct uroce_device_conf model = {
		.name = "fake0",
		.node_guid = 0x0807060504030201,
		.index = 3,
		.port_id = 5,
		.numa_node = -1,
		.log2_max_mr = 8,
	};
	struct uroce_device_conf conf = model;

	conf.log2_max_qp = log2_max_qp;
	memset(&fake, 0, sizeof(fake));
	fake.active_mtu = IBV_MTU_4096;
	for (unsigned int i = 0; i < RTE_DIM(fake.engines); i++)
		pthread_mutex_init(&fake.engines[i].lock, NULL);
	assert_int_equal(uroce_device_init(&fake.dev, &ops, &conf), 0);
	fake.context = &fake.dev.vctx.context;
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
	assert_int_equal(uroce_device_fini(&fake.dev), 0);
	assert_int_equal(fake.attached, 0);
	assert_int_equal(fake.paths, 0);
	for (unsigned int i = 0; i < RTE_DIM(fake.engines); i++)
		pthread_mutex_destroy(&fake.engines[i].lock);
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
	static const int masks[] = {
		[IBV_QPS_INIT] = FAKE_INIT_MASK,
		[IBV_QPS_RTR] = FAKE_RTR_MASK,
		[IBV_QPS_RTS] = FAKE_RTS_MASK,
		[IBV_QPS_SQD] = IBV_QP_STATE,
	};
	struct ibv_qp_attr attr;

	if (to == IBV_QPS_ERR) {
		attr = fake_attr(to);
		assert_int_equal(uroce_modify_qp(qp, &attr, IBV_QP_STATE), 0);
		return;
	}
	for (enum ibv_qp_state s = IBV_QPS_INIT; s <= to; s++) {
		attr = fake_attr(s);
		assert_int_equal(uroce_modify_qp(qp, &attr, masks[s]), 0);
	}
}
