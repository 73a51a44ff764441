/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The message buffers of one end: the number of slots of each QP, their place, and their initial contents. They are
 * in DPDK's memory, which is sent without a copy, if there is enough of it. Main thread.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_bitops.h>
#include <rte_malloc.h>

#include "measure/endpoint.h"
#include "measure/verify.h"

void *
uroce_perf_lines_alloc(size_t bytes)
{
	void *lines = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN(bytes, RTE_CACHE_LINE_SIZE));

	return lines != NULL ? memset(lines, 0, bytes) : NULL;
}

/* Get a QP's slots in each direction. By default, they are few enough to stay in the cache. With --verify there are
 * more, since a slot must not be overwritten before it is checked. */
static uint32_t
slots_of(const struct perf_params *p, uint32_t stride, uint32_t depth)
{
	uint64_t window = p->verify ? UROCE_PERF_VERIFY_WINDOW_BYTES : UROCE_PERF_WINDOW_BYTES;
	uint64_t slots;

	if (p->mode == PERF_LAT)
		return 1;
	if (p->buffers != 0)
		window = p->buffers;
	window = RTE_MIN(window, UROCE_PERF_BUFFER_BYTES / p->qps);
	slots = RTE_MAX(window / stride, 1u);
	return rte_align32prevpow2((uint32_t)RTE_MIN(slots, rte_align32pow2(depth)));
}

/* Get the number of receives of one QP. A message that finds no receive is retransmitted with RC only. */
static uint32_t
recv_depth_of(const struct perf_params *p)
{
	uint32_t depth = 2 * p->depth;

	if (uroce_perf_is_lossy(p))
		depth = RTE_MAX(depth, (uint32_t)UROCE_PERF_LOSSY_RECEIVES);
	return RTE_MIN(depth, (uint32_t)UROCE_MAX_QP_WR);
}

/* Get the number of QPs of the lane: as many as uroce_perf_end_qp_index() places among those of the run. */
static uint32_t
nb_qps_of(const struct perf_end *end)
{
	const uint32_t devs = end->host->nb_devs, turn = devs * end->lanes; /* a QP of each device for each lane */
	const uint32_t rest = end->params.qps % turn, before = end->lane * devs;

	return end->params.qps / turn * devs + RTE_MIN(rest - RTE_MIN(rest, before), devs);
}

void
uroce_perf_layout(struct perf_end *end)
{
	const struct perf_params *p = &end->params;
	const struct perf_op_info *op = &uroce_perf_ops[p->op];
	const bool lat = p->mode == PERF_LAT && !op->fetches;
	const bool announced = p->verify && p->op == PERF_WRITE && !lat;

	const bool receives = uroce_perf_params_receives(p) && (end->server || lat);

	end->nb_qps = nb_qps_of(end);
	end->grh = p->transport == PERF_UD ? PERF_GRH_BYTES : 0;
	end->recv_depth = !receives ? 0 : lat ? 2 : recv_depth_of(p);
	end->stride = RTE_ALIGN(RTE_MAX(p->size + end->grh, 1u), RTE_CACHE_LINE_SIZE);
	end->slots = slots_of(p, end->stride,
			      uroce_perf_is_lossy(p) ? recv_depth_of(p) : p->depth);
	/* On a lossy transport, send no more than a ring holds beside pings and ARP: a port drops frames that do not
	 * fit. */
	end->window = uroce_perf_is_lossy(p) ? RTE_MAX(2 * p->depth, (uint32_t)UROCE_PERF_LOSSY_WINDOW) : end->slots;
	end->window = RTE_MIN(end->window, end->slots);
	end->stamp_mask = rte_align32pow2(p->depth) - 1;
	end->has_out = end->server ? p->op == PERF_READ || lat : !op->fetches;
	end->has_in = end->server ? p->op != PERF_READ : op->fetches || lat;
	end->send_depth = end->server || p->mode == PERF_LAT ? PERF_SHORT_QUEUE
							     : p->depth * (announced ? 2 : 1);
	/* each posted receive has a slot of its own */
	if (receives && p->verify && uroce_perf_is_lossy(p) && !lat)
		end->recv_depth = RTE_MIN(end->recv_depth, end->slots);
}

