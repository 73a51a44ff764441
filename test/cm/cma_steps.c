/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Common steps of tests of the rdma_cm calls, in a world of two devices.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <arpa/inet.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cma_world.h"
#include "uroce.h"

struct sockaddr *
world_v4(unsigned int host, uint16_t port)
{
	static __thread struct sockaddr_in addrs[4];
	static __thread unsigned int next;
	struct sockaddr_in *a = &addrs[next++ % RTE_DIM(addrs)];

	*a = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = host == 0 ? 0 : htonl(0x0a000000 | host),
	};
	return (struct sockaddr *)a;
}

struct sockaddr *
world_v6(unsigned int host, uint16_t port)
{
	static __thread struct sockaddr_in6 addrs[4];
	static __thread unsigned int next;
	struct sockaddr_in6 *a = &addrs[next++ % RTE_DIM(addrs)];

	*a = (struct sockaddr_in6){ .sin6_family = AF_INET6, .sin6_port = htons(port) };
	if (host != 0) {
		a->sin6_addr.s6_addr[0] = 0xfd;
		a->sin6_addr.s6_addr[15] = (uint8_t)host;
	}
	return (struct sockaddr *)a;
}

struct rdma_event_channel *
world_channel(void)
{
	struct rdma_event_channel *channel = uroce_rdma_create_event_channel();

	assert_non_null(channel);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	return channel;
}

struct rdma_cm_event *
world_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = NULL;

	world_deliver();
	if (uroce_rdma_get_cm_event(channel, &event) != 0)
		fail_msg("no event, expected %s", uroce_rdma_event_str(type));
	if (event->event != type)
		fail_msg("got event %s (status %d), expected %s", uroce_rdma_event_str(event->event),
			 event->status, uroce_rdma_event_str(type));
	return event;
}

struct rdma_cm_id *
world_take(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status)
{
	struct rdma_cm_event *event = world_event(channel, type);
	struct rdma_cm_id *id = event->id;

	assert_int_equal(event->status, status);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	return id;
}

void
world_no_event(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event = NULL;

	world_deliver();
	errno = 0;
	if (uroce_rdma_get_cm_event(channel, &event) == 0)
		fail_msg("got event %s, expected none", uroce_rdma_event_str(event->event));
	assert_int_equal(errno, EAGAIN);
}

struct rdma_cm_id *
world_id(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct rdma_cm_id *id = NULL;

	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, ps), 0);
	return id;
}

struct rdma_cm_id *
world_listener(struct rdma_event_channel *channel, unsigned int host, uint16_t port,
	       enum rdma_port_space ps, int backlog)
{
	struct rdma_cm_id *id = world_id(channel, ps);

	assert_int_equal(uroce_rdma_bind_addr(id, world_v4(host, port)), 0);
	assert_int_equal(uroce_rdma_listen(id, backlog), 0);
	return id;
}

struct rdma_cm_id *
world_resolved(struct rdma_event_channel *channel, unsigned int host, uint16_t port,
	       enum rdma_port_space ps)
{
	struct rdma_cm_id *id = world_id(channel, ps);

	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, world_v4(host, port), 1000), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ADDR_RESOLVED, 0), id);
	assert_int_equal(uroce_rdma_resolve_route(id, 1000), 0);
	assert_ptr_equal(world_take(channel, RDMA_CM_EVENT_ROUTE_RESOLVED, 0), id);
	return id;
}

void
world_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = id->qp_type,
	};

	assert_int_equal(uroce_rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->qp);
}

enum ibv_qp_state
world_qp_state(const struct rdma_cm_id *id, struct ibv_qp_attr *attr)
{
	struct ibv_qp_init_attr init;

	assert_int_equal(uroce_query_qp(id->qp, attr, 0, &init), 0);
	return attr->qp_state;
}

struct rdma_cm_id *
world_request(struct rdma_event_channel *channel, struct rdma_cm_id *client, struct rdma_conn_param *param)
{
	assert_int_equal(uroce_rdma_connect(client, param), 0);
	return world_take(channel, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
}

void
world_connect(struct world_pair *pair)
{
	struct rdma_conn_param param = { .responder_resources = 3,
					 .initiator_depth = 4,
					 .retry_count = 6 };

	pair->channel = world_channel();
	pair->listener = world_listener(pair->channel, 2, 7174, RDMA_PS_TCP, 0);
	pair->client = world_resolved(pair->channel, 2, 7174, RDMA_PS_TCP);
	world_qp(pair->client);
	pair->server = world_request(pair->channel, pair->client, &param);
	world_qp(pair->server);
	assert_int_equal(uroce_rdma_accept(pair->server, NULL), 0);
	assert_ptr_equal(world_take(pair->channel, RDMA_CM_EVENT_ESTABLISHED, 0), pair->client);
	assert_ptr_equal(world_take(pair->channel, RDMA_CM_EVENT_ESTABLISHED, 0), pair->server);
}

void
world_disconnect(struct world_pair *pair)
{
	uroce_rdma_destroy_ep(pair->client);
	world_deliver();
	uroce_rdma_destroy_ep(pair->server);
	assert_int_equal(uroce_rdma_destroy_id(pair->listener), 0);
	uroce_rdma_destroy_event_channel(pair->channel);
}
