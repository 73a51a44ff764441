/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures goodput against loss, in virtual time: streams between two ends over a wire with a given rate and round
 * trip. An engine takes no time, so the bound is the wire, or a window of packets per round trip. Frames are lost in
 * both directions. Prints a table of reStructuredText, or JSON.
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eal.h"
#include "measured.h"
#include "trace.h"

#define LOSSES 16
#define TRIPS  8
#define MEMORY_MIB "1024" /* for the largest window */

struct options {
	struct stream_conf stream;
	uint64_t rtts_ns[TRIPS];
	unsigned int rtt_count;
	double losses[LOSSES]; /* in percent; the first is 0 */
	unsigned int loss_count;
	double gbps;
	uint64_t run_ns;
	unsigned int qps;
	uint64_t seed;
	uint32_t burst;
	double reorder; /* percent of frames that arrive a quarter of a round trip late */
	uint64_t plain_ends;
	unsigned int log2_window;
	double least_gbps; /* of each row, below which the program fails */
	double least; /* least share of each row, below which the program fails */
	bool json;
};

struct row {
	uint64_t rtt_ns;
	double loss;
	double gbps;
	double share;
	double resent; /* share of retransmitted packets */
	uint64_t timeouts;
	uint64_t naks;
};

static void
make_world(const struct options *o, uint64_t rtt_ns, double loss)
{
	struct world_conf conf = {
		.ends = 2,
		.plain_ends = o->plain_ends,
		.log2_window = o->log2_window,
		.multi_seg = true,
		.send_burst = UROCE_BURST,
		.pool_mbufs = RTE_MAX(4095u, (4u << o->log2_window) - 1),
		.link = {
			.quantum_ns = 1,
			.tx_bytes = 1 << 16,
			.netem = { .loss = (uint32_t)(loss / 100 * UINT32_MAX), .burst = o->burst,
				   .reorder = (uint32_t)(o->reorder / 100 * UINT32_MAX), .late_ns = rtt_ns / 4,
				   .delay_ns = rtt_ns / 2 },
			.wire = { .rate = (uint64_t)(o->gbps * 1e9) },
		},
	};

	world_init(&world, &conf, o->seed);
	for (unsigned int i = 0; i < o->qps; i++)
		stream_create(&streams[i], &world, 0, 1, &o->stream);
}

static uint64_t
completed_bytes(const struct options *o)
{
	uint64_t bytes = 0;

	for (unsigned int i = 0; i < o->qps; i++)
		bytes += stream_bytes(&streams[i]);
	return bytes;
}

/* The measurement begins when the windows are full. */
static void
measure(const struct options *o, uint64_t rtt_ns, double loss, struct row *row)
{
	uint64_t sent, resent, bytes;

	make_world(o, rtt_ns, loss);
	streams_run(&world, streams, o->qps, world.now_ns + 10 * rtt_ns + 1000000);
	memset(row, 0, sizeof(*row));
	row->rtt_ns = rtt_ns;
	row->loss = loss;
	row->timeouts = world_counters(&world, UROCE_TIMEOUTS);
	row->naks = world_counters(&world, UROCE_NAKS_RECEIVED);
	sent = world_counters(&world, UROCE_SENT_PACKETS);
	resent = world_counters(&world, UROCE_RETRANSMITTED_PACKETS);
	bytes = completed_bytes(o);
	streams_run(&world, streams, o->qps, world.now_ns + o->run_ns);
	row->gbps = (double)(completed_bytes(o) - bytes) * 8 / (double)o->run_ns;
	row->timeouts = world_counters(&world, UROCE_TIMEOUTS) - row->timeouts;
	row->naks = world_counters(&world, UROCE_NAKS_RECEIVED) - row->naks;
	resent = world_counters(&world, UROCE_RETRANSMITTED_PACKETS) - resent;
	sent = world_counters(&world, UROCE_SENT_PACKETS) - sent;
	row->resent = sent > 0 ? (double)resent / (double)sent : 0;
	measured_stop(o->qps);
}

static const char *
op_name(const struct options *o)
{
	return o->stream.opcode == IBV_WR_RDMA_READ ? "read"
						    : o->stream.opcode == IBV_WR_SEND ? "send" : "write";
}

