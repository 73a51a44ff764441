/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

/**
 * @file
 * uroce: a bad network on a good port. What a DPDK port receives is lost, reordered, doubled, damaged, delayed or
 * marked as congested, all from a seed, before the program that polls the port sees it, uroce or another: for tests of
 * programs, not of the link. Frames between devices of one process that do not go through the port are spared.
 */

#ifndef UROCE_NETEM_H
#define UROCE_NETEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct uroce_netem;

/** What became of the frames of a port, all queues together. */
struct uroce_netem_stats {
	uint64_t frames;	/* that the port received */
	uint64_t lost;
	uint64_t reordered;
	uint64_t duplicated;
	uint64_t corrupted;
	uint64_t delayed;
	uint64_t marked;	/* ECN: congestion experienced */
	uint64_t overflow;	/* lost, too: more were held back than `limit`, or there was no mbuf for a copy */
};

/**
 * Impair what a port receives from now on. The port has been configured. Only uroce workers may poll it during
 * uroce_netem_detach().
 *
 * @param impairment	key=value, separated by commas; what is not named does not happen:
 *	loss=P		the share of frames that is lost, 0..1
 *	burst=N		they are lost in runs of N on average (1)
 *	reorder=P	the share that comes late, and is overtaken by others
 *	dup=P		the share that arrives twice; the second has a delay of its own
 *	corrupt=P	the share of which one bit, any bit, is wrong
 *	ecn=P		the share of IP packets that arrives marked CE
 *	delay=T		added to each; T is a number of microseconds, or 10us, 1.5ms, 300ns
 *	jitter=T	and up to as much more, which reorders by itself
 *	late=T		how much later comes what is reordered (20us)
 *	limit=N		frames held back at a time, per queue (4096)
 *	seed=N		another one gives another fate (1)
 * @return	NULL and errno: EINVAL: not such a list; ENODEV: no such port, or it has no receive queue; ENOMEM;
 *		ENOTSUP: DPDK was built without receive callbacks
 */
struct uroce_netem *uroce_netem_attach(uint16_t port_id, const char *impairment);

/** End it, before the port is closed. What is held back is lost. Not from a worker's poll. NULL is ignored. */
void uroce_netem_detach(struct uroce_netem *netem);

/** Any thread. */
void uroce_netem_stats(const struct uroce_netem *netem, struct uroce_netem_stats *stats);

/** Is it a list that uroce_netem_attach() takes? @return 0; EINVAL, and what is wrong with it in error */
int uroce_netem_check(const char *impairment, char *error, unsigned int error_room);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* UROCE_NETEM_H */
