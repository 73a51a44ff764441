/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Completion queues: limits at creation, order over many rounds of the ring, overrun at the last entry (R43), and
 * several producers and consumers at once. For arming, see channel.c.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "tasks.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fake.h"

static struct ibv_cq *
create(int cqe)
{
	return uroce_create_cq(fake.context, cqe, NULL, NULL, 0);
}

static bool
push(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc = { .wr_id = wr_id, .qp_num = (uint32_t)wr_id + 1 };

	return uroce_cq_push(uroce_cq_of(cq), fake_engine(0), &wc, false);
}

static void
expect(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.qp_num, (uint32_t)wr_id + 1);
}

static bool
async_event(struct ibv_async_event *event)
{
	int fd = fake.context->async_fd;

	assert_int_equal(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK), 0);
	return uroce_get_async_event(fake.context, event) == 0;
}

static void
refused(int cqe, struct ibv_comp_channel *channel, int vector, int error)
{
	errno = 0;
	assert_null(uroce_create_cq(fake.context, cqe, NULL, channel, vector));
	assert_int_equal(errno, error);
	assert_int_equal(fake.dev.cq_count, 0);
}

static void
test_create(void **state)
{
	struct ibv_context elsewhere = { 0 };
	struct ibv_comp_channel foreign = { .context = &elsewhere };
	int cookie;
	struct ibv_cq *cq;

	refused(0, NULL, 0, EINVAL);
	refused(-1, NULL, 0, EINVAL);
	refused(UROCE_MAX_CQE + 1, NULL, 0, EINVAL);
	refused(1, NULL, -1, EINVAL);
	refused(1, NULL, fake.context->num_comp_vectors, EINVAL);
	refused(1, &foreign, 0, EINVAL);
	assert_int_equal(foreign.refcnt, 0);

	cq = uroce_create_cq(fake.context, 100, &cookie, NULL, fake.context->num_comp_vectors - 1);
	assert_non_null(cq);
	assert_ptr_equal(cq->context, fake.context);
	assert_ptr_equal(cq->cq_context, &cookie);
	assert_null(cq->channel);
	assert_true(cq->cqe >= 100);
	assert_int_equal(fake.dev.cq_count, 1);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(fake.dev.cq_count, 0);
}

static void
test_create_too_many(void **state)
{
	struct ibv_cq *cqs[2] = { NULL };

	/* two of the largest size exceed the memory of this EAL */
	cqs[0] = create(UROCE_MAX_CQE);
	errno = 0;
	cqs[1] = create(UROCE_MAX_CQE);
	assert_null(cqs[1]);
	assert_int_equal(errno, ENOMEM);
	if (cqs[0] != NULL)
		assert_int_equal(uroce_destroy_cq(cqs[0]), 0);
	assert_int_equal(fake.dev.cq_count, 0);

	fake.dev.cq_count = UROCE_MAX_CQ;
	errno = 0;
	assert_null(create(1));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(fake.dev.cq_count, UROCE_MAX_CQ);
	fake.dev.cq_count = 0;
}

