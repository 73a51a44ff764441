/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The thread that drives a worker for applications that poll rarely: how it sleeps, what wakes it, and the work that
 * posting threads take over meanwhile. And polls without result yield the CPU.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <rte_debug.h>
#include <rte_ring.h>

#include "clock.h"
#include "eal.h"
#include "base/clock.h"
#include "port/worker/pool.h"
#include "port/port.h"
#include "port/sleep/sleep.h"
#include "rings.h"
#include "tasks.h"
#include "uroce.h"
#include "verbs/cq/cq.h"
#include "verbs/qp/qp.h"

#define NEVER_NS (3600ull * NS_PER_S)	/* longer than any sleep of the test */

struct fixture {
	struct test_rings wire;
	struct uroce_worker *worker;
	struct ibv_context *context;
	struct rte_mempool *pool;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;	/* in the error state: the worker flushes each posted request */
};

static unsigned int yields;

/* Replaces the C library's function. */
int
sched_yield(void)
{
	__atomic_fetch_add(&yields, 1, __ATOMIC_RELAXED);
	return 0;
}

static int
setup(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .poll_progress = 1 };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	static struct fixture f;

	test_rings_create(&f.wire, 1);
	f.worker = uroce_create_worker(-1);
	f.context = uroce_open_port(f.wire.port_id, &conf, &f.worker, 1);
	f.pool = uroce_pool_create("test", 63, 128, SOCKET_ID_ANY);
	if (f.context == NULL || f.pool == NULL)
		return -1;
	test_clock_stop();	/* no timer of the port ends a sleep because the test is delayed */
	f.pd = uroce_alloc_pd(f.context);
	f.cq = uroce_create_cq(f.context, 16, NULL, NULL, 0);
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
	struct rte_mbuf *m;

	test_clock_go();
	if (uroce_destroy_qp(f->qp) != 0 || uroce_destroy_cq(f->cq) != 0 || uroce_dealloc_pd(f->pd) != 0 ||
	    uroce_close_device(f->context) != 0)
		return -1;
	while (rte_ring_dequeue(f->wire.tx[0], (void **)&m) == 0)
		rte_pktmbuf_free(m);
	if (uroce_destroy_worker(f->worker) != 0)
		return -1;
	uroce_pool_retire(f->pool);
	test_rings_destroy(&f->wire);
	return 0;
}

/* Put a frame that is too short for any protocol on the wire. */
static void
put(struct fixture *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(f->pool);

	assert_non_null(m);
	assert_non_null(rte_pktmbuf_append(m, 10));
	assert_int_equal(rte_ring_enqueue(f->wire.rx[0], m), 0);
}

static bool
is_received(const struct fixture *f)
{
	return rte_ring_empty(f->wire.rx[0]);
}

static void
settle(struct fixture *f)
{
	while (uroce_worker_poll(f->worker) != 0)
		;
}

/* The thread sleeps until its timeout; with pending frames it does not sleep, unless another thread handles them. */
static void
test_sleep(void **state)
{
	struct fixture *f = *state;

	settle(f);
	assert_false(uroce_worker_sleep(f->worker, UROCE_SLEEP_LONG, 1000));
	assert_int_equal(f->worker->sleep, UROCE_AWAKE);
	put(f);
	assert_false(uroce_worker_sleep(f->worker, UROCE_SLEEP_SPARE, 1000));
	assert_false(is_received(f));
	assert_true(uroce_worker_sleep(f->worker, UROCE_SLEEP_LONG, NEVER_NS));
	assert_true(is_received(f));
	put(f);
	assert_true(uroce_worker_sleep(f->worker, UROCE_SLEEP_NAP, NEVER_NS));
}

static void *
sleep_long(void *arg)
{
	return (void *)(uintptr_t)uroce_worker_sleep(arg, UROCE_SLEEP_LONG, NEVER_NS);
}

static void *
sleep_nap(void *arg)
{
	return (void *)(uintptr_t)uroce_worker_sleep(arg, UROCE_SLEEP_NAP, NEVER_NS);
}

static void *
sleep_spare(void *arg)
{
	return (void *)(uintptr_t)uroce_worker_sleep(arg, UROCE_SLEEP_SPARE, NEVER_NS);
}

static pthread_t
asleep(struct fixture *f, void *(*how)(void *))
{
	pthread_t thread;

	pid_t id;

	settle(f);
	id = test_task_start(&thread, how, f->worker);
	while (__atomic_load_n(&f->worker->sleep, __ATOMIC_ACQUIRE) == UROCE_AWAKE)
		sched_yield();
	test_task_await_sleep(id);
	return thread;
}

