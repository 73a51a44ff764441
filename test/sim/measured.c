/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "measured.h"
#include "sim.h"
#include "trace.h"

struct world world;
struct stream streams[STREAM_MOST];

void
sim_fail(const char *format, ...)
{
	va_list args;

	trace_dump();
	printf("at %" PRIu64 " ns: ", world.now_ns);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(1);
}

void
measured_stop(unsigned int n)
{
	streams_finish(&world, streams, n);
	for (unsigned int i = 0; i < n; i++)
		stream_destroy(&streams[i]);
	world_fini(&world);
}

double
measured_number(double least, double most, void (*usage)(const char *problem))
{
	char *end;
	double value = strtod(optarg, &end);

	if (end == optarg || *end != '\0' || !(value >= least && value <= most))
		usage("a number is missing, or out of range");
	return value;
}
