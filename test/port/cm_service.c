/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connections by the rdma_cm calls over ports, on a wire and looped back. Only the CM's thread polls the workers, as in
 * a program that only waits for events. Also devices that come and go.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "cm/service.h"
#include "eal.h"
#include "groups.h"
#include "port/cm/agent.h"
#include "port/worker/pool.h"
#include "port/port.h"
#include "rings.h"
#include "tasks.h"
#include "uroce.h"
#include "uroce_cma.h"

#define PORT       7471
#define TIMEOUT_MS 60000 /* for a busy machine */

static struct test_rings wires[2];
static struct uroce_worker *workers[2];
static struct ibv_context *devices[2];

static void
device_open(unsigned int i)
{
	/* Without loopback: in one process, the devices would not use the wire */
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };

	devices[i] = uroce_open_port(wires[i].port_id, &conf, &workers[i], 1);
	assert_non_null(devices[i]);
	assert_int_equal(uroce_add_address(devices[i], i == 0 ? "10.0.0.1/24" : "10.0.0.2/24"), 0);
	assert_int_equal(uroce_add_address(devices[i], i == 0 ? "fd00::1/64" : "fd00::2/64"), 0);
}

static int
setup(void **state)
{
	test_rings_create_pair(&wires[0], &wires[1]);
	for (unsigned int i = 0; i < 2; i++) {
		workers[i] = uroce_create_worker(-1);
		assert_non_null(workers[i]);
		device_open(i);
	}
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(devices[i]), 0);
	rte_eth_dev_close(wires[0].port_id);
	test_rings_destroy(&wires[1]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	return 0;
}

static struct sockaddr_storage
address(const char *text, uint16_t port)
{
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;

	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		in->sin_family = AF_INET;
		in->sin_port = htons(port);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(port);
	}
	return ss;
}

/* Wait for this event. @return its ID */
static struct rdma_cm_id *
expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_get_cm_event(channel, &event), 0);
	if (event->event != type)
		fail_msg("%s, status %d", uroce_rdma_event_str(event->event), event->status);
	id = event->id;
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	return id;
}

struct side {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	uint8_t byte;
	struct ibv_mr *mr;
};

