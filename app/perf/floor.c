/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * --floor: what one core does when it computes the CRC of payloads and copies them, and nothing
 * else. No transport of RoCEv2 in software is faster than that on a core. Main thread, before the
 * runs.
 */

#include <isa-l/crc.h>
#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>
#include <rte_memcpy.h>

#include <uroce_config.h>

#include "floor.h"

#define SLICES   50 /* the best one counts: the others may have been interrupted */
#define SLICE_MS 4

/* One slice of time. @return bytes per second */
static double
slice(uint8_t *to, uint8_t *from, uint32_t mtu, uint32_t *crc)
{
	const uint64_t hz = rte_get_tsc_hz();
	const uint64_t start = rte_rdtsc(), end = start + hz / 1000 * SLICE_MS;
	uint64_t now, bytes = 0;

	do {
		for (uint32_t at = 0; at + mtu <= UROCE_PERF_WINDOW_BYTES; at += mtu) {
			*crc = crc32_gzip_refl(*crc, from + at, mtu);
			rte_memcpy(to + at, from + at, mtu);
			bytes += mtu;
		}
		now = rte_rdtsc();
	} while (now < end);
	return (double)bytes * (double)hz / (double)(now - start);
}

double
uroce_perf_floor_gbps(uint32_t mtu)
{
	uint8_t *from = rte_zmalloc("uroce-perf", UROCE_PERF_WINDOW_BYTES, RTE_CACHE_LINE_SIZE);
	uint8_t *to = rte_zmalloc("uroce-perf", UROCE_PERF_WINDOW_BYTES, RTE_CACHE_LINE_SIZE);
	uint32_t crc = UINT32_MAX;
	double best = 0;

	for (unsigned int i = 0; i < SLICES && from != NULL && to != NULL; i++)
		best = RTE_MAX(best, slice(to, from, mtu, &crc));
	/* the CRC feeds the next payload, so that no pass of it can be left out */
	if (from != NULL && to != NULL)
		from[0] = (uint8_t)crc;
	rte_free(from);
	rte_free(to);
	return best * 8 / 1e9;
}
