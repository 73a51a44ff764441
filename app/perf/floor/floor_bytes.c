/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * --floor, bytes: measures how fast one core computes the CRC of payloads and copies them, and does nothing else. The
 * receiving end must do both, so no RoCEv2 transport in software moves more bytes on one core. Main thread, before a
 * run.
 */

#include <errno.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include <uroce_config.h>

#include "floor/copies.h"
#include "floor/floor.h"
#include "wire/crc.h"

#define SLICES	    15 /* per copy; the best one counts, since others may have been interrupted */
#define SLICE_MS    4
#define CHECK_BYTES 65536u /* between two clock reads, about */

/* The packets of a pass over the buffers. */
struct wave {
	uint8_t *to;
	const uint8_t *from;
	const struct perf_floor_load *load;
	size_t stride; /* bytes between two messages */
	const struct perf_copy *copy;
	uint32_t crc;
};

/* Compute the CRC of a packet, then copy it: the CRC has just brought it into the cache. */
static void
message(struct wave *w, size_t at)
{
	const struct perf_floor_load *load = w->load;
	uint32_t packet;

	for (uint32_t done = 0; done < load->message_bytes; done += packet) {
		const size_t offset = at + done;

		packet = RTE_MIN(load->packet_bytes, load->message_bytes - done);
		/* chain the CRCs, so that the compiler cannot drop one */
		w->crc = uroce_crc(w->crc, w->from + offset, packet);
		w->copy->copy(w->to + offset, w->from + offset, packet);
	}
}

/* Measure one time slice. @return bytes per second */
static double
slice(struct wave *w)
{
	const uint64_t hz = rte_get_tsc_hz();
	const uint64_t start = rte_rdtsc(), end = start + hz / 1000 * SLICE_MS;
	const size_t messages = RTE_MAX(w->load->window_bytes / w->stride, 1u);
	const size_t check = RTE_MAX(CHECK_BYTES / w->stride, 1u);
	uint64_t now, done = 0;
	size_t next = 0;

	do {
		for (size_t i = 0; i < check; i++) {
			message(w, next * w->stride);
			next = next + 1 < messages ? next + 1 : 0;
		}
		done += check;
		now = rte_rdtsc();
	} while (now < end);
	return (double)(done * w->load->message_bytes) * (double)hz / (double)(now - start);
}

int
uroce_perf_floor_bytes(struct perf_floor *f, const struct perf_floor_load *load)
{
	const size_t stride = RTE_ALIGN(RTE_MAX(load->message_bytes, 1u), RTE_CACHE_LINE_SIZE);
	const size_t bytes = RTE_MAX(load->window_bytes, stride);
	uint8_t *from = rte_zmalloc("uroce-perf", bytes, RTE_CACHE_LINE_SIZE);
	uint8_t *to = rte_zmalloc("uroce-perf", bytes, RTE_CACHE_LINE_SIZE);
	struct wave w = { .to = to, .from = from, .load = load, .stride = stride };

	f->gbps = 0;
	f->copy = "";
	for (unsigned int s = 0; s < SLICES && from != NULL && to != NULL; s++) {
		/* in turn, so that a disturbance affects all copies */
		for (unsigned int i = 0; i < uroce_perf_nb_copies; i++) {
			double gbps;

			w.copy = &uroce_perf_copies[i];
			if (!w.copy->can())
				continue;
			gbps = slice(&w) * 8 / 1e9;
			if (gbps > f->gbps) {
				f->gbps = gbps;
				f->copy = w.copy->name;
			}
		}
	}
	/* a result that is used cannot be optimized away */
	if (from != NULL && to != NULL)
		from[0] = (uint8_t)w.crc;
	rte_free(from);
	rte_free(to);
	return from != NULL && to != NULL ? 0 : -ENOMEM;
}