static void
side_open(struct side *s, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	s->pd = uroce_alloc_pd(id->verbs);
	assert_non_null(s->pd);
	s->cq = uroce_create_cq(id->verbs, 8, NULL, NULL, 0);
	assert_non_null(s->cq);
	s->mr = uroce_reg_mr(s->pd, &s->byte, 1, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(s->mr);
	init.send_cq = s->cq;
	init.recv_cq = s->cq;
	assert_int_equal(uroce_rdma_create_qp(id, s->pd, &init), 0);
}

static void
side_close(struct side *s, struct rdma_cm_id *id)
{
	uroce_rdma_destroy_qp(id);
	assert_int_equal(uroce_dereg_mr(s->mr), 0);
	assert_int_equal(uroce_destroy_cq(s->cq), 0);
	assert_int_equal(uroce_dealloc_pd(s->pd), 0);
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
}

/* Send a message of one byte; the test polls until it arrives. */
static void
say(struct side *from, struct rdma_cm_id *id, struct side *to, struct rdma_cm_id *to_id)
{
	struct ibv_sge sge[2] = {
		{ .addr = (uintptr_t)&from->byte, .length = 1, .lkey = from->mr->lkey },
		{ .addr = (uintptr_t)&to->byte, .length = 1, .lkey = to->mr->lkey },
	};
	struct ibv_send_wr *bad, wr = { .sg_list = &sge[0], .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_recv_wr *bad_recv, recv = { .sg_list = &sge[1], .num_sge = 1 };
	struct ibv_wc wc;
	int n = 0;

	from->byte = 0x5a;
	to->byte = 0;
	assert_int_equal(uroce_post_recv(to_id->qp, &recv, &bad_recv), 0);
	assert_int_equal(uroce_post_send(id->qp, &wr, &bad), 0);
	for (uint64_t i = 0; n == 0 && i < UINT32_MAX; i++) {
		test_poll(workers, 2, 1);
		n = uroce_poll_cq(to->cq, 1, &wc);
	}
	assert_int_equal(n, 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(to->byte, 0x5a);
}

static void
connect_and_talk(const char *src, const char *dst)
{
	struct sockaddr_storage from = { 0 }, to = address(dst, PORT);
	struct rdma_event_channel *server = uroce_rdma_create_event_channel();
	struct rdma_event_channel *client = uroce_rdma_create_event_channel();
	struct rdma_cm_id *listener, *active, *passive;
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };
	struct side a, b;

	assert_non_null(server);
	assert_non_null(client);
	if (src != NULL)
		from = address(src, 0);
	assert_int_equal(uroce_rdma_create_id(server, &listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(listener, (struct sockaddr *)&to), 0);
	assert_int_equal(uroce_rdma_listen(listener, 1), 0);

	assert_int_equal(uroce_rdma_create_id(client, &active, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_resolve_addr(active,
						 src != NULL ? (struct sockaddr *)&from : NULL,
						 (struct sockaddr *)&to, TIMEOUT_MS),
			 0);
	assert_ptr_equal(expect(client, RDMA_CM_EVENT_ADDR_RESOLVED), active);
	assert_ptr_equal(active->verbs, devices[src != NULL]);
	assert_int_equal(uroce_rdma_resolve_route(active, TIMEOUT_MS), 0);
	expect(client, RDMA_CM_EVENT_ROUTE_RESOLVED);
	side_open(&a, active);
	assert_int_equal(uroce_rdma_connect(active, &param), 0);
	passive = expect(server, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_ptr_equal(passive->verbs, devices[0]);
	side_open(&b, passive);
	assert_int_equal(uroce_rdma_accept(passive, &param), 0);
	expect(client, RDMA_CM_EVENT_ESTABLISHED);
	expect(server, RDMA_CM_EVENT_ESTABLISHED);
	say(&a, active, &b, passive);
	say(&b, passive, &a, active);
	/* while it has QPs, the device is in use, apart from the service's own use */
	assert_int_equal(uroce_close_device(devices[0]), EBUSY);

	assert_int_equal(uroce_rdma_disconnect(active), 0);
	expect(server, RDMA_CM_EVENT_DISCONNECTED);
	assert_int_equal(uroce_rdma_disconnect(passive), 0);
	expect(client, RDMA_CM_EVENT_DISCONNECTED);
	side_close(&a, active);
	side_close(&b, passive);
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	uroce_rdma_destroy_event_channel(server);
	uroce_rdma_destroy_event_channel(client);
}

static void
test_wire(void **state)
{
	connect_and_talk("10.0.0.2", "10.0.0.1");
	connect_and_talk("fd00::2", "fd00::1");
}

static void
test_own_host(void **state)
{
	connect_and_talk(NULL, "10.0.0.1");
	connect_and_talk(NULL, "fd00::1");
}

static struct uroce_agent *
agent_of(unsigned int i)
{
	return uroce_port_of_context(devices[i])->agent;
}

/* The service runs from the first user to the last, on each device that exists. */
static void
test_devices(void **state)
{
	struct rdma_event_channel *channel;

	assert_null(agent_of(0));
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	assert_non_null(agent_of(0));
	assert_non_null(agent_of(1));
	assert_int_equal(uroce_close_device(devices[0]), 0);
	assert_non_null(agent_of(1));
	device_open(0);
	assert_non_null(agent_of(0));
	uroce_rdma_destroy_event_channel(channel);
	assert_null(agent_of(0));
	assert_null(agent_of(1));
	/* and once more */
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	assert_non_null(agent_of(1));
	uroce_rdma_destroy_event_channel(channel);
}

/* A resolution of an unused address fails with an event, after the requested timeout. */
static void
test_unreachable(void **state)
{
	struct sockaddr_storage nobody = address("10.0.0.77", PORT),
				far = address("10.9.0.1", PORT);
	struct rdma_event_channel *channel = uroce_rdma_create_event_channel();
	struct rdma_cm_id *id;

	assert_non_null(channel);
	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, (struct sockaddr *)&nobody, 100), 0);
	expect(channel, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_resolve_addr(id, NULL, (struct sockaddr *)&far, 100), 0);
	expect(channel, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(uroce_rdma_destroy_id(id), 0);
	uroce_rdma_destroy_event_channel(channel);
}

/* ---- everything at once ---- */

#define CHURN_ROUNDS 50
#define CLOSE_ROUNDS 100

struct churn {
	bool stop;            /* atomic */
	unsigned int made;    /* connections established */
	unsigned int reopens; /* of device 1 */
};

/* @return the ID of the next event, of any type; *type its type */
static struct rdma_cm_id *
next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type *type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_get_cm_event(channel, &event), 0);
	*type = event->event;
	id = event->id;
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	return id;
}

/* Go as far as device 1, which comes and goes, allows. @return whether the request was sent */
static bool
churn_request(struct rdma_event_channel *channel, struct rdma_cm_id *id, const char *dst,
	      uint16_t port)
{
	struct rdma_conn_param param = { .qp_num = 0x1234 };
	struct sockaddr_storage to = address(dst, port);
	enum rdma_cm_event_type type;

	if (uroce_rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 20) != 0)
		return false;
	next_event(channel, &type);
	if (type != RDMA_CM_EVENT_ADDR_RESOLVED || uroce_rdma_resolve_route(id, 1) != 0)
		return false;
	next_event(channel, &type);
	return type == RDMA_CM_EVENT_ROUTE_RESOLVED && uroce_rdma_connect(id, &param) == 0;
}

static struct rdma_cm_id *
churn_listener(struct rdma_event_channel *channel, const char *at, uint16_t port)
{
	struct sockaddr_storage from = address(at, port);
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(id, (struct sockaddr *)&from), 0);
	assert_int_equal(uroce_rdma_listen(id, 4), 0);
	return id;
}

