/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Slots and their identifiers: each slot once per cycle, no identifier twice in a slot's cycle, no reserved identifier,
 * and nothing about one slot that reveals another's.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_bitops.h>
#include <rte_common.h>

#include "base/random.h"
#include "base/slots.h"
#include "cmocka_compat.h"
#include "groups.h"

static void
test_each_slot_once(void **state)
{
	bool seen[64] = { false };
	struct uroce_slots s;
	uint32_t id;

	assert_int_equal(uroce_slots_init(&s, 6, 24), 0);
	for (unsigned int i = 0; i < 64; i++) {
		assert_int_equal(uroce_slots_get(&s, &id), 0);
		assert_true(id < 1 << 24);
		assert_int_equal(uroce_slots_index(6, 24, id), id >> 18);
		assert_false(seen[id >> 18]);
		seen[id >> 18] = true;
	}
	uroce_slots_fini(&s);
}

static bool
is_odd(const void *arg, uint32_t id)
{
	(*(unsigned int *)(uintptr_t)arg)++;
	return id % 2 != 0;
}

/* An identifier that suits is drawn if there is one; a slot that was drawn in vain keeps its next identifier. */
static void
test_suitable(void **state)
{
	unsigned int draws = 0, odd = 0;
	struct uroce_slots s;
	uint32_t ids[64], id;

	assert_int_equal(uroce_slots_init(&s, 6, 24), 0);
	for (unsigned int i = 0; i < 16; i++) {
		assert_int_equal(uroce_slots_get_if(&s, 256, is_odd, &draws, &ids[i]), 0);
		odd += ids[i] % 2;
	}
	assert_true(odd >= 15); /* unless almost all slots have even identifiers */
	assert_true(draws >= 16);
	for (unsigned int i = 16; i < 64; i++)
		assert_int_equal(uroce_slots_get_if(&s, 4, is_odd, &draws, &ids[i]), 0);
	assert_int_equal(uroce_slots_get_if(&s, 4, is_odd, &draws, &id), -ENOMEM);
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(s.uses[i], 1);
	/* the last draw is taken unseen */
	draws = 0;
	uroce_slots_put(&s, ids[0]);
	assert_int_equal(uroce_slots_get_if(&s, 1, is_odd, &draws, &id), 0);
	assert_int_equal(draws, 0);
	uroce_slots_fini(&s);
}

static void
test_full(void **state)
{
	struct uroce_slots s;
	uint32_t ids[4], id = 77;

	assert_int_equal(uroce_slots_init(&s, 2, 32), 0);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(uroce_slots_get(&s, &ids[i]), 0);
	assert_int_equal(uroce_slots_get(&s, &id), -ENOMEM);
	assert_int_equal(id, 77);
	uroce_slots_put(&s, ids[2]);
	assert_int_equal(uroce_slots_get(&s, &id), 0);
	assert_int_equal(id >> 30, ids[2] >> 30);
	assert_int_not_equal(id, ids[2]);
	assert_int_equal(uroce_slots_get(&s, &id), -ENOMEM);
	uroce_slots_fini(&s);
}

/* Each identifier of the space occurs once before any repeats, and the reserved ones never do, for an even and an
 * odd number of low bits. */
static void
check_cycle(unsigned int log2, unsigned int id_bits)
{
	const uint32_t all = RTE_BIT32(id_bits);
	const uint32_t draws = all - 3;
	uint8_t *seen = calloc(all, 1);
	struct uroce_slots s;
	uint32_t id, *last;

	assert_non_null(seen);
	last = calloc(RTE_BIT32(log2), sizeof(*last));
	assert_non_null(last);
	assert_int_equal(uroce_slots_init(&s, log2, id_bits), 0);
	/* a slot that has used all its identifiers is kept, until all other slots have, too */
	for (uint32_t i = 0; i < draws; i++) {
		uint32_t slot, low = RTE_BIT32(id_bits - log2), size = low;

		assert_int_equal(uroce_slots_get(&s, &id), 0);
		assert_int_equal(seen[id]++, 0);
		slot = uroce_slots_index(log2, id_bits, id);
		size -= slot == 0 ? 2 : 0;
		size -= slot == RTE_BIT32(log2) - 1 ? 1 : 0;
		if (++last[slot] < size)
			uroce_slots_put(&s, id);
	}
	assert_int_equal(uroce_slots_get(&s, &id), -ENOMEM);
	assert_int_equal(seen[0], 0);
	assert_int_equal(seen[1], 0);
	assert_int_equal(seen[all - 1], 0);
	uroce_slots_fini(&s);
	free(last);
	free(seen);
}

static void
test_no_identifier_twice(void **state)
{
	check_cycle(1, 4);
	check_cycle(2, 4);
	check_cycle(3, 8);
	check_cycle(1, 16);
	check_cycle(4, 15);
	check_cycle(10, 16);
}

/* The second cycle has the same identifiers in another order: an observer of the first cannot predict the second. No
 * identifier repeats at once, because its last user may still use it. */
static void
test_cycles_differ(void **state)
{
	struct uroce_slots s;
	uint32_t ids[2][64], id, of_slot_1 = 0;

	/* slot 1 of 4 has no reserved identifier: use that slot only */
	assert_int_equal(uroce_slots_init(&s, 2, 8), 0);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(uroce_slots_get(&s, &id), 0);
		of_slot_1 = uroce_slots_index(2, 8, id) == 1 ? id : of_slot_1;
	}
	for (unsigned int i = 1; i < 64; i++)
		assert_int_not_equal(uroce_slots_renew(&s, of_slot_1), of_slot_1);
	for (unsigned int i = 0; i < 128; i++)
		ids[i / 64][i % 64] = uroce_slots_renew(&s, of_slot_1);
	assert_memory_not_equal(ids[0], ids[1], sizeof(ids[0]));
	assert_int_not_equal(ids[0][63], ids[1][0]);
	uroce_slots_fini(&s);
}

