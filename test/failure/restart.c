/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ports are stopped, changed and started under traffic (uroce_stop_port(), uroce_start_port()). The QPs stay connected:
 * they retransmit what was lost, and every byte is right.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "pair.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "uroce_cma.h"
#include "uroce_config.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"

#define QUEUES	      4
#define RESTARTS      12
#define CM_PORT	      7471
#define CM_TIMEOUT_MS 60000
#define TIMEOUT	      19 /* 2 s: all retries take longer than a restart on a busy machine. Probes find losses earlier */

static struct pair pair;

static int
setup(void **state)
{
	pair_open_with(&pair, 2, QUEUES);
	pair.timeout = TIMEOUT;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(pair_end_create(&pair.ends[i]), 0);
		assert_int_equal(fcntl(pair.ends[i].context->async_fd, F_SETFL, O_NONBLOCK), 0);
	}
	pair_connect(&pair);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < 2; i++)
		pair_end_destroy(&pair.ends[i]);
	pair_close(&pair);
	return 0;
}

static struct ibv_context *
context(unsigned int end)
{
	return pair.ends[end].context;
}

static struct uroce_port *
port(unsigned int end)
{
	return uroce_port_of_context(context(end));
}

static void
post(uint8_t byte)
{
	memset(pair.ends[0].memory, byte, PAIR_BYTES);
	memset(pair.ends[1].memory, ~byte, PAIR_BYTES);
	pair_post(&pair, byte % 2 == 0 ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ);
}

static void
finish(void)
{
	assert_int_equal(pair_wait(&pair), IBV_WC_SUCCESS);
	assert_memory_equal(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES);
}

static void
exchange(uint8_t byte)
{
	post(byte);
	finish();
}

/* The events of the port, oldest first. */
static void
expect_event(unsigned int end, enum ibv_event_type type)
{
	struct ibv_async_event event;

	do
		assert_int_equal(uroce_get_async_event(context(end), &event), 0);
	while (event.event_type == IBV_EVENT_GID_CHANGE);
	assert_int_equal(event.event_type, type);
	uroce_ack_async_event(&event);
}

static struct ibv_port_attr
query(unsigned int end)
{
	struct ibv_port_attr attr;

	assert_int_equal(uroce_query_port(context(end), 1, &attr), 0);
	return attr;
}

static void
start(unsigned int end)
{
	assert_int_equal(uroce_start_port(context(end), NULL, NULL, 0), 0);
}

/* ---- stopped and started as it was ---- */

/* In the middle of a message, at either end. */
static void
test_same(void **state)
{
	for (unsigned int end = 0; end < 2; end++) {
		const struct rte_mempool *pool = port(end)->queues[0].pool;

		exchange(0);
		for (uint8_t i = 1; i < 5; i++) {
			post(i);
			pair_poll(&pair, 1);
			assert_int_equal(uroce_stop_port(context(end)), 0);
			expect_event(end, IBV_EVENT_PORT_ERR);
			assert_int_equal(query(end).state, IBV_PORT_DOWN);
			pair_poll(&pair, 100);
			start(end);
			expect_event(end, IBV_EVENT_PORT_ACTIVE);
			assert_int_equal(query(end).state, IBV_PORT_ACTIVE);
			finish();
		}
		assert_true(test_counter(context(0), "retransmitted_packets") + test_counter(context(0), "probes") > 0);
		assert_ptr_equal(port(end)->queues[0].pool, pool); /* no memory is needed to start again */
	}
}

/* Longer than the retry time: as with a link that is down, the message fails. */
static void
test_for_long(void **state)
{
	exchange(1);
	pair_reset(&pair);
	pair.timeout = PAIR_TIMEOUT;
	pair_connect(&pair);
	assert_int_equal(uroce_stop_port(context(1)), 0);
	pair_write(&pair);
	assert_int_equal(pair_wait(&pair), IBV_WC_RETRY_EXC_ERR);
	start(1);
	pair_reset(&pair);
	pair_connect(&pair);
	exchange(2);
}

