/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The calls of libibverbs, made as an application makes them, on two ports of net_null: devices and queries, objects,
 * and closing.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>

#include "private.h"
#include "process.h"
#include "sysfs/sysfs.h"
#include "uroce.h"
#include "uroce_config.h"

#define EAL PROCESS_EAL " --vdev=net_null0 --vdev=net_null1"
#define ADDRESSES "10.0.0.1/24;10.0.1.1/24"

int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type);
int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

static char said[PROCESS_TEXT_BYTES];

static struct ibv_context *
open_at(int i)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context = list != NULL && i < count ? ibv_open_device(list[i]) : NULL;

	ibv_free_device_list(list);
	return context;
}

static int
listed(void)
{
	struct ibv_device **list, **again;
	int count = -1;

	CHECK((list = ibv_get_device_list(&count)) != NULL && count == 2 && list[2] == NULL);
	CHECK((again = ibv_get_device_list(NULL)) != NULL && again != list);
	for (int i = 0; i < 2; i++) {
		CHECK(again[i] == list[i]);
		CHECK(strcmp(ibv_get_device_name(list[i]), i == 0 ? "uroce0" : "uroce1") == 0);
		CHECK(strcmp(list[i]->dev_name, i == 0 ? "uverbs0" : "uverbs1") == 0);
		CHECK(ibv_get_device_index(list[i]) == i);
		CHECK(ibv_get_device_guid(list[i]) != 0);
	}
	CHECK(ibv_get_device_guid(list[0]) != ibv_get_device_guid(list[1]));
	ibv_free_device_list(again);
	ibv_free_device_list(list);
	return 0;
}

/* Another provider's device is refused. */
static int
opened(void)
{
	struct ibv_device other = { .name = "other" };
	struct ibv_context *a = open_at(0), *b = open_at(0), *c = open_at(1);
	struct ibv_pd *pd;

	CHECK(a != NULL && b != NULL && c != NULL && a != b && a->device == b->device && a->device != c->device);
	CHECK(a->async_fd != b->async_fd && a->async_fd >= 0);
	errno = 0;
	CHECK(ibv_open_device(&other) == NULL && errno == ENODEV);
	CHECK(ibv_get_device_guid(&other) == 0);
	CHECK((pd = ibv_alloc_pd(a)) != NULL);
	CHECK(ibv_close_device(a) == 0 && ibv_close_device(b) == 0 && ibv_close_device(c) == 0);
	CHECK(ibv_dealloc_pd(pd) == 0);		/* its objects still work */
	CHECK((a = open_at(0)) != NULL && ibv_close_device(a) == 0);
	return 0;
}

