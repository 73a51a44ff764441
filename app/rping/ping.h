/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The messages of the two ends, byte by byte as rping's: the memory that the peer may read or write, and the text of
 * a ping. No state.
 */

#ifndef UROCE_RPING_PING_H
#define UROCE_RPING_PING_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_byteorder.h>

/* A SEND of either end. The server's SENDs only report the end of an operation. */
struct rping_info {
	rte_be64_t addr;
	rte_be32_t rkey;
	rte_be32_t size;
};

static_assert(sizeof(struct rping_info) == 16, "what rping sends");

/** Write the text of ping n: `size` bytes, the last one zero. */
void uroce_rping_fill(char *data, uint32_t size, uint32_t n);

/** Get the number of bytes to write back: the text and its zero, at most `size`. */
uint32_t uroce_rping_text_bytes(const char *data, uint32_t size);

/** @return offset of the first wrong byte; `size`: none */
uint32_t uroce_rping_compare(const char *sent, const char *received, uint32_t size);

#endif /* UROCE_RPING_PING_H */
