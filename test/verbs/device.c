/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device's life: with which configurations it cannot be opened, the layout of the context for inline calls of
 * <infiniband/verbs.h>, and that it stays while it has objects.
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
#include "eal.h"
#include "fake.h"

static struct uroce_device dev;
static const struct uroce_port_ops no_port_ops;
static const struct uroce_device_ops ops = { .port = &no_port_ops };

static void
refused(struct uroce_device_conf conf, int error)
{

	memset(&dev, 0, sizeof(dev));
	assert_int_equal(uroce_device_init(&dev, &ops, &conf), error);
}

static void
test_configuration(void **state)
{
	char name[IBV_SYSFS_NAME_MAX + 1];
	const struct uroce_device_conf good = { .name = "d", .log2_max_mr = 4, .log2_max_qp = 4 };
	struct uroce_device_conf conf = good;

	conf.name = NULL;
	refused(conf, -EINVAL);
	conf.name = "";
	refused(conf, -EINVAL);
	memset(name, 'x', sizeof(name));
	name[IBV_SYSFS_NAME_MAX] = '\0';
	conf.name = name;
	refused(conf, -EINVAL);
	conf = good;
	conf.log2_max_qp = UROCE_LOG2_LIMIT_QP + 1;
	refused(conf, -EINVAL);
	conf = good;
	conf.log2_max_mr = UROCE_LOG2_LIMIT_MR + 1;
	refused(conf, -EINVAL);
	/* more than this EAL's memory; the failure leaks nothing */
	conf.log2_max_mr = UROCE_LOG2_LIMIT_MR;
	refused(conf, -ENOMEM);

	name[IBV_SYSFS_NAME_MAX - 1] = '\0';
	conf = good;
	conf.name = name;
	conf.index = 12;
	memset(&dev, 0, sizeof(dev));
	assert_int_equal(uroce_device_init(&dev, &ops, &conf), 0);
	assert_string_equal(uroce_get_device_name(&dev.ibv), name);
	assert_string_equal(dev.ibv.dev_name, "uverbs12");
	assert_string_equal(dev.ibv.dev_path, "/sys/class/infiniband_verbs/uverbs12");
	assert_int_equal(uroce_device_fini(&dev), 0);
}

static void
test_defaults(void **state)
{
	struct ibv_device_attr attr;
	const struct uroce_device_conf conf = { .name = "d", .numa_node = -1 };

	memset(&dev, 0, sizeof(dev));
	assert_int_equal(uroce_device_init(&dev, &ops, &conf), 0);
	assert_int_equal(uroce_query_device(&dev.vctx.context, &attr), 0);
	assert_int_equal(attr.max_qp, 1 << UROCE_LOG2_MAX_QP);
	assert_int_equal(attr.max_mr, 1 << UROCE_LOG2_MAX_MR);
	assert_int_equal(uroce_device_fini(&dev), 0);
}

static void
test_layout(void **state)
{
	struct ibv_context *context = fake.context;
	struct verbs_context *vctx = verbs_get_ctx(context);

	assert_ptr_equal(context->abi_compat, (void *)UINTPTR_MAX);
	assert_ptr_equal(vctx, &fake.dev.vctx);
	assert_int_equal(vctx->sz, sizeof(*vctx));
	assert_ptr_equal(context->device, &fake.dev.ibv);
	assert_ptr_equal(uroce_device_of(context), &fake.dev);
	assert_int_equal(context->cmd_fd, -1);
	assert_true(context->async_fd >= 0);
	assert_true(context->num_comp_vectors >= 1);
	assert_ptr_equal(context->ops.poll_cq, uroce_poll_cq);
	assert_ptr_equal(context->ops.req_notify_cq, uroce_req_notify_cq);
	assert_ptr_equal(context->ops.post_send, uroce_post_send);
	assert_ptr_equal(context->ops.post_recv, uroce_post_recv);
	assert_ptr_equal(context->ops.post_srq_recv, uroce_post_srq_recv);
	/* implemented calls, and calls that are not: inline calls return EOPNOTSUPP */
	assert_ptr_equal(verbs_get_ctx_op(context, query_port), vctx);
	assert_ptr_equal(verbs_get_ctx_op(context, query_device_ex), vctx);
	assert_ptr_equal(verbs_get_ctx_op(context, create_cq_ex), vctx);
	assert_ptr_equal(verbs_get_ctx_op(context, modify_cq), vctx);
	assert_ptr_equal(verbs_get_ctx_op(context, query_rt_values), vctx);
	assert_null(verbs_get_ctx_op(context, alloc_dm));

	assert_int_equal(fake.dev.ibv.node_type, IBV_NODE_CA);
	assert_int_equal(fake.dev.ibv.transport_type, IBV_TRANSPORT_IB);
	assert_string_equal(uroce_get_device_name(context->device), "fake0");
	assert_int_equal(uroce_get_device_guid(context->device), 0x0807060504030201);
	/* providers read beyond struct ibv_device */
	for (size_t i = sizeof(struct ibv_device); i < sizeof(fake.dev.room); i++)
		assert_int_equal(fake.dev.room[i], 0);
}

static void
test_busy(void **state)
{
	struct ibv_srq_init_attr srq_init = { .attr = { .max_wr = 1 } };
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
	struct ibv_cq *cq;
	struct ibv_pd *pd;

	pd = uroce_alloc_pd(fake.context);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	srq = uroce_create_srq(pd, &srq_init);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	channel = uroce_create_comp_channel(fake.context);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	cq = uroce_create_cq(fake.context, 1, NULL, NULL, 0);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	/* and the device can be opened again */
	assert_int_equal(uroce_device_fini(&fake.dev), 0);
	fake_open(4);
}

static void
test_count(void **state)
{
	uint32_t n = 0;

	assert_false(uroce_device_count(&fake.dev, &n, 0));
	assert_true(uroce_device_count(&fake.dev, &n, 2));
	assert_true(uroce_device_count(&fake.dev, &n, 2));
	assert_false(uroce_device_count(&fake.dev, &n, 2));
	assert_int_equal(n, 2);
	uroce_device_uncount(&fake.dev, &n);
	assert_int_equal(n, 1);
	assert_true(uroce_device_count(&fake.dev, &n, 2));
}

UROCE_TESTS(device)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_configuration),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test_setup_teardown(test_layout, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_busy, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_count, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
