/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the floor that bounds a result, and the share of it that was reached. No state.
 */

#include <rte_common.h>

#include "report.h"
#include "floor/floor_ratio.h"

const char *const uroce_perf_bounds[PERF_BOUND_COUNT] = { "none", "bytes", "packets", "round trip" };

/* Get the time that a message's bytes take on the receiver's cores, in seconds; 0: no such floor. */
static double
bytes_time(const struct perf_row *row)
{
	const struct perf_floor *f = &row->floor;

	return f->gbps > 0 ? row->params.size * 8 / (f->gbps * 1e9 * RTE_MAX(f->cores, 1u)) : 0;
}

/* Get the time that a message's packets take on a ring, in seconds; 0: no such floor. */
static double
packets_time(const struct perf_row *row)
{
	const uint32_t size = row->params.size, mtu = row->params.mtu;
	const uint32_t packets = size > mtu ? size / mtu + (size % mtu != 0) : 1;

	return row->floor.mops > 0 ? packets / (row->floor.mops * 1e6 * RTE_MAX(row->floor.cores, 1u)) : 0;
}

static double
rate_share(const struct perf_row *row, enum perf_bound *bound)
{
	const double bytes = bytes_time(row), packets = packets_time(row);

	if (row->ops == 0 || row->seconds <= 0)
		return 0;
	/* Between two processes, the floor of packets is unknown. */
	if (packets > bytes)
		*bound = PERF_BOUND_PACKETS;
	else if (bytes > 0 && (packets > 0 || row->params.size >= row->params.mtu))
		*bound = PERF_BOUND_BYTES;
	else
		return 0;
	return RTE_MAX(bytes, packets) * (double)row->ops / row->seconds;
}

static double
latency_share(const struct perf_row *row, enum perf_bound *bound)
{
	/* a pong carries as many bytes as its ping */
	const unsigned int ways = uroce_perf_ops[row->params.op].fetches ? 1 : 2;
	const double bytes = bytes_time(row) * ways, round_trip = row->floor.rtt_ns / 1e9;

	if (round_trip <= 0 || row->lat_us.p50 <= 0)
		return 0;
	*bound = bytes > round_trip ? PERF_BOUND_BYTES : PERF_BOUND_ROUND_TRIP;
	return RTE_MAX(bytes, round_trip) * 1e6 / row->lat_us.p50;
}

double
uroce_perf_floor_ratio(const struct perf_row *row, enum perf_bound *bound)
{
	*bound = PERF_BOUND_NONE;
	return row->params.mode == PERF_LAT ? latency_share(row, bound) : rate_share(row, bound);
}
