/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Adds up the memory of a worker and of a port. The test port_footprint compares the sums with what DPDK's heap has
 * lost. No state; any thread.
 */

#include <rte_common.h>
#include <rte_ring.h>

#include "port/footprint.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"

/* @return the bytes of a worker's records for QPs */
static size_t
record_bytes(const struct uroce_worker_conf *conf)
{
	const size_t window = (size_t)1 << (conf->log2_window + UROCE_LOG2_REORDER_WINDOWS);
	const size_t set = UROCE_PSN_SET_WORDS(window) * sizeof(uint64_t);
	const size_t resent = ((size_t)1 << (conf->log2_window - 1)) * sizeof(struct uroce_resent);
	const size_t reorder = sizeof(struct uroce_reorder) + set + window * sizeof(uint16_t);

	return conf->reorder_frames * sizeof(struct uroce_reorder_frame) + conf->reorder_qps * reorder +
	       conf->recoveries * (sizeof(struct uroce_recovery) + 2 * set + resent) +
	       conf->rates * sizeof(struct uroce_rate);
}

void
uroce_worker_footprint(const struct uroce_worker_conf *conf, struct uroce_worker_footprint *f)
{
	f->header_pool = uroce_pool_bytes(conf->header_mbufs, UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES));
	f->payload_pool = uroce_pool_bytes(conf->payload_mbufs, UROCE_ENGINE_ROOM(conf->path_mtu));
	f->records = record_bytes(conf);
	f->inbox = (size_t)rte_ring_get_memsize_elem(sizeof(struct uroce_inbox_item),
						     rte_align32pow2(conf->inbox_frames + 1));
	f->rest = sizeof(struct uroce_worker);
	f->total = f->header_pool + f->payload_pool + f->records + f->inbox + f->rest;
}

void
uroce_port_footprint(const struct uroce_port *port, struct uroce_port_footprint *f)
{
	const struct uroce_port_conf *conf = &port->conf;

	f->rx_pools = port->open_queues * port->pool_bytes;
	f->keys = sizeof(struct uroce_mr_key) << conf->log2_max_mr;
	f->qps = sizeof(struct uroce_qp *) << conf->log2_max_qp;
	f->neighbors = uroce_neighbors_bytes(conf->max_neighbors);
	f->rest = sizeof(*port) + port->nb_queues * sizeof(port->queues[0]) +
		  (sizeof(struct uroce_srq *) << UROCE_LOG2_MAX_SRQ);
	f->total = f->rx_pools + f->keys + f->qps + f->neighbors + f->rest;
}
