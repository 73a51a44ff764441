/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The simulation: a whole network of devices in one thread, with a virtual clock, every decision
 *from one seed.
 *
 *	sim [--seed N | --seeds A..B] [--steps M] [-v]
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "completions.h"
#include "eal.h"
#include "load.h"
#include "oracle.h"
#include "scenario.h"
#include "trace.h"
#include "uroce.h"
#include "workload.h"

#define DEFAULT_STEPS  200
#define PROGRESS_SEEDS 1000 /* a line for each so many */

struct options {
	uint64_t first_seed;
	uint64_t last_seed;
	unsigned int steps;
	bool verbose;
};

static struct sim sim;

void
sim_fail(const char *format, ...)
{
	va_list args;

	trace_dump();
	printf("seed %" PRIu64 ", at %" PRIu64 ".%03u us, after %" PRIu64 " requests: ", sim.seed,
	       sim.world.now_ns / 1000, (unsigned int)(sim.world.now_ns % 1000), sim.posted);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

static void
create_words(struct sim *s, unsigned int end)
{
	struct world *w = &s->world;

	s->words[end] = rte_zmalloc(NULL, SIM_WORDS * sizeof(struct word), 8);
	SIM_CHECK(s->words[end] != NULL, "out of memory");
	for (unsigned int i = 0; i < SIM_WORDS; i++)
		word_init(&s->words[end][i], &s->random);
	s->word_mrs[end] = uroce_reg_mr(w->ends[end]->pd, s->words[end],
					SIM_WORDS * sizeof(struct word),
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	SIM_CHECK(s->word_mrs[end] != NULL, "uroce_reg_mr fails");
}

static void
destroy_words(struct sim *s, unsigned int end)
{
	for (unsigned int i = 0; i < SIM_WORDS; i++) {
		word_check(&s->words[end][i]);
		word_fini(&s->words[end][i]);
	}
	SIM_CHECK(uroce_dereg_mr(s->word_mrs[end]) == 0, "uroce_dereg_mr fails");
	rte_free(s->words[end]);
}

/* Some connections are taken down and made again, from the same QPs: nothing of the old may be
 * left. */
static void
reconnect_some(struct sim *s)
{
	for (unsigned int i = 0; i < s->conn_count; i++) {
		if (!random_once_in(&s->random, 3))
			continue;
		for (unsigned int j = 0; j < 2; j++) {
			conn_modify(&s->conns[i]->side[j], IBV_QPS_RESET);
			completions_drop(&s->conns[i]->side[j]);
		}
		conn_connect(&s->random, s->conns[i]);
	}
}

/* ---- a run ---- */

/* Nothing in these worlds asks for them, whatever the link does. */
static void
check_never(const struct world *w)
{
	static const enum uroce_verdict never[] = {
		UROCE_DROP_PKEY,           UROCE_DROP_SOURCE,          UROCE_DROP_TRANSPORT,
		UROCE_NAK_OPCODE_SEQUENCE, UROCE_NAK_PAYLOAD,          UROCE_NAK_DMA_LEN,
		UROCE_NAK_RD_ATOMIC,       UROCE_NAK_RECV_LENGTH,      UROCE_NAK_ACCESS,
		UROCE_NAK_NOT_ALLOWED,     UROCE_NAK_ATOMIC_ALIGNMENT, UROCE_NAK_LOCAL_PROTECTION,
		UROCE_DROP_ACK_SYNDROME,   UROCE_BAD_RESPONSE,
	};

	for (unsigned int i = 0; i < RTE_DIM(never); i++)
		SIM_CHECK(world_verdicts(w, never[i]) == 0, "%ju packets: %s",
			  (uintmax_t)world_verdicts(w, never[i]), uroce_verdicts[never[i]].name);
}

/* On a link that does no harm nothing is sent twice, but after RNR NAKs, or when answers had to wait
 * for mbufs for long. */
static void
check_perfect(const struct world *w)
{
	if (world_counters(w, UROCE_NO_MBUF) != 0)
		return;
	SIM_CHECK(world_counters(w, UROCE_TIMEOUTS) == 0, "%ju timeouts on a perfect link",
		  (uintmax_t)world_counters(w, UROCE_TIMEOUTS));
	SIM_CHECK(world_verdicts(w, UROCE_RESPONSE_GAP) == 0, "a gap on a perfect link");
	if (world_counters(w, UROCE_SENT_RNR_NAKS) != 0)
		return;
	SIM_CHECK(world_counters(w, UROCE_RETRANSMITTED_PACKETS) == 0,
		  "%ju packets were sent again on a perfect link",
		  (uintmax_t)world_counters(w, UROCE_RETRANSMITTED_PACKETS));
	SIM_CHECK(world_counters(w, UROCE_SENT_NAKS) == 0, "a NAK on a perfect link");
}

static void
run(uint64_t seed, unsigned int steps)
{
	struct world_conf conf;

	memset(&sim, 0, sizeof(sim));
	sim.seed = seed;
	random_init(&sim.random, seed, 3);
	world_draw(&sim.random, &conf);
	world_init(&sim.world, &conf, seed);
	for (unsigned int i = 0; i < conf.ends; i++)
		create_words(&sim, i);
	sim.calm = random_once_in(&sim.random, 4);
	sim.conn_count = random_between(&sim.random, 1, SIM_CONNS);
	loads_create(&sim);
	workload_run(&sim, steps);
	reconnect_some(&sim);
	workload_run(&sim, steps / 4);
	loads_rest(&sim);
	if (sim.calm)
		check_never(&sim.world);
	if (sim.calm && !link_does_harm(&conf.link))
		check_perfect(&sim.world);
	scenario_run(&sim);
	if (random_once_in(&sim.random, 4))
		scenario_overrun(&sim);
	loads_destroy(&sim);
	for (unsigned int i = 0; i < conf.ends; i++)
		destroy_words(&sim, i);
	world_fini(&sim.world);
}

static void
usage(const char *problem)
{
	fprintf(stderr, "sim: %s\nusage: sim [--seed N | --seeds A..B] [--steps M] [-v]\n",
		problem);
	exit(2);
}

static uint64_t
parse_number(const char *text, char **end)
{
	uint64_t value = strtoull(text, end, 0);

	if (*end == text)
		usage("not a number");
	return value;
}

static void
parse_seeds(struct options *o, const char *text)
{
	char *end;

	o->first_seed = o->last_seed = parse_number(text, &end);
	if (strncmp(end, "..", 2) == 0)
		o->last_seed = parse_number(end + 2, &end);
	if (*end != '\0' || o->last_seed < o->first_seed)
		usage("seeds are a number, or A..B");
}

static void
parse_options(struct options *o, int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ NULL, 0, NULL, 0 },
	};
	char *end = NULL;
	int c;

	o->first_seed = o->last_seed = (uint64_t)time(NULL);
	o->steps = DEFAULT_STEPS;
	while ((c = getopt_long(argc, argv, "v", names, NULL)) != -1) {
		if (c == 's')
			parse_seeds(o, optarg);
		else if (c == 'n')
			o->steps = (unsigned int)parse_number(optarg, &end);
		else if (c == 'v')
			o->verbose = true;
		else
			usage("an option that it does not know");
	}
	if (optind != argc || (end != NULL && *end != '\0'))
		usage("an argument that it does not know");
}

int
main(int argc, char **argv)
{
	struct options o = { .verbose = false };

	parse_options(&o, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_eal_init(NULL);
	printf("seeds %" PRIu64 "..%" PRIu64 ", %u steps\n", o.first_seed, o.last_seed, o.steps);
	for (uint64_t seed = o.first_seed;; seed++) {
		trace_init(o.verbose);
		run(seed, o.steps);
		if (seed == o.last_seed)
			break;
		if ((seed - o.first_seed) % PROGRESS_SEEDS == PROGRESS_SEEDS - 1)
			printf("seed %" PRIu64 " is well\n", seed);
	}
	printf("all is well\n");
	return 0;
}
