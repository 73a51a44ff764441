/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses arguments and measures one table after the other. Without a list of counts, measures the tables of
 * doc/reference/performance.
 */

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_eal.h>

#include "program.h"
#include "scale.h"

const char uroce_app_name[] = "scale";
const char uroce_app_both_ends[] = "leave the port out";
const char uroce_app_usage[] =
	"scale [EAL arguments] -- [--qps N,...] [--mrs N,...] [--timers N,...] [--connections N] [--workers]\n"
	"	[--size BYTES] [--seconds S] [--json FILE|-]\n";

static int
wrong(const char *option, const char *text)
{
	fprintf(stderr, "scale: --%s %s: not a number, or too many, or too large\n%s", option, text, uroce_app_usage);
	return -1;
}

static int
number_parse(const char *option, const char *text, uint32_t least, uint32_t most, uint32_t *n)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < least || value > most)
		return wrong(option, text);
	*n = (uint32_t)value;
	return 0;
}

static int
counts_parse(const char *option, char *text, uint32_t least, uint32_t most, struct scale_counts *c)
{
	char *next, *rest = text;

	c->count = 0;
	while ((next = strsep(&rest, ",")) != NULL) {
		if (c->count == SCALE_COUNTS)
			return wrong(option, next);
		if (number_parse(option, next, least, most, &c->n[c->count++]) != 0)
			return -1;
	}
	return 0;
}

static int
seconds_parse(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	return end == text || *end != '\0' || !(*seconds > 0 && *seconds <= 60) ? wrong("seconds", text) : 0;
}

static const struct option long_options[] = {
	{ "qps", required_argument, NULL, 'q' },
	{ "mrs", required_argument, NULL, 'm' },
	{ "timers", required_argument, NULL, 't' },
	{ "connections", required_argument, NULL, 'c' },
	{ "workers", no_argument, NULL, 'w' },
	{ "size", required_argument, NULL, 's' },
	{ "seconds", required_argument, NULL, 'd' },
	{ "json", required_argument, NULL, 'j' },
	{ NULL, 0, NULL, 0 },
};

static int
option_set(struct scale_options *o, int option, char *arg)
{
	switch (option) {
	case 'q': return counts_parse("qps", arg, 1, 1u << (UROCE_LOG2_LIMIT_QP - 1), &o->qps);
	case 'm': return counts_parse("mrs", arg, 1, 1u << (UROCE_LOG2_LIMIT_MR - 1), &o->mrs);
	case 't': return counts_parse("timers", arg, 0, 10000000, &o->timers);
	case 'c': return number_parse("connections", arg, 0, 10000, &o->connections);
	case 'w': o->workers = true; return 0;
	case 's': return number_parse("size", arg, 1, SCALE_MTU, &o->size);
	case 'd': return seconds_parse(arg, &o->seconds);
	case 'j': o->json = arg; return 0;
	default: fprintf(stderr, "%s", uroce_app_usage); return -1;
	}
}

static const struct scale_counts default_qps = { { 1, 64, 1024, 16384, 65536 }, 5 };
static const struct scale_counts default_mrs = { { 1, 1000, 100000, 1000000 }, 4 };
static const struct scale_counts default_timers = { { 0, 1000, 65536, 100000 }, 4 };

static int
options_parse(struct scale_options *o, int argc, char **argv)
{
	int option;

	*o = (struct scale_options){ .size = SCALE_MTU, .seconds = 0.3 };
	optind = 0; /* glibc: start again, EAL has used getopt */
	while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (option_set(o, option, optarg) != 0)
			return -1;
	}
	if (optind < argc)
		return wrong("", argv[optind]);
	if (o->qps.count + o->mrs.count + o->timers.count + o->connections == 0 && !o->workers) {
		o->qps = default_qps;
		o->mrs = default_mrs;
		o->timers = default_timers;
		o->connections = 1000;
		o->workers = true;
	}
	return 0;
}

static int
results_write(const struct scale_options *o, const struct scale_report *report)
{
	FILE *out = stdout;
	int ret;

	if (o->json == NULL || strcmp(o->json, "-") != 0)
		scale_report_text(report, stdout);
	if (o->json == NULL)
		return 0;
	if (strcmp(o->json, "-") != 0)
		out = fopen(o->json, "we");
	ret = out == NULL ? -1 : scale_report_json(report, out);
	if (out != NULL && out != stdout && fclose(out) != 0)
		ret = -1;
	if (ret != 0)
		fprintf(stderr, "scale: --json %s: it could not be written\n", o->json);
	return ret;
}

int
main(int argc, char **argv)
{
	static struct scale_report report;
	struct scale_options options;
	int used = rte_eal_init(argc, argv);

	if (used < 0 || options_parse(&options, argc - used, argv + used) != 0)
		return 2;
	scale_qps(&options, &report);
	scale_mrs(&options, &report);
	scale_timers(&options, &report);
	scale_connections(&options, &report);
	scale_workers(&options, &report);
	used = results_write(&options, &report) != 0;
	rte_eal_cleanup();
	return used;
}
