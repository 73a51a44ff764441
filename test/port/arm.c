/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A worker's descriptor: when a worker can be armed, and what makes the descriptor of an armed one readable.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "base/clock.h"
#include "clock.h"
#include "eal.h"
#include "groups.h"
#include "port/ethdev/watch.h"
#include "port/sleep/sleep.h"
#include "tap.h"
#include "tasks.h"

#define REQUESTS 3000	/* of the test with two threads */

static const char *const cidrs[] = { "10.0.0.1/24", NULL };

struct fixture {
	struct tap tap;
	struct uroce_worker *worker;
	int fd;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;	/* in the error state: the worker flushes each posted request */
};

static int
setup(void **state)
{
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	static struct fixture f;

	tap_open(&f.tap, 0, cidrs);
	f.worker = f.tap.worker;
	assert_int_equal(uroce_worker_arm(f.worker, NULL), EINVAL);
	f.fd = uroce_worker_fd(f.worker);
	assert_true(f.fd >= 0);
	f.pd = uroce_alloc_pd(f.tap.context);
	f.cq = uroce_create_cq(f.tap.context, 16, NULL, NULL, 0);
	f.qp = uroce_create_qp(f.pd, &(struct ibv_qp_init_attr){
		.send_cq = f.cq, .recv_cq = f.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	});
	*state = &f;
	return f.qp != NULL ? uroce_modify_qp(f.qp, &error, IBV_QP_STATE) : -1;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(uroce_destroy_qp(f->qp), 0);
	assert_int_equal(uroce_destroy_cq(f->cq), 0);
	assert_int_equal(uroce_dealloc_pd(f->pd), 0);
	tap_close(&f->tap);
	return 0;
}

/* Leave the worker without work and timers, as if the port's frames could wake it. */
static void
settle(struct fixture *f)
{
	struct ibv_wc wc;

	f->tap.port->queues[0].rx_wake = UROCE_RX_WAKE_SOCKET;
	f->tap.port->upkeep_ns = UINT64_MAX;
	while (uroce_worker_poll(f->worker) != 0 || uroce_poll_cq(f->cq, 1, &wc) > 0)
		;
}

static bool
is_readable(const struct fixture *f)
{
	struct pollfd p = { .fd = f->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static void
arm(struct fixture *f)
{
	settle(f);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), 0);
	assert_false(is_readable(f));
}

/* The descriptor was readable; poll, and the next sleep is not cut short. */
static void
assert_woken(struct fixture *f)
{
	assert_true(is_readable(f));
	arm(f);
	uroce_worker_poll(f->worker);
	assert_int_equal(f->worker->sleep, UROCE_AWAKE);
}

static void
put(struct fixture *f)
{
	static const uint8_t frame[10];	/* too short for any protocol */

	assert_int_equal(rte_ring_enqueue(f->tap.wire.rx[0], tap_mbuf(&f->tap, frame, sizeof(frame))), 0);
}

static void
post(struct fixture *f)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	assert_int_equal(uroce_post_send(f->qp, &wr, &bad), 0);
}

