/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The simulation: a network of devices in one thread, with a virtual clock. One seed determines every decision.
 */

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_malloc.h>

#include "completions.h"
#include "digest.h"
#include "eal.h"
#include "keep.h"
#include "load.h"
#include "options.h"
#include "oracle.h"
#include "restart.h"
#include "scenario.h"
#include "stall.h"
#include "trace.h"
#include "uroce.h"
#include "without.h"
#include "workload.h"

#define PROGRESS_SEEDS 1000 /* seeds per line of progress */

static struct sim sim;
static struct options options;
static unsigned int changed; /* seeds whose digest is not the expected one */

/* Only sanitizers define it; they call the callback before they end the process. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

/* Print for shrink.py what it can leave out. */
static void
account(void)
{
	if (!options.account)
		return;
	keep_print();
	without_print(&sim.world.conf);
	printf("did: conns %u\ndid: frames %" PRIu64 "\ndid: rounds %" PRIu64 "\n", sim.conn_count,
	       sim.world.link.sent, sim.rounds);
}

void
sim_fail(const char *format, ...)
{
	va_list args;

	account();
	trace_dump();
	printf("seed %" PRIu64 ", at %" PRIu64 ".%03u us, after %" PRIu64 " requests: ", sim.seed,
	       sim.world.now_ns / 1000, (unsigned int)(sim.world.now_ns % 1000), sim.posted);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	/* without exit handlers: a leak checker would report the memory in use, and call this again */
	_exit(1);
}

/* Not safe in a signal handler, but the process ends anyway, and the report helps. */
static void
ended_by_sanitizer(void)
{
	sim_fail("ended by a sanitizer");
}

static void
ended_by_signal(int number)
{
	signal(number, SIG_DFL);
	sim_fail("ended by signal %d, %s", number, strsignal(number));
}

/* A sanitizer has handlers of its own. */
static void
catch_signals(void)
{
	static const int numbers[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

	if (__sanitizer_set_death_callback != NULL) {
		__sanitizer_set_death_callback(ended_by_sanitizer);
		return;
	}
	for (unsigned int i = 0; i < RTE_DIM(numbers); i++)
		signal(numbers[i], ended_by_signal);
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

/* Reset and reconnect some connections with the same QPs, which must keep no old state. */
static void
reconnect_some(struct sim *s)
{
	for (unsigned int i = 0; i < s->conn_count; i++) {
		workload_draw_anew(s, 2 * KEEP_PHASE_ACTIONS + i);
		if (!random_once_in(&s->random, 3) || !keep_do(KEEP_RECONNECTS, i))
			continue;
		for (unsigned int j = 0; j < 2; j++) {
			conn_modify(&s->conns[i]->side[j], IBV_QPS_RESET);
			completions_drop(&s->conns[i]->side[j]);
		}
		conn_connect(&s->random, s->conns[i]);
	}
}

/* ---- a run ---- */

/* Check counters that no action in these worlds, and no harm by the link, may increase. */
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

/* On a wire with a rate an ACK may be delayed so long that the requester probes the peer. A probe retransmits one
 * packet, and another one to learn whether packets were lost. */
static uint64_t
most_retransmissions(const struct world *w)
{
	return w->conf.link.wire.rate != 0 ? 2 * world_counters(w, UROCE_PROBES) : 0;
}

/* On a link without harm, retransmissions are due only to probes, RNR NAKs, and long waits of responses for mbufs. */
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
	SIM_CHECK(world_counters(w, UROCE_RETRANSMITTED_PACKETS) <= most_retransmissions(w),
		  "%ju packets were sent again on a perfect link, %ju probes",
		  (uintmax_t)world_counters(w, UROCE_RETRANSMITTED_PACKETS),
		  (uintmax_t)world_counters(w, UROCE_PROBES));
	SIM_CHECK(world_counters(w, UROCE_SENT_NAKS) == 0, "a NAK on a perfect link");
}

static void
run(uint64_t seed, unsigned int steps)
{
	struct world_conf conf;

	memset(&sim, 0, sizeof(sim));
	sim.seed = seed;
	random_init(&sim.random, seed, SIM_STREAM);
	world_draw(&sim.random, &conf);
	without_apply(&conf);
	conf.moves = options.moves;
	conf.log2_window = options.log2_window;
	if (options.unspared)
		conf.link.most_harmed = 0;
	world_init(&sim.world, &conf, seed);
	for (unsigned int i = 0; i < conf.ends; i++)
		create_words(&sim, i);
	sim.calm = random_once_in(&sim.random, 4);
	sim.conn_drawn = random_between(&sim.random, 1, SIM_CONNS);
	sim.conn_count = options.conns == 0 ? sim.conn_drawn : RTE_MIN(sim.conn_drawn, options.conns);
	loads_create(&sim);
	workload_run(&sim, steps);
	reconnect_some(&sim);
	workload_run(&sim, steps / 4);
	loads_rest(&sim);
	if (sim.calm)
		check_never(&sim.world);
	if (sim.calm && !link_does_harm(&conf.link))
		check_perfect(&sim.world);
	conns_fail(&sim);
	workload_run(&sim, steps / 4);
	loads_rest(&sim);
	workload_draw_anew(&sim, 3 * KEEP_PHASE_ACTIONS + KEEP_OVERRUN);
	if (random_once_in(&sim.random, 4) && keep_do(KEEP_SCENARIOS, KEEP_OVERRUN))
		scenario_overrun(&sim);
	loads_destroy(&sim);
	for (unsigned int i = 0; i < conf.ends; i++)
		destroy_words(&sim, i);
	if (random_once_in(&sim.random, 4))
		restart_run(&sim.world, seed);
	stall_run(&sim.world, seed);
	world_fini(&sim.world);
}

static void
tell_digest(const struct options *o, uint64_t seed)
{
	if (o->digests)
		printf("%" PRIu64 " %016" PRIx64 "\n", seed, digest_get());
	if (o->expect == NULL || digest_is_expected(seed))
		return;
	printf("seed %" PRIu64 ": its frames or completions are not those of %s: its digest is %016" PRIx64 "\n", seed,
	       o->expect, digest_get());
	changed++;
}

int
main(int argc, char **argv)
{
	const struct options *o = &options;

	options_parse(&options, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	test_eal_init(NULL);
	catch_signals();
	printf("seeds %" PRIu64 "..%" PRIu64 ", %u steps\n", o->first_seed, o->last_seed, o->steps);
	for (uint64_t seed = o->first_seed;; seed++) {
		trace_init(o->verbose);
		keep_reset();
		digest_reset();
		run(seed, o->steps);
		tell_digest(o, seed);
		if (seed == o->last_seed)
			break;
		if ((seed - o->first_seed) % PROGRESS_SEEDS == PROGRESS_SEEDS - 1)
			printf("seed %" PRIu64 " is well\n", seed);
	}
	if (changed > 0) {
		printf("%u seeds behave differently: if that is intended, say so in the commit, and run test/sim/digest BUILD --record\n",
		       changed);
		return 1;
	}
	printf("all is well\n");
	return 0;
}