/* With four identifiers per slot, cycles end often. */
static void
test_never_twice_in_a_row(void **state)
{
	struct uroce_slots s;
	uint32_t id, last;

	assert_int_equal(uroce_slots_init(&s, 2, 4), 0);
	assert_int_equal(uroce_slots_get(&s, &id), 0);
	for (unsigned int i = 0; i < 10000; i++) {
		last = id;
		id = uroce_slots_renew(&s, id);
		assert_int_not_equal(id, last);
	}
	uroce_slots_fini(&s);
}

static void
test_draw_is_random(void **state)
{
	struct uroce_slots s;
	uint32_t ids[2][256];
	unsigned int ascending = 0;

	for (unsigned int t = 0; t < 2; t++) {
		assert_int_equal(uroce_slots_init(&s, 8, 32), 0);
		for (unsigned int i = 0; i < 256; i++)
			assert_int_equal(uroce_slots_get(&s, &ids[t][i]), 0);
		uroce_slots_fini(&s);
	}
	for (unsigned int i = 1; i < 256; i++)
		ascending += ids[0][i] > ids[0][i - 1];
	/* random: 127.5, with a deviation of 4.6 */
	assert_uint_in_range(ascending, 80, 175);
	assert_memory_not_equal(ids[0], ids[1], sizeof(ids[0]));
}

/* One key must not reveal the low bits of other keys: the first identifiers of slots differ. */
static void
test_low_bits_differ_between_slots(void **state)
{
	struct uroce_slots s;
	uint32_t id;
	unsigned int seen[256] = { 0 }, different = 0;

	assert_int_equal(uroce_slots_init(&s, 8, 16), 0);
	for (unsigned int i = 0; i < 256; i++) {
		assert_int_equal(uroce_slots_get(&s, &id), 0);
		different += seen[id & 0xff]++ == 0;
	}
	/* random: 162; all equal: 1 */
	assert_true(different > 120);
	uroce_slots_fini(&s);
}

/* The first identifier of a slot in one table reveals nothing about another table. */
static void
test_low_bits_differ_between_tables(void **state)
{
	struct uroce_slots s;
	uint32_t ids[16], id, of_slot_0 = 0;

	for (unsigned int t = 0; t < RTE_DIM(ids); t++) {
		assert_int_equal(uroce_slots_init(&s, 1, 32), 0);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(uroce_slots_get(&s, &id), 0);
			of_slot_0 = id >> 31 == 0 ? id : of_slot_0;
		}
		ids[t] = of_slot_0;
		for (unsigned int i = 0; i < t; i++)
			assert_int_not_equal(ids[i], ids[t]);
		uroce_slots_fini(&s);
	}
}

#define RENEWERS 3
#define RENEWALS 1024 /* per thread: together fewer than a slot has identifiers */

static struct uroce_slots shared;
static uint32_t shared_id;
static uint32_t renewed[RENEWERS][RENEWALS];

static void *
renew(void *arg)
{
	uint32_t *ids = arg;

	for (unsigned int i = 0; i < RENEWALS; i++)
		ids[i] = uroce_slots_renew(&shared, shared_id);
	return NULL;
}

/* Threads that post renew the identifier of one slot at once: each gets different identifiers. */
static void
test_renewals_from_several_threads(void **state)
{
	bool seen[1 << 12] = { false };
	pthread_t threads[RENEWERS];

	assert_int_equal(uroce_slots_init(&shared, 4, 16), 0);
	assert_int_equal(uroce_slots_get(&shared, &shared_id), 0);
	seen[shared_id & 0xfff] = true;
	for (unsigned int i = 0; i < RENEWERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, renew, renewed[i]), 0);
	for (unsigned int i = 0; i < RENEWERS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	for (unsigned int i = 0; i < RENEWERS * RENEWALS; i++) {
		const uint32_t id = renewed[i / RENEWALS][i % RENEWALS];

		assert_int_equal(id >> 12, shared_id >> 12);
		assert_false(seen[id & 0xfff]);
		seen[id & 0xfff] = true;
	}
	uroce_slots_fini(&shared);
}

static void
test_seeded_is_reproducible(void **state)
{
	struct uroce_slots s;
	uint32_t ids[2][64];

	for (unsigned int t = 0; t < 2; t++) {
		uroce_random_seed(7);
		assert_int_equal(uroce_slots_init(&s, 6, 24), 0);
		for (unsigned int i = 0; i < 64; i++)
			assert_int_equal(uroce_slots_get(&s, &ids[t][i]), 0);
		uroce_slots_fini(&s);
	}
	uroce_random_seed(0);
	assert_memory_equal(ids[0], ids[1], sizeof(ids[0]));
}

UROCE_TESTS(slots)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_slot_once),
		cmocka_unit_test(test_suitable),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_no_identifier_twice),
		cmocka_unit_test(test_cycles_differ),
		cmocka_unit_test(test_never_twice_in_a_row),
		cmocka_unit_test(test_draw_is_random),
		cmocka_unit_test(test_low_bits_differ_between_slots),
		cmocka_unit_test(test_low_bits_differ_between_tables),
		cmocka_unit_test(test_renewals_from_several_threads),
		cmocka_unit_test(test_seeded_is_reproducible),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
