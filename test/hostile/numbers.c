/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * From 100,000 keys or queue pair numbers, a peer cannot predict the next: allocated at once, one after the other,
 * freed and drawn again, and across starts of a process.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_random.h>

#include "eal.h"
#include "fake.h"
#include "groups.h"
#include "mem/mr.h"
#include "mem/mw.h"
#include "mem/pd.h"
#include "base/rcu.h"
#include "statistics.h"
#include "uroce.h"
#include "wire/template.h"

#define DRAWS 100000
#define HELD  64

static uint32_t values[DRAWS];
static uint8_t memory[64];
static struct uroce_pd pd = { .protection = &pd.ibv };

static void
expect_unpredictable(unsigned int bits)
{
	const char *wrong = statistics_check(values, DRAWS, bits);

	if (wrong != NULL)
		fail_msg("%s", wrong);
}

static struct uroce_mr *
reg(struct uroce_mrs *t)
{
	struct uroce_mr *mr = uroce_mr_create(t, &pd.ibv, memory, sizeof(memory), 0, 0);

	assert_non_null(mr);
	return mr;
}

static void
keys_of_many_regions(void **state)
{
	static struct uroce_mr *mrs[DRAWS];
	struct uroce_mrs t;

	assert_int_equal(uroce_mrs_init(&t, 17, -1), 0);
	for (unsigned int i = 0; i < DRAWS; i++) {
		mrs[i] = reg(&t);
		values[i] = mrs[i]->ibv.rkey;
	}
	expect_unpredictable(32);
	for (unsigned int i = 0; i < DRAWS; i++)
		assert_int_equal(uroce_mr_destroy(mrs[i], NULL, NULL), 0);
	uroce_mrs_fini(&t);
}

/* Register the same memory again and again, mostly in a slot that was used before. */
static void
reuse_keys(unsigned int log2, unsigned int held)
{
	struct uroce_mr *mrs[HELD] = { NULL };
	struct uroce_mrs t;

	assert_int_equal(uroce_mrs_init(&t, log2, -1), 0);
	for (unsigned int i = 0; i < DRAWS; i++) {
		if (mrs[i % held] != NULL)
			assert_int_equal(uroce_mr_destroy(mrs[i % held], NULL, NULL), 0);
		mrs[i % held] = reg(&t);
		values[i] = mrs[i % held]->ibv.rkey;
	}
	for (unsigned int i = 0; i < held; i++)
		assert_int_equal(uroce_mr_destroy(mrs[i], NULL, NULL), 0);
	uroce_mrs_fini(&t);
}

static void
keys_drawn_again(void **state)
{
	reuse_keys(16, HELD);
	expect_unpredictable(32);
}

/* One of two slots is always in use: the next key has the other slot, and reveals only that. */
static void
keys_of_a_table_that_is_full(void **state)
{
	reuse_keys(1, 1);
	expect_unpredictable(31);
	assert_null(statistics_check_repeats(values, DRAWS, 32));
}

