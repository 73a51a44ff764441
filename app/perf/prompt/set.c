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

/* What a test that is about to start can still be told. */
static const char *const settable[] = {
	"op", "transport", "mode", "size", "mtu", "qps", "depth", "time", "iters", "verify", "fault", "impair",
	"congestion",
};

/* In the words of the prompt, options have no dashes. */
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

static bool
is_settable(const char *name)
{
	for (unsigned int i = 0; i < RTE_DIM(settable); i++) {
		if (strcmp(name, settable[i]) == 0)
			return true;
	}
	return false;
}

/* What the command line turns off by not saying it. @return false: it is something else */
static bool
turn(struct perf_options *o, const char *name, const char *value)
{
	const bool off = strcmp(value, "off") == 0;

	if (strcmp(name, "verify") == 0 && (off || strcmp(value, "on") == 0))
		o->verify = !off;
	else if (strcmp(name, "impair") == 0 && off)
		o->impair = NULL;
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
	if (!is_settable(name)) {
		snprintf(error, room, "%.64s cannot be set: help set says what can", name);
		return -EINVAL;
	}
	if (turn(&changed, name, value)) {
		argc = 1;
	} else if (strcmp(name, "verify") == 0) {
		snprintf(error, room, "verify %.64s: on or off", value);
		return -EINVAL;
	}
	if (strcmp(name, "time") == 0) /* of time and iters the later one counts */
		changed.iters = 0;
	if (strcmp(name, "iters") == 0)
		changed.asked.time_given = false;
	if (uroce_perf_options_change(&changed, argc, argv, error, room) != 0) {
		undash(error);
		return -EINVAL;
	}
	if (strcmp(name, "impair") == 0 && changed.impair != NULL)
		changed.impair = value; /* as the caller has it, not as it was copied */
	*o = changed;
	return 0;
}
