/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * --floor, packets: takes mbufs from a pool, writes a header, passes them over a ring, reads and frees them, and does
 * nothing else, as two net_ring ports do below a transport. Main thread, before a run, and the other end's lcore.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <rte_ring.h>

#include <uroce_config.h>

#include "floor/floor.h"
#include "measure/histogram.h"

#define SLICES	    10 /* per pool; the best one counts, since others may have been interrupted */
#define SLICE_MS    4
#define ROUNDS_MS   50 /* of round trips, one after the other */
#define SPANS_MS    500 /* of spans: a 99.9th percentile needs many */
#define FRAME_BYTES 82 /* of a WRITE: Ethernet, IPv4, UDP, BTH, RETH, 8 bytes and the ICRC */
#define POOL_CACHE  512
#define ROOM_BYTES  (RTE_PKTMBUF_HEADROOM + 128)

/* Few mbufs stay in the caches, but are dirty in the other core's; many have left the caches. The faster pool counts.
 */
static const unsigned int pool_mbufs[] = { 2047, 16383 };

struct rings {
	struct rte_ring *there;
	struct rte_ring *back;
	struct rte_mempool *pool;
	bool stop; /* main: release; the other lcore: acquire */
	/* results of reading the headers, kept so that no read is optimized away */
	uint64_t read_there __rte_cache_aligned; /* the other lcore */
	uint64_t read_back __rte_cache_aligned;	 /* main */
};

static void
header_write(struct rte_mbuf *m, uint64_t value)
{
	uint64_t *line = rte_pktmbuf_mtod(m, uint64_t *);

	m->data_len = FRAME_BYTES;
	m->pkt_len = FRAME_BYTES;
	for (unsigned int i = 0; i < RTE_CACHE_LINE_SIZE / sizeof(*line); i++)
		line[i] = value + i;
}

static uint64_t
header_read(const struct rte_mbuf *m)
{
	const uint64_t *line = rte_pktmbuf_mtod(m, const uint64_t *);

	return line[0] + m->data_len;
}

/* Send a burst. @return mbufs sent: a whole burst, or 0 if the ring or the pool has too few left */
static unsigned int
burst_send(struct rings *r, uint64_t value)
{
	struct rte_mbuf *burst[UROCE_BURST];
	unsigned int n = RTE_MIN(rte_ring_free_count(r->there), RTE_DIM(burst));

	/* no reset, as in drivers: rte_pktmbuf_init() and the last free leave mbufs ready for use */
	if (n < RTE_DIM(burst) || rte_mempool_get_bulk(r->pool, (void **)burst, n) != 0)
		return 0;
	for (unsigned int i = 0; i < n; i++)
		header_write(burst[i], value + i);
	return rte_ring_sp_enqueue_bulk(r->there, (void **)burst, n, NULL);
}

/* @return mbufs received and freed */
static unsigned int
burst_receive(struct rings *r)
{
	struct rte_mbuf *burst[UROCE_BURST];
	const unsigned int n = rte_ring_sc_dequeue_burst(r->there, (void **)burst, RTE_DIM(burst), NULL);

	if (n == 0)
		return 0;
	for (unsigned int i = 0; i < n; i++) {
		rte_prefetch0(burst[i]);
		rte_prefetch0((uint8_t *)burst[i] + sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM);
	}
	for (unsigned int i = 0; i < n; i++)
		r->read_there += header_read(burst[i]);
	rte_mempool_put_bulk(r->pool, (void **)burst, n);
	return n;
}

static int
receive_all(void *arg)
{
	struct rings *r = arg;

	/* pairs with the release in join() */
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
		burst_receive(r);
	while (burst_receive(r) > 0)
		continue;
	return 0;
}

static void
one_send(struct rings *r, struct rte_ring *ring, uint64_t value)
{
	void *m;

	/* one or two are in flight */
	if (likely(rte_mempool_get(r->pool, &m) == 0)) {
		header_write(m, value);
		rte_ring_sp_enqueue(ring, m);
	}
}

/* @return true: an mbuf was received */
static bool
one_receive(struct rings *r, struct rte_ring *ring, uint64_t *read)
{
	void *m;

	if (rte_ring_sc_dequeue(ring, &m) != 0)
		return false;
	*read += header_read(m);
	rte_mempool_put(r->pool, m);
	return true;
}

static void
answer_one(struct rings *r)
{
	if (one_receive(r, r->there, &r->read_there))
		one_send(r, r->back, 0);
}

static int
answer_all(void *arg)
{
	struct rings *r = arg;

	/* pairs with the release in join() */
	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE))
		answer_one(r);
	return 0;
}

static void
launch(struct rings *r, lcore_function_t *f, unsigned int lcore)
{
	r->stop = false;
	if (lcore != LCORE_ID_ANY)
		RTE_VERIFY(rte_eal_remote_launch(f, r, lcore) == 0);
}

