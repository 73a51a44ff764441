/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copying a payload. The payloads of small messages are a word or two, and the call of memcpy() would cost more than
 * they do; for those of large ones there is something faster (copy.c). Any thread.
 */

#ifndef UROCE_WIRE_COPY_H
#define UROCE_WIRE_COPY_H

#include <stdint.h>
#include <string.h>

#include "uroce_config.h"

/* As two words, the first and the last, which overlap: the last byte is written last. */
#define UROCE_COPY_WORDS(type, to, from, bytes) \
	do { \
		type first_, last_; \
		memcpy(&first_, from, sizeof(first_)); \
		memcpy(&last_, (from) + (bytes) - sizeof(last_), sizeof(last_)); \
		memcpy(to, &first_, sizeof(first_)); \
		memcpy((to) + (bytes) - sizeof(last_), &last_, sizeof(last_)); \
	} while (0)

/** As memcpy(), for payloads of UROCE_COPY_LONG_BYTES and more. */
void uroce_copy_long(uint8_t *to, const uint8_t *from, uint32_t bytes);

/** As memcpy(); a word is stored once and whole, for whoever waits for it may have changed it at once. */
static inline void
uroce_copy(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	if (bytes >= UROCE_COPY_LONG_BYTES)
		uroce_copy_long(to, from, bytes);
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