/* Objects are created and destroyed, and a frame that waits for a MAC address keeps no memory. */
static void
test_objects(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		pair_write(&pair); /* the first frame waits for the MAC address */
		pair_poll(&pair, i);
		assert_int_equal(uroce_stop_port(context(0)), 0);
		pair_end_destroy(&pair.ends[0]);
		assert_int_equal(pair_end_create(&pair.ends[0]), 0);
		start(0);
		pair_end_destroy(&pair.ends[1]);
		assert_int_equal(pair_end_create(&pair.ends[1]), 0);
		pair_connect(&pair);
		exchange((uint8_t)i);
	}
}

/* A stopped port can be closed; and a device with objects, which cannot, stays stopped. */
static void
test_close(void **state)
{
	assert_int_equal(uroce_stop_port(context(1)), 0);
	assert_int_equal(uroce_close_device(context(1)), EBUSY);
	assert_true(port(1)->stopped);
	start(1);
	exchange(1);
	assert_int_equal(uroce_stop_port(context(0)), 0);
	assert_int_equal(uroce_stop_port(context(1)), 0);
}

/* ---- changed ---- */

static void
test_mtu(void **state)
{
	struct uroce_port_conf conf = { .size = sizeof(conf), .mtu = 1500, .name = "ignored", .vlan = 4095 };

	exchange(1);
	assert_int_equal(query(0).active_mtu, IBV_MTU_4096);
	assert_int_equal(uroce_stop_port(context(0)), 0);
	assert_int_equal(uroce_start_port(context(0), &conf, NULL, 0), 0);
	assert_int_equal(query(0).active_mtu, IBV_MTU_1024);
	exchange(2);
	/* too low for the path MTU of 1024 */
	assert_int_equal(uroce_stop_port(context(0)), 0);
	conf.mtu = 1000;
	assert_int_equal(uroce_start_port(context(0), &conf, NULL, 0), EINVAL);
	assert_int_equal(query(0).active_mtu, IBV_MTU_1024);
	assert_int_equal(query(0).state, IBV_PORT_DOWN);
	start(0);
	assert_int_equal(port(0)->mtu, 1500);
	exchange(3);
	assert_int_equal(uroce_stop_port(context(0)), 0);
	conf.mtu = 9000;
	conf.nb_rx_desc = 256;
	conf.nb_tx_desc = 128;
	assert_int_equal(uroce_start_port(context(0), &conf, NULL, 0), 0);
	assert_int_equal(port(0)->mtu, 9000);
	assert_int_equal(port(0)->queues[0].nb_rx_desc, 256);
	assert_int_equal(query(0).active_mtu, IBV_MTU_4096);
	exchange(4);
}

static void
worker_add(void)
{
	struct uroce_worker *w = uroce_create_worker(-1);

	assert_non_null(w);
	pair.workers[pair.nb_workers++] = w;
}

/* More workers. QPs that are created later belong to them, too. */
static void
test_more_workers(void **state)
{
	struct uroce_worker *of_far[QUEUES] = { pair.workers[1] };
	struct pair_end second[2];

	exchange(1);
	for (unsigned int n = 1; n < QUEUES; n++) {
		worker_add();
		of_far[n] = pair.workers[pair.nb_workers - 1];
		post((uint8_t)n);
		pair_poll(&pair, 1);
		assert_int_equal(uroce_stop_port(context(1)), 0);
		assert_int_equal(uroce_start_port(context(1), NULL, of_far, n + 1), 0);
		finish();
		exchange((uint8_t)(n + 1));
		assert_int_equal(context(1)->num_comp_vectors, n + 1);
	}
	memcpy(second, pair.ends, sizeof(second));
	pair.ends[1].vector = QUEUES - 1;
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pair_end_create(&pair.ends[i]), 0);
	assert_ptr_equal(uroce_qp_worker(second[1].qp), of_far[0]);
	assert_ptr_equal(uroce_qp_worker(pair.ends[1].qp), of_far[QUEUES - 1]);
	pair_connect(&pair);
	exchange(5);
	for (unsigned int i = 0; i < 2; i++) {
		pair_end_destroy(&pair.ends[i]);
		pair.ends[i] = second[i];
	}
	exchange(6);
}

