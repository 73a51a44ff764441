/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The functions that code compiled with -fsanitize=thread calls for each load, store and atomic operation. An atomic
 * operation that may write counts as a write, since it takes the line exclusively. Locks in assembly are not seen, so
 * the library is compiled with RTE_FORCE_INTRINSICS.
 */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_debug.h>

#include "touched.h"

#define LINES (1u << 20) /* of the table, a power of two */

#define ATOMICS 1024

static struct touched_line *lines;
static uint32_t used;
static struct touched_atomic atomics[ATOMICS];
static unsigned int nb_atomics;
static __thread uint32_t me = TOUCHED_NOBODY;

void
touched_as(uint32_t thread)
{
	RTE_VERIFY(thread < 32 || thread == TOUCHED_NOBODY);
	me = thread;
}

void
touched_forget(void)
{
	if (lines == NULL)
		lines = malloc(LINES * sizeof(*lines));
	RTE_VERIFY(lines != NULL);
	memset(lines, 0, LINES * sizeof(*lines));
	used = 0;
	nb_atomics = 0;
}

static struct touched_line *
find(uintptr_t address)
{
	uint32_t at = (uint32_t)((address / TOUCHED_LINE_BYTES * 0x9e3779b97f4a7c15ull) >> 32) & (LINES - 1);

	while (lines[at].address != address) {
		if (lines[at].address == 0) {
			RTE_VERIFY(++used < LINES / 2);
			lines[at].address = address;
			break;
		}
		at = (at + 1) & (LINES - 1);
	}
	return &lines[at];
}

static void
touch(const volatile void *p, size_t bytes, bool write, const void *code)
{
	const uintptr_t first = (uintptr_t)p & ~(uintptr_t)(TOUCHED_LINE_BYTES - 1);
	const uint32_t bit = UINT32_C(1) << (me & 31);

	if (me == TOUCHED_NOBODY || bytes == 0)
		return;
	for (uintptr_t address = first; address < (uintptr_t)p + bytes; address += TOUCHED_LINE_BYTES) {
		struct touched_line *line = find(address);

		if (write && line->writers == 0)
			line->code[0] = code;
		else if ((line->writers & ~bit) != 0 && line->code[1] == NULL)
			line->code[1] = code;
		if (write)
			line->writers |= bit;
		else
			line->readers |= bit;
	}
}

static void
count(const volatile void *p, const void *code)
{
	unsigned int i = 0;

	if (me == TOUCHED_NOBODY)
		return;
	while (i < nb_atomics && (atomics[i].address != (uintptr_t)p || atomics[i].code != code || atomics[i].thread != me))
		i++;
	if (i == nb_atomics) {
		RTE_VERIFY(nb_atomics < ATOMICS);
		atomics[nb_atomics++] = (struct touched_atomic){ (uintptr_t)p, code, me, 0 };
	}
	atomics[i].count++;
}

void
touched_atomics(void (*f)(const struct touched_atomic *atomic, void *arg), void *arg)
{
	for (unsigned int i = 0; i < nb_atomics; i++)
		f(&atomics[i], arg);
}

static bool
is_shared(const struct touched_line *line)
{
	return line->writers != 0 && __builtin_popcount(line->writers | line->readers) > 1;
}

unsigned int
touched_shared(void (*f)(const struct touched_line *line, void *arg), void *arg)
{
	unsigned int n = 0;

	for (uint32_t i = 0; i < LINES; i++) {
		if (!is_shared(&lines[i]))
			continue;
		n++;
		f(&lines[i], arg);
	}
	return n;
}

void
touched_count(uint32_t thread, unsigned int *written, unsigned int *read)
{
	const uint32_t bit = UINT32_C(1) << thread;

	*written = *read = 0;
	for (uint32_t i = 0; i < LINES; i++) {
		*written += (lines[i].writers & bit) != 0;
		*read += (lines[i].readers & bit) != 0 && (lines[i].writers & bit) == 0;
	}
}

