/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An output port of a switch: it sends frames at the rate of its wire, drops frames when its queue is full, and marks
 * frames when the queue is long. Marking is RED on the current queue, as DCQCN recommends; with equal thresholds it is
 * that of DCTCP.
 */

#ifndef UROCE_TEST_SIM_BOTTLENECK_H
#define UROCE_TEST_SIM_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* Preamble, FCS and gap of an Ethernet frame. */
#define BOTTLENECK_FRAME_BYTES 24

struct bottleneck_conf {
	uint64_t rate;	      /* bit/s; 0: unlimited, no queue */
	uint32_t limit_bytes; /* longest queue; 0: unlimited */
	/* marks no frame below the first threshold, mark_share (in 2^32) of them at the second, all above */
	uint32_t mark_min_bytes;
	uint32_t mark_max_bytes; /* 0: no marks */
	uint32_t mark_share;
};

struct bottleneck {
	struct bottleneck_conf conf;
	struct sim_random random;
	uint64_t ps_per_byte;
	uint64_t free_ps; /* when the wire has sent all frames */
	uint64_t frames;
	uint64_t bytes; /* including BOTTLENECK_FRAME_BYTES of each frame */
	uint64_t dropped;
	uint64_t marked;
	uint32_t deepest_bytes; /* longest queue so far */
};

enum bottleneck_fate {
	BOTTLENECK_PASSED,
	BOTTLENECK_MARKED,
	BOTTLENECK_DROPPED,
};

void bottleneck_init(struct bottleneck *b, const struct bottleneck_conf *conf, uint64_t seed,
		     uint64_t stream);

/** A frame arrives; now_ns must not decrease.
 * @param capable	of ECN
 * @param out_ns	set to when its last bit has been sent */
enum bottleneck_fate bottleneck_take(struct bottleneck *b, uint64_t now_ns, uint32_t bytes,
				     bool capable, uint64_t *out_ns);

/** @return bytes in the queue */
uint64_t bottleneck_backlog(const struct bottleneck *b, uint64_t now_ns);

/** @return when the queue is no longer than this */
uint64_t bottleneck_falls_to(const struct bottleneck *b, uint64_t now_ns, uint32_t bytes);

#endif /* UROCE_TEST_SIM_BOTTLENECK_H */