static void
assert_ends(pthread_t thread)
{
	void *woken;

	assert_int_equal(pthread_join(thread, &woken), 0);
	assert_non_null(woken);
}

static void
test_wake(void **state)
{
	static const struct {
		void *(*sleep)(void *);
		enum uroce_sleep how;
	} cases[] = {
		{ sleep_long, UROCE_SLEEP_LONG }, { sleep_nap, UROCE_SLEEP_NAP }, { sleep_spare, UROCE_SLEEP_SPARE },
	};
	struct fixture *f = *state;

	uroce_worker_wake(f->worker);	/* no thread sleeps: the wake-up has no later effect */
	assert_false(uroce_worker_sleep(f->worker, UROCE_SLEEP_LONG, 1000));
	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		pthread_t thread = asleep(f, cases[i].sleep);

		assert_int_equal(__atomic_load_n(&f->worker->sleep, __ATOMIC_RELAXED), cases[i].how);
		uroce_worker_wake(f->worker);
		assert_ends(thread);
	}
}

static void
post(struct fixture *f)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND };

	assert_int_equal(uroce_post_send(f->qp, &wr, &bad), 0);
}

static bool
has_completion(const struct fixture *f)
{
	return !uroce_cq_is_empty(uroce_cq_of(f->cq));
}

static void
take(struct fixture *f)
{
	struct ibv_wc wc;

	settle(f);
	while (uroce_poll_cq(f->cq, 1, &wc) > 0)
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
}

/* A posting thread does the work of the sleeping thread, and wakes it from a long sleep. */
static void
test_post(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;

	take(f);
	post(f);
	assert_false(has_completion(f));
	take(f);
	f->worker->sleep = UROCE_SLEEP_SPARE;
	post(f);
	assert_false(has_completion(f));
	take(f);
	f->worker->sleep = UROCE_SLEEP_NAP;
	post(f);
	assert_true(has_completion(f));
	assert_int_equal(f->worker->sleep, UROCE_SLEEP_NAP);
	f->worker->sleep = UROCE_AWAKE;
	take(f);
	thread = asleep(f, sleep_long);
	post(f);
	assert_true(has_completion(f));
	assert_ends(thread);
	take(f);
}

/* Another thread has the turn, and has read the doorbells already: a request posted now would wait. */
static void
test_no_turn(void **state)
{
	struct fixture *f = *state;

	take(f);
	uroce_worker_enter(f->worker);
	post(f);
	assert_true(uroce_worker_sleep(f->worker, UROCE_SLEEP_NAP, NEVER_NS));
	assert_true(uroce_worker_sleep(f->worker, UROCE_SLEEP_LONG, NEVER_NS));
	assert_false(uroce_worker_sleep(f->worker, UROCE_SLEEP_SPARE, 1000));
	uroce_worker_exit(f->worker);
	take(f);
}

static void
leave(struct fixture *f)
{
	f->worker->lent_lcore = LCORE_ID_ANY;
	f->worker->engine.acks.reply_ns = 0;
}

/* ACKs wait for the replies of applications that poll memory, but a control call sends them. */
static void
test_ack_waits_for_reply(void **state)
{
	struct fixture *f = *state;
	struct uroce_engine *e = &f->worker->engine;
	struct uroce_qp *qp = uroce_qp_of(f->qp);

	assert_int_equal(e->acks.reply_ns, 0);
	uroce_worker_drive(f->worker);
	assert_int_equal(e->acks.reply_ns, UROCE_ACK_REPLY_NS);
	qp->ack_place = UROCE_ACK_REPLY;
	e->acks.replies[e->acks.reply_count++] = qp;
	uroce_worker_enter(f->worker);
	assert_int_equal(e->acks.reply_count, 0);
	assert_int_equal(qp->ack_place, UROCE_ACK_TURN);
	assert_int_equal(e->acks.head, e->acks.tail);
	uroce_worker_exit(f->worker);
	leave(f);
}

/* The CM's thread does not poll a worker that a thread drives. */
static void
test_help(void **state)
{
	struct fixture *f = *state;
	unsigned int frames;

	assert_true(uroce_workers_help(&frames));
	uroce_worker_drive(f->worker);
	assert_false(uroce_workers_help(&frames));
	leave(f);
}

static unsigned int
cached(const struct rte_mempool *pool, unsigned int lcore_id)
{
	return pool->local_cache[lcore_id].len;
}

static void
poll_until_received(struct fixture *f)
{
	const unsigned int lcore = rte_lcore_id();
	struct ibv_wc wc;

	while (!is_received(f))
		assert_int_equal(uroce_poll_cq(f->cq, 1, &wc), 0);
	assert_int_equal(rte_lcore_id(), lcore);
}

