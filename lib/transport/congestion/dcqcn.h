/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * DCQCN's reaction point (Zhu et al., SIGCOMM 2015): a rate that CNPs reduce, by as much as they came lately, and
 * that time and bytes without them increase: half way back to where it was, then beyond, then fast. Numbers only.
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
	uint64_t target_bps;		/* what it is on its way to */
	uint64_t line_bps;		/* beyond it there is no rate */
	uint64_t reduced_ns;		/* when a CNP has last reduced it; 0: none has */
	uint64_t increase_ns;		/* the next increase by time */
	uint64_t decay_ns;		/* the next decay of alpha */
	uint32_t bytes_left;		/* to the next increase by bytes */
	uint32_t alpha;			/* of UROCE_DCQCN_ONE: how congested it is */
	uint32_t time_stage;		/* increases by time, and by bytes, since the last CNP */
	uint32_t byte_stage;
};

/** Of a QP that had no rate. @param link_mbps	of the port; 0: unknown */
void uroce_dcqcn_start(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint32_t link_mbps, uint64_t now_ns);
/** A CNP has come; uroce_dcqcn_step() has been called for all that was due before. */
void uroce_dcqcn_cnp(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint64_t now_ns);
/** What is due at this time. */
void uroce_dcqcn_step(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint64_t at_ns);
void uroce_dcqcn_sent(struct uroce_dcqcn *d, const struct uroce_congestion *conf, uint32_t bytes);
/** Nobody has called uroce_dcqcn_step() for long: what was due by then counts as not been. */
void uroce_dcqcn_skip(struct uroce_dcqcn *d, uint64_t ns);

/** When uroce_dcqcn_step() has to be called next. */
static inline uint64_t
uroce_dcqcn_due(const struct uroce_dcqcn *d)
{
	return RTE_MIN(d->increase_ns, d->decay_ns);
}

/** It is as fast as the line: halving the way to it does not get further. */
static inline bool
uroce_dcqcn_is_line(const struct uroce_dcqcn *d)
{
	return d->current_bps + d->line_bps / 1024 >= d->line_bps;
}

#endif /* UROCE_TRANSPORT_CONGESTION_DCQCN_H */
