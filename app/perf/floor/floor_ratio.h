/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Computes how close a result comes to its floor.
 */

#ifndef UROCE_PERF_FLOOR_FLOOR_RATIO_H
#define UROCE_PERF_FLOOR_FLOOR_RATIO_H

struct perf_row;

enum perf_bound {
	PERF_BOUND_NONE,
	PERF_BOUND_BYTES,      /* CRC and copy */
	PERF_BOUND_PACKETS,    /* mbufs over a ring */
	PERF_BOUND_ROUND_TRIP, /* round trip of one mbuf */
	PERF_BOUND_COUNT,
};

extern const char *const uroce_perf_bounds[PERF_BOUND_COUNT];

/**
 * Get a result as a share of its measured floor. Rates compare with the rate that the scarcer of bytes and packets
 * allows. In lat mode, the larger of the floors is compared with the median latency.
 * @param bound	set to the floor that counts; PERF_BOUND_NONE: no floor is known, or nothing was measured
 */
double uroce_perf_floor_ratio(const struct perf_row *row, enum perf_bound *bound);

#endif /* UROCE_PERF_FLOOR_FLOOR_RATIO_H */
