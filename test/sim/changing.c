/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 *	changing FIRST LAST
 *
 * READs of memory that the application writes all the time, also between the computation of a response's ICRC and its
 * transmission, in a world of each seed without losses. The QPs have no retries and no timeouts, so a wrong ICRC would
 * fail them. Then the same with memory that was registered as stable: dropped responses are retried and nothing is
 * lost.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "eal.h"
#include "measured.h"
#include "trace.h"
#include "uroce_config.h"

#define MS	    UINT64_C(1000000)
#define MOST_BYTES  (1 << 19) /* memory of a stream */
#define LONG_ENOUGH 14	      /* a timeout that only a lost packet exceeds */

static void
draw_world(struct sim_random *r, struct world_conf *c)
{
	*c = (struct world_conf){
		.ends = 2,
		.ipv6 = random_once_in(r, 2),
		.vlan = random_once_in(r, 4),
		.multi_seg = !random_once_in(r, 4),
		.split = random_once_in(r, 2),
		.send_burst = random_once_in(r, 2) ? UROCE_BURST : random_between(r, 1, UROCE_BURST),
		.hold_ns = random_once_in(r, 2) ? 0 : random_below(r, 20000),
		.pool_mbufs = random_once_in(r, 4) ? 127 : 1023,
		.plain_ends = random_once_in(r, 4) ? random_below(r, 4) : 0,
		.link = {
			.quantum_ns = random_between(r, 1, 10000),
			.tx_bytes = 1 << 16,
			.netem = { .delay_ns = random_below(r, 20000), .burst = 1 },
			.wire = { .rate = UINT64_C(1000000000) * random_between(r, 10, 100) },
		},
	};
}

static void
draw_stream(struct sim_random *r, struct stream_conf *c)
{
	*c = (struct stream_conf){
		.opcode = IBV_WR_RDMA_READ,
		.message_bytes = 8 * random_between(r, 1, random_once_in(r, 2) ? 1000 : 8000),
		.changing = true,
	};
	c->depth = random_between(r, 1, RTE_MIN(32, MOST_BYTES / c->message_bytes));
}

/* @return number of responses dropped for a wrong ICRC */
static uint64_t
wrong(void)
{
	return world_verdicts(&world, UROCE_DROP_ICRC);
}

/* @return number of dropped responses */
static uint64_t
run(uint64_t seed, bool stable)
{
	struct stream_conf stream;
	struct world_conf conf;
	struct sim_random r;
	uint64_t resent, before;

	random_init(&r, seed, CHANGING_STREAM);
	draw_world(&r, &conf);
	draw_stream(&r, &stream);
	stream.stable = conf.unstable = stable;
	stream.no_retries = !stable;
	stream.timeout = stable ? LONG_ENOUGH : 0;
	trace_init(false);
	world_init(&world, &conf, seed);
	stream_create(&streams[0], &world, 0, 1, &stream);
	streams_run(&world, streams, 1, world.now_ns + (stable ? 200 * MS : MS));
	before = wrong();
	streams_run(&world, streams, 1, world.now_ns + MS);
	resent = world_counters(&world, UROCE_RETRANSMITTED_PACKETS);
	SIM_CHECK(streams[0].completed > 0, "no READ completes");
	SIM_CHECK(stable || (wrong() == 0 && resent == 0), "%ju responses were wrong, %ju packets were sent again",
		  (uintmax_t)wrong(), (uintmax_t)resent);
	SIM_CHECK(wrong() == before, "responses are still wrong after %ju", (uintmax_t)before);
	measured_stop(1);
	return before;
}

static const char help[] = "usage: changing FIRST LAST\n"
	"Simulates READs of memory that changes, with the seeds FIRST to LAST.\n";

int
main(int argc, char **argv)
{
	uint64_t first, last, dropped = 0;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return 0;
	}
	if (argc != 3) {
		fputs(help, stderr);
		return 2;
	}
	first = strtoull(argv[1], NULL, 0);
	last = strtoull(argv[2], NULL, 0);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_eal_init(NULL);
	for (uint64_t seed = first; seed <= last; seed++) {
		printf("seed %ju\n", (uintmax_t)seed);
		run(seed, false);
		if (seed % 10 == 0)
			dropped += run(seed, true);
	}
	printf("%ju responses of memory that was said to be stable were dropped\n", (uintmax_t)dropped);
	SIM_CHECK(dropped > 0 || last - first < 50, "memory does not change before frames leave");
	return 0;
}