static void
test_fd(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(uroce_worker_fd(f->worker), f->fd);
	assert_int_equal(fcntl(f->fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

/* Without work the worker is armed, any number of times. */
static void
test_idle(void **state)
{
	struct fixture *f = *state;
	uint64_t timeout_ns = 0;

	for (unsigned int i = 0; i < 3; i++) {
		settle(f);
		assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
		assert_true(timeout_ns == UINT64_MAX);
		assert_int_equal(uroce_worker_arm(f->worker, NULL), 0);
		assert_false(is_readable(f));
		assert_int_equal(uroce_worker_poll(f->worker), 0);
		assert_false(f->worker->armed);
	}
}

/* With work the worker is not armed. */
static void
test_busy(void **state)
{
	struct fixture *f = *state;
	struct uroce_port_queue *q = &f->tap.port->queues[0];

	settle(f);
	put(f);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	assert_true(rte_ring_empty(f->tap.wire.rx[0]));
	assert_int_equal(uroce_worker_arm(f->worker, NULL), 0);
	settle(f);
	post(f);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	settle(f);
	f->worker->cleanup = true;
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	settle(f);
	q->nb_tx = 1;	/* a frame that the port has not accepted */
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	q->nb_tx = 0;
	arm(f);
}

static void
test_deadline(void **state)
{
	struct fixture *f = *state;
	struct pollfd p = { .fd = f->fd, .events = POLLIN };
	struct uroce_port *port = f->tap.port;
	uint64_t timeout_ns = 0;

	settle(f);
	port->upkeep_ns = uroce_clock_ns();
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	port->upkeep_ns = uroce_clock_ns() + 3600ull * NS_PER_S;
	assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
	assert_true(timeout_ns <= 3600ull * NS_PER_S);
	assert_false(is_readable(f));
	/* frames cannot wake the worker: it polls at intervals */
	settle(f);
	port->queues[0].rx_wake = UROCE_RX_WAKE_NONE;
	assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
	assert_true(timeout_ns == UROCE_WAIT_POLL_NS);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_woken(f);
}

/* The timer may expire earlier than by the worker's clock: then it is set again. */
static void
test_clocks(void **state)
{
	struct fixture *f = *state;
	struct pollfd p = { .fd = f->fd, .events = POLLIN };

	test_clock_slow();
	settle(f);
	f->tap.port->upkeep_ns = uroce_clock_ns() + NS_PER_S / 1000;
	for (unsigned int i = 0; i < 3; i++) {
		uroce_worker_poll(f->worker);
		assert_int_equal(uroce_worker_arm(f->worker, NULL), 0);
		assert_int_equal(poll(&p, 1, -1), 1);
		assert_true(f->tap.port->upkeep_ns > uroce_clock_ns());
	}
}

/* A callback may keep frames and deliver them later, without an interrupt. */
static uint16_t
keep(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t room, void *arg)
{
	return n;
}

static void
test_callback(void **state)
{
	struct fixture *f = *state;
	const struct rte_eth_rxtx_callback *callback;
	uint64_t timeout_ns = 0;

	settle(f);
	callback = rte_eth_add_rx_callback(f->tap.wire.port_id, 0, keep, NULL);
	assert_non_null(callback);
	assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
	assert_true(timeout_ns == UROCE_WAIT_POLL_NS);
	assert_int_equal(rte_eth_remove_rx_callback(f->tap.wire.port_id, 0, callback), 0);
	settle(f);
	assert_int_equal(uroce_worker_arm(f->worker, &timeout_ns), 0);
	assert_true(timeout_ns == UINT64_MAX);
}

static void
test_wake(void **state)
{
	struct fixture *f = *state;
	struct uroce_inbox_item item = { .port_id = f->tap.wire.port_id };
	static const uint8_t frame[10];

	arm(f);
	post(f);
	assert_woken(f);
	arm(f);
	uroce_port_upkeep_by(f->tap.port, 0);
	assert_woken(f);
	arm(f);
	item.packet.mbuf = tap_mbuf(&f->tap, frame, sizeof(frame));
	assert_int_equal(rte_ring_mp_enqueue_elem(f->worker->inbox, &item, sizeof(item)), 0);
	uroce_worker_handed(f->worker);
	assert_woken(f);
}

static void
test_link(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(rte_eth_dev_set_link_down(f->tap.wire.port_id), 0);
	uroce_watch_link(f->tap.port);
	arm(f);
	assert_int_equal(rte_eth_dev_set_link_up(f->tap.wire.port_id), 0);
	uroce_watch_link(f->tap.port);
	assert_true(f->tap.port->queues[0].rx_stale);
	assert_true(is_readable(f));
	settle(f);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), 0);
	assert_false(f->tap.port->queues[0].rx_stale);
}

/* A control call may add completions, also between the last poll and uroce_worker_arm(). */
static void
test_visit(void **state)
{
	struct fixture *f = *state;

	arm(f);
	uroce_worker_enter(f->worker);
	assert_false(is_readable(f));
	uroce_worker_exit(f->worker);
	assert_true(is_readable(f));
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	assert_woken(f);
	settle(f);
	uroce_worker_round(f->worker);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	arm(f);
}

struct napper {
	struct fixture *f;
	bool is_woken;
};

/* A wake-up leaves the descriptor readable, and a timeout does not. */
static void *
nap_once(void *arg)
{
	struct napper *n = arg;

	uroce_worker_poll(n->f->worker);
	n->is_woken = !uroce_worker_nap(n->f->worker, NS_PER_S) || is_readable(n->f);
	uroce_worker_poll(n->f->worker);
	return NULL;
}

/* A thread waits for an event of a worker that another thread drives. A poster polls in its place, and wakes it. */
static void
test_nap(void **state)
{
	struct fixture *f = *state;
	struct napper napper = { .f = f };
	struct ibv_wc wc;
	pthread_t thread;

	settle(f);
	uroce_worker_drive(f->worker);
	settle(f);
	__atomic_store_n(&f->worker->sleep, UROCE_SLEEP_SPARE, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, nap_once, &napper), 0);
	while (__atomic_load_n(&f->worker->sleep, __ATOMIC_RELAXED) != UROCE_SLEEP_ATTENDED)
		sched_yield();
	post(f);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(napper.is_woken);
	assert_false(f->worker->armed);
	assert_int_equal(uroce_poll_cq(f->cq, 1, &wc), 1);
	settle(f);
	f->tap.port->queues[0].rx_wake = UROCE_RX_WAKE_NONE;
	assert_false(uroce_worker_nap(f->worker, NS_PER_S));
	assert_false(f->worker->armed);
	settle(f);
	f->tap.port->upkeep_ns = uroce_clock_ns();
	assert_false(uroce_worker_nap(f->worker, NS_PER_S));
	f->worker->lent_lcore = LCORE_ID_ANY;
	f->worker->engine.acks.reply_ns = 0;
	f->worker->sleep = UROCE_AWAKE;
}

