/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Part of the library in a build with planted faults: before main(), reads from the environment which fault is active.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "uroce_planted.h"

#define VARIABLE "UROCE_PLANTED_FAULT"

enum uroce_planted uroce_planted;

static const struct {
	const char *name;
	const char *breaks;
} faults[] = {
	{ "none", "nothing" },
#define FAULT_ROW(constant, name, breaks) { name, breaks },
	UROCE_PLANTED_FAULTS(FAULT_ROW)
#undef FAULT_ROW
};

/* UROCE_PLANTED_FAULT=list prints each fault's name and what it breaks. */
static void
list(void)
{
	for (unsigned int i = 1; i < RTE_DIM(faults); i++)
		printf("%s\t%s\n", faults[i].name, faults[i].breaks);
	exit(0);
}

RTE_INIT(choose)
{
	const char *name = getenv(VARIABLE);

	if (name == NULL)
		return;
	if (strcmp(name, "list") == 0)
		list();
	for (unsigned int i = 0; i < RTE_DIM(faults); i++)
		if (strcmp(name, faults[i].name) == 0) {
			uroce_planted = (enum uroce_planted)i;
			return;
		}
	fprintf(stderr, VARIABLE ": there is no fault '%s'; " VARIABLE "=list prints them\n", name);
	exit(2);
}
