/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * DCQCN's reaction point (Zhu et al., SIGCOMM 2015): computes the rate of a QP. A CNP reduces the rate; time and sent
 * bytes without a CNP increase it: fast recovery, then additive, then hyper increase. No I/O, no clock, no timers.
 */

#ifndef UROCE_TRANSPORT_CONGESTION_DCQCN_H
#define UROCE_TRANSPORT_CONGESTION_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

struct uroce_congestion;

#define UROCE_DCQCN_ONE (1u << 20)	/* an alpha of 1 */

struct uroce_dcqcn {
	uint64_t current_bps;
	uint64_t target_bps;		/* each increase halves the distance to it */
	uint64_t line_bps;		/* speed of the link: the highest rate */
	uint64_t reduced_ns;		/* time of the last reduction; 0: none yet */
	uint64_t increase_ns;		/* time of the next increase by time */
	uint64_t decay_ns;		/* time of the next decay of alpha */
	uint32_t bytes_left;		/* bytes to send until the next increase by bytes */
	uint32_t alpha;			/* estimate of congestion, in units of 1/UROCE_DCQCN_ONE */
	uint32_t time_stage;		/* increases by time since the last CNP */
	uint32_t byte_stage;		/* increases by bytes since the last CNP */
};

/** Initialize the rate of a QP. @param link_mbps	speed of the port; 0: unknown */
void uroce_dcqcn_start(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint32_t link_mbps, uint64_t now_ns);
/** A CNP has arrived: reduce the rate. The caller has done all steps that were due before. */
void uroce_dcqcn_cnp(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint64_t now_ns);
/** Do the increase and the decay that are due by at_ns. */
void uroce_dcqcn_step(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint64_t at_ns);
/** Count sent bytes, which may increase the rate. */
void uroce_dcqcn_sent(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint32_t bytes);
/** Delay the due times by ns, after a time in which the caller could not call uroce_dcqcn_step(). */
void uroce_dcqcn_skip(struct uroce_dcqcn *d, uint64_t ns);

/** @return the time at which uroce_dcqcn_step() is due next */
static inline uint64_t
uroce_dcqcn_due(const struct uroce_dcqcn *d)
{
	return RTE_MIN(d->increase_ns, d->decay_ns);
}

/** Is the rate within 1/1024 of the link's speed? An increase, which halves the distance, would have hardly any
 * effect. */
static inline bool
uroce_dcqcn_is_line(const struct uroce_dcqcn *d)
{
	return d->current_bps + d->line_bps / 1024 >= d->line_bps;
}

#endif /* UROCE_TRANSPORT_CONGESTION_DCQCN_H */
