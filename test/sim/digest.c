/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Hashes frames and completions, and reads a file of expected digests.
 */

#include "digest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_debug.h>

#include "wire/headers.h"
#include "wire/opcode.h"

#define VA_BYTES 8 /* the first field of a RETH and of an AtomicETH */

struct expected {
	uint64_t seed;
	uint64_t digest;
};

static uint64_t state;
static struct expected *expected; /* by seed, in order */
static size_t expected_count;

void
digest_reset(void)
{
	state = UINT64_C(0x243f6a8885a308d3);
}

uint64_t
digest_get(void)
{
	return state;
}

static void
add(uint64_t value)
{
	state = (state ^ value) * UINT64_C(0xff51afd7ed558ccd);
	state ^= state >> 32;
}

static void
add_bytes(const uint8_t *data, uint32_t bytes)
{
	uint64_t word;

	for (; bytes >= sizeof(word); data += sizeof(word), bytes -= (uint32_t)sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		add(word);
	}
	word = bytes; /* so that trailing zeros count */
	for (uint32_t i = 0; i < bytes; i++)
		word = word << 8 | data[i];
	add(word);
}

/* @return the offset of the virtual address in a frame; 0: it has none */
static uint32_t
va_offset(const uint8_t *data, uint32_t bytes)
{
	uint32_t ip = data[12] == 0x81 && data[13] == 0 ? 18 : 14;
	uint32_t bth = ip + (data[ip] >> 4 == 6 ? 40 : 20) + 8;
	const struct uroce_opcode_info *info;
	uint32_t ext;

	if (bytes < bth + sizeof(struct uroce_bth))
		return 0;
	info = &uroce_opcodes[((const struct uroce_bth *)(data + bth))->opcode];
	ext = info->ext[UROCE_EXT_RETH] != 0 ? info->ext[UROCE_EXT_RETH] : info->ext[UROCE_EXT_ATOMICETH];
	return ext != 0 && bytes >= bth + ext + VA_BYTES + UROCE_ICRC_BYTES ? bth + ext : 0;
}

void
digest_frame(uint64_t now_ns, unsigned int from, unsigned int to, const uint8_t *data, uint32_t bytes)
{
	uint32_t va = va_offset(data, bytes);

	add(now_ns);
	add((uint64_t)from << 48 | (uint64_t)to << 32 | bytes);
	if (va == 0) {
		add_bytes(data, bytes);
		return;
	}
	add_bytes(data, va);
	add_bytes(data + va + VA_BYTES, bytes - UROCE_ICRC_BYTES - va - VA_BYTES);
}

void
digest_completion(uint64_t now_ns, unsigned int end, const struct ibv_wc *wc)
{
	add(now_ns);
	add((uint64_t)end << 32 | wc->qp_num);
	add(wc->wr_id);
	add((uint64_t)wc->status);
	if (wc->status != IBV_WC_SUCCESS)
		return;
	add((uint64_t)wc->opcode << 32 | wc->wc_flags);
	add(wc->opcode == IBV_WC_RECV || wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ||
	    wc->opcode == IBV_WC_RDMA_READ ? wc->byte_len : 0);
	add((wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)) != 0 ? wc->imm_data : 0);
}

void
digest_load(const char *path)
{
	FILE *f = fopen(path, "r");
	struct expected e;

	if (f == NULL) {
		fprintf(stderr, "sim: cannot read %s: %s\n", path, strerror(errno));
		exit(2);
	}
	while (fscanf(f, "%" SCNu64 " %" SCNx64, &e.seed, &e.digest) == 2) {
		expected = realloc(expected, (expected_count + 1) * sizeof(expected[0]));
		RTE_VERIFY(expected != NULL);
		expected[expected_count++] = e;
	}
	if (!feof(f) || expected_count == 0) {
		fprintf(stderr, "sim: %s, line %zu: not a seed and its digest\n", path, expected_count + 1);
		exit(2);
	}
	fclose(f);
}

static int
compare_seeds(const void *key, const void *element)
{
	uint64_t a = *(const uint64_t *)key, b = ((const struct expected *)element)->seed;

	return a < b ? -1 : a > b;
}

bool
digest_is_expected(uint64_t seed)
{
	const struct expected *e = bsearch(&seed, expected, expected_count, sizeof(expected[0]), compare_seeds);

	return e != NULL && e->digest == state;
}
