/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Several contexts of a device: each gets the events of its own objects and of the port, objects of different contexts
 * cannot be combined, and a closed context lives until its objects are destroyed.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce.h"
#include "eal.h"
#include "fake.h"
#include "verbs/device/context.h"

static struct ibv_context *
open_one(void)
{
	struct ibv_context *context = uroce_open_device(fake.context->device);

	assert_non_null(context);
	assert_ptr_not_equal(context, fake.context);
	assert_ptr_equal(context->device, fake.context->device);
	return context;
}

static bool
readable(struct ibv_context *context)
{
	struct pollfd p = { .fd = context->async_fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
tell(struct ibv_async_event event, enum ibv_event_type type)
{
	event.event_type = type;
	uroce_device_event(&fake.dev, &event);
}

static void
expect(struct ibv_context *context, enum ibv_event_type type)
{
	struct ibv_async_event event;

	assert_true(readable(context));
	assert_int_equal(uroce_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, type);
	uroce_ack_async_event(&event);
	assert_false(readable(context));
}

/* A PD, a CQ and a QP of one context. */
struct objects {
	struct fake_pair pair;
	struct ibv_qp *qp;
};

static struct objects
make(struct ibv_context *context)
{
	struct objects o = { .pair = { .pd = uroce_alloc_pd(context),
				       .cq = uroce_create_cq(context, 4, NULL, NULL, 0) } };

	assert_non_null(o.pair.pd);
	assert_non_null(o.pair.cq);
	o.qp = fake_qp_create(&o.pair);
	assert_ptr_equal(o.qp->context, context);
	return o;
}

static void
destroy(struct objects *o)
{
	assert_int_equal(uroce_destroy_qp(o->qp), 0);
	fake_pair_destroy(&o->pair);
}

static void
test_calls(void **state)
{
	struct ibv_context *context = open_one();
	struct ibv_device_attr ours, other;
	struct ibv_port_attr port;

	assert_int_equal(uroce_query_device(fake.context, &ours), 0);
	assert_int_equal(uroce_query_port(context, 1, &port), 0);
	assert_int_equal(uroce_query_device(context, &other), 0);
	/* without the padding at the end */
	assert_memory_equal(&ours, &other, offsetof(struct ibv_device_attr, phys_port_cnt) + 1);
	assert_int_equal(context->cmd_fd, fake.context->cmd_fd);
	assert_int_not_equal(context->async_fd, fake.context->async_fd);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	assert_int_equal(uroce_close_device(context), 0);
}

static void
test_events(void **state)
{
	static const enum ibv_event_type of_srqs[] = { IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_SRQ_ERR };
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_context *contexts[] = { open_one(), open_one(), fake.context };
	struct objects o[3];
	struct ibv_srq *srq;

	for (int i = 0; i < 3; i++)
		o[i] = make(contexts[i]);
	srq = uroce_create_srq(o[1].pair.pd, &srq_attr);
	assert_non_null(srq);
	for (int i = 0; i < 2; i++) {
		tell((struct ibv_async_event){ .element.srq = srq }, of_srqs[i]);
		assert_false(readable(fake.context));
		expect(contexts[1], of_srqs[i]);
	}
	assert_int_equal(uroce_destroy_srq(srq), 0);
	tell((struct ibv_async_event){ .element.qp = o[0].qp }, IBV_EVENT_QP_FATAL);
	tell((struct ibv_async_event){ .element.cq = o[1].pair.cq }, IBV_EVENT_CQ_ERR);
	assert_false(readable(fake.context));
	expect(contexts[0], IBV_EVENT_QP_FATAL);
	expect(contexts[1], IBV_EVENT_CQ_ERR);
	tell((struct ibv_async_event){ .element.port_num = 1 }, IBV_EVENT_PORT_ERR);
	for (int i = 0; i < 3; i++)
		expect(contexts[i], IBV_EVENT_PORT_ERR);
	tell((struct ibv_async_event){ .element.qp = o[1].qp }, IBV_EVENT_COMM_EST);
	destroy(&o[1]);		/* with unread events */
	assert_false(readable(contexts[1]));
	destroy(&o[0]);
	destroy(&o[2]);
	assert_int_equal(uroce_close_device(contexts[0]), 0);
	assert_int_equal(uroce_close_device(contexts[1]), 0);
}

static void
test_do_not_mix(void **state)
{
	struct ibv_context *a = open_one(), *b = open_one();
	struct ibv_comp_channel *channel = uroce_create_comp_channel(b);
	struct fake_pair mixed = { .pd = uroce_alloc_pd(a), .cq = uroce_create_cq(b, 4, NULL, channel, 0) };
	struct ibv_qp_init_attr attr = fake_init_attr(&mixed);

	assert_non_null(mixed.cq);
	errno = 0;
	assert_null(uroce_create_qp(mixed.pd, &attr));
	assert_int_equal(errno, EINVAL);
	assert_null(uroce_create_cq(a, 4, NULL, channel, 0));
	fake_pair_destroy(&mixed);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	assert_int_equal(uroce_close_device(a), 0);
	assert_int_equal(uroce_close_device(b), 0);
}

/* The objects of a closed context work as before; the context is freed with the last of them. */
static void
test_close(void **state)
{
	struct ibv_context *context = open_one();
	struct objects o = make(context);
	struct stat st;
	int fd = context->async_fd;

	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(fake.dev.context_count, 1);
	assert_int_equal(uroce_device_fini(&fake.dev), -EBUSY);
	tell((struct ibv_async_event){ .element.port_num = 1 }, IBV_EVENT_PORT_ACTIVE);
	assert_false(readable(context));
	expect(fake.context, IBV_EVENT_PORT_ACTIVE);
	tell((struct ibv_async_event){ .element.qp = o.qp }, IBV_EVENT_QP_FATAL);
	assert_int_equal(fstat(fd, &st), 0);
	destroy(&o);
	assert_int_equal(fake.dev.context_count, 0);
	assert_int_equal(fstat(fd, &st), -1);
}

static void
test_objects(void **state)
{
	struct ibv_context *context = open_one();
	struct ibv_comp_channel *channel = uroce_create_comp_channel(context);
	struct ibv_xrcd_init_attr attr = { .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1,
		.oflags = O_CREAT };
	struct ibv_xrcd *xrcd = uroce_open_xrcd(context, &attr);

	assert_non_null(channel);
	assert_non_null(xrcd);
	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(fake.dev.context_count, 1);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
	assert_int_equal(fake.dev.context_count, 1);
	assert_int_equal(uroce_close_xrcd(xrcd), 0);
	assert_int_equal(fake.dev.context_count, 0);
}

UROCE_TESTS(context)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_calls, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_events, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_do_not_mix, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_close, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_objects, fake_setup, fake_teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
