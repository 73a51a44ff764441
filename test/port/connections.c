/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rdma_cm calls over ports, with QPs that transfer data: many connections established and closed at once, datagrams
 * to QPs found by SIDR, and a multicast group.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <arpa/inet.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "port/worker/pool.h"
#include "rings.h"
#include "uroce.h"
#include "uroce_cma.h"
#include "verbs/device/device.h"

#define PORT      7471
#define MANY      1000
#define GRH_BYTES 40
#define LIMIT_S   300 /* for a busy machine */

static struct test_rings wires[2];
static struct uroce_worker *workers[2];
static struct ibv_context *devices[2];
static struct rdma_event_channel *channel;

static int
setup(void **state)
{
	static const char *const addrs[2] = { "10.0.0.1/24", "10.0.0.2/24" };
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };

	test_rings_create_pair(&wires[0], &wires[1]);
	for (unsigned int i = 0; i < 2; i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		devices[i] = uroce_open_port(wires[i].port_id, &conf, &workers[i], 1);
		assert_non_null(devices[i]);
		assert_int_equal(uroce_add_address(devices[i], addrs[i]), 0);
	}
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	return 0;
}

static int
teardown(void **state)
{
	uroce_rdma_destroy_event_channel(channel);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(devices[i]), 0);
	rte_eth_dev_close(wires[0].port_id);
	test_rings_destroy(&wires[1]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	return 0;
}

static struct sockaddr *
address(unsigned int host, uint16_t port)
{
	static struct sockaddr_in addrs[2];
	static unsigned int next;
	struct sockaddr_in *a = &addrs[next++ % 2];

	*a = (struct sockaddr_in){ .sin_family = AF_INET,
				   .sin_port = htons(port),
				   .sin_addr.s_addr = htonl(host) };
	return (struct sockaddr *)a;
}

#define CLIENT 0x0a000001
#define SERVER 0x0a000002
#define GROUP  0xefff0001

static struct rdma_cm_event *
next_event(void)
{
	const time_t until = time(NULL) + LIMIT_S;
	struct rdma_cm_event *event;

	while (uroce_rdma_get_cm_event(channel, &event) != 0) {
		assert_int_equal(errno, EAGAIN);
		assert_true(time(NULL) < until);
		test_poll(workers, 2, 1);
	}
	return event;
}

static struct rdma_cm_event *
expect(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = next_event();

	if (event->event != type)
		fail_msg("got event %s (status %d), expected %s", uroce_rdma_event_str(event->event),
			 event->status, uroce_rdma_event_str(type));
	return event;
}

static struct rdma_cm_id *
take(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = expect(type);
	struct rdma_cm_id *id = event->id;

	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	return id;
}

static struct rdma_cm_id *
id_create(enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, ps), 0);
	return id;
}

static struct rdma_cm_id *
listener_create(enum rdma_port_space ps)
{
	struct rdma_cm_id *id = id_create(ps);

	assert_int_equal(uroce_rdma_bind_addr(id, address(SERVER, PORT)), 0);
	assert_int_equal(uroce_rdma_listen(id, 0), 0);
	return id;
}

static void
wait_completion(struct ibv_cq *cq, struct ibv_wc *wc)
{
	const time_t until = time(NULL) + LIMIT_S;

	while (uroce_poll_cq(cq, 1, wc) == 0) {
		assert_true(time(NULL) < until);
		test_poll(workers, 2, 1);
	}
	assert_int_equal(wc->status, IBV_WC_SUCCESS);
}

/* ---- many ---- */

static struct ibv_pd *pds[2];
static struct ibv_cq *cqs[2];
static struct rdma_cm_id *clients[MANY], *servers[MANY];

static void
qp_create(struct rdma_cm_id *id, unsigned int device)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cqs[device],
		.recv_cq = cqs[device],
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = id->qp_type,
		.sq_sig_all = 1,
	};

	assert_int_equal(uroce_rdma_create_qp(id, pds[device], &init), 0);
}

