/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures N senders that share a bottleneck, in virtual time: ends on a switch, each with a stream to end 0, whose
 * output queue marks and drops frames. Prints each sender's share and the fairness as a table of reStructuredText, or
 * JSON.
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eal.h"
#include "measured.h"
#include "trace.h"
#include "uroce.h"

#define MOST_SENDERS 48

struct options {
	struct stream_conf stream;
	struct bottleneck_conf wire;
	uint64_t rtt_ns;
	uint64_t warm_ns;
	uint64_t run_ns;
	uint64_t stagger_ns;
	unsigned int senders;
	bool uncontrolled;
	uint64_t seed;
	bool json;
	/* bounds of the result, outside of which the program fails */
	double least_jain;
	double least_utilization;
	double most_dropped; /* share of the frames */
};

struct result {
	double gbps[MOST_SENDERS]; /* of payload */
	double total_gbps;
	double jain;
	double utilization; /* of the wire, with all headers */
	uint64_t frames;
	uint64_t dropped;
	uint64_t marked;
	uint32_t deepest_bytes;
	uint64_t resent;
	uint64_t timeouts;
	uint64_t cnps; /* CNPs sent */
	uint64_t obeyed;
};

static void
make_world(const struct options *o)
{
	const struct uroce_congestion off = { .size = sizeof(off), .off = 1 };
	struct world_conf conf = {
		.ends = o->senders + 1,
		.multi_seg = true,
		.send_burst = UROCE_BURST,
		.pool_mbufs = 1023,
		.link = {
			.quantum_ns = 1,
			.tx_bytes = 1 << 16,
			.switched = true,
			.netem = { .burst = 1, .delay_ns = o->rtt_ns / 2 },
			.wire = o->wire,
		},
	};

	world_init(&world, &conf, o->seed);
	for (unsigned int i = 0; i < conf.ends && o->uncontrolled; i++)
		SIM_CHECK(uroce_set_congestion(end_context(world.ends[i]), &off) == 0, "uroce_set_congestion fails");
}

/* Start the senders one after the other. */
static void
start(const struct options *o)
{
	for (unsigned int i = 0; i < o->senders; i++) {
		stream_create(&streams[i], &world, i + 1, 0, &o->stream);
		streams_run(&world, streams, i + 1, world.now_ns + o->stagger_ns);
	}
	streams_run(&world, streams, o->senders, world.now_ns + o->warm_ns);
}

static void
judge(const struct options *o, struct result *r)
{
	double squares = 0;

	for (unsigned int i = 0; i < o->senders; i++) {
		r->total_gbps += r->gbps[i];
		squares += r->gbps[i] * r->gbps[i];
	}
	r->jain = squares > 0 ? r->total_gbps * r->total_gbps / (o->senders * squares) : 0;
}

static void
measure(const struct options *o, struct result *r)
{
	struct bottleneck before, *in = &world.link.ports[0].in;
	uint64_t bytes[MOST_SENDERS];

	memset(r, 0, sizeof(*r));
	in->deepest_bytes = 0;
	before = *in;
	r->resent = world_counters(&world, UROCE_RETRANSMITTED_PACKETS);
	r->timeouts = world_counters(&world, UROCE_TIMEOUTS);
	r->cnps = world_counters(&world, UROCE_NP_CNP_SENT);
	r->obeyed = world_counters(&world, UROCE_RP_CNP_HANDLED);
	for (unsigned int i = 0; i < o->senders; i++)
		bytes[i] = stream_bytes(&streams[i]);
	streams_run(&world, streams, o->senders, world.now_ns + o->run_ns);
	for (unsigned int i = 0; i < o->senders; i++)
		r->gbps[i] = (double)(stream_bytes(&streams[i]) - bytes[i]) * 8 / (double)o->run_ns;
	judge(o, r);
	r->utilization = (double)(in->bytes - before.bytes) * 8e9 / (double)o->run_ns / (double)o->wire.rate;
	r->dropped = in->dropped - before.dropped;
	r->marked = in->marked - before.marked;
	r->frames = in->frames - before.frames + r->dropped;
	r->deepest_bytes = in->deepest_bytes;
	r->resent = world_counters(&world, UROCE_RETRANSMITTED_PACKETS) - r->resent;
	r->timeouts = world_counters(&world, UROCE_TIMEOUTS) - r->timeouts;
	r->cnps = world_counters(&world, UROCE_NP_CNP_SENT) - r->cnps;
	r->obeyed = world_counters(&world, UROCE_RP_CNP_HANDLED) - r->obeyed;
}

