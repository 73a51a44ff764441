/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * An end loses its peer and continues to send: its requests fail when the retries are used up (R34). Packets of the old
 * connections, in flight or retransmitted, do not reach the new connections, which work at once.
 */

#include "restart.h"

#include "stream.h"
#include "trace.h"
#include "uroce.h"

#define RANDOM_STREAM 13
#define MOST_BYTES    20000

static void
draw_stream(struct sim_random *r, const struct world *w, struct stream_conf *c)
{
	static const enum ibv_wr_opcode opcodes[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND };

	*c = (struct stream_conf){
		.opcode = opcodes[random_below(r, RTE_DIM(opcodes))],
		.message_bytes = random_between(r, 1, MOST_BYTES),
		.depth = random_between(r, 1, 8),
		.timeout = 4,
	};
	while ((UINT64_C(4096) << c->timeout) < 4 * link_round_trip_ns(&w->conf.link) + 1000000)
		c->timeout++;
}

/* Create one stream in each direction. */
static void
create_pair(struct sim_random *r, struct world *w, struct stream s[2], unsigned int a, unsigned int b)
{
	struct stream_conf conf;

	draw_stream(r, w, &conf);
	stream_create(&s[0], w, a, b, &conf);
	draw_stream(r, w, &conf);
	stream_create(&s[1], w, b, a, &conf);
}

static void
go_on_for_a_while(struct sim_random *r, struct world *w, struct stream *s, unsigned int n)
{
	uint64_t round_trip_ns = link_round_trip_ns(&w->conf.link);

	streams_run(w, s, n, w->now_ns + 1 + random_draw(r) % (3 * round_trip_ns));
}

/* Requests posted after the peer was killed have failed; earlier ones may have completed. */
static void
check_survivor(const struct stream *s, uint64_t posted_before)
{
	if (s[0].posted == posted_before && s[0].status == IBV_WC_SUCCESS)
		return;
	SIM_CHECK(s[0].status == IBV_WC_RETRY_EXC_ERR, "the peer is gone, but the first error is %s",
		  uroce_wc_status_str(s[0].status));
	SIM_CHECK(s[1].status == IBV_WC_SUCCESS, "a responder fails as its requester is gone");
}

void
restart_run(struct world *w, uint64_t seed)
{
	struct sim_random r;
	struct stream s[4]; /* to and from the killed end, and to and from its successor */
	uint64_t posted_before;
	unsigned int a, b;

	random_init(&r, seed, RANDOM_STREAM);
	a = random_below(&r, w->conf.ends);
	b = (a + random_between(&r, 1, w->conf.ends - 1)) % w->conf.ends;
	create_pair(&r, w, s, a, b);
	go_on_for_a_while(&r, w, s, 2);
	trace_note(w->now_ns, "end %u is restarted", b);
	stream_lose(&s[0], 1);
	stream_lose(&s[1], 0);
	posted_before = s[0].posted;
	end_restart(w->ends[b]);
	if (random_once_in(&r, 2))
		go_on_for_a_while(&r, w, s, 2);
	create_pair(&r, w, s + 2, a, b);
	go_on_for_a_while(&r, w, s, 4);
	streams_finish(w, s, 4);
	check_survivor(s, posted_before);
	for (unsigned int i = 0; i < 4; i++)
		stream_destroy(&s[i]);
}
