/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * How close a result comes to its floor.
 */

#ifndef UROCE_PERF_FLOOR_FLOOR_RATIO_H
#define UROCE_PERF_FLOOR_FLOOR_RATIO_H

struct perf_row;

enum perf_bound {
	PERF_BOUND_NONE,
	PERF_BOUND_BYTES,      /* CRC and copy */
	PERF_BOUND_PACKETS,    /* mbufs over a ring */
	PERF_BOUND_ROUND_TRIP, /* one mbuf there and back */
	PERF_BOUND_COUNT,
};

extern const char *const uroce_perf_bounds[PERF_BOUND_COUNT];

/**
 * A result as a share of the floor that was measured for it: of the rate that the scarcer of bytes
 * and packets allows; in lat mode what takes longer of them, as a share of the median latency.
 * @param bound	which it is; PERF_BOUND_NONE: no floor is known, or nothing was measured
 */
double uroce_perf_floor_ratio(const struct perf_row *row, enum perf_bound *bound);

#endif /* UROCE_PERF_FLOOR_FLOOR_RATIO_H */