static void *
poll_once(void *arg)
{
	uroce_worker_poll(arg);
	return NULL;
}

/* Another thread polls the worker. */
static void
test_other_poller(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;

	arm(f);
	assert_int_equal(pthread_create(&thread, NULL, poll_once, f->worker), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(is_readable(f));
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EAGAIN);
	assert_woken(f);
}

/* The CM's thread leaves a sleeping worker alone, but a waiting control call polls it. */
static void
test_help(void **state)
{
	struct fixture *f = *state;
	unsigned int frames;

	settle(f);
	assert_true(uroce_workers_help(&frames));
	arm(f);
	assert_false(uroce_workers_help(&frames));
	assert_false(is_readable(f));
	put(f);
	uroce_workers_progress();
	assert_true(rte_ring_empty(f->tap.wire.rx[0]));
	assert_woken(f);
}

static void
count(void *arg)
{
	++*(unsigned int *)arg;
}

static void
test_reclaim(void **state)
{
	struct fixture *f = *state;
	unsigned int freed = 0;
	struct ibv_mr *mr;
	char buffer[64];

	mr = uroce_reg_mr(f->pd, buffer, sizeof(buffer), 0);
	assert_non_null(mr);
	arm(f);
	assert_int_equal(uroce_dereg_mr_async(mr, count, &freed), 0);
	assert_true(is_readable(f));
	while (freed == 0)
		uroce_worker_poll(f->worker);
	assert_woken(f);
}

static void
test_driven(void **state)
{
	struct fixture *f = *state;

	uroce_worker_drive(f->worker);
	settle(f);
	assert_int_equal(uroce_worker_arm(f->worker, NULL), EBUSY);
	f->worker->lent_lcore = LCORE_ID_ANY;
	f->worker->engine.acks.reply_ns = 0;
	arm(f);
}

