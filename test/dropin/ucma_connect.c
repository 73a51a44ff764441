/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connections of the rdma_cm device as librdmacm makes, refuses and ends them; and datagrams.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

static void
test_connection(void **state)
{
	struct rdma_ucm_event_resp resp;
	struct ib_uverbs_qp_attr attr;
	struct ucma_pair pair;

	ucma_connect_pair(&pair);
	attr = ucma_qp_attr(pair.client, IBV_QPS_RTR);
	assert_int_equal(attr.dest_qp_num, 0x22);
	assert_int_equal(attr.qp_attr_mask & IBV_QP_AV, IBV_QP_AV);
	assert_int_equal(attr.ah_attr.is_global, 1);
	assert_int_equal(attr.ah_attr.grh.dgid[15], 2);
	attr = ucma_qp_attr(pair.server, IBV_QPS_RTR);
	assert_int_equal(attr.dest_qp_num, 0x11);
	assert_int_equal(attr.max_dest_rd_atomic, 3);
	assert_int_equal(ucma_qp_attr(pair.server, IBV_QPS_RTS).max_rd_atomic, 2);
	assert_int_equal(ucma_get_event(&resp), EAGAIN);
	assert_int_equal(ucma_destroy(pair.client), 3);	/* address, route, response */
	assert_int_equal(ucma_event(RDMA_CM_EVENT_DISCONNECTED, UID(2)).id, pair.server);
	assert_int_equal(ucma_destroy(pair.server), 2);
	assert_int_equal(ucma_destroy(pair.listener), 1);
}

static void
test_disconnect(void **state)
{
	struct rdma_ucm_event_resp resp;
	struct ucma_pair pair;

	ucma_connect_pair(&pair);
	assert_int_equal(COMMAND(DISCONNECT, ((struct rdma_ucm_disconnect){ .id = pair.client }), 0), 0);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_DISCONNECTED, UID(2)).id, pair.server);
	assert_int_equal(COMMAND(DISCONNECT, ((struct rdma_ucm_disconnect){ .id = pair.server }), 0), 0);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_DISCONNECTED, UID(1)).id, pair.client);
	/* one event at each end, whichever began */
	assert_int_equal(ucma_get_event(&resp), EAGAIN);
	ucma_destroy(pair.client);
	ucma_destroy(pair.server);
	ucma_destroy(pair.listener);
}

static void
test_reject(void **state)
{
	struct rdma_ucm_reject cmd = { .private_data = "no", .private_data_len = 2 };
	const uint32_t listener = ucma_create(RDMA_PS_TCP, UID(0)), client = ucma_create(RDMA_PS_TCP, UID(1));
	struct rdma_ucm_event_resp resp;

	ucma_listen_at(listener, world_v4(2, PORT));
	ucma_resolve(client, UID(1), world_v4(2, PORT));
	assert_int_equal(ucma_try_connect(client, 0x11, ""), 0);
	cmd.id = ucma_event(RDMA_CM_EVENT_CONNECT_REQUEST, UID(0)).id;
	cmd.reason = 5;
	assert_int_equal(COMMAND(REJECT, cmd, 0), EINVAL);
	cmd.reason = UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED;
	assert_int_equal(COMMAND(REJECT, cmd, 0), 0);
	assert_int_equal(ucma_get_event(&resp), 0);
	assert_int_equal(resp.event, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(resp.status, UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED);
	assert_memory_equal(resp.param.conn.private_data, "no", 3);
	/* the request was not accepted: its ID has had no events */
	assert_int_equal(ucma_destroy(cmd.id), 0);
	ucma_destroy(client);
	ucma_destroy(listener);
}

static void
test_datagrams(void **state)
{
	const uint32_t listener = ucma_create(RDMA_PS_UDP, UID(0)), client = ucma_create(RDMA_PS_UDP, UID(1));
	struct rdma_ucm_event_resp resp;
	uint32_t server;

	ucma_listen_at(listener, world_v4(2, PORT));
	ucma_resolve(client, UID(1), world_v4(2, PORT));
	assert_int_equal(ucma_qp_attr(client, IBV_QPS_INIT).qp_attr_mask & IBV_QP_QKEY, IBV_QP_QKEY);
	assert_int_equal(ucma_try_connect(client, 0x11, "who?"), 0);
	resp = ucma_event(RDMA_CM_EVENT_CONNECT_REQUEST, UID(0));
	server = resp.id;
	assert_memory_equal(resp.param.ud.private_data, "who?", 5);
	assert_int_equal(ucma_try_accept(server, UID(2), 0x22, 1), 0);
	resp = ucma_event(RDMA_CM_EVENT_ESTABLISHED, UID(1));
	assert_int_equal(resp.param.ud.qp_num, 0x22);
	assert_int_equal(resp.param.ud.ah_attr.grh.dgid[15], 2);
	assert_int_not_equal(resp.param.ud.qkey, 0);
	ucma_destroy(client);
	ucma_destroy(server);
	ucma_destroy(listener);
}

static void
test_calls_out_of_turn(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	struct rdma_ucm_connect cmd = { .id = id };
	struct ib_uverbs_qp_attr attr;
	struct rdma_ucm_init_qp_attr init = { .id = id, .qp_state = IBV_QPS_RTR, .response = (uintptr_t)&attr };

	assert_int_equal(COMMAND(CONNECT, cmd, 0), EINVAL);	/* the parameters are not valid */
	assert_int_equal(ucma_try_connect(id, 1, ""), EINVAL);
	assert_int_equal(ucma_try_accept(id, UID(1), 1, 1), EINVAL);
	assert_int_equal(ucma_try_accept(id, UID(1), 1, 0), EINVAL);
	assert_int_equal(COMMAND(DISCONNECT, ((struct rdma_ucm_disconnect){ .id = id }), 0), EINVAL);
	assert_int_equal(COMMAND(REJECT, ((struct rdma_ucm_reject){ .id = id }), 0), EINVAL);
	assert_int_equal(COMMAND(INIT_QP_ATTR, init, sizeof(attr)), EINVAL);
	init.qp_state = IBV_QPS_ERR + 1;
	assert_int_equal(COMMAND(INIT_QP_ATTR, init, sizeof(attr)), EINVAL);
	ucma_destroy(id);
}

UROCE_TESTS(ucma_connect)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_connection),
		UCMA_TEST(test_disconnect),
		UCMA_TEST(test_reject),
		UCMA_TEST(test_datagrams),
		UCMA_TEST(test_calls_out_of_turn),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
