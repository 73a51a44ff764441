/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * --floor, bytes between two cores: one core computes the CRC of each payload, the other one computes it again and
 * copies the payload, as the two ends of a run do. Unlike in the floor of one core, both caches hold the payloads. Main
 * thread, and the other end's lcore.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include <uroce_config.h>

#include "floor/copies.h"
#include "floor/floor.h"
#include "wire/crc.h"

#define SLICES	 10 /* the best one counts, since others may have been interrupted */
#define SLICE_MS 4

/* A packet's payload. */
struct piece {
	uint32_t at; /* offset in the buffers, which UROCE_PERF_BUFFER_BYTES limits */
	uint32_t bytes;
};

struct pair {
	/* constant, but for stop */
	struct rte_ring *ring; /* struct piece */
	const struct perf_floor_load *load;
	const struct perf_copy *copy;
	const uint8_t *from;
	uint8_t *to;
	size_t stride; /* bytes between two messages */
	size_t bytes;  /* of each buffer */
	bool stop;     /* sender: release; receiver: acquire */
	/* sender */
	size_t next __rte_cache_aligned; /* the next message */
	uint32_t done;			 /* its bytes that have been sent */
	uint32_t sent_crc;
	/* receiver */
	uint64_t received __rte_cache_aligned; /* bytes; sender: relaxed read */
	uint32_t received_crc;
};

static const struct perf_copy *
copy_named(const char *name)
{
	for (unsigned int i = 0; i < uroce_perf_nb_copies; i++)
		if (strcmp(uroce_perf_copies[i].name, name) == 0)
			return &uroce_perf_copies[i];
	return &uroce_perf_copies[0];
}

/* @return the next payload: packet by packet of each message, then from the first message on again */
static struct piece
next_piece(struct pair *p)
{
	const struct perf_floor_load *load = p->load;
	const struct piece piece = {
		.at = (uint32_t)p->next + p->done,
		.bytes = RTE_MIN(load->packet_bytes, load->message_bytes - p->done),
	};

	p->done += piece.bytes;
	if (p->done == load->message_bytes) {
		p->done = 0;
		p->next += p->stride;
		if (p->next + p->stride > p->bytes)
			p->next = 0;
	}
	return piece;
}

static void
send_burst(struct pair *p)
{
	struct piece burst[UROCE_BURST];

	if (rte_ring_free_count(p->ring) < RTE_DIM(burst))
		return;
	for (unsigned int i = 0; i < RTE_DIM(burst); i++) {
		burst[i] = next_piece(p);
		/* chain the CRCs, so that the compiler cannot drop one */
		p->sent_crc = uroce_crc(p->sent_crc, p->from + burst[i].at, burst[i].bytes);
	}
	rte_ring_sp_enqueue_bulk_elem(p->ring, burst, sizeof(burst[0]), RTE_DIM(burst), NULL);
}

static int
receive_all(void *arg)
{
	struct pair *p = arg;
	struct piece burst[UROCE_BURST];
	uint64_t received = 0;

	/* pairs with the release in run() */
	while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
		const unsigned int n =
			rte_ring_sc_dequeue_burst_elem(p->ring, burst, sizeof(burst[0]), RTE_DIM(burst), NULL);

		for (unsigned int i = 0; i < n; i++) {
			p->received_crc = uroce_crc(p->received_crc, p->from + burst[i].at, burst[i].bytes);
			p->copy->copy(p->to + burst[i].at, p->from + burst[i].at, burst[i].bytes);
			received += burst[i].bytes;
		}
		__atomic_store_n(&p->received, received, __ATOMIC_RELAXED);
	}
	return 0;
}

/* Measure one time slice. @return bytes per second */
static double
slice(struct pair *p)
{
	const uint64_t hz = rte_get_tsc_hz();
	const uint64_t before = __atomic_load_n(&p->received, __ATOMIC_RELAXED);
	const uint64_t start = rte_rdtsc(), end = start + hz / 1000 * SLICE_MS;
	uint64_t now, received;

	do { /* at least one burst, even if the other lcore starts late */
		send_burst(p);
		received = __atomic_load_n(&p->received, __ATOMIC_RELAXED) - before;
		now = rte_rdtsc();
	} while (now < end || received == 0);
	return (double)received * (double)hz / (double)(now - start);
}

static double
run(struct pair *p, unsigned int lcore)
{
	double best = 0;

	RTE_VERIFY(rte_eal_remote_launch(receive_all, p, lcore) == 0);
	for (unsigned int i = 0; i < SLICES; i++)
		best = RTE_MAX(best, slice(p));
	/* pairs with the acquire in receive_all() */
	__atomic_store_n(&p->stop, true, __ATOMIC_RELEASE);
	rte_eal_wait_lcore(lcore);
	return best;
}

int
uroce_perf_floor_pair(struct perf_floor *f, const struct perf_floor_load *load, unsigned int lcore)
{
	const size_t stride = RTE_ALIGN(RTE_MAX(load->message_bytes, 1u), RTE_CACHE_LINE_SIZE);
	const size_t bytes = RTE_MAX(load->window_bytes, stride);
	uint8_t *from = rte_zmalloc("uroce-perf", bytes, RTE_CACHE_LINE_SIZE);
	uint8_t *to = rte_zmalloc("uroce-perf", bytes, RTE_CACHE_LINE_SIZE);
	struct pair *p = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*p));
	struct rte_ring *ring = rte_ring_create_elem("uroce_floor_pair", sizeof(struct piece), UROCE_APP_RING_FRAMES,
						     SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	int ret = -ENOMEM;

	f->pair_gbps = 0;
	if (from != NULL && to != NULL && p != NULL && ring != NULL) {
		*p = (struct pair){
			.ring = ring, .load = load, .copy = copy_named(f->copy), .from = from, .to = to,
			.stride = stride, .bytes = bytes,
		};
		f->pair_gbps = run(p, lcore) * 8 / 1e9;
		ret = 0;
	}
	rte_ring_free(ring);
	free(p);
	rte_free(from);
	rte_free(to);
	return ret;
}
