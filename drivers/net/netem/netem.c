/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Impairs a live port: a receive callback on each queue applies the model's decisions to every frame. It runs on the
 * thread that polls the queue; control threads attach and detach. A frame may reference memory of its sender (net_ring
 * passes mbufs on), so a frame is copied before it is delayed, duplicated or changed.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "ecn.h"
#include "held.h"
#include "base/rcu.h"
#include "base/sized.h"
#include "model.h"
#include "uroce_config.h"
#include "uroce_netem.h"

#define COUNTERS ((sizeof(struct uroce_netem_stats) - offsetof(struct uroce_netem_stats, frames)) / sizeof(uint64_t))

struct netem_queue {
	struct uroce_netem *netem;
	const struct rte_eth_rxtx_callback *callback;
	struct uroce_netem_model model;
	struct uroce_netem_held held;
	struct rte_mempool *pool;	/* for copies */
	struct uroce_netem_stats stats;	/* polling thread: rw, others: relaxed read */
} __rte_cache_aligned;

struct uroce_netem {
	uint16_t port_id;
	uint16_t nb_queues;
	double tsc_per_ns;
	struct netem_queue *queues;
};

static void
count(uint64_t *counter)
{
	__atomic_store_n(counter, *counter + 1, __ATOMIC_RELAXED);
}

/* Replace m by a copy, unless it is one, and free m. @return NULL: no mbuf for a copy */
static struct rte_mbuf *
make_own(struct netem_queue *q, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	if (m->pool == q->pool)
		return m;
	copy = rte_pktmbuf_copy(m, q->pool, 0, UINT32_MAX);
	rte_pktmbuf_free(m);
	if (copy == NULL) {
		count(&q->stats.lost);
		count(&q->stats.overflow);
	}
	return copy;
}

static void
flip(struct rte_mbuf *m, uint32_t bit)
{
	uint32_t byte = bit / 8;

	while (byte >= m->data_len) {
		byte -= m->data_len;
		m = m->next;
	}
	*rte_pktmbuf_mtod_offset(m, uint8_t *, byte) ^= (uint8_t)(1u << bit % 8);
}

static void
hold(struct netem_queue *q, struct rte_mbuf *m, uint64_t due)
{
	if (q->held.count < q->model.conf.limit) {
		uroce_netem_held_put(&q->held, m, due);
		return;
	}
	count(&q->stats.lost);
	count(&q->stats.overflow);
	rte_pktmbuf_free(m);
}

/* Duplicate a frame. The duplicate is neither corrupted nor marked. */
static void
repeat(struct netem_queue *q, const struct rte_mbuf *m, uint64_t due)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(m, q->pool, 0, UINT32_MAX);

	if (copy == NULL) {
		count(&q->stats.overflow);
		return;
	}
	count(&q->stats.duplicated);
	hold(q, copy, due);
}

/* @return the frame, or its copy, if it is received now; NULL: it was dropped or delayed */
static struct rte_mbuf *
pass(struct netem_queue *q, struct rte_mbuf *m, uint64_t now)
{
	struct uroce_netem_fate fate;
	uint64_t due;

	uroce_netem_decide(&q->model, rte_pktmbuf_pkt_len(m), &fate);
	count(&q->stats.frames);
	if (fate.lost) {
		count(&q->stats.lost);
		rte_pktmbuf_free(m);
		return NULL;
	}
	due = now + (uint64_t)((double)fate.delay_ns * q->netem->tsc_per_ns);
	if (fate.corrupted || fate.marked || fate.delay_ns != 0) {
		m = make_own(q, m);
		if (m == NULL)
			return NULL;
	}
	if (fate.twice)
		repeat(q, m, now + (uint64_t)((double)fate.twin_delay_ns * q->netem->tsc_per_ns));
	if (fate.corrupted) {
		count(&q->stats.corrupted);
		flip(m, fate.bit);
	}
	if (fate.marked && uroce_netem_mark(rte_pktmbuf_mtod(m, uint8_t *), m->data_len))
		count(&q->stats.marked);
	if (fate.delay_ns == 0)
		return m;
	count(fate.reordered ? &q->stats.reordered : &q->stats.delayed);
	hold(q, m, due);
	return NULL;
}

static uint16_t
receive(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, uint16_t room, void *arg)
{
	struct netem_queue *q = arg;
	struct rte_mbuf *m;
	uint64_t now;
	uint16_t out = 0;

	RTE_SET_USED(port_id);
	RTE_SET_USED(queue);
	if (n == 0 && q->held.count == 0)
		return 0;
	now = rte_rdtsc();
	for (uint16_t i = 0; i < n; i++) {
		m = pass(q, frames[i], now);
		if (m != NULL)
			frames[out++] = m;
	}
	while (out < room && (m = uroce_netem_held_get(&q->held, now)) != NULL)
		frames[out++] = m;
	return out;
}

