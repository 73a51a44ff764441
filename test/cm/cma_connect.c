/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connections between two IDs: each event with its fields, the QPs at each step, refused requests, and each way for a
 * connection to end.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "cma_fixture.h"
#include "eal.h"
#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "cm/ib/internal.h"
#include "cm/ib/mad.h"

static struct rdma_cm_id *
client_with_qp(void)
{
	struct rdma_cm_id *id = world_resolved(channel, 2, 7174, RDMA_PS_TCP);

	world_qp(id);
	return id;
}

static void
check_client_qp(const struct rdma_cm_id *client, const struct rdma_cm_id *server)
{
	struct ibv_qp_attr attr, other;

	assert_int_equal(world_qp_state(client, &attr), IBV_QPS_RTS);
	assert_int_equal(world_qp_state(server, &other), IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, server->qp->qp_num);
	assert_int_equal(other.dest_qp_num, client->qp->qp_num);
	/* the PSNs match */
	assert_int_equal(attr.sq_psn, other.rq_psn);
	assert_int_equal(attr.rq_psn, other.sq_psn);
	/* requested READs are within the other end's resources */
	assert_int_equal(attr.max_rd_atomic, 4);
	assert_int_equal(other.max_dest_rd_atomic, 4);
	assert_int_equal(attr.max_dest_rd_atomic, 3);
	assert_int_equal(other.max_rd_atomic, 3);
	assert_int_equal(attr.path_mtu, IBV_MTU_2048);
	assert_int_equal(other.path_mtu, IBV_MTU_2048);
	assert_int_equal(attr.retry_cnt, 6);
	assert_int_equal(other.retry_cnt, 6);
	assert_int_equal(attr.ah_attr.grh.dgid.raw[15], 2);
	assert_int_equal(other.ah_attr.grh.dgid.raw[15], 1);
	assert_int_equal(attr.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
						       IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(attr.timeout, other.timeout);
	assert_int_equal(attr.timeout, 19);
}

static void
test_events(void **state)
{
	struct rdma_conn_param param = {
		.responder_resources = 3,
		.initiator_depth = 4,
		.retry_count = 6,
		.rnr_retry_count = 5,
		.private_data = "to you",
		.private_data_len = 7,
	};
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	static const uint8_t zeros[UROCE_CM_MAX_PRIVATE_BYTES];

	listener->context = &param;
	assert_int_equal(world_qp_state(client, &attr), IBV_QPS_INIT);
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	fails(uroce_rdma_connect(client, &param), EINVAL);

	event = world_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	assert_ptr_equal(event->listen_id, listener);
	assert_ptr_not_equal(server, listener);
	assert_int_equal(event->status, 0);
	assert_int_equal(event->param.conn.private_data_len, 56);
	assert_string_equal(event->param.conn.private_data, "to you");
	assert_memory_equal((const uint8_t *)event->param.conn.private_data + 7, zeros, 49);
	assert_int_equal(event->param.conn.responder_resources, 4);
	assert_int_equal(event->param.conn.initiator_depth, 3);
	assert_int_equal(event->param.conn.retry_count, 6);
	assert_int_equal(event->param.conn.rnr_retry_count, 5);
	assert_int_equal(event->param.conn.qp_num, client->qp->qp_num);
	assert_ptr_equal(server->verbs, world_context(1));
	assert_ptr_equal(server->channel, channel);
	assert_int_equal(server->ps, RDMA_PS_TCP);
	assert_int_equal(server->qp_type, IBV_QPT_RC);
	assert_memory_equal(rdma_get_local_addr(server), world_v4(2, 7174),
			    sizeof(struct sockaddr_in));
	assert_memory_equal(rdma_get_peer_addr(server), rdma_get_local_addr(client),
			    sizeof(struct sockaddr_in));
	assert_int_equal(server->route.num_paths, 1);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	world_qp(server);

	param.private_data = "and back";
	param.private_data_len = 9;
	param.responder_resources = RDMA_MAX_RESP_RES;
	param.initiator_depth = RDMA_MAX_INIT_DEPTH;
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	fails(uroce_rdma_accept(server, &param), EINVAL);
	assert_int_equal(world_qp_state(server, &attr), IBV_QPS_RTS);
	assert_int_equal(world_qp_state(client, &attr), IBV_QPS_INIT);

	event = world_event(channel, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, client);
	assert_int_equal(event->status, 0);
	assert_int_equal(event->param.conn.private_data_len, 196);
	assert_string_equal(event->param.conn.private_data, "and back");
	assert_int_equal(event->param.conn.responder_resources, 3);
	assert_int_equal(event->param.conn.initiator_depth, 4);
	assert_int_equal(event->param.conn.qp_num, server->qp->qp_num);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0), server);
	check_client_qp(client, server);
	world_no_event(channel);

	uroce_rdma_destroy_ep(client);
	world_take(channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

/* One end disconnects and the other replies; each gets one event; then TIMEWAIT ends. */
static void
test_disconnect(void **state)
{
	struct world_pair pair;
	struct ibv_qp_attr attr;

	world_connect(&pair);
	assert_int_equal(uroce_rdma_disconnect(pair.client), 0);
	assert_int_equal(world_qp_state(pair.client, &attr), IBV_QPS_ERR);
	assert_ptr_equal(world_take(pair.channel, RDMA_CM_EVENT_DISCONNECTED, 0), pair.server);
	assert_int_equal(world_qp_state(pair.server, &attr), IBV_QPS_RTS);
	world_no_event(pair.channel);
	assert_int_equal(uroce_rdma_disconnect(pair.server), 0);
	assert_ptr_equal(world_take(pair.channel, RDMA_CM_EVENT_DISCONNECTED, 0), pair.client);
	assert_int_equal(uroce_rdma_disconnect(pair.client), 0);
	world_no_event(pair.channel);
	world_pass(60000 * WORLD_MS);
	world_take(pair.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	world_take(pair.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	world_no_event(pair.channel);
	world_disconnect(&pair);
}

/* Both ends disconnect at once. */
static void
test_disconnect_both(void **state)
{
	struct world_pair pair;

	world_connect(&pair);
	assert_int_equal(uroce_rdma_disconnect(pair.client), 0);
	assert_int_equal(uroce_rdma_disconnect(pair.server), 0);
	world_take(pair.channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	world_take(pair.channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	world_pass(60000 * WORLD_MS);
	world_take(pair.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	world_take(pair.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	world_no_event(pair.channel);
	world_disconnect(&pair);
}

static bool
lose_all(const uint8_t *mad)
{
	return true;
}

/* The peer does not reply: the disconnect completes anyway. */
static void
test_disconnect_silent(void **state)
{
	struct world_pair pair;

	world_connect(&pair);
	world.lose = lose_all;
	assert_int_equal(uroce_rdma_disconnect(pair.client), 0);
	world_pass(600000 * WORLD_MS);
	assert_ptr_equal(world_take(pair.channel, RDMA_CM_EVENT_DISCONNECTED, -ETIMEDOUT),
			 pair.client);
	world_take(pair.channel, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	world.lose = NULL;
	world_disconnect(&pair);
}

static void
test_unreachable(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *client = client_with_qp();

	world.lose = lose_all;
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_pass(1000000 * WORLD_MS);
	world_take(channel, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	assert_int_equal(world.mads >= 1 + UROCE_CMA_MAX_RETRIES, 1);
	fails(uroce_rdma_connect(client, &param), EINVAL);
	uroce_rdma_destroy_ep(client);
}

static void
test_reject(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;

	server = world_request(channel, client, &param);
	assert_int_equal(uroce_rdma_reject(server, "no", 3), 0);
	fails(uroce_rdma_accept(server, &param), EINVAL);
	event = world_event(channel, RDMA_CM_EVENT_REJECTED);
	assert_ptr_equal(event->id, client);
	assert_int_equal(event->status, UROCE_CM_REJ_CONSUMER_DEFINED);
	assert_int_equal(event->param.conn.private_data_len, 148);
	assert_string_equal(event->param.conn.private_data, "no");
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	assert_int_equal(world_qp_state(client, &attr), IBV_QPS_ERR);
	uroce_rdma_destroy_ep(client);
	destroy(server);

	client = client_with_qp();
	server = world_request(channel, client, &param);
	assert_int_equal(uroce_rdma_reject_ece(server, NULL, 0), 0);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_VENDOR_OPTION_NOT_SUPPORTED);
	uroce_rdma_destroy_ep(client);
	/* destroying an ID without a reply sends a REJ */
	client = client_with_qp();
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	destroy(server);
	server = world_take(channel, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	destroy(server);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_CONSUMER_DEFINED);
	uroce_rdma_destroy_ep(client);
	destroy(listener);
}

/* No listener at the port, or only at another address. */
static void
test_nobody_listens(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_id(channel, RDMA_PS_TCP);
	struct rdma_cm_id *client = client_with_qp();

	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_INVALID_SERVICE_ID);
	uroce_rdma_destroy_ep(client);

	/* the device's other address */
	assert_int_equal(uroce_rdma_bind_addr(listener, world_v6(2, 7174)), 0);
	assert_int_equal(uroce_rdma_listen(listener, 0), 0);
	client = client_with_qp();
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_INVALID_SERVICE_ID);
	uroce_rdma_destroy_ep(client);
	destroy(listener);
}

static void
test_parameters(void **state)
{
	uint8_t data[57] = { 0 };
	struct rdma_conn_param param = { .private_data = data, .private_data_len = 57 };
	struct rdma_cm_id *client = world_resolved(channel, 2, 7174, RDMA_PS_TCP);

	fails(uroce_rdma_connect(client, NULL), EINVAL); /* no QP */
	fails(uroce_rdma_connect(client, &param), EINVAL);
	param.private_data_len = 56;
	param.responder_resources = UROCE_MAX_RD_ATOMIC + 1;
	fails(uroce_rdma_connect(client, &param), EINVAL);
	param.responder_resources = 1;
	param.initiator_depth = UROCE_MAX_RD_ATOMIC + 1;
	fails(uroce_rdma_connect(client, &param), EINVAL);
	param.initiator_depth = 1;
	param.qp_num = 77;
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_INVALID_SERVICE_ID);
	destroy(client);

	client = world_id(channel, RDMA_PS_TCP);
	fails(uroce_rdma_connect(client, &param), EINVAL); /* no route */
	fails(uroce_rdma_accept(client, &param), EINVAL);
	fails(uroce_rdma_disconnect(client), EINVAL);
	fails(uroce_rdma_reject(client, NULL, 0), EINVAL);
	fails(uroce_rdma_notify(client, IBV_EVENT_COMM_EST), EINVAL);
	destroy(client);
}

/* The peer grants less than was requested. */
static void
test_limited(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 9, .initiator_depth = 8 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;
	struct ibv_qp_attr attr;

	server = world_request(channel, client, &param);
	world_qp(server);
	param.responder_resources = 2;
	param.initiator_depth = 1;
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	world_qp_state(client, &attr);
	assert_int_equal(attr.max_rd_atomic, 2);
	assert_int_equal(attr.max_dest_rd_atomic, 1);
	world_qp_state(server, &attr);
	assert_int_equal(attr.max_rd_atomic, 1);
	assert_int_equal(attr.max_dest_rd_atomic, 2);
	uroce_rdma_destroy_ep(client);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

/* QPs that the application manages: CONNECT_RESPONSE, attributes by rdma_init_qp_attr(3), and rdma_establish(3). */
static void
test_own_qp(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1,
					 .initiator_depth = 1,
					 .qp_num = 0x1234 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 7174, RDMA_PS_TCP), *server;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	struct rdma_cm_event *event;
	int mask = 0;

	assert_int_equal(uroce_rdma_init_qp_attr(client, &attr, &mask), 0);
	assert_int_equal(mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(attr.qp_access_flags, 0);
	attr.qp_state = IBV_QPS_RTR;
	fails(uroce_rdma_init_qp_attr(client, &attr, &mask), EINVAL);
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	event = world_event(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	server = event->id;
	assert_int_equal(event->param.conn.qp_num, 0x1234);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	param.qp_num = 0x4321;
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	event = world_event(channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->param.conn.qp_num, 0x4321);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	world_no_event(channel);
	assert_int_equal(uroce_rdma_init_qp_attr(client, &attr, &mask), 0);
	assert_int_equal(attr.dest_qp_num, 0x4321);
	assert_int_equal(uroce_rdma_establish(client), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0), server);
	fails(uroce_rdma_establish(client), EINVAL);
	destroy(client);
	world_take(channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	destroy(server);
	destroy(listener);
}

static bool
lose_rtu(const uint8_t *mad)
{
	return uroce_cm_mad_message(mad, UROCE_CM_MAD_BYTES) == UROCE_CM_RTU;
}

/* The RTU is lost, but the QP receives a message. */
static void
test_notify(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;

	world.lose = lose_rtu;
	server = world_request(channel, client, &param);
	world_qp(server);
	assert_int_equal(uroce_rdma_accept(server, NULL), 0);
	world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0);
	world_no_event(channel);
	fails(uroce_rdma_notify(server, IBV_EVENT_QP_FATAL), EINVAL);
	assert_int_equal(uroce_rdma_notify(server, IBV_EVENT_COMM_EST), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0), server);
	world.lose = NULL;
	world_pass(60000 * WORLD_MS);
	world_no_event(channel);
	uroce_rdma_destroy_ep(client);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

/* If the QP cannot be modified as agreed, the connection fails, and the application gets no later events of it. */
static void
test_qp_fails(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	server = world_request(channel, client, &param);
	world_qp(server);
	assert_int_equal(uroce_modify_qp(client->qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(uroce_rdma_accept(server, NULL), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_CONNECT_ERROR, -EINVAL), client);
	uroce_rdma_destroy_ep(server); /* sends a REJ, but the client's ID has already failed */
	world_no_event(channel);
	uroce_rdma_destroy_ep(client);
	destroy(listener);
}

/* The same at the server. */
static void
test_accept_fails(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	server = world_request(channel, client, &param);
	world_qp(server);
	assert_int_equal(uroce_modify_qp(server->qp, &attr, IBV_QP_STATE), 0);
	fails(uroce_rdma_accept(server, NULL), EINVAL);
	assert_int_equal(uroce_rdma_reject(server, NULL, 0), 0);
	world_take(channel, RDMA_CM_EVENT_REJECTED, UROCE_CM_REJ_CONSUMER_DEFINED);
	uroce_rdma_destroy_ep(client);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

/* The client is destroyed before the accept: the accept fails, and no event comes in between. */
static void
test_client_gone(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = client_with_qp(), *server;

	server = world_request(channel, client, &param);
	world_qp(server);
	uroce_rdma_destroy_ep(client);
	world_no_event(channel);
	fails(uroce_rdma_accept(server, NULL), EINVAL);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

/* A connection within one device and one process. */
static void
test_own_device(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 3,
					 .initiator_depth = 4,
					 .retry_count = 6 };
	struct rdma_cm_id *listener = world_listener(channel, 1, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 1, 7174, RDMA_PS_TCP), *server;

	world_qp(client);
	server = world_request(channel, client, &param);
	assert_ptr_equal(server->verbs, client->verbs);
	world_qp(server);
	assert_int_equal(uroce_rdma_accept(server, NULL), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0), client);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ESTABLISHED, 0), server);
	uroce_rdma_destroy_ep(client);
	world_take(channel, RDMA_CM_EVENT_DISCONNECTED, 0);
	uroce_rdma_destroy_ep(server);
	destroy(listener);
}

/* A peer may offer 255 READs: the QP's attributes stay within the device's limits. */
static void
test_a_peer_offers_the_most(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .qp_num = 5 };
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 7174, RDMA_PS_TCP), *server;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	struct uroce_cm_conn *conn;
	int mask;

	server = world_request(channel, client, &param);
	conn = uroce_cma_id_of(server)->conn;
	conn->responder_resources = 255;
	conn->initiator_depth = 255;
	assert_int_equal(uroce_rdma_init_qp_attr(server, &attr, &mask), 0);
	assert_int_equal(attr.max_dest_rd_atomic, UROCE_MAX_RD_ATOMIC);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_rdma_init_qp_attr(server, &attr, &mask), 0);
	assert_int_equal(attr.max_rd_atomic, UROCE_MAX_RD_ATOMIC);
	destroy(client);
	destroy(server);
	destroy(listener);
}

static void
test_ece(void **state)
{
	struct rdma_conn_param param = { .responder_resources = 1, .qp_num = 5 };
	struct ibv_ece ece = { .vendor_id = 0xabcdef, .options = 0x12345678 }, got;
	struct rdma_cm_id *listener = world_listener(channel, 2, 7174, RDMA_PS_TCP, 0);
	struct rdma_cm_id *client = world_resolved(channel, 2, 7174, RDMA_PS_TCP), *server;

	assert_int_equal(uroce_rdma_set_local_ece(client, &ece), 0);
	server = world_request(channel, client, &param);
	assert_int_equal(uroce_rdma_get_remote_ece(server, &got), 0);
	assert_int_equal(got.vendor_id, 0xabcdef);
	assert_int_equal(got.options, 0x12345678);
	ece.options = 0x10;
	assert_int_equal(uroce_rdma_set_local_ece(server, &ece), 0);
	assert_int_equal(uroce_rdma_accept(server, &param), 0);
	world_take(channel, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(uroce_rdma_get_remote_ece(client, &got), 0);
	assert_int_equal(got.vendor_id, 0xabcdef);
	assert_int_equal(got.options, 0x10);
	ece.vendor_id = 0;
	fails(uroce_rdma_set_local_ece(client, &ece), EINVAL);
	ece.vendor_id = 1 << 24;
	fails(uroce_rdma_set_local_ece(client, &ece), EINVAL);
	destroy(client);
	destroy(server);
	destroy(listener);
}

UROCE_TESTS(cma_connect)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, channel_setup, channel_teardown)
	const struct CMUnitTest tests[] = {
		TEST(events),          TEST(disconnect),
		TEST(disconnect_both), TEST(disconnect_silent),
		TEST(unreachable),     TEST(reject),
		TEST(nobody_listens),  TEST(parameters),
		TEST(limited),         TEST(own_qp),
		TEST(notify),          TEST(qp_fails),
		TEST(accept_fails),    TEST(client_gone),
		TEST(own_device),      TEST(ece),
		TEST(a_peer_offers_the_most),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