static void
print_json(const struct options *o, const struct result *r)
{
	printf("{\"senders\": %u, \"rate_gbps\": %g, \"rtt_us\": %g, \"gbps\": [", o->senders,
	       (double)o->wire.rate / 1e9, (double)o->rtt_ns / 1000);
	for (unsigned int i = 0; i < o->senders; i++)
		printf("%s%.4f", i == 0 ? "" : ", ", r->gbps[i]);
	printf("],\n \"jain\": %.4f, \"utilization\": %.4f, \"frames\": %" PRIu64 ", \"dropped\": %" PRIu64
	       ", \"marked\": %" PRIu64 ", \"deepest_bytes\": %" PRIu32 ", \"resent\": %" PRIu64
	       ", \"timeouts\": %" PRIu64 ", \"cnps\": %" PRIu64 ", \"cnps_obeyed\": %" PRIu64 "}\n",
	       r->jain, r->utilization, r->frames, r->dropped, r->marked, r->deepest_bytes, r->resent,
	       r->timeouts, r->cnps, r->obeyed);
}

static void
print(const struct options *o, const struct result *r)
{
	static const char rule[] = "====== ======= =====\n";

	printf("%u senders, %g Gb/s, round trip %g us, queue %" PRIu32 " bytes, marks from %" PRIu32 " to %" PRIu32
	       " bytes:\n\n%ssender    Gb/s share\n%s",
	       o->senders, (double)o->wire.rate / 1e9, (double)o->rtt_ns / 1000, o->wire.limit_bytes,
	       o->wire.mark_min_bytes, o->wire.mark_max_bytes, rule, rule);
	for (unsigned int i = 0; i < o->senders; i++)
		printf("%6u %7.3f %5.3f\n", i + 1, r->gbps[i], r->total_gbps > 0 ? r->gbps[i] / r->total_gbps : 0);
	printf("%s\nJain's index %.4f, utilization %.4f, %" PRIu64 " of %" PRIu64 " frames dropped, %" PRIu64
	       " marked, queue up to %" PRIu32 " bytes, %" PRIu64 " packets sent again, %" PRIu64 " timeouts, %" PRIu64
	       " CNPs, %" PRIu64 " of them obeyed\n",
	       rule, r->jain, r->utilization, r->dropped, r->frames, r->marked, r->deepest_bytes, r->resent,
	       r->timeouts, r->cnps, r->obeyed);
}

static bool
is_well(const struct options *o, const struct result *r)
{
	if (r->jain >= o->least_jain && r->utilization >= o->least_utilization &&
	    (double)r->dropped <= o->most_dropped * (double)r->frames)
		return true;
	printf("not as it has to be: Jain's index at least %g, utilization at least %g, dropped at most %g\n",
	       o->least_jain, o->least_utilization, o->most_dropped);
	return false;
}

static const char help[] =
	"usage: fairness [--senders N] [--rate GBPS] [--rtt US] [--queue BYTES]\n"
	"       [--mark-min BYTES] [--mark-max BYTES] [--mark-share SHARE] [--size BYTES] [--depth N]\n"
	"       [--timeout N] [--stagger US] [--warm MS] [--ms MS] [--seed N] [--uncontrolled]\n"
	"       [--least-jain X] [--least-utilization X] [--most-dropped SHARE] [--json]\n";

static void
usage(const char *problem)
{
	fprintf(stderr, "fairness: %s\n%s", problem, help);
	exit(2);
}

static double
number(double least, double most)
{
	return measured_number(least, most, usage);
}

