/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 *	sim [--seed N | --seeds A..B] [--steps M] [--log2-window N] [-v] [--moves] [--digests | --expect FILE]
 *
 * and options with which shrink.py leaves parts out.
 */

#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "digest.h"
#include "keep.h"
#include "uroce_config.h"
#include "without.h"

#define DEFAULT_STEPS 200
#define KEEP_OPTION   256 /* first of the options with a list, one for each enum keep_what */

static const char help[] =
	"usage: sim [--seed N | --seeds A..B] [--steps M] [--log2-window N] [-v]\n"
	"           [--digests] [--expect FILE]\n"
	"           [--moves] [--conns N] [--no FEATURE,...] [--unspared] [--account]\n"
	"           [--actions LIST] [--harm LIST] [--reconnects LIST] [--scenarios LIST]\n"
	"LIST is 'none', or numbers and ranges: 1-5,8\n";

static void
usage(const char *problem)
{
	fprintf(stderr, "sim: %s\n%s", problem, help);
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

static unsigned int
parse_count(const char *text)
{
	char *end;
	uint64_t value = parse_number(text, &end);

	if (*end != '\0' || value > UINT32_MAX)
		usage("number out of range");
	return (unsigned int)value;
}

static unsigned int
parse_window(const char *text)
{
	unsigned int log2 = parse_count(text);

	if (log2 < UROCE_MIN_LOG2_WINDOW || log2 > UROCE_MAX_LOG2_WINDOW)
		usage("the window is out of range");
	return log2;
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
parse_option(struct options *o, int c)
{
	switch (c) {
	case 's': parse_seeds(o, optarg); break;
	case 'n': o->steps = parse_count(optarg); break;
	case 'c': o->conns = parse_count(optarg); break;
	case 'W': o->log2_window = parse_window(optarg); break;
	case 'u': o->unspared = true; break;
	case 'm': o->moves = true; break;
	case 'a': o->account = true; break;
	case 'v': o->verbose = true; break;
	case 'd': o->digests = true; break;
	case 'h': fputs(help, stdout); exit(0);
	case 'e': digest_load(o->expect = optarg); break;
	case 'w':
		if (!without_parse(optarg))
			usage("unknown feature");
		break;
	default:
		if (c < KEEP_OPTION)
			usage("unknown option");
		if (!keep_parse((enum keep_what)(c - KEEP_OPTION), optarg))
			usage("not a list");
	}
}

void
options_parse(struct options *o, int argc, char **argv)
{
	const struct option names[] = {
		{ "seed", required_argument, NULL, 's' },
		{ "seeds", required_argument, NULL, 's' },
		{ "steps", required_argument, NULL, 'n' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "digests", no_argument, NULL, 'd' },
		{ "expect", required_argument, NULL, 'e' },
		{ "log2-window", required_argument, NULL, 'W' },
		{ "conns", required_argument, NULL, 'c' },
		{ "no", required_argument, NULL, 'w' },
		{ "unspared", no_argument, NULL, 'u' },
		{ "moves", no_argument, NULL, 'm' },
		{ "account", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{ keep_names[KEEP_ACTIONS], required_argument, NULL, KEEP_OPTION + KEEP_ACTIONS },
		{ keep_names[KEEP_HARM], required_argument, NULL, KEEP_OPTION + KEEP_HARM },
		{ keep_names[KEEP_RECONNECTS], required_argument, NULL, KEEP_OPTION + KEEP_RECONNECTS },
		{ keep_names[KEEP_SCENARIOS], required_argument, NULL, KEEP_OPTION + KEEP_SCENARIOS },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	memset(o, 0, sizeof(*o));
	o->first_seed = o->last_seed = (uint64_t)time(NULL);
	o->steps = DEFAULT_STEPS;
	while ((c = getopt_long(argc, argv, "v", names, NULL)) != -1)
		parse_option(o, c);
	if (optind != argc)
		usage("unexpected argument");
}
