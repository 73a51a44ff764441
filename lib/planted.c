/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Which fault is planted (uroce_planted.h), from the environment, before main(). Not in ordinary builds.
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
	const char *what;
} faults[] = {
	{ "none", "nothing is broken" },
#define FAULT_ROW(constant, name, what) { name, what },
	UROCE_PLANTED_FAULTS(FAULT_ROW)
#undef FAULT_ROW
};

/* "list": what there is to choose from. */
static void
list(void)
{
	for (unsigned int i = 1; i < RTE_DIM(faults); i++)
		printf("%s\t%s\n", faults[i].name, faults[i].what);
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
	fprintf(stderr, VARIABLE ": there is no fault '%s'; 'list' tells which there are\n", name);
	exit(2);
}