/* Connect device 0, which stays, to itself, and destroy the connection in one of several states. */
static void
churn_connect(struct churn *c, uint16_t port, unsigned int drop)
{
	struct rdma_event_channel *server = uroce_rdma_create_event_channel();
	struct rdma_event_channel *client = uroce_rdma_create_event_channel();
	struct rdma_conn_param param = { .qp_num = 0x4321 };
	struct rdma_cm_id *listener = churn_listener(server, "10.0.0.1", port);
	struct rdma_cm_id *active, *passive = NULL;
	enum rdma_cm_event_type type;

	assert_int_equal(uroce_rdma_create_id(client, &active, NULL, RDMA_PS_TCP), 0);
	assert_true(churn_request(client, active, "10.0.0.1", port));
	if (drop > 0) {
		passive = next_event(server, &type);
		assert_int_equal(type, RDMA_CM_EVENT_CONNECT_REQUEST);
	}
	if (drop > 1)
		assert_int_equal(uroce_rdma_accept(passive, &param), 0);
	if (drop > 2) {
		next_event(client, &type);
		assert_int_equal(type, RDMA_CM_EVENT_CONNECT_RESPONSE);
		assert_int_equal(uroce_rdma_establish(active), 0);
		next_event(server, &type);
		assert_int_equal(type, RDMA_CM_EVENT_ESTABLISHED);
		c->made++;
	}
	if (drop > 3)
		assert_int_equal(uroce_rdma_disconnect(active), 0);
	assert_int_equal(uroce_rdma_destroy_id(drop & 1 ? active : listener), 0);
	assert_int_equal(uroce_rdma_destroy_id(drop & 1 ? listener : active), 0);
	if (passive != NULL)
		assert_int_equal(uroce_rdma_destroy_id(passive), 0);
	uroce_rdma_destroy_event_channel(server);
	uroce_rdma_destroy_event_channel(client);
}