static void
keys_of_windows(void **state)
{
	static struct uroce_mw *mws[DRAWS];
	struct uroce_mrs t;

	assert_int_equal(uroce_mrs_init(&t, 17, -1), 0);
	for (unsigned int i = 0; i < DRAWS; i++) {
		mws[i] = uroce_mw_create(&t, &pd.ibv, i % 2 == 0 ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
		assert_non_null(mws[i]);
		values[i] = mws[i]->ibv.rkey;
	}
	expect_unpredictable(32);
	for (unsigned int i = 0; i < DRAWS; i++)
		uroce_mw_destroy(mws[i]);
	uroce_mrs_fini(&t);
}

/* A window that is bound again and again stays in its slot. A peer that has seen all keys of the slot must not know
 * the order in which they repeat. */
static void
keys_of_one_window(void **state)
{
	struct uroce_mrs t;
	struct uroce_mw *mw;
	unsigned int again = 0, at_once = 0;

	assert_int_equal(uroce_mrs_init(&t, 16, -1), 0);
	mw = uroce_mw_create(&t, &pd.ibv, IBV_MW_TYPE_1);
	assert_non_null(mw);
	for (unsigned int i = 0; i < DRAWS; i++)
		values[i] = uroce_mw_next_rkey(mw, 0);
	expect_unpredictable(16);
	for (unsigned int i = 1 << 16; i < DRAWS; i++)
		again += values[i] == values[i - (1 << 16)];
	for (unsigned int i = 1; i < DRAWS; i++)
		at_once += values[i] == values[i - 1];
	assert_true(again < 20); /* 0.5 expected by chance */
	assert_int_equal(at_once, 0);
	uroce_mw_destroy(mw);
	uroce_mrs_fini(&t);
}

static void
draw_qpns(void)
{
	struct fake_pair pair = fake_pair_create(16);
	struct ibv_qp *qps[HELD] = { NULL };

	for (unsigned int i = 0; i < DRAWS; i++) {
		if (qps[i % HELD] != NULL)
			assert_int_equal(uroce_destroy_qp(qps[i % HELD]), 0);
		qps[i % HELD] = fake_qp_create(&pair);
		values[i] = qps[i % HELD]->qp_num;
	}
	for (unsigned int i = 0; i < HELD; i++)
		assert_int_equal(uroce_destroy_qp(qps[i]), 0);
	fake_pair_destroy(&pair);
}

static void
queue_pair_numbers(void **state)
{
	fake_open(16);
	draw_qpns();
	fake_teardown(state);
	expect_unpredictable(24);
}

/* The source port is derived from the destination QPN: it reveals only fourteen bits of it. */
static void
udp_source_ports(void **state)
{
	fake_open(16);
	draw_qpns();
	fake_teardown(state);
	for (unsigned int i = 0; i < DRAWS; i++) {
		values[i] = uroce_udp_src_port(0, values[i]);
		assert_true(values[i] >= 0xc000 && values[i] <= 0xffff);
	}
	expect_unpredictable(14);
}

static void
draw_keys_of_a_start(int fd)
{
	struct uroce_mr *mrs[HELD];
	uint32_t keys[HELD];
	struct uroce_mrs t;

	rte_srand(1); /* other code may seed DPDK's generator */
	srandom(1);
	if (uroce_mrs_init(&t, 16, -1) != 0)
		_exit(1);
	for (unsigned int i = 0; i < HELD; i++) {
		mrs[i] = reg(&t);
		keys[i] = mrs[i]->ibv.rkey;
	}
	_exit(write(fd, keys, sizeof(keys)) == sizeof(keys) ? 0 : 1);
}

/* Processes that start in the same way draw different keys. */
static void
keys_of_two_starts(void **state)
{
	uint32_t keys[2][HELD];
	unsigned int same = 0;
	int fds[2], status;

	for (unsigned int i = 0; i < 2; i++) {
		pid_t child;

		assert_int_equal(pipe(fds), 0);
		child = fork();
		assert_true(child >= 0);
		if (child == 0)
			draw_keys_of_a_start(fds[1]);
		assert_int_equal(read(fds[0], keys[i], sizeof(keys[i])), sizeof(keys[i]));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		close(fds[0]);
		close(fds[1]);
	}
	for (unsigned int i = 0; i < HELD * HELD; i++)
		same += keys[0][i / HELD] == keys[1][i % HELD];
	assert_true(same < 3); /* 1e-6 expected by chance */
}

static int
setup(void **state)
{
	test_eal_init(NULL);
	return uroce_rcu_init();
}

UROCE_TESTS(hostile_numbers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_of_many_regions),
		cmocka_unit_test(keys_drawn_again),
		cmocka_unit_test(keys_of_a_table_that_is_full),
		cmocka_unit_test(keys_of_windows),
		cmocka_unit_test(keys_of_one_window),
		cmocka_unit_test(queue_pair_numbers),
		cmocka_unit_test(udp_source_ports),
		cmocka_unit_test(keys_of_two_starts),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
