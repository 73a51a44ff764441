/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Workers that the application's polls of CQs drive: a poll of a CQ polls the worker of its QPs, and sometimes
 * workers that no thread polls. QPs belong to the worker of the thread that creates them. Workers share the queues of a
 * port that has fewer.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "clock.h"
#include "eal.h"
#include "groups.h"
#include "net.h"
#include "port/driven.h"
#include "port/ethdev/ethdev.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "port/worker/tx_kick.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "uroce.h"
#include "verbs/cq/cq.h"

#define WORKERS 3

static const struct uroce_port_conf driven = { .size = sizeof(driven), .poll_progress = 1 };

struct fixture {
	struct test_rings wire;
	struct uroce_worker *workers[WORKERS];
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cqs[WORKERS]; /* by completion vector */
};

/* A port with so many queues, and a worker for each CQ. */
static void
open_queues(struct fixture *f, unsigned int queues)
{
	test_rings_create(&f->wire, queues);
	for (unsigned int i = 0; i < WORKERS; i++)
		f->workers[i] = uroce_create_worker(-1);
	f->context = uroce_open_port(f->wire.port_id, &driven, f->workers, WORKERS);
	assert_non_null(f->context);
	f->pd = uroce_alloc_pd(f->context);
	for (int i = 0; i < WORKERS; i++)
		f->cqs[i] = uroce_create_cq(f->context, 16, NULL, NULL, i);
	assert_non_null(f->cqs[WORKERS - 1]);
}

static void
close_queues(struct fixture *f)
{
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(uroce_destroy_cq(f->cqs[i]), 0);
	assert_int_equal(uroce_dealloc_pd(f->pd), 0);
	assert_int_equal(uroce_close_device(f->context), 0);
	for (unsigned int i = 0; i < WORKERS; i++)
		assert_int_equal(uroce_destroy_worker(f->workers[i]), 0);
	test_rings_destroy(&f->wire);
	assert_int_equal(uroce_pools_retired(), 0);
}

static int
setup(void **state)
{
	static struct fixture f;

	open_queues(&f, WORKERS);
	*state = &f;
	return 0;
}

static int
teardown(void **state)
{
	close_queues(*state);
	return 0;
}

static struct ibv_qp *
qp_create(struct fixture *f, struct ibv_cq *send, struct ibv_cq *recv)
{
	struct ibv_qp *qp = uroce_create_qp(f->pd, &(struct ibv_qp_init_attr){
		.send_cq = send, .recv_cq = recv, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
	});

	assert_non_null(qp);
	return qp;
}

static void
poll_empty(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(cq, 1, &wc), 0);
}

/* @return the worker's rounds since the last call */
static uint64_t
rounds(struct fixture *f, unsigned int worker)
{
	static uint64_t seen[WORKERS];
	uint64_t before = seen[worker];

	seen[worker] = f->workers[worker]->load.rounds;
	return seen[worker] - before;
}