static int
asked(void)
{
	struct {
		struct ibv_gid_entry entry;
		uint64_t more;
	} newer = { .more = 1 };
	struct ibv_context *context = open_at(1);
	struct ibv_gid_entry entry, table[UROCE_MAX_GID];
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;
	int type = -1;

	CHECK(context != NULL);
	CHECK(ibv_query_device(context, &attr) == 0 && attr.phys_port_cnt == 1);
	CHECK(attr.node_guid == ibv_get_device_guid(context->device));
	CHECK(ibv_query_port(context, 1, &port) == 0 && port.link_layer == IBV_LINK_LAYER_ETHERNET);
	CHECK(ibv_query_port(context, 2, &port) == EINVAL);
	CHECK(ibv_query_gid(context, 1, 1, &gid) == 0 && gid.raw[14] == 1 && gid.raw[15] == 1);
	CHECK(ibv_query_gid_ex(context, 1, 1, &entry, 0) == 0 && memcmp(&entry.gid, &gid, sizeof(gid)) == 0);
	CHECK(ibv_query_gid_ex(context, 1, 2, &entry, 0) == ENODATA);
	/* a caller with a larger structure */
	CHECK(_ibv_query_gid_ex(context, 1, 1, &newer.entry, 0, sizeof(newer)) == 0 && newer.more == 0);
	entry.ndev_ifindex = 77;
	CHECK(_ibv_query_gid_ex(context, 1, 1, &entry, 0, offsetof(struct ibv_gid_entry, ndev_ifindex)) == 0);
	CHECK(entry.ndev_ifindex == 77);
	CHECK(ibv_query_gid_table(context, table, UROCE_MAX_GID, 0) == 2);
	CHECK(_ibv_query_gid_table(context, table, UROCE_MAX_GID, 0, sizeof(table[0]) + 8) == -EOPNOTSUPP);
	CHECK(ibv_query_gid_type(context, 1, 1, &type) == 0 && type == 1);
	CHECK(ibv_query_gid_type(context, 1, 5, &type) == 0);
	CHECK(ibv_query_gid_type(context, 1, UROCE_MAX_GID, &type) == -1 && errno == EINVAL);
	CHECK(ibv_query_pkey(context, 1, 0, &pkey) == 0 && pkey == 0xffff);
	CHECK(ibv_get_pkey_index(context, 1, pkey) == 0);
	CHECK(ibv_import_device(0) == NULL && errno == EOPNOTSUPP);
	CHECK(ibv_fork_init() == 0 && ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
	return ibv_close_device(context);
}

/* Objects are created in order, and destroyed in reverse. */
static int
made(void)
{
	struct ibv_context *context = open_at(0);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *cq = ibv_create_cq(context, 8, &pd, channel, 0);
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &srq_init);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_send_sge = 1 } }, got;
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	static char memory[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_2);
	struct ibv_srq_attr limits;

	CHECK(context != NULL && pd != NULL && channel != NULL && cq != NULL && srq != NULL && qp != NULL);
	CHECK(mr != NULL && mw != NULL && cq->cq_context == &pd && cq->cqe >= 8);
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	CHECK(ibv_query_qp(qp, &attr, IBV_QP_STATE, &got) == 0 && attr.qp_state == IBV_QPS_INIT && got.srq == srq);
	CHECK(ibv_query_srq(srq, &limits) == 0 && limits.max_wr >= 4);
	CHECK(ibv_resize_cq(cq, 16) == 0 && cq->cqe >= 16);
	CHECK(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0) == 0);
	CHECK(ibv_dealloc_pd(pd) == EBUSY && ibv_destroy_cq(cq) == EBUSY && ibv_destroy_srq(srq) == EBUSY);
	CHECK(ibv_destroy_comp_channel(channel) == EBUSY);
	CHECK(ibv_dealloc_mw(mw) == 0 && ibv_dereg_mr(mr) == 0 && ibv_destroy_qp(qp) == 0);
	CHECK(ibv_destroy_srq(srq) == 0 && ibv_destroy_cq(cq) == 0 && ibv_destroy_comp_channel(channel) == 0);
	CHECK(ibv_dealloc_pd(pd) == 0 && ibv_close_device(context) == 0);
	return 0;
}

/* An address handle needs no reachable peer; only UD QPs join groups. */
static int
addressed(void)
{
	struct ibv_context *context = open_at(0);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } };
	union ibv_gid group = { .raw = { 0xff, 0x0e, [10] = 0xff, 0xff, 239, 1, 2, 3 } };
	struct ibv_ah *ah;

	CHECK(qp != NULL);
	CHECK(ibv_query_gid(context, 1, 1, &attr.grh.dgid) == 0);
	attr.grh.dgid.raw[15] = 99;
	CHECK((ah = ibv_create_ah(pd, &attr)) != NULL && ibv_destroy_ah(ah) == 0);
	CHECK(ibv_attach_mcast(qp, &group, 0) == 0 && ibv_detach_mcast(qp, &group, 0) == 0);
	CHECK(ibv_detach_mcast(qp, &group, 0) == EINVAL);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
	return ibv_close_device(context);
}

/* As with the kernel, connecting to an absent peer takes a while; unlike with it, the peer may appear later. */
static int
connected(void)
{
	struct ibv_context *context = open_at(0);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_cq *cq = ibv_create_cq(context, 8, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = 77,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } } };
	struct timespec before, after;

	CHECK(qp != NULL && ibv_query_gid(context, 1, 1, &attr.ah_attr.grh.dgid) == 0);
	attr.ah_attr.grh.dgid.raw[15] = 98;
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	attr.qp_state = IBV_QPS_RTR;
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN) == 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	CHECK((after.tv_sec - before.tv_sec) * 1000000000ll + after.tv_nsec - before.tv_nsec >=
	      (long long)UROCE_PATH_WAIT_POLLS * UROCE_PATH_WAIT_PAUSE_NS);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(pd) == 0);
	return ibv_close_device(context);
}

static void *
poll_in_vain(void *arg)
{
	struct ibv_qp_ex *qp = arg;
	struct ibv_wc wc;

	for (unsigned int i = 0; i <= UROCE_SETTLE_POLLS; i++)
		ibv_poll_cq(qp->qp_base.send_cq, 1, &wc);
	ibv_wr_start(qp);
	ibv_wr_abort(qp);
	return NULL;
}