static void
parse_option(struct options *o, int c)
{
	switch (c) {
	case 'n': o->senders = (unsigned int)number(1, MOST_SENDERS); break;
	case 'r': o->wire.rate = (uint64_t)(number(0.001, 1000) * 1e9); break;
	case 't': o->rtt_ns = (uint64_t)(number(0.1, 1e6) * 1000); break;
	case 'q': o->wire.limit_bytes = (uint32_t)number(8192, 1 << 30); break;
	case 'k': o->wire.mark_min_bytes = (uint32_t)number(0, 1 << 30); break;
	case 'K': o->wire.mark_max_bytes = (uint32_t)number(0, 1 << 30); break;
	case 'p': o->wire.mark_share = (uint32_t)(number(0, 1) * UINT32_MAX); break;
	case 's': o->stream.message_bytes = (uint32_t)number(1, 1 << 24); break;
	case 'd': o->stream.depth = (uint32_t)number(1, 4096); break;
	case 'T': o->stream.timeout = (uint8_t)number(1, 31); break;
	case 'g': o->stagger_ns = (uint64_t)(number(0, 1e6) * 1e3); break;
	case 'w': o->warm_ns = (uint64_t)(number(0, 1e6) * 1e6); break;
	case 'm': o->run_ns = (uint64_t)(number(0.01, 1e6) * 1e6); break;
	case 'S': o->seed = (uint64_t)number(0, 1e15); break;
	case 'J': o->least_jain = number(0, 1); break;
	case 'U': o->least_utilization = number(0, 1); break;
	case 'D': o->most_dropped = number(0, 1); break;
	case 'u': o->uncontrolled = true; break;
	case 'j': o->json = true; break;
	case 'h': fputs(help, stdout); exit(0);
	default: usage("unknown option");
	}
}

static void
parse_options(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{ "senders", required_argument, NULL, 'n' },
		{ "rate", required_argument, NULL, 'r' },
		{ "rtt", required_argument, NULL, 't' },
		{ "queue", required_argument, NULL, 'q' },
		{ "mark-min", required_argument, NULL, 'k' },
		{ "mark-max", required_argument, NULL, 'K' },
		{ "mark-share", required_argument, NULL, 'p' },
		{ "size", required_argument, NULL, 's' },
		{ "depth", required_argument, NULL, 'd' },
		{ "timeout", required_argument, NULL, 'T' },
		{ "stagger", required_argument, NULL, 'g' },
		{ "warm", required_argument, NULL, 'w' },
		{ "ms", required_argument, NULL, 'm' },
		{ "seed", required_argument, NULL, 'S' },
		{ "least-jain", required_argument, NULL, 'J' },
		{ "least-utilization", required_argument, NULL, 'U' },
		{ "most-dropped", required_argument, NULL, 'D' },
		{ "uncontrolled", no_argument, NULL, 'u' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		parse_option(o, c);
	if (optind != argc)
		usage("unexpected argument");
	if (o->wire.mark_min_bytes > o->wire.mark_max_bytes)
		usage("--mark-min is above --mark-max");
	if ((uint64_t)o->senders * o->stream.depth * o->stream.message_bytes > 48 << 20)
		usage("so many messages of that size take too much memory");
}

int
main(int argc, char **argv)
{
	struct options o = {
		.stream = { .opcode = IBV_WR_RDMA_WRITE, .message_bytes = 65536, .depth = 32, .timeout = 14 },
		/* limits of the queue as the authors of DCQCN recommend them for 40 Gb/s, in a shallow switch */
		.wire = { .rate = UINT64_C(25000000000), .limit_bytes = 1 << 20, .mark_min_bytes = 5 << 10,
			  .mark_max_bytes = 200 << 10, .mark_share = UINT32_MAX / 100 },
		.rtt_ns = 20000, .warm_ns = 50000000, .run_ns = 100000000, .stagger_ns = 100000,
		.senders = 8, .seed = 1, .most_dropped = 1,
	};
	struct result r;

	parse_options(&o, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_eal_init("-m", "768", NULL); /* of all ends */
	trace_init(false);
	make_world(&o);
	start(&o);
	measure(&o, &r);
	measured_stop(o.senders);
	if (o.json)
		print_json(&o, &r);
	else
		print(&o, &r);
	return is_well(&o, &r) ? 0 : 1;
}
