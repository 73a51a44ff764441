/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The floors of a run: limits that no software transport can exceed on these lcores, measured without a transport.
 * They are the CRC and the copy of payloads on one core, and bare mbufs over rings between the two ends.
 */

#ifndef UROCE_PERF_FLOOR_FLOOR_H
#define UROCE_PERF_FLOOR_FLOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_params;

struct perf_floor {
	double gbps;	    /* CRC and copy on one core; 0: not measured, or small messages */
	const char *copy;   /* the fastest copy; "": none */
	double pair_gbps;   /* CRC on one core, then CRC and copy on another; 0: not measured */
	unsigned int cores; /* cores of an end; 0: nothing was measured */
	double mops;	    /* 10^6 mbufs a second over a ring, one way; 0: not measured */
	double rtt_ns;	    /* round trip of one mbuf, median; 0: not measured */
	double rtt_p999_ns; /* its 99.9th percentile, which interruptions of this machine determine */
	/* A span: round trips in a row that take about as long as one of the run, so interruptions are as frequent. */
	unsigned int span;   /* round trips of a span; 0: not measured */
	double span_ns;	     /* time of a span, median */
	double span_p999_ns; /* its 99.9th percentile */
};

/* A run's use of memory. */
struct perf_floor_load {
	uint32_t message_bytes;
	uint32_t packet_bytes; /* at most */
	size_t window_bytes;   /* all source buffers; the destination buffers have the same size */
};

/* The lcores of a run. */
struct perf_floor_place {
	bool both_ends;	    /* both ends are in this process, with rings between them */
	unsigned int lcore; /* of the other end, idle now; LCORE_ID_ANY: both ends share one */
	unsigned int cores; /* lcores of one end */
};

/**
 * Measure the floors of a run with these parameters, on the calling thread and the other end's lcore. A second call
 * keeps the better figures, since a disturbance only makes a measurement worse. The span is that of the last call.
 * @param f	all 0, or the result of the previous call
 * @param rtt_ns	median round trip of the run; 0: not known yet, or not measured
 * @return 0 or -ENOMEM
 */
int uroce_perf_floor_take(struct perf_floor *f, const struct perf_params *p,
			  const struct perf_floor_place *place, double rtt_ns);

/**
 * Measure CRC and copy, packet by packet, on the calling thread, with each implementation of a copy: the fastest
 * counts.
 * @return 0 with gbps and copy set, or -ENOMEM
 */
int uroce_perf_floor_bytes(struct perf_floor *f, const struct perf_floor_load *load);

/**
 * Measure the work of both ends on the same payloads: the calling thread computes the CRC of each. `lcore`, which must
 * be idle, computes it again and copies the payload with `f->copy`.
 * @return 0 with pair_gbps set, or -ENOMEM
 */
int uroce_perf_floor_pair(struct perf_floor *f, const struct perf_floor_load *load, unsigned int lcore);

/**
 * Measure mbufs over rings, between the calling thread and `lcore`, which must be idle; LCORE_ID_ANY: the calling
 * thread is both ends.
 * @param rtt_ns	as in uroce_perf_floor_take()
 * @return 0 with mops, rtt_ns and rtt_p999_ns set, and the span's fields if rtt_ns is above 0; or -ENOMEM
 */
int uroce_perf_floor_rings(struct perf_floor *f, unsigned int lcore, double rtt_ns);

#endif /* UROCE_PERF_FLOOR_FLOOR_H */
