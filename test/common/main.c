/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * main() of the unit tests of a folder: runs the groups that its arguments name, or all.
 *
 * A group that is named alone runs in the process itself, for a debugger. Of several each runs in a process of its own:
 * each initializes EAL, which a process can do only once.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "groups.h"

static struct test_group *groups;	/* by name */

void
test_group_register(struct test_group *group)
{
	struct test_group **place = &groups;

	while (*place != NULL && strcmp((*place)->name, group->name) < 0)
		place = &(*place)->next;
	group->next = *place;
	*place = group;
}

static const struct test_group *
find_group(const char *program, const char *name)
{
	for (const struct test_group *g = groups; g != NULL; g = g->next)
		if (strcmp(g->name, name) == 0)
			return g;
	fprintf(stderr, "%s: there is no group '%s'; --list prints all\n", program, name);
	exit(2);
}

/* @return whether the group passed */
static bool
run_in_child(const struct test_group *group)
{
	int status;
	pid_t child;

	printf("%s:\n", group->name);
	fflush(stdout);
	child = fork();
	if (child == 0)
		exit(group->run() == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	if (child > 0 && waitpid(child, &status, 0) == child && status == 0)
		return true;
	fprintf(stderr, "group %s failed\n", group->name);
	return false;
}

static int
list(void)
{
	for (const struct test_group *g = groups; g != NULL; g = g->next)
		puts(g->name);
	return EXIT_SUCCESS;
}

static int
usage(const char *program)
{
	fprintf(stderr, "usage: %s [--list] [--test PATTERN] [GROUP...]\n", program);
	return 2;
}

int
main(int argc, char **argv)
{
	const char *program = argv[0];
	bool passed = true;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	if (argc > 2 && strcmp(argv[1], "--test") == 0) {
		cmocka_set_test_filter(argv[2]);
		argc -= 2;
		argv += 2;
	}
	if (argc > 1 && argv[1][0] == '-')
		return usage(program);
	if (argc == 2)
		return find_group(program, argv[1])->run();
	for (const struct test_group *g = groups; argc == 1 && g != NULL; g = g->next)
		passed &= run_in_child(g);
	for (int i = 1; i < argc; i++)
		passed &= run_in_child(find_group(program, argv[i]));
	return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