static void
fill_qp(const struct perf_end *end, struct perf_qp *q)
{
	const struct perf_params *p = &end->params;
	const bool spoil = end->server && p->fault >= 0 && q->index == 0;

	for (uint32_t i = 0; i < end->slots && end->has_out; i++)
		uroce_perf_fill(uroce_perf_slot(end, q->out, i), p->size,
				uroce_perf_pattern(q->index, i));
	if (spoil && p->op == PERF_READ && p->size > 0)
		*uroce_perf_slot(end, q->out, (uint64_t)p->fault) ^= 0x10;
	if (end->server && uroce_perf_ops[p->op].atomic) {
		uint64_t value = uroce_perf_pattern(q->index, 0) + (spoil ? 1 : 0);

		memcpy(q->in, &value, sizeof(value));
		return;
	}
	if (p->mode == PERF_LAT || !p->verify)
		return;
	for (uint32_t i = 0; i < end->slots && end->has_in; i++)
		uroce_perf_poison(uroce_perf_slot(end, q->in, i) + end->grh, p->size,
				  uroce_perf_pattern(q->index, i));
}

static int
memory_get(struct perf_end *end)
{
	end->buffer = rte_malloc("uroce-perf", end->buffer_bytes, RTE_CACHE_LINE_SIZE);
	if (end->buffer != NULL)
		return 0;
	/* Use at most half of the free memory: a benchmark must not exhaust the machine. */
	if (end->buffer_bytes / (size_t)sysconf(_SC_PAGESIZE) >
	    (size_t)sysconf(_SC_AVPHYS_PAGES) / 2)
		return -ENOMEM;
	end->buffer = mmap(NULL, end->buffer_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (end->buffer == MAP_FAILED) {
		end->buffer = NULL;
		return -ENOMEM;
	}
	end->buffer_mapped = true;
	fprintf(stderr,
		"uroce-perf: EAL has less than %zu MiB left, so message buffers are in ordinary memory, which is "
		"copied when sent: reserve more hugepages, or raise -m\n",
		(end->buffer_bytes >> 20) + 1);
	return 0;
}

int
uroce_perf_buffers_create(struct perf_end *end)
{
	const size_t window = (size_t)end->slots * end->stride;
	const size_t per_qp = window * ((end->has_out ? 1 : 0) + (end->has_in ? 1 : 0)) +
			      RTE_CACHE_LINE_SIZE;
	uint8_t *next;

	end->buffer_bytes = per_qp * end->nb_qps;
	end->stamps = uroce_perf_lines_alloc((size_t)end->nb_qps * (end->stamp_mask + 1) * sizeof(*end->stamps));
	if (end->stamps == NULL || memory_get(end) != 0)
		return -ENOMEM;
	memset(end->buffer, 0, end->buffer_bytes);
	next = end->buffer;
	for (uint32_t i = 0; i < end->nb_qps; i++) {
		struct perf_qp *q = &end->qps[i];

		q->at = i;
		q->index = uroce_perf_end_qp_index(end, i);
		q->stamps = end->stamps + (size_t)i * (end->stamp_mask + 1);
		q->credit = (uint64_t *)next;
		next += RTE_CACHE_LINE_SIZE;
		q->out = end->has_out ? next : NULL;
		next += end->has_out ? window : 0;
		q->in = end->has_in ? next : NULL;
		next += end->has_in ? window : 0;
		fill_qp(end, q);
	}
	return 0;
}

void
uroce_perf_buffers_destroy(struct perf_end *end)
{
	if (end->buffer_mapped)
		munmap(end->buffer, end->buffer_bytes);
	else
		rte_free(end->buffer);
	free(end->stamps);
	end->buffer = NULL;
	end->stamps = NULL;
}
