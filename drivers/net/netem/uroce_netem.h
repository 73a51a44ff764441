/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * uroce: network emulation on a DPDK port. netem loses, reorders, duplicates, corrupts, delays or ECN-marks frames that
 * the port receives, at random from a seed, before the application receives them. It tests programs, not links. Frames
 * between devices of one process that do not go through the port are not impaired.
 */

#ifndef UROCE_NETEM_H
#define UROCE_NETEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/** @defgroup netem Network emulation
 * @{ */

struct uroce_netem;

/** Numbers of frames, of all queues of a port. */
struct uroce_netem_stats {
	size_t size;		/* set by the caller: sizeof(struct uroce_netem_stats) */
	uint64_t frames;	/* received by the port */
	uint64_t lost;
	uint64_t reordered;
	uint64_t duplicated;
	uint64_t corrupted;
	uint64_t delayed;
	uint64_t marked;	/* ECN: congestion experienced */
	uint64_t overflow;	/* lost because `limit` frames were delayed, or no mbuf was free for a copy */
};

/**
 * Impair the frames that a configured port receives. If a thread other than a worker of uroce polls the port, it must
 * not poll during uroce_netem_detach().
 *
 * @param impairment	a list of key=value, separated by commas; defaults are 0 or in parentheses:
 *	loss=P		share of frames that is lost, 0..1
 *	burst=N		mean length of a run of lost frames (1)
 *	reorder=P	share that is delayed by `late`, so that later frames overtake it
 *	dup=P		share that is duplicated; the duplicate has its own delay
 *	corrupt=P	share in which one random bit is flipped
 *	ecn=P		share of IP packets that is marked CE
 *	delay=T		delay of each frame; T is a number of microseconds, or 10us, 1.5ms, 300ns
 *	jitter=T	additional random delay from 0 to T, which also reorders frames
 *	late=T		additional delay of a reordered frame (20us)
 *	limit=N		delayed frames at a time, per queue (4096); further ones are lost
 *	seed=N		seed of the random numbers (1)
 * @return	NULL and errno: EINVAL: not such a list; ENODEV: no such port, or it has no receive queue; ENOMEM;
 *		ENOTSUP: DPDK was built without receive callbacks
 */
struct uroce_netem *uroce_netem_attach(uint16_t port_id, const char *impairment);

/** Stop impairing a port, before the port is closed. Delayed frames are lost. Not from within a worker's poll.
 * @param netem	NULL: no-op */
void uroce_netem_detach(struct uroce_netem *netem);

/** Read the statistics. Any thread. @return 0; EINVAL or E2BIG: size, see uroce.h */
int uroce_netem_stats(const struct uroce_netem *netem, struct uroce_netem_stats *stats);

/** Check a list for uroce_netem_attach(). @return 0; EINVAL, and a message in error */
int uroce_netem_check(const char *impairment, char *error, unsigned int error_room);

/** @} */

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UROCE_NETEM_H */
