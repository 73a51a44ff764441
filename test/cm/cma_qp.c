/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * QPs and SRQs of IDs: with CQs and PDs of the application or created for them, options that change a QP's attributes,
 * and invalid combinations.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_fixture.h"
#include "eal.h"
#include "groups.h"
#include "uroce.h"

static const struct ibv_qp_init_attr plain = {
	.cap = { .max_send_wr = 3, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
	.qp_type = IBV_QPT_RC,
};

static struct rdma_cm_id *
bound(void)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);

	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 0)), 0);
	return id;
}

static void
test_made_for_it(void **state)
{
	struct rdma_cm_id *id = bound();
	struct ibv_qp_init_attr attr = plain;
	struct ibv_qp_attr got;

	assert_int_equal(uroce_rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
	assert_ptr_equal(id->qp->pd, id->pd);
	assert_non_null(id->send_cq);
	assert_non_null(id->recv_cq);
	assert_ptr_not_equal(id->send_cq, id->recv_cq);
	assert_ptr_equal(id->send_cq->channel, id->send_cq_channel);
	assert_ptr_equal(id->recv_cq->channel, id->recv_cq_channel);
	assert_ptr_equal(id->send_cq->cq_context, id);
	assert_ptr_equal(attr.send_cq, id->send_cq);
	assert_true(attr.cap.max_send_wr >= 3);
	assert_int_equal(world_qp_state(id, &got), IBV_QPS_INIT);
	attr = plain;
	fails(uroce_rdma_create_qp(id, NULL, &attr), EINVAL);
	uroce_rdma_destroy_qp(id);
	assert_null(id->qp);
	assert_null(id->send_cq);
	assert_null(id->recv_cq_channel);
	uroce_rdma_destroy_qp(id); /* without a QP, the call does nothing */
	destroy(id);
}

static void
test_of_the_user(void **state)
{
	struct rdma_cm_id *id = bound();
	struct ibv_qp_init_attr attr = plain;
	struct ibv_pd *pd = uroce_alloc_pd(id->verbs);
	struct ibv_cq *cq = uroce_create_cq(id->verbs, 8, NULL, NULL, 0);

	attr.send_cq = cq;
	attr.recv_cq = cq;
	assert_int_equal(uroce_rdma_create_qp(id, pd, &attr), 0);
	assert_ptr_equal(id->qp->pd, pd);
	assert_ptr_equal(id->pd, pd);
	assert_null(id->send_cq);
	uroce_rdma_destroy_qp(id);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	destroy(id);
}

static void
test_errors(void **state)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP);
	struct ibv_pd *other = uroce_alloc_pd(world_context(1));
	struct ibv_qp_init_attr attr = plain;

	fails(uroce_rdma_create_qp(id, NULL, &attr), EINVAL); /* no device */
	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 0)), 0);
	fails(uroce_rdma_create_qp(id, other, &attr), EINVAL);
	attr = plain;
	attr.cap.max_send_wr = UINT32_MAX;
	fails(uroce_rdma_create_qp(id, NULL, &attr), EINVAL);
	attr = plain;
	attr.cap.max_send_sge = 1000;
	fails(uroce_rdma_create_qp(id, NULL, &attr), EINVAL);
	assert_null(id->send_cq); /* the CQs created for it are destroyed */
	assert_null(id->recv_cq);
	attr = plain;
	assert_int_equal(uroce_rdma_create_qp(id, NULL, &attr), 0);
	uroce_rdma_destroy_ep(id);
	assert_int_equal(uroce_dealloc_pd(other), 0);
}

static void
test_ex(void **state)
{
	struct rdma_cm_id *id = bound();
	struct ibv_qp_init_attr_ex attr = { .qp_type = IBV_QPT_RC, .cap = plain.cap };

	assert_int_equal(uroce_rdma_create_qp_ex(id, &attr), 0);
	assert_ptr_equal(attr.pd, id->pd);
	assert_ptr_equal(id->qp->pd, id->pd);
	uroce_rdma_destroy_ep(id);
}

