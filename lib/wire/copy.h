/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copying a payload: uroce_copy() into a frame, whose bytes nobody reads before it leaves; uroce_place() into memory of
 * the application, which may poll it for the last byte of a message. Any thread.
 */

#ifndef UROCE_WIRE_COPY_H
#define UROCE_WIRE_COPY_H

#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_config.h>

#include "uroce_config.h"

/* Memory of the application has types of its own. */
typedef uint64_t uroce_copy_u64 __attribute__((may_alias));

/* As two words, the first and the last, which may overlap. */
#define UROCE_COPY_WORDS(type, to, from, bytes) \
	do { \
		type first_, last_; \
		memcpy(&first_, from, sizeof(first_)); \
		memcpy(&last_, (from) + (bytes) - sizeof(last_), sizeof(last_)); \
		memcpy(to, &first_, sizeof(first_)); \
		memcpy((to) + (bytes) - sizeof(last_), &last_, sizeof(last_)); \
	} while (0)

/** uroce_place() without the barrier before it. */
void uroce_place_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes);

/**
 * Copy so that another core sees the bytes in the order of their addresses, after all that this thread has placed
 * before: a program that polls the last byte of a message then has all of the message, and of the messages before it.
 * Each byte is stored once, for the program may have changed it at once; an aligned word of up to 8 bytes is stored
 * whole, and the last word with release semantics, which an acquire load of the last byte pairs with.
 *
 * x86-64 keeps stores in order, but not the parts of one that crosses a cache line: there is none here. Stores of up
 * to 32 bytes within a line are seen whole. Elsewhere only the last word of each call is ordered.
 */
static inline void
uroce_place(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint64_t word;

#ifndef RTE_ARCH_X86_64
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* after the last word of the call before */
#endif
	if (bytes == sizeof(word) && likely(((uintptr_t)to & (sizeof(word) - 1)) == 0)) {
		memcpy(&word, from, sizeof(word));
		__atomic_store_n((uroce_copy_u64 *)to, word, __ATOMIC_RELEASE);
	} else {
		uroce_place_bytes(to, from, bytes);
	}
}

/** As memcpy(). */
static inline void
uroce_copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (bytes >= UROCE_COPY_LONG_BYTES)
		uroce_place_bytes(to, from, bytes);
	else if (bytes > 2 * sizeof(uint64_t))
		memcpy(to, from, bytes);
	else if (bytes > sizeof(uint64_t))
		UROCE_COPY_WORDS(uint64_t, to, from, bytes);
	else if (bytes == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else if (bytes > sizeof(uint32_t))
		UROCE_COPY_WORDS(uint32_t, to, from, bytes);
	else if (bytes == sizeof(uint32_t))
		memcpy(to, from, sizeof(uint32_t));
	else
		for (uint32_t i = 0; i < bytes; i++)
			to[i] = from[i];
}

#endif /* UROCE_WIRE_COPY_H */