/* Take the next step for either end, by its event. */
static void
connect_all(void)
{
	struct rdma_conn_param param = { .retry_count = 7,
					 .rnr_retry_count = 7,
					 .responder_resources = 1 };
	unsigned int requests = 0, established = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		clients[i] = id_create(RDMA_PS_TCP);
		assert_int_equal(uroce_rdma_resolve_addr(clients[i], address(CLIENT, 0),
							 address(SERVER, PORT), LIMIT_S * 1000),
				 0);
	}
	while (established < 2 * MANY) {
		struct rdma_cm_event *event = next_event();
		struct rdma_cm_id *id = event->id;
		const enum rdma_cm_event_type type = event->event;

		assert_int_equal(event->status, 0);
		assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
		switch (type) {
		case RDMA_CM_EVENT_ADDR_RESOLVED:
			assert_int_equal(uroce_rdma_resolve_route(id, 1), 0);
			break;
		case RDMA_CM_EVENT_ROUTE_RESOLVED:
			qp_create(id, 0);
			assert_int_equal(uroce_rdma_connect(id, &param), 0);
			break;
		case RDMA_CM_EVENT_CONNECT_REQUEST:
			qp_create(id, 1);
			assert_int_equal(uroce_rdma_accept(id, &param), 0);
			servers[requests++] = id;
			break;
		default: assert_int_equal(type, RDMA_CM_EVENT_ESTABLISHED); established++;
		}
	}
	assert_int_equal(requests, MANY);
}

/* Send a message on each connection: an empty one, which needs no memory. */
static void
use_all(void)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, recv = { .num_sge = 0 };
	struct ibv_wc wc;

	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(uroce_post_recv(servers[i]->qp, &recv, &bad_recv), 0);
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(uroce_post_send(clients[i]->qp, &wr, &bad), 0);
	for (unsigned int i = 0; i < MANY; i++) {
		wait_completion(cqs[1], &wc);
		wait_completion(cqs[0], &wc);
	}
}

static void
disconnect_all(void)
{
	for (unsigned int i = 0; i < MANY; i++)
		assert_int_equal(uroce_rdma_disconnect(clients[i]), 0);
	for (unsigned int n = 0; n < 2 * MANY;) {
		struct rdma_cm_event *event = next_event();
		struct rdma_cm_id *id = event->id;
		const enum rdma_cm_event_type type = event->event;

		assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
		if (type == RDMA_CM_EVENT_TIMEWAIT_EXIT)
			continue;
		assert_int_equal(type, RDMA_CM_EVENT_DISCONNECTED);
		assert_int_equal(uroce_rdma_disconnect(id), 0);
		n++;
	}
	for (unsigned int i = 0; i < MANY; i++) {
		uroce_rdma_destroy_ep(clients[i]);
		uroce_rdma_destroy_ep(servers[i]);
	}
}

static void
test_many(void **state)
{
	struct rdma_cm_id *listener = listener_create(RDMA_PS_TCP);
	uint32_t before[2];

	for (unsigned int i = 0; i < 2; i++) {
		pds[i] = uroce_alloc_pd(devices[i]);
		cqs[i] = uroce_create_cq(devices[i], 2 * MANY, NULL, NULL, 0);
		assert_non_null(pds[i]);
		assert_non_null(cqs[i]);
		before[i] = uroce_device_of(devices[i])->qp_count;
	}
	for (unsigned int round = 0; round < 2; round++) {
		connect_all();
		use_all();
		disconnect_all();
		for (unsigned int i = 0; i < 2; i++)
			assert_int_equal(uroce_device_of(devices[i])->qp_count, before[i]);
	}
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(uroce_destroy_cq(cqs[i]), 0);
		assert_int_equal(uroce_dealloc_pd(pds[i]), 0);
	}
}

/* ---- datagrams ---- */

static void
ud_qp_create(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};

	assert_int_equal(uroce_rdma_create_qp(id, NULL, &init), 0);
}