/* ---- functions called by the compiler, which has its own declarations, if any ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wmissing-declarations"

#define CODE __builtin_return_address(0)

void
__tsan_init(void)
{
}

void
__tsan_func_entry(void *code)
{
	RTE_SET_USED(code);
}

void
__tsan_func_exit(void)
{
}

#define PLAIN(bytes) \
	void __tsan_read##bytes(void *p) { touch(p, bytes, false, CODE); } \
	void __tsan_write##bytes(void *p) { touch(p, bytes, true, CODE); } \
	void __tsan_unaligned_read##bytes(void *p) { touch(p, bytes, false, CODE); } \
	void __tsan_unaligned_write##bytes(void *p) { touch(p, bytes, true, CODE); } \
	void __tsan_read_write##bytes(void *p) { touch(p, bytes, true, CODE); } \
	void __tsan_unaligned_read_write##bytes(void *p) { touch(p, bytes, true, CODE); }

PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void
__tsan_read_range(void *p, unsigned long bytes)
{
	touch(p, bytes, false, CODE);
}

void
__tsan_write_range(void *p, unsigned long bytes)
{
	touch(p, bytes, true, CODE);
}

/* Calls of library functions: gcc's through the linker's --wrap, clang's under these names. */
#define COPY(name, real) \
	void *name(void *to, const void *from, size_t n) \
	{ \
		touch(from, n, false, CODE); \
		touch(to, n, true, CODE); \
		return real(to, from, n); \
	}
#define SET(name) \
	void *name(void *to, int c, size_t n) \
	{ \
		touch(to, n, true, CODE); \
		return memset(to, c, n); \
	}

COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
SET(__tsan_memset)
COPY(touched_memcpy, memcpy)
COPY(touched_memmove, memmove)
SET(touched_memset)

#define FETCH(bits, type, op) \
	type __tsan_atomic##bits##_fetch_##op(volatile type *p, type v, int order) \
	{ \
		RTE_SET_USED(order); \
		touch(p, sizeof(type), true, CODE); \
		count(p, CODE); \
		return __atomic_fetch_##op(p, v, __ATOMIC_SEQ_CST); \
	}

#define EXCHANGE(bits, type, kind) \
	int __tsan_atomic##bits##_compare_exchange_##kind(volatile type *p, type *expected, type v, int order, \
							  int failed) \
	{ \
		RTE_SET_USED(order); \
		RTE_SET_USED(failed); \
		touch(p, sizeof(type), true, CODE); \
		count(p, CODE); \
		return __atomic_compare_exchange_n(p, expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
	}

#define ATOMIC(bits, type) \
	type __tsan_atomic##bits##_load(const volatile type *p, int order) \
	{ \
		RTE_SET_USED(order); \
		touch(p, sizeof(type), false, CODE); \
		return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
	} \
	void __tsan_atomic##bits##_store(volatile type *p, type v, int order) \
	{ \
		touch(p, sizeof(type), true, CODE); \
		if (order == __ATOMIC_SEQ_CST) /* an exchange */ \
			count(p, CODE); \
		__atomic_store_n(p, v, __ATOMIC_SEQ_CST); \
	} \
	type __tsan_atomic##bits##_exchange(volatile type *p, type v, int order) \
	{ \
		RTE_SET_USED(order); \
		touch(p, sizeof(type), true, CODE); \
		count(p, CODE); \
		return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); \
	} \
	FETCH(bits, type, add) \
	FETCH(bits, type, sub) \
	FETCH(bits, type, and) \
	FETCH(bits, type, or) \
	FETCH(bits, type, xor) \
	EXCHANGE(bits, type, strong) \
	EXCHANGE(bits, type, weak)

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void
__tsan_atomic_thread_fence(int order)
{
	if (order == __ATOMIC_SEQ_CST) /* the others are no instructions */
		count(NULL, CODE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void
__tsan_atomic_signal_fence(int order)
{
	RTE_SET_USED(order);
}