static void
join(struct rings *r, unsigned int lcore)
{
	/* pairs with the acquires in receive_all() and answer_all() */
	__atomic_store_n(&r->stop, true, __ATOMIC_RELEASE);
	if (lcore != LCORE_ID_ANY)
		rte_eal_wait_lcore(lcore);
}

/* Measure one time slice. @return mbufs per second */
static double
slice(struct rings *r, bool both)
{
	const uint64_t hz = rte_get_tsc_hz();
	const uint64_t start = rte_rdtsc(), end = start + hz / 1000 * SLICE_MS;
	uint64_t now, n = 0;

	do {
		for (unsigned int i = 0; i < 64; i++) {
			n += burst_send(r, n);
			if (both)
				burst_receive(r);
		}
		now = rte_rdtsc();
	} while (now < end);
	return (double)n * (double)hz / (double)(now - start);
}

static double
rate(struct rings *r, unsigned int lcore)
{
	double best = 0;

	launch(r, receive_all, lcore);
	for (unsigned int i = 0; i < SLICES; i++)
		best = RTE_MAX(best, slice(r, lcore == LCORE_ID_ANY));
	join(r, lcore);
	return best;
}

static void
round_trip(struct rings *r, unsigned int lcore, uint64_t value)
{
	one_send(r, r->there, value);
	do {
		if (lcore == LCORE_ID_ANY)
			answer_one(r);
	} while (!one_receive(r, r->back, &r->read_back));
}

/* Measure spans of round trips, in cycles. */
static void
round_trips(struct rings *r, unsigned int lcore, unsigned int span, unsigned int ms, struct perf_histogram *h)
{
	uint64_t start, now, end;

	uroce_perf_histogram_init(h);
	launch(r, answer_all, lcore);
	end = rte_rdtsc() + rte_get_tsc_hz() / 1000 * ms;
	do { /* at least one, even if the other lcore starts late */
		start = rte_rdtsc();
		for (unsigned int i = 0; i < span; i++)
			round_trip(r, lcore, start);
		now = rte_rdtsc();
		uroce_perf_histogram_add(h, now - start);
	} while (now < end);
	join(r, lcore);
}

static struct rte_ring *
ring_create(const char *name)
{
	return rte_ring_create(name, UROCE_APP_RING_FRAMES, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static void
latencies(struct perf_floor *f, struct rings *r, unsigned int lcore, double rtt_ns, struct perf_histogram *h)
{
	const double ns = 1e9 / (double)rte_get_tsc_hz();

	round_trips(r, lcore, 1, ROUNDS_MS, h);
	f->rtt_ns = (double)uroce_perf_histogram_quantile(h, 0.5) * ns;
	f->rtt_p999_ns = (double)uroce_perf_histogram_quantile(h, 0.999) * ns;
	if (rtt_ns <= 0)
		return;
	f->span = (unsigned int)RTE_MAX(rtt_ns / f->rtt_ns, 1.0);
	round_trips(r, lcore, f->span, SPANS_MS, h);
	f->span_ns = (double)uroce_perf_histogram_quantile(h, 0.5) * ns;
	f->span_p999_ns = (double)uroce_perf_histogram_quantile(h, 0.999) * ns;
}

static int
measure(struct perf_floor *f, struct rings *r, unsigned int lcore, double rtt_ns, struct perf_histogram *h)
{
	for (unsigned int i = 0; i < RTE_DIM(pool_mbufs); i++) {
		r->pool = rte_pktmbuf_pool_create("uroce_floor", pool_mbufs[i], POOL_CACHE, 0, ROOM_BYTES,
						  SOCKET_ID_ANY);
		if (r->pool == NULL)
			return -ENOMEM;
		f->mops = RTE_MAX(f->mops, rate(r, lcore) / 1e6);
		if (i == 0) /* only one or two mbufs circulate, so any pool will do */
			latencies(f, r, lcore, rtt_ns, h);
		rte_mempool_free(r->pool);
	}
	return 0;
}

int
uroce_perf_floor_rings(struct perf_floor *f, unsigned int lcore, double rtt_ns)
{
	struct rings *r = aligned_alloc(RTE_CACHE_LINE_SIZE, sizeof(*r));
	struct perf_histogram *h = malloc(sizeof(*h));
	int ret = -ENOMEM;

	f->mops = 0;
	f->rtt_ns = 0;
	f->rtt_p999_ns = 0;
	f->span = 0;
	if (r == NULL || h == NULL)
		goto free_both;
	*r = (struct rings){
		.there = ring_create("uroce_floor_there"),
		.back = ring_create("uroce_floor_back"),
	};
	if (r->there != NULL && r->back != NULL)
		ret = measure(f, r, lcore, rtt_ns, h);
	rte_ring_free(r->there);
	rte_ring_free(r->back);
free_both:
	free(h);
	free(r);
	return ret;
}
