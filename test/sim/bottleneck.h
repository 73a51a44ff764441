/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An output port: one frame after the other at the rate of its wire, a queue of so many bytes behind which frames are
 * dropped, and marks when it grows long: RED's on the queue as it is, as DCQCN wants them; DCTCP's, with both
 * thresholds the same.
 */

#ifndef UROCE_TEST_SIM_BOTTLENECK_H
#define UROCE_TEST_SIM_BOTTLENECK_H

#include <stdbool.h>
#include <stdint.h>

#include "sim.h"

/* What a frame takes on an Ethernet wire beside its bytes: preamble, FCS, gap. */
#define BOTTLENECK_FRAME_BYTES 24

struct bottleneck_conf {
	uint64_t rate;	      /* bit/s; 0: no time at all, no queue */
	uint32_t limit_bytes; /* of the queue; 0: none */
	/* marking: none below the first, of `mark_share` (in 2^32) of the frames at the second, of all above */
	uint32_t mark_min_bytes;
	uint32_t mark_max_bytes; /* 0: no marks */
	uint32_t mark_share;
};

struct bottleneck {
	struct bottleneck_conf conf;
	struct sim_random random;
	uint64_t ps_per_byte;
	uint64_t free_ps; /* when all that was taken is on the wire */
	uint64_t frames;
	uint64_t bytes; /* with what Ethernet adds */
	uint64_t dropped;
	uint64_t marked;
	uint32_t deepest_bytes; /* the longest queue a frame has met */
};

enum bottleneck_fate {
	BOTTLENECK_PASSED,
	BOTTLENECK_MARKED,
	BOTTLENECK_DROPPED,
};

void bottleneck_init(struct bottleneck *b, const struct bottleneck_conf *conf, uint64_t seed,
		     uint64_t stream);

/** A frame comes; later ones come no earlier.
 * @param capable	of being marked
 * @param out_ns	when its last bit has left */
enum bottleneck_fate bottleneck_take(struct bottleneck *b, uint64_t now_ns, uint32_t bytes,
				     bool capable, uint64_t *out_ns);

/** What is in the queue, bytes. */
uint64_t bottleneck_backlog(const struct bottleneck *b, uint64_t now_ns);

/** When no more than so many bytes are left. */
uint64_t bottleneck_falls_to(const struct bottleneck *b, uint64_t now_ns, uint32_t bytes);

#endif /* UROCE_TEST_SIM_BOTTLENECK_H */