/* Another thread has the turn. */
static void *
arm_once(void *arg)
{
	return (void *)(uintptr_t)uroce_worker_arm(arg, NULL);
}

static void
test_no_turn(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	void *ret;

	uroce_worker_enter(f->worker);
	assert_int_equal(pthread_create(&thread, NULL, arm_once, f->worker), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_int_equal((uintptr_t)ret, EAGAIN);
	uroce_worker_exit(f->worker);
}

/* A program's loop: poll, and sleep when there is nothing to do. Until REQUESTS have completed. */
static void *
sleeper(void *arg)
{
	struct fixture *f = arg;
	struct pollfd p = { .fd = f->fd, .events = POLLIN };
	unsigned int completed = 0;
	struct ibv_wc wc[8];

	while (completed < REQUESTS) {
		unsigned int frames = uroce_worker_poll(f->worker);
		int n = uroce_poll_cq(f->cq, RTE_DIM(wc), wc);

		completed += (unsigned int)n;
		if (frames == 0 && n == 0 && uroce_worker_arm(f->worker, NULL) == 0)
			poll(&p, 1, -1);
	}
	return NULL;
}

/* No wake-up is lost: the sleeping thread has no timer. */
static void
test_sleeper(void **state)
{
	struct fixture *f = *state;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	pthread_t thread;

	settle(f);
	test_task_await_sleep(test_task_start(&thread, sleeper, f));
	for (unsigned int i = 0; i < REQUESTS; i++) {
		/* every second request finds the thread asleep, or about to be */
		while (i % 2 == 0 && __atomic_load_n(&f->worker->sleep, __ATOMIC_RELAXED) != UROCE_SLEEP_FD)
			sched_yield();
		while (uroce_post_send(f->qp, &wr, &bad) != 0)	/* the queue is full */
			sched_yield();
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static bool stop;

/* As a program whose other threads poll the CQs. */
static void *
worker_only(void *arg)
{
	struct fixture *f = arg;
	struct pollfd p = { .fd = f->fd, .events = POLLIN };

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		if (uroce_worker_poll(f->worker) == 0 && uroce_worker_arm(f->worker, NULL) == 0)
			poll(&p, 1, -1);
	return NULL;
}

/* A thread waits for a completion channel, while the worker's thread sleeps, too. */
static void
test_channel(void **state)
{
	struct fixture *f = *state;
	struct ibv_comp_channel *channel = uroce_create_comp_channel(f->tap.context);
	struct ibv_cq *cq = uroce_create_cq(f->tap.context, 16, NULL, channel, 0), *event_cq;
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };
	pthread_t thread;
	struct ibv_qp *qp;
	struct ibv_wc wc;
	void *context;

	qp = uroce_create_qp(f->pd, &(struct ibv_qp_init_attr){
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	});
	assert_non_null(qp);
	assert_int_equal(uroce_modify_qp(qp, &error, IBV_QP_STATE), 0);
	settle(f);
	stop = false;
	test_task_await_sleep(test_task_start(&thread, worker_only, f));
	for (unsigned int i = 0; i < 100; i++) {
		assert_int_equal(uroce_req_notify_cq(cq, 0), 0);
		assert_int_equal(uroce_post_send(qp, &wr, &bad), 0);
		assert_int_equal(uroce_get_cq_event(channel, &event_cq, &context), 0);
		uroce_ack_cq_events(event_cq, 1);
		assert_int_equal(uroce_poll_cq(cq, 1, &wc), 1);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	assert_int_equal(uroce_destroy_qp(qp), 0);	/* wakes the worker's thread */
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

UROCE_TESTS(port_arm)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fd),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_visit),
		cmocka_unit_test(test_other_poller),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_reclaim),
		cmocka_unit_test(test_driven),
		cmocka_unit_test(test_nap),
		cmocka_unit_test(test_no_turn),
		cmocka_unit_test(test_sleeper),
		cmocka_unit_test(test_channel),
		cmocka_unit_test(test_clocks),	/* the last: the clock stays slow */
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
