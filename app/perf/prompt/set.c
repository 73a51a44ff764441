/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command set: changes an option of the command line, named without its dashes. The command line's own parser
 * checks it. The prompt's thread.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "prompt/set.h"

/* Options have no dashes in the prompt. */
static void
undash(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0';) {
		if (strncmp(from, "--", 2) == 0 && (from == text || from[-1] == ' '))
			from += 2;
		else
			*to++ = *from++;
	}
	*to = '\0';
}

/* Handle options that the command line turns off by leaving them out. @return false: another option or value */
static bool
turn(struct perf_options *o, const char *name, const char *value)
{
	const bool off = strcmp(value, "off") == 0;

	if (strcmp(name, "verify") == 0 && (off || strcmp(value, "on") == 0))
		o->verify = !off;
	else if (strcmp(name, "impair") == 0 && off)
		o->impair = NULL;
	else if (strcmp(name, "buffers") == 0 && off)
		o->buffers = 0;
	else if (strcmp(name, "fault") == 0 && off)
		o->fault = -1;
	else
		return false;
	return true;
}

int
uroce_perf_set(struct perf_options *o, const char *name, const char *value, char *error, size_t room)
{
	static char program[] = "set";
	struct perf_options changed = *o;
	char option[32], argument[UROCE_PERF_COMMAND_BYTES];
	char *argv[] = { program, option, argument };
	int argc = RTE_DIM(argv);

	snprintf(option, sizeof(option), "--%s", name);
	snprintf(argument, sizeof(argument), "%s", value);
	if (turn(&changed, name, value)) {
		argc = 1;
	} else if (strcmp(name, "verify") == 0) {
		snprintf(error, room, "verify %.64s: use on or off", value);
		return -EINVAL;
	}
	if (strcmp(name, "time") == 0) /* the later one of time and iters counts */
		changed.iters = 0;
	if (strcmp(name, "iters") == 0)
		changed.asked.time_given = false;
	if (uroce_perf_options_change(&changed, argc, argv, error, room) != 0) {
		undash(error);
		return -EINVAL;
	}
	if (strcmp(name, "impair") == 0 && changed.impair != NULL)
		changed.impair = value; /* the caller's string, which outlives the copy */
	*o = changed;
	return 0;
}
