/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * How much of DPDK's memory a worker and a port take, without the application's objects. No state; any thread.
 */

#ifndef UROCE_PORT_FOOTPRINT_H
#define UROCE_PORT_FOOTPRINT_H

#include <stddef.h>

#include "uroce.h"

struct uroce_port;

/* Bytes of a worker. */
struct uroce_worker_footprint {
	size_t header_pool;
	size_t payload_pool;
	size_t records; /* out-of-order frames, recovery, rates */
	size_t inbox;
	size_t rest;
	size_t total;
};

/* Bytes of a port and its device. */
struct uroce_port_footprint {
	size_t rx_pools; /* of all queues */
	size_t keys;     /* of MRs and windows */
	size_t qps;      /* the table, without the QPs */
	size_t neighbors;
	size_t rest;
	size_t total;
};

/** @param conf	with the defaults filled in */
void uroce_worker_footprint(const struct uroce_worker_conf *conf, struct uroce_worker_footprint *f);
/** Of a port that is open, or that there is too little memory for. */
void uroce_port_footprint(const struct uroce_port *port, struct uroce_port_footprint *f);

#endif /* UROCE_PORT_FOOTPRINT_H */