/* Polls frames in a thread that is not registered with EAL. */
static void *
poll_foreign(void *arg)
{
	assert_int_equal(rte_lcore_id(), LCORE_ID_ANY);
	poll_until_received(arg);
	return NULL;
}

/* Polls frames in a thread with an lcore id of its own, as a reactor of the program. */
static void *
poll_registered(void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(rte_thread_register(), 0);
	poll_until_received(f);
	assert_int_equal(cached(f->pool, rte_lcore_id()), 0);
	rte_thread_unregister();
	return NULL;
}

/* An application's thread frees mbufs into the cache of the thread that drives the worker, if there is one. */
static void
test_lent(void **state)
{
	struct fixture *f = *state;

	for (unsigned int i = 0; i < 3; i++) {
		const unsigned int lent = i != 0;
		unsigned int before;
		pthread_t thread;

		take(f);
		put(f);
		before = cached(f->pool, rte_lcore_id());
		if (lent == 1)
			uroce_worker_drive(f->worker);
		assert_int_equal(pthread_create(&thread, NULL, i == 2 ? poll_registered : poll_foreign, f), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(cached(f->pool, rte_lcore_id()), before + lent);
	}
	leave(f);
}

/* A worker that two threads poll by turns: the second one yields once it has polled alone for a while. */
static void *
poll_empty(void *arg)
{
	struct fixture *f = arg;
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(f->cq, 1, &wc), 0);
	assert_int_equal(yields, 0);
	test_clock_advance(UROCE_POLL_SHARED_NS + 1);
	assert_int_equal(uroce_poll_cq(f->cq, 1, &wc), 0);
	return NULL;
}

/* A thread that EAL does not know yields; this thread is EAL's. */
static void
test_yield(void **state)
{
	struct fixture *f = *state;
	pthread_t thread;
	struct ibv_wc wc;

	take(f);
	put(f);
	yields = 0;
	assert_int_equal(uroce_poll_cq(f->cq, 1, &wc), 0);
	assert_true(is_received(f));
	assert_int_equal(f->worker->moved_ns, f->worker->now_ns);
	test_clock_advance(UROCE_POLL_YIELD_NS + UROCE_POLL_SHARED_NS + 1);
	assert_int_equal(uroce_poll_cq(f->cq, 1, &wc), 0);
	assert_int_equal(yields, 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_empty, f), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(yields, 1);
}

struct canceled {
	struct ibv_cq *cq;	/* with a channel */
	struct ibv_qp *qp;	/* in the error state, with this CQ */
	bool polled;
};

static __rte_noinline void
poll_one(struct canceled *c)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_wc wc;

	RTE_VERIFY(uroce_post_recv(c->qp, &wr, &bad) == 0);
	while (uroce_poll_cq(c->cq, 1, &wc) == 0)
		;
	c->polled = true;
}

/* The thread has a pending cancellation, and ends in a frame without AddressSanitizer's redzones. */
static void *
poll_cancelled(void *arg)
{
	RTE_VERIFY(pthread_cancel(pthread_self()) == 0);
	poll_one(arg);
	pthread_testcancel();
	return NULL;
}

/* A canceled thread ends only after it has left the worker, even if its poll writes an event to a channel. */
static void
test_cancelled(void **state)
{
	struct fixture *f = *state;
	struct ibv_comp_channel *channel = uroce_create_comp_channel(f->context);
	struct canceled c = { .cq = uroce_create_cq(f->context, 16, NULL, channel, 0) };
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_cq *cq;
	pthread_t thread;
	void *context, *ret;

	c.qp = uroce_create_qp(f->pd, &(struct ibv_qp_init_attr){
		.send_cq = c.cq, .recv_cq = c.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	});
	assert_non_null(c.qp);
	assert_int_equal(uroce_modify_qp(c.qp, &error, IBV_QP_STATE), 0);
	assert_int_equal(uroce_req_notify_cq(c.cq, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, poll_cancelled, &c), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	assert_false(rte_ticketlock_is_locked(&f->worker->turn));
	assert_true(c.polled);
	assert_int_equal(uroce_get_cq_event(channel, &cq, &context), 0);
	uroce_ack_cq_events(cq, 1);
	assert_int_equal(uroce_destroy_qp(c.qp), 0);
	assert_int_equal(uroce_destroy_cq(c.cq), 0);
	assert_int_equal(uroce_destroy_comp_channel(channel), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sleep),
		cmocka_unit_test(test_wake),
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_no_turn),
		cmocka_unit_test(test_ack_waits_for_reply),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_lent),
		cmocka_unit_test(test_yield),
		cmocka_unit_test(test_cancelled),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, setup, teardown);
}