static struct rte_mempool *
pool_create(const struct uroce_netem *n, uint16_t queue, uint32_t limit)
{
	char name[RTE_MEMPOOL_NAMESIZE];
	uint16_t mtu = RTE_ETHER_MTU;

	rte_eth_dev_get_mtu(n->port_id, &mtu);
	snprintf(name, sizeof(name), "uroce_netem_%u_%u", n->port_id, queue);
	/* for delayed frames, and for received frames that the application has not freed yet */
	return rte_pktmbuf_pool_create(name, limit + UROCE_NETEM_SPARE, UROCE_BURST, 0,
				       RTE_PKTMBUF_HEADROOM + mtu + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN,
				       rte_eth_dev_socket_id(n->port_id));
}

/* Wait for workers to free the received frames. A pool that still lacks mbufs afterward is not freed. */
static void
pool_free(struct rte_mempool *pool)
{
	for (unsigned int ms = 0; ms < UROCE_NETEM_LEAVE_MS && !rte_mempool_full(pool); ms++)
		rte_delay_us_sleep(1000);
	if (rte_mempool_full(pool))
		rte_mempool_free(pool);
}

void
uroce_netem_detach(struct uroce_netem *n)
{
	if (n == NULL)
		return;
	for (uint16_t i = 0; i < n->nb_queues; i++) {
		if (n->queues[i].callback != NULL)
			rte_eth_remove_rx_callback(n->port_id, i, n->queues[i].callback);
	}
	uroce_rcu_wait();	/* until no worker is in a callback */
	for (uint16_t i = 0; i < n->nb_queues; i++) {
		struct netem_queue *q = &n->queues[i];

		uroce_netem_held_fini(&q->held);
		if (q->pool != NULL)
			pool_free(q->pool);
		rte_free((void *)(uintptr_t)q->callback);
	}
	free(n->queues);
	free(n);
}

static int
queue_init(struct uroce_netem *n, uint16_t i, const struct uroce_netem_conf *conf)
{
	struct netem_queue *q = &n->queues[i];

	q->netem = n;
	/* each queue of each port draws its own random numbers */
	uroce_netem_model_init(&q->model, conf, (uint64_t)n->port_id << 16 | i);
	if (uroce_netem_held_init(&q->held, conf->limit) != 0)
		return ENOMEM;
	q->pool = pool_create(n, i, conf->limit);
	return q->pool == NULL ? rte_errno : 0;
}

static int
attach(struct uroce_netem *n, const struct uroce_netem_conf *conf)
{
	int ret = 0;

	for (uint16_t i = 0; i < n->nb_queues && ret == 0; i++)
		ret = queue_init(n, i, conf);
	for (uint16_t i = 0; i < n->nb_queues && ret == 0; i++) {
		n->queues[i].callback = rte_eth_add_rx_callback(n->port_id, i, receive, &n->queues[i]);
		if (n->queues[i].callback == NULL)
			ret = rte_errno;
	}
	return ret;
}

struct uroce_netem *
uroce_netem_attach(uint16_t port_id, const char *impairment)
{
	struct rte_eth_dev_info info;
	struct uroce_netem_conf conf;
	struct uroce_netem *n;
	char error[128];
	int ret = EINVAL;

	if (uroce_netem_conf_parse(&conf, impairment, error, sizeof(error)) != 0)
		goto fail;
	ret = ENODEV;
	if (rte_eth_dev_info_get(port_id, &info) != 0 || info.nb_rx_queues == 0)
		goto fail;
	ret = ENOMEM;
	n = calloc(1, sizeof(*n));
	if (n == NULL || uroce_rcu_init() != 0)
		goto free_netem;
	n->queues = aligned_alloc(RTE_CACHE_LINE_SIZE, info.nb_rx_queues * sizeof(*n->queues));
	if (n->queues == NULL)
		goto free_netem;
	memset(n->queues, 0, info.nb_rx_queues * sizeof(*n->queues));
	n->port_id = port_id;
	n->nb_queues = info.nb_rx_queues;
	n->tsc_per_ns = (double)rte_get_tsc_hz() / 1e9;
	ret = attach(n, &conf);
	if (ret == 0)
		return n;
	uroce_netem_detach(n);
	goto fail;

free_netem:
	free(n);
fail:
	errno = ret;
	return NULL;
}

int
uroce_netem_stats(const struct uroce_netem *n, struct uroce_netem_stats *stats)
{
	struct uroce_netem_stats own = { .size = sizeof(own) };
	uint64_t *sums = &own.frames;

	for (uint16_t i = 0; i < n->nb_queues; i++) {
		const uint64_t *of_queue = &n->queues[i].stats.frames;

		for (unsigned int c = 0; c < COUNTERS; c++)
			sums[c] += __atomic_load_n(&of_queue[c], __ATOMIC_RELAXED);
	}
	return -uroce_sized_put("uroce_netem_stats", &own, sizeof(own),
				UROCE_SIZED_UP_TO(struct uroce_netem_stats, overflow), stats);
}