static const char *
peer_name(const struct options *o)
{
	return o->plain_ends == 0 ? "uroce" : o->plain_ends == 2 ? "plain" : "both";
}

static const char rule[] = "======= ======= ======= ======= ======= ======== =====\n";

static void
print_row(const struct options *o, const struct row *r, bool first)
{
	if (!o->json) {
		printf("%7.0f %7.3g %7.3f %7.3f %7.4f %8" PRIu64 " %5" PRIu64 "\n",
		       (double)r->rtt_ns / 1000, r->loss, r->gbps, r->share, r->resent, r->timeouts,
		       r->naks);
		return;
	}
	printf("%s\n{\"op\": \"%s\", \"peer\": \"%s\", \"qps\": %u, \"rate_gbps\": %g, \"rtt_us\": %g, "
	       "\"loss_percent\": %g, \"gbps\": %.4f, \"share\": %.4f, \"resent\": %.5f, \"timeouts\": %" PRIu64
	       ", \"naks\": %" PRIu64 "}",
	       first ? "[" : ",", op_name(o), peer_name(o), o->qps, o->gbps, (double)r->rtt_ns / 1000, r->loss,
	       r->gbps, r->share, r->resent, r->timeouts, r->naks);
}

static void
print_head(const struct options *o)
{
	if (o->json)
		return;
	printf("RC %s%s, %u queue pair%s, messages of %" PRIu32 " bytes, MTU 4096, %g Gb/s, window %u packets:\n\n",
	       op_name(o),
	       o->plain_ends == 0 ? "" : o->plain_ends == 2 ? ", the responder keeps nothing early" : ", go-back-N",
	       o->qps, o->qps == 1 ? "" : "s", o->stream.message_bytes, o->gbps, 1u << o->log2_window);
	printf("%sRTT us  loss %%    Gb/s   share  resent timeouts  NAKs\n%s", rule, rule);
}

/* @return whether each share is at least the required one */
static bool
run(const struct options *o)
{
	struct row row, clean;
	bool well = true;

	print_head(o);
	for (unsigned int i = 0; i < o->rtt_count; i++) {
		measure(o, o->rtts_ns[i], 0, &clean);
		clean.share = 1;
		print_row(o, &clean, i == 0);
		well &= clean.gbps >= o->least_gbps;
		for (unsigned int j = 0; j < o->loss_count; j++) {
			measure(o, o->rtts_ns[i], o->losses[j], &row);
			row.share = row.gbps / clean.gbps;
			print_row(o, &row, false);
			well &= row.share >= o->least && row.gbps >= o->least_gbps;
		}
	}
	printf("%s", o->json ? "\n]\n" : rule);
	if (!well)
		printf("a share is below %g, or a goodput below %g Gb/s\n", o->least, o->least_gbps);
	return well;
}

static const char help[] =
	"usage: goodput [--op write|read|send] [--peer uroce|plain|both] [--rtt US]... [--loss PERCENT]...\n"
	"       [--burst FRAMES] [--rate GBPS] [--qps N] [--size BYTES] [--depth N] [--timeout N]\n"
	"       [--reorder PERCENT] [--log2-window N] [--ms MS] [--seed N] [--least SHARE] [--least-gbps GBPS] [--json]\n";

static void
usage(const char *problem)
{
	fprintf(stderr, "goodput: %s\n%s", problem, help);
	exit(2);
}

static double
number(double least, double most)
{
	return measured_number(least, most, usage);
}

static enum ibv_wr_opcode
parse_op(void)
{
	if (strcmp(optarg, "write") == 0)
		return IBV_WR_RDMA_WRITE;
	if (strcmp(optarg, "read") == 0)
		return IBV_WR_RDMA_READ;
	if (strcmp(optarg, "send") != 0)
		usage("unknown operation");
	return IBV_WR_SEND;
}

/* Parse which end is a plain peer: the responder, or both. */
static uint64_t
parse_peer(void)
{
	if (strcmp(optarg, "uroce") == 0)
		return 0;
	if (strcmp(optarg, "plain") == 0)
		return 0x2;
	if (strcmp(optarg, "both") != 0)
		usage("a peer is uroce, plain, or both are plain");
	return 0x3;
}

