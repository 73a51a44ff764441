/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Stops an end for longer than its timeouts, while responses of more connections than a burst has frames wait in its
 * port. On a network without losses the engine must process all of them before a timer fires: with retry_cnt 0
 * everything completes, and no packet is retransmitted.
 */

#include "stall.h"

#include <rte_common.h>

#include "stream.h"
#include "trace.h"
#include "transport/qp/state.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"

#define RANDOM_STREAM 19
#define ONCE_IN	      2 /* mean interval in worlds without harm */
#define LEAST_STREAMS (UROCE_BURST + 8)
#define MOST_BYTES    512
#define MOST_DEPTH    4
#define WIRE_BITS     (STREAM_MOST * MOST_DEPTH * (MOST_BYTES + 128) * UINT64_C(8)) /* all frames of one direction */

static struct stream streams[STREAM_MOST];

/* @return a timeout that does not expire while other connections use the wire */
static uint64_t
least_timeout_ns(const struct link_conf *c)
{
	uint64_t wire_ns = c->wire.rate == 0 ? 0 : WIRE_BITS * 1000000000 / c->wire.rate;

	return 4 * (link_round_trip_ns(c) + wire_ns) + 1000000;
}

static void
draw_stream(struct sim_random *r, const struct world *w, struct stream_conf *c)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND };

	*c = (struct stream_conf){
		.opcode = opcodes[random_below(r, RTE_DIM(opcodes))],
		.message_bytes = random_between(r, 1, MOST_BYTES),
		.depth = random_between(r, 1, MOST_DEPTH),
		.timeout = 4,
		.no_retries = true,
	};
	while ((UINT64_C(4096) << c->timeout) < least_timeout_ns(&w->conf.link))
		c->timeout++;
}

static bool
all_have_left(const struct stream *s, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct uroce_qp *qp = uroce_qp_of(s[i].qps[0]);

		if (uroce_requester_of(qp)->next != qp->sq.tail)
			return false;
	}
	return true;
}

static void
check_quiet(const struct end *e, uint64_t timeouts, uint64_t retransmitted)
{
	SIM_CHECK(end_counter(e, UROCE_TIMEOUTS) == timeouts, "%ju timeouts after a stall, though all answers were there",
		  (uintmax_t)(end_counter(e, UROCE_TIMEOUTS) - timeouts));
	SIM_CHECK(end_counter(e, UROCE_RETRANSMITTED_PACKETS) == retransmitted,
		  "%ju packets were sent again after a stall, though all answers were there",
		  (uintmax_t)(end_counter(e, UROCE_RETRANSMITTED_PACKETS) - retransmitted));
}

void
stall_run(struct world *w, uint64_t seed)
{
	struct stream_conf conf;
	struct sim_random r;
	unsigned int a, b, n;
	uint64_t until_ns, timeouts, retransmitted;
	struct end *end;

	random_init(&r, seed, RANDOM_STREAM);
	if (link_does_harm(&w->conf.link) || !random_once_in(&r, ONCE_IN))
		return;
	a = random_below(&r, w->conf.ends);
	b = (a + random_between(&r, 1, w->conf.ends - 1)) % w->conf.ends;
	end = w->ends[a];
	n = random_between(&r, LEAST_STREAMS, STREAM_MOST);
	for (unsigned int i = 0; i < n; i++) {
		draw_stream(&r, w, &conf);
		stream_create(&streams[i], w, a, b, &conf);
	}
	timeouts = end_counter(end, UROCE_TIMEOUTS);
	retransmitted = end_counter(end, UROCE_RETRANSMITTED_PACKETS);
	streams_run(w, streams, n, w->now_ns + 1);
	for (unsigned int i = 0; i < n; i++)
		streams[i].stopped = true;
	while (!all_have_left(streams, n))
		streams_run(w, streams, n, RTE_MAX(RTE_MIN(world_next(w), w->now_ns + UROCE_TICK_NS), w->now_ns + 1));
	until_ns = w->now_ns + (UINT64_C(8192) << conf.timeout) + random_below(&r, 1000000);
	trace_note(w->now_ns, "end %u stalls with %u connections", a, n);
	end_stop(end, until_ns);
	streams_finish(w, streams, n);
	check_quiet(end, timeouts, retransmitted);
	for (unsigned int i = 0; i < n; i++)
		stream_destroy(&streams[i]);
}
