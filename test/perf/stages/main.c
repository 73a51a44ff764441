/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Measures the cost of each stage of the packet path, as the median and the best of many bursts. Its arguments follow
 * EAL's and `--`. It fails if a stage does not do its work, never because it is slow.
 */

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_debug.h>

#include "eal_start.h"
#include "program.h"
#include "stages.h"

#define MAX_PASSES 100000
#define WARM_PASSES 1000

const char uroce_app_name[] = "stages";
const char uroce_app_both_ends[] = "leave --vdev and -a out";
const char uroce_app_usage[] =
	"usage: stages [EAL arguments] -- [--size BYTES] [--passes N] [--json FILE|-]\n"
	"  --size BYTES   of a message, 1 to 4096: one packet (8)\n"
	"  --passes N     bursts that are measured, 1 to 100000 (20000)\n"
	"  --json FILE|-  write the results as JSON too; with - the table goes to standard error\n";

struct options {
	uint32_t size;
	uint32_t passes;
	const char *json;
};

/* The cycles of each pass, stage by stage. */
static uint32_t *cycles[STAGE_COUNT];

static int
options_parse(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {
		{ "size", required_argument, NULL, 's' },
		{ "passes", required_argument, NULL, 'p' },
		{ "json", required_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	char *end = NULL;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'j')
			o->json = optarg;
		else if (c == 's')
			o->size = (uint32_t)strtoul(optarg, &end, 10);
		else if (c == 'p')
			o->passes = (uint32_t)strtoul(optarg, &end, 10);
		if (c == '?' || (end != NULL && *end != '\0'))
			return -1;
	}
	return optind == argc && o->size >= 1 && o->size <= 4096 && o->passes >= 1 && o->passes <= MAX_PASSES ? 0 : -1;
}

static int
compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int
measure(struct pair_end ends[2], const struct options *o)
{
	uint32_t pass[STAGE_COUNT];

	for (uint32_t i = 0; i < RTE_MIN(o->passes, (uint32_t)WARM_PASSES); i++) {
		if (stages_pass(ends, o->size, pass) != 0)
			return -1;
	}
	for (uint32_t i = 0; i < o->passes; i++) {
		if (stages_pass(ends, o->size, pass) != 0)
			return -1;
		for (unsigned int s = 0; s < STAGE_COUNT; s++)
			cycles[s][i] = pass[s];
	}
	for (unsigned int s = 0; s < STAGE_COUNT; s++)
		qsort(cycles[s], o->passes, sizeof(cycles[s][0]), compare);
	return 0;
}

/* @return cycles of one packet, timer or round, from those of a pass */
static double
each(unsigned int stage, uint32_t all)
{
	return strcmp(stage_infos[stage].per, "burst") == 0 ? all : (double)all / UROCE_BURST;
}

static void
print_table(FILE *out, const struct options *o)
{
	const double ns = 1e9 / (double)rte_get_tsc_hz();
	double sum = 0;

	fprintf(out, "WRITE of %u bytes, bursts of %u; cycles of the TSC, %.2f GHz\n\n", o->size, UROCE_BURST, 1 / ns);
	fprintf(out, "%-38s %-7s %8s %8s %8s\n", "stage", "per", "best", "median", "ns");
	for (unsigned int s = 0; s < STAGE_COUNT; s++) {
		uint32_t median = cycles[s][o->passes / 2];

		fprintf(out, "%-38s %-7s %8.1f %8.1f %8.2f\n", stage_infos[s].text, stage_infos[s].per,
			each(s, cycles[s][0]), each(s, median), each(s, median) * ns);
		sum += stage_infos[s].sums ? (double)median / UROCE_BURST : 0;
	}
	fprintf(out, "%-38s %-7s %8s %8.1f %8.2f\n", "both ends, without the rounds", "packet", "", sum, sum * ns);
}

static int
print_json(const struct options *o)
{
	FILE *out = strcmp(o->json, "-") == 0 ? stdout : fopen(o->json, "w");
	int ret;

	if (out == NULL) {
		perror(o->json);
		return -1;
	}
	fprintf(out, "{\"size\": %u, \"burst\": %u, \"passes\": %u, \"tsc_hz\": %llu, \"stages\": [",
		o->size, UROCE_BURST, o->passes, (unsigned long long)rte_get_tsc_hz());
	for (unsigned int s = 0; s < STAGE_COUNT; s++) {
		const char *name = stage_infos[s].text + strspn(stage_infos[s].text, " ");

		fprintf(out,
			"%s\n  {\"stage\": \"%s\", \"per\": \"%s\", \"step\": %s, "
			"\"cycles_min\": %.2f, \"cycles\": %.2f}",
			s == 0 ? "" : ",", name, stage_infos[s].per, stage_infos[s].sums ? "true" : "false",
			each(s, cycles[s][0]), each(s, cycles[s][o->passes / 2]));
	}
	fprintf(out, "\n]}\n");
	ret = ferror(out) ? -1 : 0;
	if (out != stdout)
		return fclose(out) == 0 ? ret : -1;
	return fflush(out) == 0 ? ret : -1;
}

static int
run(const struct options *o)
{
	struct pair_end ends[2];
	int ret;

	for (unsigned int s = 0; s < STAGE_COUNT; s++) {
		cycles[s] = calloc(o->passes, sizeof(cycles[s][0]));
		RTE_VERIFY(cycles[s] != NULL);
	}
	if (pair_open(ends) != 0)
		return -1;
	ret = measure(ends, o);
	pair_close(ends);
	if (ret != 0)
		return ret;
	print_table(o->json != NULL && strcmp(o->json, "-") == 0 ? stderr : stdout, o);
	return o->json != NULL ? print_json(o) : 0;
}

int
main(int argc, char **argv)
{
	int eal_args = uroce_app_eal_args(argc, argv), ret;
	struct options o = { .size = 8, .passes = 20000 };

	if (eal_args < argc && options_parse(argc - eal_args, argv + eal_args, &o) != 0) {
		fputs(uroce_app_usage, stderr);
		return EXIT_FAILURE;
	}
	if (uroce_app_eal_init(eal_args, argv) != 0)
		return EXIT_FAILURE;
	ret = run(&o);
	uroce_app_eal_fini();
	for (unsigned int s = 0; s < STAGE_COUNT; s++)
		free(cycles[s]);
	return ret == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