/* With several workers, the thread that polls a QP's CQ gets the QP before it builds its first request. */
static int
moved(void)
{
	struct ibv_context *context;
	struct ibv_cq *cq;
	struct ibv_qp_init_attr_ex init = { .qp_type = IBV_QPT_RC, .cap = { .max_send_wr = 4, .max_send_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, .send_ops_flags = IBV_QP_EX_WITH_SEND };
	struct uroce_worker *before;
	struct ibv_qp *qp;
	pthread_t thread;

	CHECK(setenv("UROCE_WORKERS", "2", 1) == 0 && (context = open_at(0)) != NULL && context->num_comp_vectors == 2);
	CHECK((cq = ibv_create_cq(context, 8, NULL, NULL, 0)) != NULL && (init.pd = ibv_alloc_pd(context)) != NULL);
	init.send_cq = cq;
	init.recv_cq = cq;
	CHECK((qp = ibv_create_qp_ex(context, &init)) != NULL && (before = uroce_qp_worker(qp)) != NULL);
	CHECK(pthread_create(&thread, NULL, poll_in_vain, ibv_qp_to_qp_ex(qp)) == 0 && pthread_join(thread, NULL) == 0);
	CHECK(uroce_qp_worker(qp) != before);
	CHECK(ibv_destroy_qp(qp) == 0 && ibv_destroy_cq(cq) == 0 && ibv_dealloc_pd(init.pd) == 0);
	return ibv_close_device(context);
}

static void
test_list(void **state)
{
	process_run(EAL, ADDRESSES, listed, said);
	process_run(EAL, ADDRESSES, opened, said);
}

static void
test_queries(void **state)
{
	process_run(EAL, ADDRESSES, asked, said);
}

static void
test_objects(void **state)
{
	process_run(EAL, ADDRESSES, made, said);
	process_run(EAL, ADDRESSES, addressed, said);
	process_run(EAL, ADDRESSES, connected, said);
	process_run(EAL, ADDRESSES, moved, said);
}

/* Calls that need no device. */
static void
test_strings_and_rates(void **state)
{
	assert_non_null(strstr(ibv_node_type_str(IBV_NODE_CA), "channel adapter"));
	assert_string_equal(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	assert_string_equal(ibv_wc_status_str(IBV_WC_SUCCESS), "success");
	assert_non_null(ibv_event_type_str(IBV_EVENT_PORT_ERR));
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
	assert_int_equal(mult_to_ibv_rate(4), IBV_RATE_10_GBPS);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_10_GBPS), 10000);
	assert_int_equal(mbps_to_ibv_rate(10000), IBV_RATE_10_GBPS);
	assert_int_equal(ibv_dontfork_range(NULL, 1), 0);
	assert_int_equal(ibv_dofork_range(NULL, 1), 0);
}

/* libibverbs' calls for providers return nothing. */
static void
test_private(void **state)
{
	UROCE_VERBS_REGISTER_DRIVER(NULL);
	__verbs_log(NULL, 0, "%d", 1);
	errno = 0;
	assert_int_equal(ibv_cmd_create_cq(), EOPNOTSUPP);
	assert_int_equal(errno, EOPNOTSUPP);
	errno = 0;
	assert_null(verbs_open_device());
	assert_int_equal(errno, EOPNOTSUPP);
}

static void
test_sysfs(void **state)
{
	char path[] = "/tmp/uroce-sysfs-XXXXXX", text[16], name[sizeof(path)];
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "abc\n", 4), 4);
	close(fd);
	snprintf(name, sizeof(name), "%s", path + strlen("/tmp/"));
	assert_string_equal(ibv_get_sysfs_path(), "/sys");
	assert_int_equal(ibv_read_sysfs_file("/tmp", name, text, sizeof(text)), 3);
	assert_string_equal(text, "abc");
	assert_int_equal(ibv_read_sysfs_file("/tmp", name, text, 3), 2);	/* truncated to the buffer */
	assert_string_equal(text, "ab");
	assert_int_equal(ibv_read_sysfs_file("/tmp", name, text, 0), -1);
	unlink(path);
	assert_int_equal(ibv_read_sysfs_file("/tmp", name, text, sizeof(text)), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(ibv_read_ibdev_sysfs_file(text, sizeof(text), NULL, "%s", "hw_rev"), -1);
	assert_int_equal(ibv_resolve_eth_l2_from_gid(NULL, NULL, NULL, NULL), -1);
	assert_int_equal(errno, EOPNOTSUPP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_strings_and_rates),
		cmocka_unit_test(test_private),
		cmocka_unit_test(test_sysfs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