static void
test_srq(void **state)
{
	struct rdma_cm_id *id = bound();
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq_init_attr_ex ex = { .attr = init.attr };
	struct ibv_qp_init_attr attr = plain;

	fails(uroce_rdma_create_srq_ex(id, &ex), EINVAL); /* without a type */
	assert_int_equal(uroce_rdma_create_srq(id, NULL, &init), 0);
	assert_non_null(id->srq);
	assert_ptr_equal(id->srq->pd, id->pd);
	fails(uroce_rdma_create_srq(id, NULL, &init), EINVAL);
	assert_int_equal(uroce_rdma_create_qp(id, NULL, &attr), 0);
	assert_ptr_equal(id->qp->srq, id->srq);
	uroce_rdma_destroy_ep(id);

	id = world_id(channel, RDMA_PS_TCP);
	fails(uroce_rdma_create_srq(id, NULL, &init), EINVAL); /* no device */
	uroce_rdma_destroy_srq(id);                            /* without an SRQ, the call does nothing */
	destroy(id);
}

/* A device's default PD exists while an ID is bound to the device. */
static void
test_default_pd(void **state)
{
	struct rdma_cm_id *a = bound(), *b = bound();
	struct ibv_pd *pd = a->pd;

	assert_ptr_equal(b->pd, pd);
	assert_int_equal(world.devices[0].host.dev.pd_count, 1);
	destroy(a);
	assert_int_equal(world.devices[0].host.dev.pd_count, 1);
	destroy(b);
	assert_int_equal(world.devices[0].host.dev.pd_count, 0);
}

static void
test_options(void **state)
{
	struct rdma_cm_id *id = world_id(channel, RDMA_PS_TCP),
			  *ud = world_id(channel, RDMA_PS_UDP);
	uint8_t byte = 32;
	int on = 1, off = 0;

	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
	      EINVAL);
	byte = 12;
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 4),
	      EINVAL);
	fails(uroce_rdma_set_option(ud, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1),
	      EINVAL);
	assert_int_equal(
		uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1), 0);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, NULL, 1), EINVAL);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, 4, &byte, 1), ENOSYS);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, -1, &byte, 1), ENOSYS);
	fails(uroce_rdma_set_option(id, 7, 0, &byte, 1), ENOSYS);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &byte, 1), EOPNOTSUPP);
	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(1, 0)), 0);
	assert_int_equal(
		uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), 0);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &off, 4), EINVAL);
	assert_int_equal(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4),
			 0);
	assert_int_equal(uroce_rdma_listen(id, 1), 0);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &on, 4), EINVAL);
	fails(uroce_rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &on, 4), EINVAL);
	destroy(id);
	destroy(ud);
}

/* The traffic class and the timeout reach the QPs; the ID of a request inherits its listener's. */
static void
test_options_take_effect(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0), *client,
			  *server;
	struct ibv_qp_attr attr;
	uint8_t timeout = 14, tos = 0x20;

	assert_int_equal(uroce_rdma_set_option(listener, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					       &timeout, 1),
			 0);
	client = world_id(channel, RDMA_PS_TCP);
	timeout = 9;
	assert_int_equal(uroce_rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT,
					       &timeout, 1),
			 0);
	assert_int_equal(uroce_rdma_set_option(client, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1),
			 0);
	assert_int_equal(uroce_rdma_resolve_addr(client, NULL, world_v4(2, 7174), 1), 0);
	world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(uroce_rdma_resolve_route(client, 1), 0);
	world_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	world_qp(client);
	server = world_request(channel, client, &param);
	world_qp(server);
	assert_int_equal(uroce_rdma_accept(server, NULL), 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	world_qp_state(client, &attr);
	assert_int_equal(attr.timeout, 9);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 0x20);
	world_qp_state(server, &attr);
	assert_int_equal(attr.timeout, 14);
	assert_int_equal(attr.ah_attr.grh.traffic_class, 0x20); /* from the request */
	uroce_rdma_destroy_ep(client);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

static void
test_devices(void **state)
{
	struct ibv_context **list;
	int n = 0;

	list = uroce_rdma_get_devices(&n);
	assert_non_null(list);
	assert_int_equal(n, 2);
	assert_ptr_equal(list[0], world_context(0));
	assert_ptr_equal(list[1], world_context(1));
	assert_null(list[2]);
	uroce_rdma_free_devices(list);
}

UROCE_TESTS(cma_qp)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, channel_setup, channel_teardown)
	const struct CMUnitTest tests[] = {
		TEST(made_for_it), TEST(of_the_user), TEST(errors),  TEST(ex),
		TEST(srq),         TEST(default_pd),  TEST(options), TEST(options_take_effect),
		TEST(devices),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
