/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An SRQ with several threads: posters, takers, and one that resizes and arms it. Each WQE comes out whole and once,
 * and the WQEs of one poster in order.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "uroce.h"
#include "uroce_config.h"
#include "eal.h"
#include "fake.h"
#include "verbs/srq/srq.h"

#define POSTERS 2
#define TAKERS 2
#define EACH 20000		/* WQEs per poster */
#define SIZE 64
#define LARGER 200

static struct fake_pair pair;
static struct ibv_srq *srq;
static uint32_t done;			/* atomic: WQEs taken by all */
static uint8_t seen[POSTERS][EACH];	/* times each WQE was taken; one taker writes each byte */
static uint32_t torn, disordered;	/* atomic */

static void *
post_all(void *arg)
{
	uint64_t poster = (uintptr_t)arg;

	for (uint64_t i = 0; i < EACH; i++) {
		struct ibv_sge sge = { .addr = i, .length = (uint32_t)i, .lkey = (uint32_t)poster };
		struct ibv_recv_wr wr = { .wr_id = poster << 32 | i, .sg_list = &sge, .num_sge = 1 }, *bad;

		while (uroce_post_srq_recv(srq, &wr, &bad) == ENOMEM)
			sched_yield();
	}
	return NULL;
}

static void *
take_all(void *arg)
{
	int64_t last[POSTERS] = { -1, -1 };
	union {
		struct uroce_rqe rqe;
		uint8_t bytes[sizeof(struct uroce_rqe) + sizeof(struct ibv_sge)];
	} to;

	(void)arg;
	while (__atomic_load_n(&done, __ATOMIC_RELAXED) < POSTERS * EACH) {
		uint32_t poster, i;

		if (!uroce_srq_take(uroce_srq_of(srq), &to.rqe)) {
			sched_yield();
			continue;
		}
		poster = (uint32_t)(to.rqe.wr_id >> 32);
		i = (uint32_t)to.rqe.wr_id;
		if (poster >= POSTERS || i >= EACH || to.rqe.num_sge != 1 || to.rqe.length != i ||
		    to.rqe.sge[0].addr != i || to.rqe.sge[0].lkey != poster) {
			__atomic_fetch_add(&torn, 1, __ATOMIC_RELAXED);
		} else {
			if ((int64_t)i <= last[poster])
				__atomic_fetch_add(&disordered, 1, __ATOMIC_RELAXED);
			last[poster] = i;
			__atomic_fetch_add(&seen[poster][i], 1, __ATOMIC_RELAXED);
		}
		__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* A resize below the number of queued WQEs may fail. */
static void
modify_meanwhile(void)
{
	struct ibv_async_event event;

	for (uint32_t i = 0; __atomic_load_n(&done, __ATOMIC_RELAXED) < POSTERS * EACH; i++) {
		struct ibv_srq_attr attr = { .max_wr = i & 1 ? SIZE : LARGER, .srq_limit = 1 };
		int ret = uroce_modify_srq(srq, &attr, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT);

		assert_true(ret == 0 || (ret == EINVAL && (i & 1)));
		assert_int_equal(uroce_query_srq(srq, &attr), 0);
		assert_true(attr.max_wr == SIZE || attr.max_wr == LARGER);
		while (recv(fake.context->async_fd, &event, sizeof(event), MSG_DONTWAIT | MSG_PEEK) > 0) {
			assert_int_equal(uroce_get_async_event(fake.context, &event), 0);
			assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
			uroce_ack_async_event(&event);
		}
		sched_yield();
	}
}

static void
test_threads(void **state)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = SIZE, .max_sge = 1 } };
	pthread_t posters[POSTERS], takers[TAKERS];

	(void)state;
	fake_setup(NULL);
	pair = fake_pair_create(4);
	srq = uroce_create_srq(pair.pd, &init);
	assert_non_null(srq);
	for (uintptr_t i = 0; i < POSTERS; i++)
		assert_int_equal(pthread_create(&posters[i], NULL, post_all, (void *)i), 0);
	for (size_t i = 0; i < TAKERS; i++)
		assert_int_equal(pthread_create(&takers[i], NULL, take_all, NULL), 0);
	modify_meanwhile();
	for (size_t i = 0; i < POSTERS; i++)
		pthread_join(posters[i], NULL);
	for (size_t i = 0; i < TAKERS; i++)
		pthread_join(takers[i], NULL);
	assert_int_equal(torn, 0);
	assert_int_equal(disordered, 0);
	for (size_t p = 0; p < POSTERS; p++)
		for (size_t i = 0; i < EACH; i++)
			assert_int_equal(seen[p][i], 1);
	assert_int_equal(uroce_destroy_srq(srq), 0);
	fake_pair_destroy(&pair);
	fake_teardown(NULL);
}

UROCE_TESTS(srq_threads)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
