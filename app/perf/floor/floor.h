/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The floors of a run: what a transport in software cannot exceed on these lcores, measured without one. The CRC
 * and the copy of payloads on a core, and bare mbufs over rings between the two ends.
 */

#ifndef UROCE_PERF_FLOOR_FLOOR_H
#define UROCE_PERF_FLOOR_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_params;

struct perf_floor {
	double gbps;	    /* CRC and copy on one core; 0: not measured, or too few bytes */
	const char *copy;   /* the copy that was the fastest; "": none */
	unsigned int cores; /* that an end has for it; 0: nothing was measured */
	double mops;	    /* 10^6 mbufs a second over a ring, one way; 0: not measured */
	double rtt_ns;	    /* of one mbuf there and another one back, the median; 0: not measured */
};

/* What a run does with memory. */
struct perf_floor_load {
	uint32_t message_bytes;
	uint32_t packet_bytes; /* at most */
	size_t window_bytes;   /* of all buffers that messages come from; and as much that they go to */
};

/* Where a run takes place. */
struct perf_floor_place {
	bool both_ends;	    /* in this process, so that there are rings between them */
	unsigned int lcore; /* of the other one, idle now; LCORE_ID_ANY: there is but one lcore */
	unsigned int cores; /* of one end */
};

/**
 * Measure what bounds a run with these parameters, on the calling thread and the other end's lcore.
 * Once more: the better figures count, for what disturbs a measurement only makes it worse.
 * @param f	all 0, or of the call before
 * @return 0, or -ENOMEM
 */
int uroce_perf_floor_take(struct perf_floor *f, const struct perf_params *p,
			  const struct perf_floor_place *place);

/**
 * CRC and copy, packet by packet, on the calling thread, with each copy that there is: the fastest
 * one counts.
 * @return 0 with gbps and copy set, or -ENOMEM
 */
int uroce_perf_floor_bytes(struct perf_floor *f, const struct perf_floor_load *load);

/**
 * Mbufs over rings, between the calling thread and `lcore`, which must be idle; LCORE_ID_ANY: the
 * calling thread is both ends.
 * @return 0 with mops and rtt_ns set, or -ENOMEM
 */
int uroce_perf_floor_rings(struct perf_floor *f, unsigned int lcore);

#endif /* UROCE_PERF_FLOOR_FLOOR_H */
