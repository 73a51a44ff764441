/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One of nine peers attacks without end: the eight others are served no worse than with a ninth correct peer, the
 * engine's memory does not grow, and a counter shows the attack. With --time the program also prints the time per
 * round, which means nothing on a busy machine.
 */

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "crowd.h"
#include "uroce_config.h"

#define ROUNDS 400
#define SHARE  80 /* % of the others' rate without an attacker */

static struct crowd crowd;
static uint64_t undisturbed;

static uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A worker sends as much as it can per round, and the same to each peer. */
static void
no_attack(void **state)
{
	crowd_start(&crowd, NULL);
	crowd_run(&crowd, ROUNDS);
	undisturbed = crowd.innocent_packets;
	assert_int_equal(undisturbed, (uint64_t)ROUNDS * UROCE_POLL_BURSTS * UROCE_BURST);
	assert_true(crowd.innocent_least * CROWD_INNOCENT * 100 >= undisturbed * 99);
	crowd_stop(&crowd);
}

static void
attack(void **state)
{
	const struct attack *a = *state;
	size_t allocated;
	uint64_t before;

	crowd_start(&crowd, a);
	crowd_run(&crowd, 10); /* one-time allocations happen here */
	before = crowd_counter(&crowd, a->counter);
	crowd.innocent_packets = 0;
	memset(crowd.per_qp, 0, sizeof(crowd.per_qp));
	allocated = mallinfo2().uordblks;
	crowd_run(&crowd, ROUNDS);
	/* a reconnected QP allocates its path and resources anew, of the same size */
	assert_uint_in_range(mallinfo2().uordblks, 0, allocated + 4096);
	if (strcmp(a->name, "no_end") != 0) /* its one packet came in the rounds before */
		assert_true(crowd_counter(&crowd, a->counter) > before);
	assert_true(crowd.innocent_packets * 100 >= undisturbed * SHARE);
	assert_true(crowd.innocent_least * CROWD_INNOCENT * 100 >= undisturbed * SHARE);
	crowd_stop(&crowd);
}

/* A repeated request is not executed again. */
static void
atomics_are_executed_once(void **state)
{
	for (unsigned int i = 0; i < attack_count; i++) {
		if (strcmp(attacks[i].name, "atomics_again") != 0)
			continue;
		crowd_start(&crowd, &attacks[i]);
		crowd_run(&crowd, ROUNDS);
		assert_int_equal(*(uint64_t *)(crowd.peer.buffer + CROWD_BYTES - 8), 1);
		crowd_stop(&crowd);
		return;
	}
	fail();
}

/* A peer gets at most one turn in nine, with any requests; it cannot make the engine send more. */
static void
nobody_has_more_than_a_turn(void **state)
{
	for (unsigned int i = 0; i < attack_count; i++) {
		crowd_start(&crowd, &attacks[i]);
		crowd_run(&crowd, ROUNDS);
		assert_true(crowd.hostile_packets * (CROWD_INNOCENT + 1) * 10 <=
			    (crowd.innocent_packets + crowd.hostile_packets) * 11);
		crowd_stop(&crowd);
	}
}

static void
measure(const struct attack *a)
{
	uint64_t from;

	crowd_start(&crowd, a);
	crowd_run(&crowd, 10);
	crowd.innocent_packets = crowd.hostile_packets = crowd.strikes = 0;
	from = now_ns();
	crowd_run(&crowd, 10 * ROUNDS);
	from = now_ns() - from;
	printf("%-22s %8.1f %9.1f %9.1f %9.2f\n", a != NULL ? a->name : "none",
	       (double)crowd.strikes / ROUNDS / 10, (double)crowd.hostile_packets / ROUNDS / 10,
	       (double)crowd.innocent_packets / ROUNDS / 10,
	       (double)crowd.innocent_packets * 1e3 / (double)from);
	crowd_stop(&crowd);
}

static int
print_times(void)
{
	printf("%-22s %8s %9s %9s %9s\n", "attack", "strikes", "to it", "to others", "M/s");
	measure(NULL);
	for (unsigned int i = 0; i < attack_count; i++)
		measure(&attacks[i]);
	return 0;
}

int
main(int argc, char **argv)
{
	struct CMUnitTest tests[64] = {
		cmocka_unit_test(no_attack),
		cmocka_unit_test(atomics_are_executed_once),
		cmocka_unit_test(nobody_has_more_than_a_turn),
	};
	unsigned int n = 3;

	if (argc > 1 && strcmp(argv[1], "--time") == 0)
		return print_times();
	for (unsigned int i = 0; i < attack_count && n < RTE_DIM(tests); i++)
		tests[n++] = (struct CMUnitTest){ .name = attacks[i].name,
						  .test_func = attack,
						  .initial_state = (void *)(uintptr_t)&attacks[i] };
	return _cmocka_run_group_tests("storms", tests, n, NULL, NULL);
}