static void
add_rtt(struct options *o)
{
	if (o->rtt_count == TRIPS)
		usage("too many round trips");
	o->rtts_ns[o->rtt_count++] = (uint64_t)(number(0.1, 1e6) * 1000);
}

static void
add_loss(struct options *o)
{
	if (o->loss_count == LOSSES)
		usage("too many losses");
	o->losses[o->loss_count++] = number(0, 99);
}

static void
parse_option(struct options *o, int c)
{
	switch (c) {
	case 'o': o->stream.opcode = parse_op(); break;
	case 'p': o->plain_ends = parse_peer(); break;
	case 't': add_rtt(o); break;
	case 'l': add_loss(o); break;
	case 'b': o->burst = (uint32_t)number(1, UROCE_NETEM_MAX_BURST); break;
	case 'r': o->gbps = number(0.001, 1000); break;
	case 'q': o->qps = (unsigned int)number(1, STREAM_MOST); break;
	case 's': o->stream.message_bytes = (uint32_t)number(1, 1 << 24); break;
	case 'd': o->stream.depth = (uint32_t)number(1, 4096); break;
	case 'T': o->stream.timeout = (uint8_t)number(1, 31); break;
	case 'm': o->run_ns = (uint64_t)(number(0.01, 1e6) * 1e6); break;
	case 'S': o->seed = (uint64_t)number(0, 1e15); break;
	case 'L': o->least = number(0, 1); break;
	case 'w': o->log2_window = (unsigned int)number(UROCE_MIN_LOG2_WINDOW, UROCE_MAX_LOG2_WINDOW); break;
	case 'O': o->reorder = number(0, 100); break;
	case 'g': o->least_gbps = number(0, 1000); break;
	case 'j': o->json = true; break;
	case 'h': fputs(help, stdout); exit(0);
	default: usage("unknown option");
	}
}

static void
parse_options(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{ "op", required_argument, NULL, 'o' },	  { "rtt", required_argument, NULL, 't' },
		{ "loss", required_argument, NULL, 'l' },  { "burst", required_argument, NULL, 'b' },
		{ "rate", required_argument, NULL, 'r' },  { "qps", required_argument, NULL, 'q' },
		{ "size", required_argument, NULL, 's' },  { "depth", required_argument, NULL, 'd' },
		{ "timeout", required_argument, NULL, 'T' }, { "ms", required_argument, NULL, 'm' },
		{ "seed", required_argument, NULL, 'S' },  { "least", required_argument, NULL, 'L' },
		{ "log2-window", required_argument, NULL, 'w' },  { "least-gbps", required_argument, NULL, 'g' },
		{ "reorder", required_argument, NULL, 'O' }, { "peer", required_argument, NULL, 'p' }, { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
	};
	static const double losses[] = { 0.01, 0.1, 1, 3 };
	static const uint64_t rtts_ns[] = { 10000, 100000, 1000000 };
	int c;

	while ((c = getopt_long(argc, argv, "", names, NULL)) != -1)
		parse_option(o, c);
	if (optind != argc)
		usage("unexpected argument");
	if (o->loss_count == 0) {
		memcpy(o->losses, losses, sizeof(losses));
		o->loss_count = RTE_DIM(losses);
	}
	if (o->rtt_count == 0) {
		memcpy(o->rtts_ns, rtts_ns, sizeof(rtts_ns));
		o->rtt_count = RTE_DIM(rtts_ns);
	}
	if ((uint64_t)o->qps * o->stream.depth * o->stream.message_bytes > 64 << 20)
		usage("so many messages of that size take too much memory");
}

int
main(int argc, char **argv)
{
	struct options o = {
		.stream = { .opcode = IBV_WR_RDMA_WRITE, .message_bytes = 65536, .depth = 64,
			    .timeout = 14 },
		.gbps = 25, .run_ns = 200000000, .qps = 1, .seed = 1, .burst = 1, .log2_window = UROCE_LOG2_WINDOW,
	};

	parse_options(&o, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_eal_init("-m", MEMORY_MIB, NULL);
	trace_init(false);
	return run(&o) ? 0 : 1;
}