/* Send to the address in the event; the datagram arrives. */
static void
send_datagram(struct rdma_cm_id *from, const struct rdma_ud_param *param, struct rdma_cm_id *to)
{
	static uint8_t out[8] = "ping it", in[GRH_BYTES + 8];
	struct ibv_ah_attr attr = param->ah_attr;
	struct ibv_ah *ah = uroce_create_ah(from->pd, &attr);
	struct ibv_mr *out_mr = uroce_reg_mr(from->pd, out, sizeof(out), 0);
	struct ibv_mr *in_mr = uroce_reg_mr(to->pd, in, sizeof(in), IBV_ACCESS_LOCAL_WRITE);
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)out, .length = sizeof(out), .lkey = out_mr->lkey },
		{ .addr = (uintptr_t)in, .length = sizeof(in), .lkey = in_mr->lkey },
	};
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge[1], .num_sge = 1 };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge[0],
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.wr.ud = { .ah = ah, .remote_qpn = param->qp_num, .remote_qkey = param->qkey },
	};
	struct ibv_wc wc;

	assert_non_null(ah);
	memset(in, 0, sizeof(in));
	assert_int_equal(uroce_post_recv(to->qp, &recv, &bad_recv), 0);
	assert_int_equal(uroce_post_send(from->qp, &wr, &bad), 0);
	wait_completion(to->recv_cq, &wc);
	assert_int_equal(wc.byte_len, sizeof(in));
	assert_memory_equal(in + GRH_BYTES, out, sizeof(out));
	wait_completion(from->send_cq, &wc);
	assert_int_equal(uroce_destroy_ah(ah), 0);
	assert_int_equal(uroce_dereg_mr(out_mr), 0);
	assert_int_equal(uroce_dereg_mr(in_mr), 0);
}

static void
test_datagram(void **state)
{
	struct rdma_cm_id *listener = listener_create(RDMA_PS_UDP),
			  *client = id_create(RDMA_PS_UDP), *server;
	struct rdma_cm_event *event;

	assert_int_equal(uroce_rdma_resolve_addr(client, address(CLIENT, 0), address(SERVER, PORT),
						 LIMIT_S * 1000),
			 0);
	take(RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_rdma_resolve_route(client, 1), 0);
	take(RDMA_CM_EVENT_ROUTE_RESOLVED);
	ud_qp_create(client);
	assert_int_equal(uroce_rdma_connect(client, NULL), 0);
	server = take(RDMA_CM_EVENT_CONNECT_REQUEST);
	ud_qp_create(server);
	assert_int_equal(uroce_rdma_accept(server, NULL), 0);
	event = expect(RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(event->param.ud.qp_num, server->qp->qp_num);
	send_datagram(client, &event->param.ud, server);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	uroce_rdma_destroy_ep(client);
	uroce_rdma_destroy_ep(server);
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
}

static void
test_group(void **state)
{
	struct rdma_cm_id *sender = id_create(RDMA_PS_UDP), *member = id_create(RDMA_PS_UDP);
	struct rdma_cm_join_mc_attr_ex attr = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
	};
	struct rdma_cm_event *event;

	assert_int_equal(uroce_rdma_bind_addr(sender, address(CLIENT, 0)), 0);
	assert_int_equal(uroce_rdma_bind_addr(member, address(SERVER, 0)), 0);
	ud_qp_create(sender);
	ud_qp_create(member);
	assert_int_equal(uroce_rdma_join_multicast(member, address(GROUP, 0), NULL), 0);
	take(RDMA_CM_EVENT_MULTICAST_JOIN);
	attr.addr = address(GROUP, 0);
	assert_int_equal(uroce_rdma_join_multicast_ex(sender, &attr, NULL), 0);
	event = expect(RDMA_CM_EVENT_MULTICAST_JOIN);
	send_datagram(sender, &event->param.ud, member);
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	assert_int_equal(uroce_rdma_leave_multicast(member, address(GROUP, 0)), 0);
	uroce_rdma_destroy_ep(member);
	uroce_rdma_destroy_ep(sender);
}

UROCE_TESTS(port_connections)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_datagram, setup, teardown),
		cmocka_unit_test_setup_teardown(test_group, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