static void
test_polls_the_worker_of_the_cq(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp *qp = qp_create(f, f->cqs[1], f->cqs[2]), *other;

	for (unsigned int i = 0; i < WORKERS; i++)
		rounds(f, i);
	poll_empty(f->cqs[1]);
	poll_empty(f->cqs[2]); /* its completions come from worker 1, too */
	assert_int_equal(rounds(f, 0) + rounds(f, 2), 0);
	assert_int_equal(rounds(f, 1), 2);
	other = qp_create(f, f->cqs[2], f->cqs[2]); /* and now from worker 2 */
	for (unsigned int i = 0; i < WORKERS; i++)
		rounds(f, i);
	poll_empty(f->cqs[2]);
	assert_true(rounds(f, 1) >= 1 && rounds(f, 2) >= 1);
	assert_int_equal(uroce_destroy_qp(other), 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

/* Yields of the thread that polls the worker `of`: announced in the worker, or not. */
static struct {
	struct uroce_worker *of; /* atomic: any thread of the program may yield */
	unsigned int known, unknown;
} yields;

/* Replaces the C library's function in the whole test program. */
int
sched_yield(void)
{
	struct uroce_worker *of = __atomic_load_n(&yields.of, __ATOMIC_RELAXED);

	if (of != NULL && uroce_driven_last() == of) {
		if (__atomic_load_n(&of->yields, __ATOMIC_RELAXED))
			yields.known++;
		else
			yields.unknown++;
	}
	return (int)syscall(SYS_sched_yield);
}

/* Run it on a thread that is not registered with EAL: EAL's threads do not yield. */
static void *
poll_until_yield(void *cq)
{
	struct ibv_wc wc;

	while (yields.known + yields.unknown == 0)
		uroce_poll_cq(cq, 1, &wc);
	return NULL;
}

static void
test_announces_a_yield(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp *qp = qp_create(f, f->cqs[1], f->cqs[1]);
	pthread_t thread;

	__atomic_store_n(&yields.of, f->workers[1], __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&thread, NULL, poll_until_yield, f->cqs[1]), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	__atomic_store_n(&yields.of, NULL, __ATOMIC_RELAXED);
	assert_int_equal(yields.known, 1);
	assert_int_equal(yields.unknown, 0);
	assert_false(f->workers[1]->yields); /* cleared after the yield */
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

/* A thread that finds nothing polls the workers that no thread has polled for a while, and no others. */
static void
test_helps(void **state)
{
	struct fixture *f = *state;
	struct ibv_cq *cq = uroce_create_cq(f->context, 16, NULL, NULL, 0);
	struct ibv_qp *qp = qp_create(f, f->cqs[1], cq);
	const unsigned int polls = UROCE_HELP_ROUNDS * WORKERS * 2;

	test_clock_stop();
	test_clock_advance(1000 * UROCE_HELP_NS);
	for (unsigned int i = 0; i < WORKERS; i++)
		uroce_worker_poll(f->workers[i]);
	for (unsigned int i = 0; i < WORKERS; i++)
		rounds(f, i);
	for (unsigned int i = 0; i < polls; i++)
		poll_empty(cq);
	assert_int_equal(rounds(f, 0) + rounds(f, 2), 0);
	assert_int_equal(rounds(f, 1), polls);
	test_clock_advance(2 * UROCE_HELP_NS);
	for (unsigned int i = 0; i < polls; i++)
		poll_empty(cq);
	assert_int_equal(rounds(f, 0), 1);
	assert_int_equal(rounds(f, 1), polls);
	assert_int_equal(rounds(f, 2), 1);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* Receive a frame on the queue of worker i. It is dropped. */
static void
receive_one(struct fixture *f, unsigned int i)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(uroce_port_of_context(f->context)->queues[i].pool);

	assert_non_null(m);
	memset(rte_pktmbuf_append(m, RTE_ETHER_MIN_LEN), 0, RTE_ETHER_MIN_LEN);
	assert_int_equal(rte_ring_enqueue(f->wire.rx[i], m), 0);
}

/* The progress thread of a worker counts the polls of other threads, unless the worker has been idle for long. */
static void
test_counts_help(void **state)
{
	struct fixture *f = *state;
	struct ibv_qp *qp = qp_create(f, f->cqs[1], f->cqs[1]);
	const unsigned int polls = UROCE_HELP_ROUNDS * WORKERS * 2;
	uint64_t last_ns[WORKERS] = { 0 }, counted[WORKERS], then_ns[WORKERS];

	test_clock_stop();
	test_clock_advance(2 * UROCE_HELP_IDLE_NS);
	for (unsigned int i = 0; i < WORKERS; i++)
		uroce_worker_poll(f->workers[i]);
	receive_one(f, 2);
	for (unsigned int help = 0; help < 2; help++) {
		for (unsigned int i = 0; i < WORKERS; i++) {
			counted[i] = uroce_driven_rounds(f->workers[i], &last_ns[i]);
			then_ns[i] = last_ns[i];
			rounds(f, i);
		}
		test_clock_advance(2 * UROCE_HELP_NS);
		for (unsigned int i = 0; i < polls; i++)
			poll_empty(f->cqs[1]);
		assert_int_equal(rounds(f, 0), 1);
		assert_int_equal(rounds(f, 2), 1);
		assert_int_equal(uroce_driven_rounds(f->workers[0], &last_ns[0]), counted[0]);
		assert_int_equal(uroce_driven_rounds(f->workers[2], &last_ns[2]), counted[2] + 1);
		assert_int_equal(last_ns[0], then_ns[0]);
		assert_true(last_ns[2] > then_ns[2]);
	}
	assert_int_equal(uroce_destroy_qp(qp), 0);
}

struct creator {
	struct fixture *f;
	struct uroce_worker *first, *second;
};

/* Two CQs and QPs of one thread. */
static void *
create_two(void *arg)
{
	struct creator *c = arg;

	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_cq *cq = uroce_create_cq(c->f->context, 16, NULL, NULL, 0);
		struct ibv_qp *qp = qp_create(c->f, cq, cq);

		*(i == 0 ? &c->first : &c->second) = uroce_qp_worker(qp);
		assert_int_equal(uroce_destroy_qp(qp), 0);
		assert_int_equal(uroce_destroy_cq(cq), 0);
	}
	return NULL;
}

/* All QPs of a thread belong to one worker, that of the fewest threads. A thread that has ended does not count. */
static void
test_threads_have_workers(void **state)
{
	struct fixture *f = *state;
	struct creator own = { .f = f }, other = { .f = f };
	pthread_t thread;

	create_two(&own);
	assert_ptr_equal(own.first, own.second);
	for (unsigned int i = 0; i < 2 * WORKERS; i++) {
		assert_int_equal(pthread_create(&thread, NULL, create_two, &other), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_ptr_equal(other.first, other.second);
		assert_ptr_not_equal(other.first, own.first);
	}
}

/* A completion vector other than 0, and the first QP of a CQ, determine the worker, too. */
static void
test_vectors(void **state)
{
	struct fixture *f = *state;
	struct creator own = { .f = f };
	struct ibv_cq *cq = uroce_create_cq(f->context, 16, NULL, NULL, 0);
	struct ibv_qp *first;

	create_two(&own);
	for (unsigned int i = 1; i < WORKERS; i++) {
		struct ibv_qp *qp = qp_create(f, f->cqs[i], f->cqs[0]);

		assert_ptr_equal(uroce_qp_worker(qp), f->workers[i]);
		assert_int_equal(uroce_destroy_qp(qp), 0);
	}
	first = qp_create(f, f->cqs[2], cq); /* its completions of receives */
	for (unsigned int i = 0; i < 2; i++) {
		struct ibv_qp *qp = qp_create(f, cq, cq);

		assert_ptr_equal(uroce_qp_worker(qp), f->workers[2]);
		assert_int_equal(uroce_destroy_qp(qp), 0);
	}
	assert_int_equal(uroce_destroy_qp(first), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

struct poller {
	struct ibv_cq *cq;
	struct ibv_qp *qps[2];
	unsigned int polls;
};

/* Poll, and then post to the QPs. */
static void *
poll_and_settle(void *arg)
{
	struct poller *p = arg;

	for (unsigned int i = 0; i < p->polls; i++)
		poll_empty(p->cq);
	uroce_driven_settle(p->qps[0]);
	uroce_driven_settle(p->qps[1]);
	return NULL;
}

static void
poll_on_a_thread(struct poller *p, unsigned int polls)
{
	pthread_t thread;

	p->polls = polls;
	assert_int_equal(pthread_create(&thread, NULL, poll_and_settle, p), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

/* A thread that keeps polling a CQ gets its QPs, which another thread has created. */
static void
test_polling_thread_gets_the_qps(void **state)
{
	struct fixture *f = *state;
	struct ibv_cq *cq = uroce_create_cq(f->context, 16, NULL, NULL, 0);
	struct poller p = { .cq = cq, .qps = { qp_create(f, cq, cq), qp_create(f, f->cqs[0], cq) } };
	struct uroce_worker *first = uroce_qp_worker(p.qps[0]);

	poll_on_a_thread(&p, UROCE_SETTLE_POLLS);
	assert_ptr_equal(uroce_qp_worker(p.qps[0]), first);
	poll_on_a_thread(&p, UROCE_SETTLE_POLLS + 1);
	assert_ptr_not_equal(uroce_qp_worker(p.qps[0]), first);
	assert_ptr_equal(uroce_qp_worker(p.qps[1]), uroce_qp_worker(p.qps[0]));
	assert_ptr_equal(uroce_cq_producer(uroce_cq_of(cq)), &uroce_qp_worker(p.qps[0])->engine);
	p.polls = UROCE_SETTLE_POLLS + 1;
	poll_and_settle(&p); /* and now this thread, which has the first worker */
	assert_ptr_equal(uroce_qp_worker(p.qps[0]), first);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_qp(p.qps[i]), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* QPs stay on a worker that the program has named. */
static void
test_named_worker_keeps_the_qps(void **state)
{
	struct fixture *f = *state;
	struct ibv_td *td = uroce_alloc_td_on(f->context, f->workers[2]);
	struct ibv_parent_domain_init_attr attr = { .pd = f->pd, .td = td };
	struct ibv_pd *pd = f->pd, *parent = uroce_alloc_parent_domain(f->context, &attr);
	struct ibv_cq *recv = uroce_create_cq(f->context, 16, NULL, NULL, 0);
	struct poller p = { .cq = f->cqs[0] };

	assert_non_null(parent);
	p.qps[0] = qp_create(f, f->cqs[1], recv);
	f->pd = parent;
	p.qps[1] = qp_create(f, f->cqs[0], f->cqs[0]);
	f->pd = pd;
	poll_on_a_thread(&p, UROCE_SETTLE_POLLS + 1);
	assert_ptr_equal(uroce_qp_worker(p.qps[1]), f->workers[2]);
	for (unsigned int i = 0; i < 2; i++) {
		p.cq = i == 0 ? f->cqs[1] : recv;
		poll_on_a_thread(&p, UROCE_SETTLE_POLLS + 1);
		assert_ptr_equal(uroce_qp_worker(p.qps[0]), f->workers[1]);
	}
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_qp(p.qps[i]), 0);
	assert_int_equal(uroce_destroy_cq(recv), 0);
	assert_int_equal(uroce_dealloc_pd(parent), 0);
	assert_int_equal(uroce_dealloc_td(td), 0);
}

/* A device with two workers on a port with one queue. */
static void
test_shares_a_queue(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1, .poll_progress = 1 };
	struct net net = { 0 };

	test_rings_create_pair(&net.wire[0], &net.wire[1]);
	net_run_handed_over(&net, &conf);
}

/* A worker of another port has handed frames over, and may be gone with that port: it is not polled. */
static void
test_foreign_feeder(void **state)
{
	struct fixture *f = *state;
	struct uroce_worker *foreign = uroce_create_worker(-1);
	struct ibv_qp *qp = qp_create(f, f->cqs[1], f->cqs[1]);

	assert_non_null(foreign);
	f->workers[1]->feeder = foreign;
	test_clock_stop();
	test_clock_advance(1000 * UROCE_HELP_NS);
	for (unsigned int i = 0; i < 2 * UROCE_FEEDER_ROUNDS; i++)
		poll_empty(f->cqs[1]);
	assert_int_equal(foreign->load.rounds, 0);
	f->workers[1]->feeder = f->workers[2];
	rounds(f, 2);
	for (unsigned int i = 0; i < 2 * UROCE_FEEDER_ROUNDS; i++)
		poll_empty(f->cqs[1]);
	assert_true(rounds(f, 2) > 0);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_worker(foreign), 0);
}

/* A restart of the port has taken away the worker that a QP was to move to. */
static void
test_wanted_worker_is_gone(void **state)
{
	struct fixture *f = *state;
	struct uroce_worker *gone = uroce_create_worker(-1);
	struct ibv_qp *qp = qp_create(f, f->cqs[0], f->cqs[0]);
	struct uroce_worker *w = uroce_qp_worker(qp);

	assert_non_null(gone);
	uroce_cq_of(f->cqs[0])->place.wanted = &gone->engine;
	uroce_driven_settle(qp);
	assert_null(uroce_cq_of(f->cqs[0])->place.wanted);
	assert_ptr_equal(uroce_qp_worker(qp), w);
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_worker(gone), 0);
}

/* Only a port that the application drives may have fewer queues than workers. */
static void
test_refuses_to_share(void **state)
{
	struct uroce_worker *workers[2];
	struct test_rings wire;

	test_rings_create(&wire, 1);
	for (unsigned int i = 0; i < 2; i++)
		workers[i] = uroce_create_worker(-1);
	errno = 0;
	assert_null(uroce_open_port(wire.port_id, NULL, workers, 2));
	assert_int_equal(errno, EINVAL);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	test_rings_destroy(&wire);
}

/* @return frames that worker i has sent */
static unsigned int
push(struct fixture *f, unsigned int i)
{
	struct uroce_worker *w = f->workers[i];
	unsigned int n;

	uroce_worker_enter(w);
	n = uroce_tx_kick_push(w->by_port[f->wire.port_id]);
	uroce_worker_exit(w);
	return n;
}

static void
empty(struct rte_ring *ring)
{
	struct rte_mbuf *m;

	while (rte_ring_dequeue(ring, (void **)&m) == 0)
		rte_pktmbuf_free(m);
}

/* Workers 0 and 2 share queue 0 of two: while another worker sends, none of them waits. The number of queues may
 * change. */
static void
test_sends_by_turns(void **state)
{
	struct uroce_port *port;
	struct fixture f;

	open_queues(&f, 2);
	port = uroce_port_of_context(f.context);
	empty(f.wire.tx[0]);
	empty(f.wire.tx[1]);
	assert_true(rte_spinlock_trylock(&port->queues[0].lock));
	assert_int_equal(push(&f, 0), 0);
	assert_int_equal(push(&f, 2), 0);
	assert_true(push(&f, 1) > 0);
	rte_spinlock_unlock(&port->queues[0].lock);
	assert_true(rte_ring_empty(f.wire.tx[0]));
	assert_true(push(&f, 2) > 0);
	assert_false(rte_ring_empty(f.wire.tx[0]));
	empty(f.wire.tx[0]);
	empty(f.wire.tx[1]);
	uroce_port_use_queues(port, 1);
	assert_true(push(&f, 1) > 0);
	assert_false(rte_ring_empty(f.wire.tx[0]));
	assert_true(port->queues[1].no_rx);
	empty(f.wire.tx[0]);
	close_queues(&f);
}

UROCE_TESTS(port_driven)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_polls_the_worker_of_the_cq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_announces_a_yield, setup, teardown),
		cmocka_unit_test_setup_teardown(test_helps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_counts_help, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads_have_workers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_vectors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_polling_thread_gets_the_qps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_named_worker_keeps_the_qps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreign_feeder, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wanted_worker_is_gone, setup, teardown),
		cmocka_unit_test(test_shares_a_queue),
		cmocka_unit_test(test_refuses_to_share),
		cmocka_unit_test(test_sends_by_turns),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