static void
test_destroy_in_use(void **state)
{
	struct ibv_cq *cq = create(1);

	uroce_cq_attach(uroce_cq_of(cq), fake_engine(0));
	uroce_cq_attach(uroce_cq_of(cq), fake_engine(0));
	assert_int_equal(uroce_destroy_cq(cq), EBUSY);
	uroce_cq_detach(uroce_cq_of(cq), fake_engine(0));
	assert_int_equal(uroce_destroy_cq(cq), EBUSY);
	uroce_cq_detach(uroce_cq_of(cq), fake_engine(0));
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* Sizes around powers of two; each fill level; indices that wrap many times, also at 2^32. */
static void
test_order(void **state)
{
	static const int sizes[] = { 1, 2, 3, 4, 5, 7, 8, 9 };
	struct ibv_wc wc[16];

	for (size_t s = 0; s < RTE_DIM(sizes); s++) {
		struct ibv_cq *cq = create(sizes[s]);
		uint64_t pushed = 0, polled = 0;

		uroce_cq_of(cq)->head = UINT32_MAX - 20;
		uroce_cq_of(cq)->head_seen = UINT32_MAX - 20;
		uroce_cq_of(cq)->tail = UINT32_MAX - 20;
		assert_int_equal(uroce_poll_cq(cq, 16, wc), 0);
		for (int round = 0; round < 50; round++) {
			int fill = 1 + round % sizes[s];

			for (int i = 0; i < fill; i++)
				assert_true(push(cq, pushed++));
			/* one by one or all at once */
			for (int i = 0; round % 3 == 0 && i < fill; i++)
				expect(cq, polled++);
			if (round % 3 != 0)
				assert_int_equal(uroce_poll_cq(cq, 16, wc), fill);
			for (int i = 0; round % 3 != 0 && i < fill; i++)
				assert_int_equal(wc[i].wr_id, polled++);
			assert_int_equal(uroce_poll_cq(cq, 16, wc), 0);
		}
		assert_int_equal(uroce_destroy_cq(cq), 0);
	}
}

static void
test_poll_counts(void **state)
{
	struct ibv_cq *cq = create(4);
	struct ibv_wc wc[5];

	memset(wc, 0xa5, sizeof(wc));
	for (int i = 0; i < 4; i++)
		assert_true(push(cq, i));
	assert_int_equal(uroce_poll_cq(cq, 0, wc), 0);
	assert_int_equal(uroce_poll_cq(cq, -3, wc), 0);
	assert_int_equal(uroce_poll_cq(cq, 3, wc), 3);
	assert_int_equal(wc[2].wr_id, 2);
	/* no more entries than asked for are written */
	assert_int_equal(wc[3].wr_id, 0xa5a5a5a5a5a5a5a5);
	assert_int_equal(uroce_poll_cq(cq, 5, wc), 1);
	assert_int_equal(wc[0].wr_id, 3);
	/* the inline call of the header ends here, too */
	assert_int_equal(ibv_poll_cq(cq, 5, wc), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

/* R43: the CQ takes exactly cqe entries and refuses the next, with one event. The entries can be polled; then the CQ
 * is in error. */
static void
overrun(int cqe, int polled_before)
{
	struct ibv_cq *cq = create(cqe);
	struct ibv_async_event event;
	struct ibv_wc wc;

	for (int i = 0; i < polled_before; i++) {
		assert_true(push(cq, i));
		expect(cq, i);
	}
	for (int i = 0; i < cqe; i++)
		assert_true(push(cq, i));
	assert_false(async_event(&event));
	assert_false(push(cq, 1000));
	assert_true(async_event(&event));
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, cq);
	uroce_ack_async_event(&event);

	/* it stays in error, even with free entries */
	assert_false(push(cq, 1001));
	expect(cq, 0);
	assert_false(push(cq, 1002));
	for (int i = 1; i < cqe; i++)
		expect(cq, i);
	assert_int_equal(uroce_poll_cq(cq, 1, &wc), -1);
	assert_int_equal(uroce_poll_cq(cq, 1, &wc), -1);
	assert_false(push(cq, 1003));
	assert_false(async_event(&event));
	assert_int_equal(uroce_destroy_cq(cq), 0);
}

static void
test_overrun(void **state)
{
	for (int cqe = 1; cqe <= 9; cqe++) {
		overrun(cqe, 0);
		overrun(cqe, cqe / 2 + 1);
	}
	overrun(1000, 77);
}

/* With one engine, pushes need no lock; from the second engine on they do, until all have left. The first engine is
 * locked out during the change. */
static void
test_shared_by_engines(void **state)
{
	struct uroce_cq *cq = uroce_cq_of(create(4));

	uroce_cq_attach(cq, fake_engine(0));
	uroce_cq_attach(cq, fake_engine(0));
	assert_false(cq->shared);
	uroce_cq_attach(cq, fake_engine(1));
	assert_true(cq->shared);
	uroce_cq_detach(cq, fake_engine(0));
	uroce_cq_detach(cq, fake_engine(0));
	assert_true(cq->shared);
	uroce_cq_detach(cq, fake_engine(1));
	/* after the last engine has left, a single one needs no lock again */
	uroce_cq_attach(cq, fake_engine(1));
	assert_false(cq->shared);
	uroce_cq_detach(cq, fake_engine(1));
	assert_int_equal(uroce_destroy_cq(&cq->ibv), 0);
}

static bool
is_owned_by(const struct uroce_cq *cq, unsigned int engine)
{
	return uroce_cq_producer(cq) == fake_engine(engine);
}

/* QPs move from one engine to another, one after the other: only meanwhile the CQ needs its lock. */
static void
test_moved(void **state)
{
	struct uroce_cq *cq = uroce_cq_of(create(4));
	struct uroce_engine *a = fake_engine(0), *b = fake_engine(1);

	uroce_cq_attach(cq, a);	/* a QP with two counts, and one with one */
	uroce_cq_attach(cq, a);
	uroce_cq_attach(cq, a);
	assert_true(is_owned_by(cq, 0));
	uroce_cq_moved(cq, 2, a, b);
	assert_true(cq->shared);
	uroce_cq_moved(cq, 1, a, b);
	assert_true(is_owned_by(cq, 1));
	uroce_cq_moved(cq, 1, b, a);
	assert_true(cq->shared);
	uroce_cq_moved(cq, 1, a, b);	/* and back */
	uroce_cq_moved(cq, 2, b, a);
	assert_true(cq->shared);
	uroce_cq_moved(cq, 1, b, a);
	assert_true(is_owned_by(cq, 0));
	uroce_cq_moved(cq, 2, a, b);
	uroce_cq_detach(cq, a);
	assert_null(uroce_cq_producer(cq));
	uroce_cq_detach(cq, b);
	uroce_cq_detach(cq, b);
	uroce_cq_attach(cq, a);
	assert_true(is_owned_by(cq, 0));
	uroce_cq_moved(cq, 1, a, b);
	assert_true(is_owned_by(cq, 1));
	uroce_cq_detach(cq, b);
	assert_null(uroce_cq_producer(cq)); /* b may be freed */
	assert_int_equal(uroce_destroy_cq(&cq->ibv), 0);
}

static int pushed;	/* atomic */

static void *
push_one(void *arg)
{
	push(arg, 7);
	__atomic_store_n(&pushed, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* With two engines, a push waits for the lock; with one, it ignores the lock. */
static void
test_push_lock(void **state)
{
	struct ibv_cq *ibv = create(4);
	struct uroce_cq *cq = uroce_cq_of(ibv);
	pthread_t thread;

	uroce_cq_attach(cq, fake_engine(0));
	rte_spinlock_lock(&cq->push_lock);
	assert_true(push(ibv, 6));
	uroce_cq_attach(cq, fake_engine(1));
	pushed = 0;
	assert_int_equal(pthread_create(&thread, NULL, push_one, ibv), 0);
	test_thread_await_spin(thread);
	assert_int_equal(__atomic_load_n(&pushed, __ATOMIC_ACQUIRE), 0);
	expect(ibv, 6);
	rte_spinlock_unlock(&cq->push_lock);
	pthread_join(thread, NULL);
	expect(ibv, 7);
	uroce_cq_detach(cq, fake_engine(0));
	uroce_cq_detach(cq, fake_engine(1));
	assert_int_equal(uroce_destroy_cq(ibv), 0);
}

#define PRODUCERS 2
#define CONSUMERS 2
#define ENTRIES 777
#define PER_PRODUCER 150000

static struct {
	struct ibv_cq *cq;
	uint32_t room;		/* atomic: entries that producers may still push */
	uint32_t polled;	/* atomic */
	uint8_t seen[PRODUCERS][PER_PRODUCER];	/* atomic */
} mt;

static void *
produce(void *arg)
{
	unsigned int id = (uintptr_t)arg;

	for (unsigned int i = 0; i < PER_PRODUCER; i++) {
		uint32_t room = __atomic_load_n(&mt.room, __ATOMIC_ACQUIRE);

		while (room == 0 || !__atomic_compare_exchange_n(&mt.room, &room, room - 1, false,
								 __ATOMIC_ACQ_REL,
								 __ATOMIC_ACQUIRE)) {
			if (room == 0)
				sched_yield();
			room = __atomic_load_n(&mt.room, __ATOMIC_ACQUIRE);
		}
		fake.dev.ops.worker->engine_enter(fake_engine(id));
		if (!push(mt.cq, (uint64_t)id << 32 | i))
			i = PER_PRODUCER;	/* the consumers report the failure */
		fake.dev.ops.worker->engine_exit(fake_engine(id));
	}
	return NULL;
}

static void *
consume(void *arg)
{
	uint64_t last[PRODUCERS] = { 0 };
	uintptr_t errors = 0;
	struct ibv_wc wc[7];

	(void)arg;
	while (__atomic_load_n(&mt.polled, __ATOMIC_ACQUIRE) < PRODUCERS * PER_PRODUCER) {
		int n = uroce_poll_cq(mt.cq, RTE_DIM(wc), wc);

		if (n < 0)
			return (void *)1;
		for (int i = 0; i < n; i++) {
			uint32_t id = wc[i].wr_id >> 32, number = (uint32_t)wc[i].wr_id;

			/* each completion arrives whole, once, and in its producer's order */
			errors += wc[i].qp_num != number + 1;
			errors += last[id] > number;
			errors += __atomic_fetch_add(&mt.seen[id][number], 1, __ATOMIC_RELAXED);
			last[id] = number;
		}
		__atomic_fetch_add(&mt.room, n, __ATOMIC_ACQ_REL);
		__atomic_fetch_add(&mt.polled, n, __ATOMIC_ACQ_REL);
		if (n == 0)
			sched_yield();
	}
	return (void *)errors;
}

/* The second engine's QP is attached while the first engine pushes. */
static void
test_threads(void **state)
{
	pthread_t producers[PRODUCERS], consumers[CONSUMERS];
	void *errors;

	memset(&mt, 0, sizeof(mt));
	mt.cq = create(ENTRIES);
	mt.room = ENTRIES;
	uroce_cq_attach(uroce_cq_of(mt.cq), fake_engine(0));
	for (uintptr_t i = 0; i < CONSUMERS; i++)
		assert_int_equal(pthread_create(&consumers[i], NULL, consume, (void *)i), 0);
	assert_int_equal(pthread_create(&producers[0], NULL, produce, (void *)0), 0);
	while (__atomic_load_n(&mt.polled, __ATOMIC_ACQUIRE) < PER_PRODUCER / 50)
		sched_yield();
	uroce_cq_attach(uroce_cq_of(mt.cq), fake_engine(1));
	assert_int_equal(pthread_create(&producers[1], NULL, produce, (void *)1), 0);

	for (unsigned int i = 0; i < PRODUCERS; i++)
		pthread_join(producers[i], NULL);
	for (unsigned int i = 0; i < CONSUMERS; i++) {
		pthread_join(consumers[i], &errors);
		assert_null(errors);
	}
	for (unsigned int i = 0; i < PRODUCERS; i++) {
		for (unsigned int k = 0; k < PER_PRODUCER; k++)
			assert_int_equal(mt.seen[i][k], 1);
		uroce_cq_detach(uroce_cq_of(mt.cq), fake_engine(i));
	}
	assert_int_equal(uroce_destroy_cq(mt.cq), 0);
}

static struct ibv_cq *polled_cq;
static unsigned int polls;

/* A stand-in for a worker's poll that completes a request. */
static void
poll_and_push(struct uroce_device *dev, struct uroce_cq *cq)
{
	polls++;
	assert_ptr_equal(dev, &fake.dev);
	assert_ptr_equal(cq, polled_cq);
	if (polls == 2)
		assert_true(push(polled_cq, 7));
}

/* A poll of an empty CQ drives the workers if the device asks for it; a poll that finds a completion does not. */
static void
test_poll_progress(void **state)
{
	const struct uroce_worker_ops *real = fake.dev.ops.worker;
	struct uroce_worker_ops ops = *real;
	struct ibv_wc wc;

	ops.poll = poll_and_push;
	fake.dev.ops.worker = &ops;
	polls = 0;
	polled_cq = create(4);
	assert_non_null(polled_cq);
	assert_int_equal(uroce_poll_cq(polled_cq, 1, &wc), 0);
	assert_int_equal(polls, 0);
	fake.dev.poll_progress = true;
	assert_int_equal(uroce_poll_cq(polled_cq, 1, &wc), 0);
	assert_int_equal(polls, 1);
	expect(polled_cq, 7);
	assert_int_equal(polls, 2);
	assert_true(push(polled_cq, 8));
	expect(polled_cq, 8);
	assert_int_equal(polls, 2);
	fake.dev.poll_progress = false;
	fake.dev.ops.worker = real;
	assert_int_equal(uroce_destroy_cq(polled_cq), 0);
}

UROCE_TESTS(cq)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_create, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_create_too_many, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_in_use, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_order, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_poll_counts, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_overrun, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_shared_by_engines, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_moved, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_push_lock, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_threads, fake_setup, fake_teardown),
		cmocka_unit_test_setup_teardown(test_poll_progress, fake_setup, fake_teardown),
	};

	test_eal_init("-m", "256", NULL); /* too little memory for two CQs of the largest size */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