/* A new QP belongs to a worker, although its CQ's vector and its thread domain name one that is gone. */
static void
expect_qp_on(struct ibv_cq *cq, struct ibv_td *td, const struct uroce_worker *w)
{
	struct ibv_parent_domain_init_attr domain = { .pd = pair.ends[1].pd, .td = td };
	struct ibv_pd *parent = uroce_alloc_parent_domain(context(1), &domain);
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };
	struct ibv_qp *qp;

	assert_non_null(parent);
	qp = uroce_create_qp(parent, &init);
	assert_non_null(qp);
	assert_ptr_equal(uroce_qp_worker(qp), w);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
}

/* Restart the second end's port with its worker, workers[0], and a new one, workers[1]. */
static void
start_with_another(struct uroce_worker *workers[2])
{
	worker_add();
	workers[0] = pair.workers[1];
	workers[1] = pair.workers[2];
	assert_int_equal(uroce_stop_port(context(1)), 0);
	assert_int_equal(uroce_start_port(context(1), NULL, workers, 2), 0);
}

/* Fewer workers: they can be destroyed once no thread domain names them, and the counters of their queues stay. */
static void
test_fewer_workers(void **state)
{
	struct uroce_worker *workers[2];
	struct ibv_cq *cq;
	struct ibv_td *td;
	uint64_t frames;

	start_with_another(workers);
	cq = uroce_create_cq(context(1), 1, NULL, NULL, 1);
	assert_non_null(cq);
	td = uroce_alloc_td_on(context(1), workers[1]);
	assert_non_null(td);
	exchange(1);
	port(1)->queues[1].counters[UROCE_PORT_TX_FRAMES] = 1000;
	frames = test_counter(context(1), "tx_frames");
	post(2);
	pair_poll(&pair, 1);
	assert_int_equal(uroce_destroy_worker(workers[1]), EBUSY);
	assert_int_equal(uroce_stop_port(context(1)), 0);
	assert_int_equal(uroce_destroy_worker(workers[1]), EBUSY);
	assert_int_equal(uroce_start_port(context(1), NULL, workers, 1), 0);
	assert_int_equal(uroce_destroy_worker(workers[1]), EBUSY);
	expect_qp_on(cq, td, workers[0]);
	assert_int_equal(uroce_dealloc_td(td), 0);
	assert_int_equal(uroce_destroy_worker(workers[1]), 0);
	pair.nb_workers--;
	finish();
	assert_true(test_counter(context(1), "tx_frames") > frames);
	exchange(3);
	assert_int_equal(context(1)->num_comp_vectors, 1);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* A worker that has QPs stays, until they have moved: before the stop or after it, with requests outstanding. */
static void
test_move_and_fewer_workers(void **state)
{
	struct uroce_worker *workers[2] = { pair.workers[1] };
	struct ibv_qp *qp = pair.ends[1].qp;

	for (uint8_t stops_first = 0; stops_first < 2; stops_first++) {
		worker_add();
		workers[1] = pair.workers[2];
		assert_int_equal(uroce_stop_port(context(1)), 0);
		assert_int_equal(uroce_start_port(context(1), NULL, workers, 2), 0);
		assert_int_equal(uroce_qp_move(qp, workers[1]), 0);
		exchange(1 + 2 * stops_first);
		post(2 + 2 * stops_first);
		pair_poll(&pair, 1);
		if (!stops_first)
			assert_int_equal(uroce_qp_move(qp, workers[0]), 0);
		assert_int_equal(uroce_stop_port(context(1)), 0);
		if (stops_first) {
			assert_int_equal(uroce_start_port(context(1), NULL, workers, 1), EBUSY);
			assert_int_equal(uroce_qp_move(qp, workers[0]), 0);
		}
		assert_int_equal(uroce_start_port(context(1), NULL, workers, 1), 0);
		assert_ptr_equal(uroce_qp_worker(qp), workers[0]);
		assert_int_equal(uroce_destroy_worker(workers[1]), 0);
		pair.nb_workers--;
		finish();
		exchange(5);
	}
}

/* A QP that is destroyed asynchronously no longer keeps its worker, and its CQ no longer names it. */
static void
test_async_destroy(void **state)
{
	struct uroce_worker *workers[2];
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct ibv_qp *qps[2];
	struct ibv_cq *cq;

	start_with_another(workers);
	cq = uroce_create_cq(context(1), 1, NULL, NULL, 1);
	assert_non_null(cq);
	init.send_cq = init.recv_cq = cq;
	for (unsigned int i = 0; i < 2; i++) {
		qps[i] = uroce_create_qp(pair.ends[1].pd, &init);
		assert_non_null(qps[i]);
	}
	assert_int_equal(uroce_destroy_qp_async(qps[0], NULL, NULL), 0);
	assert_ptr_equal(uroce_cq_of(cq)->producer, &workers[1]->engine);
	assert_int_equal(uroce_destroy_qp_async(qps[1], NULL, NULL), 0);
	assert_null(uroce_cq_of(cq)->producer);
	assert_int_equal(uroce_stop_port(context(1)), 0);
	assert_int_equal(uroce_start_port(context(1), NULL, workers, 1), 0);
	assert_int_equal(uroce_destroy_worker(workers[1]), 0);
	pair.nb_workers--;
	expect_qp_on(cq, NULL, workers[0]);
	assert_int_equal(uroce_destroy_cq(cq), EBUSY);
	while (uroce_destroy_cq(cq) != 0)
		pair_poll(&pair, 1);
	exchange(1);
}

/* ---- QP1, which belongs to the CM ---- */

static struct rdma_cm_id *
expect_cm(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	assert_int_equal(uroce_rdma_get_cm_event(channel, &event), 0);
	assert_int_equal(event->event, type);
	id = event->id;
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	return id;
}

/* The first end requests a connection, which the second rejects. The CM's thread polls the workers. */
static void
request(struct rdma_event_channel *channel, struct sockaddr_in *far)
{
	struct rdma_conn_param param = { .qp_num = pair.ends[0].qp->qp_num, .retry_count = 7 };
	struct rdma_cm_id *client, *server;

	assert_int_equal(uroce_rdma_create_id(channel, &client, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_resolve_addr(client, NULL, (struct sockaddr *)far, CM_TIMEOUT_MS), 0);
	expect_cm(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_rdma_resolve_route(client, CM_TIMEOUT_MS), 0);
	expect_cm(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(uroce_rdma_connect(client, &param), 0);
	server = expect_cm(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(uroce_rdma_reject(server, NULL, 0), 0);
	expect_cm(channel, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(uroce_rdma_destroy_id(server), 0);
	assert_int_equal(uroce_rdma_destroy_id(client), 0);
}

/* QP1's worker goes. A start that fails leaves QP1 where it was. */
static void
test_cm(void **state)
{
	struct sockaddr_in far = { .sin_family = AF_INET,
				   .sin_port = htons(CM_PORT),
				   .sin_addr.s_addr = RTE_BE32(RTE_IPV4(10, 0, 0, 2)) };
	struct rdma_event_channel *channel = uroce_rdma_create_event_channel();
	const struct uroce_port_conf too_small = { .size = sizeof(too_small), .mtu = 1000 };
	struct uroce_worker *workers[2];
	struct rdma_cm_id *listener;

	assert_non_null(channel);
	assert_int_equal(uroce_rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(listener, (struct sockaddr *)&far), 0);
	assert_int_equal(uroce_rdma_listen(listener, 1), 0);
	request(channel, &far);
	start_with_another(workers);
	assert_int_equal(uroce_qp_move(pair.ends[1].qp, workers[1]), 0);
	assert_int_equal(uroce_stop_port(context(1)), 0);
	assert_int_equal(uroce_start_port(context(1), &too_small, &workers[1], 1), EINVAL);
	assert_int_equal(uroce_destroy_worker(workers[0]), EBUSY);
	assert_int_equal(uroce_start_port(context(1), NULL, &workers[1], 1), 0);
	assert_ptr_equal(uroce_worker_of(uroce_qp_engine(port(1)->dev.qps.gsi)), workers[1]);
	assert_int_equal(uroce_destroy_worker(workers[0]), 0);
	pair.workers[1] = pair.workers[--pair.nb_workers];
	request(channel, &far);
	exchange(1);
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	uroce_rdma_destroy_event_channel(channel);
}

/* ---- errors ---- */

static void
test_errors(void **state)
{
	struct uroce_port_conf wrong_size = { .size = 1 }, reserved = { .size = sizeof(reserved), .reserved = { 1 } };
	struct uroce_worker *const twice[] = { pair.workers[1], pair.workers[1] };
	struct uroce_worker *const other[] = { pair.workers[0] };
	struct uroce_worker *too_many[QUEUES + 1] = { pair.workers[1] };

	exchange(1);
	assert_int_equal(uroce_start_port(context(1), NULL, NULL, 0), EBUSY);
	assert_int_equal(uroce_stop_port(context(1)), 0);
	assert_int_equal(uroce_stop_port(context(1)), EINVAL);
	assert_int_equal(uroce_start_port(context(1), &wrong_size, NULL, 0), EINVAL);
	assert_int_equal(uroce_start_port(context(1), &reserved, NULL, 0), EINVAL);
	assert_int_equal(uroce_start_port(context(1), NULL, twice, 2), EINVAL);
	assert_int_equal(uroce_start_port(context(1), NULL, twice, 0), EINVAL);
	assert_int_equal(uroce_start_port(context(1), NULL, other, 1), EBUSY);
	for (unsigned int i = 1; i <= QUEUES; i++) {
		worker_add();
		too_many[i] = pair.workers[pair.nb_workers - 1];
	}
	assert_int_equal(uroce_start_port(context(1), NULL, too_many, QUEUES + 1), EINVAL);
	start(1);
	exchange(2);
	for (unsigned int i = 1; i <= QUEUES; i++)
		assert_int_equal(uroce_destroy_worker(pair.workers[--pair.nb_workers]), 0);
}

/* ---- while other threads poll and use the device ---- */

static bool done_posting, done_polling; /* atomic */

static void *
poll_main(void *arg)
{
	while (!__atomic_load_n(&done_polling, __ATOMIC_RELAXED))
		if (uroce_worker_poll(arg) == 0)
			sched_yield();
	uroce_worker_leave(arg);
	return NULL;
}

static void *
exchange_main(void *arg)
{
	unsigned int *count = arg;
	struct ibv_wc wc;
	int n;

	for (uint8_t byte = 0; !__atomic_load_n(&done_posting, __ATOMIC_RELAXED); byte++) {
		post(byte);
		while ((n = ibv_poll_cq(pair.ends[0].cq, 1, &wc)) == 0)
			sched_yield();
		RTE_VERIFY(n == 1 && wc.status == IBV_WC_SUCCESS);
		RTE_VERIFY(memcmp(pair.ends[0].memory, pair.ends[1].memory, PAIR_BYTES) == 0);
		__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void
await(const unsigned int *count, unsigned int more)
{
	unsigned int until = __atomic_load_n(count, __ATOMIC_RELAXED) + more;

	while (__atomic_load_n(count, __ATOMIC_RELAXED) < until)
		sched_yield();
}

/* Each round stops one end after a few messages, or both, and starts them with another number of workers. */
static void
test_busy(void **state)
{
	struct uroce_worker *workers[2][2] = { { pair.workers[0] }, { pair.workers[1] } };
	pthread_t threads[5];
	unsigned int count = 0;

	worker_add();
	worker_add();
	workers[0][1] = pair.workers[2];
	workers[1][1] = pair.workers[3];
	__atomic_store_n(&done_posting, false, __ATOMIC_RELAXED);
	__atomic_store_n(&done_polling, false, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poll_main, pair.workers[i]), 0);
	assert_int_equal(pthread_create(&threads[4], NULL, exchange_main, &count), 0);
	for (unsigned int i = 0; i < RESTARTS; i++) {
		await(&count, 3);
		for (unsigned int end = 0; end < 2; end++)
			if (i % 3 != end)
				assert_int_equal(uroce_stop_port(context(end)), 0);
		for (unsigned int end = 0; end < 2; end++)
			if (i % 3 != end)
				assert_int_equal(uroce_start_port(context(end), NULL, workers[end], 1 + i / 3 % 2), 0);
	}
	await(&count, 3);
	__atomic_store_n(&done_posting, true, __ATOMIC_RELAXED);
	pthread_join(threads[4], NULL);
	__atomic_store_n(&done_polling, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

UROCE_TESTS(failure_restart)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(same),	    TEST(for_long),	 TEST(objects),		       TEST(close),  TEST(mtu),
		TEST(more_workers), TEST(fewer_workers), TEST(move_and_fewer_workers), TEST(cm),     TEST(errors),
		TEST(busy),	    TEST(async_destroy),
	};

	test_eal_init("--log-level=lib.ethdev:critical", NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
