/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The order in which the bytes of a placed payload become visible, at all sizes: a thread that sees the last byte sees
 * all bytes.
 */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "groups.h"
#include "store_order.h"
#include "wire/copy.h"

#define MOST 4200
#define EMPTY 0xee
#define ROUNDS 2	/* of each size, observed by another core */
#define SLOW 600	/* largest size of which each first round is single-stepped */
#define SLOW_STEP 23	/* above it, each multiple of this is single-stepped, too */
#define SPINS 2000	/* polls before a thread yields its CPU */

static uint8_t source[MOST + 64];

/* Place a payload across the boundary of a read-only page. */
static void
check_cut(uint8_t *boundary, uint32_t bytes, uint32_t below)
{
	const uint8_t *from = source + (bytes + below) % 64;
	uint32_t seen;

	store_order_watch(EMPTY);
	uroce_place(boundary - below, from, bytes);
	seen = store_order_below();
	if (seen != below)
		fail_msg("%u bytes: when byte %u was written, only %u of those before it were", bytes, below, seen);
	assert_memory_equal(boundary - below, from, bytes);
	assert_int_equal(boundary[-(ptrdiff_t)below - 1], EMPTY);
	assert_int_equal(boundary[bytes - below], EMPTY);
}

static void
no_byte_is_written_before_those_below_it(void **state)
{
	uint8_t *boundary = store_order_init();

	for (uint32_t bytes = 2; bytes <= 80; bytes++)
		for (uint32_t below = 1; below < bytes; below++)
			check_cut(boundary, bytes, below);
	for (uint32_t bytes = 81; bytes <= MOST; bytes++) {
		const uint32_t cuts[] = { 1, bytes / 3, bytes / 2, bytes - bytes / 4, bytes - 64, bytes - 32,
					  bytes - 16, bytes - 8, bytes - 4, bytes - 1 };

		for (unsigned int i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
			check_cut(boundary, bytes, cuts[i]);
	}
	store_order_fini();
}

/* Shared by the writer and the observer: the round that the writer began, and the observer's progress. */
static struct {
	uint8_t memory[MOST + 128] __attribute__((aligned(64)));
	uint32_t begun __attribute__((aligned(64)));
	uint32_t bytes;
	uint32_t ended __attribute__((aligned(64)));
	uint32_t stale, of_byte, of_bytes;	/* rounds in which an earlier byte was missing; the last one */
} shared;

static uint8_t *
place_of(uint32_t bytes)
{
	return shared.memory + bytes * 7 % 64;
}

static uint8_t
value_of(uint32_t round)
{
	return (uint8_t)(round % 251 + 1);
}

static void
wait_for(const uint32_t *at, uint32_t value)
{
	for (unsigned int i = 1; __atomic_load_n(at, __ATOMIC_ACQUIRE) != value; i++)
		if (i % SPINS == 0)
			sched_yield();
}

static inline uint8_t
look(const uint8_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

/* Distances from the last byte of the bytes that the observer reads right after it, so that the loads overlap. */
#define BEHIND 6
static const uint32_t behind[BEHIND] = { 1, 9, 17, 33, 65, 97 };

/* Poll until the last byte arrives. @return an earlier byte that was missing then; UINT32_MAX: none */
static uint32_t
poll_last(const uint8_t *at, uint32_t bytes, uint8_t value)
{
	const uint8_t *others[BEHIND];
	uint8_t seen[BEHIND], last;

	for (unsigned int i = 0; i < BEHIND; i++)
		others[i] = at + (bytes > behind[i] ? bytes - 1 - behind[i] : 0);
	for (unsigned int spins = 1;; spins++) {
		last = look(at + bytes - 1);
		for (unsigned int i = 0; i < BEHIND; i++)
			seen[i] = look(others[i]);
		if (last == value)
			break;
		if (spins % SPINS == 0)
			sched_yield();
	}
	for (unsigned int i = 0; i < BEHIND; i++)
		if (seen[i] != value)
			return (uint32_t)(others[i] - at);
	for (uint32_t i = bytes - 1; i > 0; i--)
		if (look(at + i - 1) != value)
			return i - 1;
	return UINT32_MAX;
}

static void *
observe(void *arg)
{
	for (uint32_t round = 1; round <= MOST * ROUNDS; round++) {
		uint32_t stale, bytes;

		wait_for(&shared.begun, round);
		bytes = shared.bytes;
		__atomic_store_n(&shared.ended, 2 * round - 1, __ATOMIC_RELEASE);
		stale = poll_last(place_of(bytes), bytes, value_of(round));
		if (stale != UINT32_MAX) {
			shared.stale++;
			shared.of_byte = stale;
			shared.of_bytes = bytes;
		}
		__atomic_store_n(&shared.ended, 2 * round, __ATOMIC_RELEASE);
	}
	return arg;
}

#ifdef __x86_64__
static void
stepped(int sig)
{
	(void)sig;
}

/* Single-step this thread until slow_off(): each instruction traps into stepped(), so that the observer can look
 * between two. */
static inline void
slow_on(void)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
		     : : : "memory", "cc");
}

static inline void
slow_off(void)
{
	asm volatile("lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp"
		     : : : "memory", "cc");
}
#else
static inline void slow_on(void) {}
static inline void slow_off(void) {}
#endif

static void
place(uint32_t bytes, bool slowly)
{
	uint8_t *to = place_of(bytes);
	const uint8_t *from = source + bytes % 64;

	if (slowly)
		slow_on();
	uroce_place(to, from, bytes);
	if (slowly)
		slow_off();
}

static void
another_core_that_sees_the_last_byte_sees_all(void **state)
{
	pthread_t observer;
	uint32_t round = 0;

#ifdef __x86_64__
	signal(SIGTRAP, stepped);
#endif
	memset(&shared, 0, sizeof(shared));
	assert_int_equal(pthread_create(&observer, NULL, observe, NULL), 0);
	for (uint32_t bytes = 1; bytes <= MOST; bytes++) {
		for (unsigned int i = 0; i < ROUNDS; i++) {
			round++;
			memset(source, value_of(round), sizeof(source));
			shared.bytes = bytes;
			__atomic_store_n(&shared.begun, round, __ATOMIC_RELEASE);
			wait_for(&shared.ended, 2 * round - 1);
			place(bytes, i == 0 && (bytes <= SLOW || bytes % SLOW_STEP == 0));
			wait_for(&shared.ended, 2 * round);
		}
	}
	assert_int_equal(pthread_join(observer, NULL), 0);
	if (shared.stale != 0)
		fail_msg("%u times the last byte was seen before another: at last byte %u of %u", shared.stale,
			 shared.of_byte, shared.of_bytes);
}

UROCE_TESTS(wire_place_order)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_byte_is_written_before_those_below_it),
		cmocka_unit_test(another_core_that_sees_the_last_byte_sees_all),
	};

	for (unsigned int i = 0; i < sizeof(source); i++)
		source[i] = (uint8_t)(i % 199);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