/* Close device 1 unless it is in use, and open it again. */
static void *
churn_device(void *arg)
{
	struct churn *c = arg;

	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		int ret = uroce_close_device(devices[1]);

		assert_true(ret == 0 || ret == EBUSY);
		if (ret != 0)
			continue;
		device_open(1);
		c->reopens++;
	}
	return NULL;
}

/* Listen on all devices, and connect to device 1, which may be closed. */
static void *
churn_clients(void *arg)
{
	struct churn *c = arg;
	struct rdma_event_channel *channel, *requests;
	struct rdma_cm_id *listener, *id;

	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE)) {
		struct ibv_context **list = uroce_rdma_get_devices(NULL);

		assert_non_null(list);
		uroce_rdma_free_devices(list);
		channel = uroce_rdma_create_event_channel();
		requests = uroce_rdma_create_event_channel();
		assert_true(channel != NULL && requests != NULL);
		listener = churn_listener(requests, "::", PORT + 1);
		assert_int_equal(uroce_rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
		(void)churn_request(channel, id, "10.0.0.2", PORT + 1);
		assert_int_equal(uroce_rdma_destroy_id(listener), 0);
		assert_int_equal(uroce_rdma_destroy_id(id), 0);
		uroce_rdma_destroy_event_channel(requests);
		uroce_rdma_destroy_event_channel(channel);
	}
	return NULL;
}

/* Connections in all states, a service that starts and stops, and a device that comes and goes. */
static void
test_churn(void **state)
{
	struct churn c = { .stop = false };
	pthread_t device, clients;

	assert_int_equal(pthread_create(&device, NULL, churn_device, &c), 0);
	assert_int_equal(pthread_create(&clients, NULL, churn_clients, &c), 0);
	for (unsigned int i = 0; i < CHURN_ROUNDS; i++)
		churn_connect(&c, (uint16_t)(PORT + 2 + i), i % 5); /* late events are ignored */
	__atomic_store_n(&c.stop, true, __ATOMIC_RELEASE);
	pthread_join(device, NULL);
	pthread_join(clients, NULL);
	assert_int_equal(c.made, CHURN_ROUNDS / 5 * 2);
	assert_null(agent_of(0));
}

static void *
create_and_destroy_channels(void *stop)
{
	while (!__atomic_load_n((bool *)stop, __ATOMIC_ACQUIRE)) {
		struct rdma_event_channel *channel = uroce_rdma_create_event_channel();

		assert_non_null(channel);
		uroce_rdma_destroy_event_channel(channel);
	}
	return NULL;
}

/* A device can be closed at the moment when the service starts or stops on it. */
static void
test_close_while_service_starts_and_stops(void **state)
{
	bool stop = false;
	pthread_t channels;

	assert_int_equal(pthread_create(&channels, NULL, create_and_destroy_channels, &stop), 0);
	for (unsigned int i = 0; i < CLOSE_ROUNDS; i++) {
		assert_int_equal(uroce_close_device(devices[1]), 0);
		device_open(1);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(channels, NULL);
}

/* The process that starts the CM's thread blocks no signals at first, but may block one later. */
static void
test_signals(void **state)
{
	struct test_tasks before, started;
	struct rdma_event_channel *channel;

	test_tasks_list(&before);
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	test_tasks_since(&before, &started);
	assert_int_not_equal(test_task_named(&started, "uroce-cm"), 0);
	assert_int_equal(test_tasks_take_signals(&started, NULL), 0);
	uroce_rdma_destroy_event_channel(channel);
}

UROCE_TESTS(port_cm_service)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unreachable, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wire, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_churn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close_while_service_starts_and_stops, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signals, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
