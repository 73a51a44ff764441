/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copies payloads: uroce_copy() into a frame, in any order; uroce_place() into memory of the application, which may
 * poll the last byte of a message. Any thread.
 */

#ifndef UROCE_WIRE_COPY_H
#define UROCE_WIRE_COPY_H

#include <stdint.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_config.h>

#include "uroce_config.h"

/* the application may access its memory as any type */
typedef uint64_t uroce_copy_u64 __attribute__((may_alias));

/* Copy the first and the last word, which may overlap. */
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
 * Copy in address order, after all bytes that this thread has placed before. So a program that polls the last byte
 * of a message sees the whole message and all messages before it. Each byte is stored only once, since the program
 * may change it at once. Aligned words of up to 8 bytes are stored whole. The store of the last word is a release,
 * and pairs with an acquire load of the last byte.
 *
 * x86-64 keeps stores in order, but not the parts of a store that crosses a cache line, so no store does. The last
 * word is a store of its own: nothing depends on the order of the bytes within a store of 16 or 32 bytes. On other
 * processors only the last word of each call is ordered.
 */
static inline void
uroce_place(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint64_t word;

#ifndef RTE_ARCH_X86_64
	__atomic_thread_fence(__ATOMIC_RELEASE);	/* after the last word of the previous call */
#endif
	if (bytes == sizeof(word) && likely(((uintptr_t)to & (sizeof(word) - 1)) == 0)) {
		memcpy(&word, from, sizeof(word));
		__atomic_store_n((uroce_copy_u64 *)to, word, __ATOMIC_RELEASE);
	} else {
		uroce_place_bytes(to, from, bytes);
	}
}

/** As memcpy(), in any order; inline for short payloads. */
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
