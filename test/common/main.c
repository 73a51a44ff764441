/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * main() of the unit tests of a folder: runs the groups that its arguments name, or all.
 *
 * A group that is named alone runs in the process itself, for a debugger. Of several each runs in a process of its own:
 * each initializes EAL, which a process can do only once. The exit status is 2 if --test matches no test.
 */

#include <fnmatch.h>
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

#undef _cmocka_run_group_tests

#define EXIT_USAGE 2

static struct test_group *groups;	/* by name */
static const char *pattern;		/* of --test; NULL: all tests */
static bool any_matches = true;	/* a test of this process, or of a child, matches the pattern */

void
test_group_register(struct test_group *group)
{
	struct test_group **place = &groups;

	while (*place != NULL && strcmp((*place)->name, group->name) < 0)
		place = &(*place)->next;
	group->next = *place;
	*place = group;
}

int
test_group_run(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
	       CMFixtureFunction teardown)
{
	for (size_t i = 0; i < count; i++)
		any_matches |= pattern != NULL && fnmatch(pattern, tests[i].name, 0) == 0;
	return _cmocka_run_group_tests(name, tests, count, setup, teardown);
}

static const struct test_group *
find_group(const char *program, const char *name)
{
	for (const struct test_group *g = groups; g != NULL; g = g->next)
		if (strcmp(g->name, name) == 0)
			return g;
	fprintf(stderr, "%s: there is no group '%s'; --list prints all\n", program, name);
	exit(EXIT_USAGE);
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
		exit(group->run() != 0 ? EXIT_FAILURE : any_matches ? EXIT_SUCCESS : EXIT_USAGE);
	if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)) {
		if (WEXITSTATUS(status) == EXIT_SUCCESS) {
			any_matches = true;
			return true;
		}
		if (pattern != NULL && WEXITSTATUS(status) == EXIT_USAGE)
			return true; /* no test of this group matches: one of another group must */
	}
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
	return EXIT_USAGE;
}

/* @return whether all groups passed that the arguments name, or all groups */
static bool
run(int argc, char **argv)
{
	bool passed = true;

	if (argc == 2)
		return find_group(argv[0], argv[1])->run() == 0;
	for (const struct test_group *g = groups; argc == 1 && g != NULL; g = g->next)
		passed &= run_in_child(g);
	for (int i = 1; i < argc; i++)
		passed &= run_in_child(find_group(argv[0], argv[i]));
	return passed;
}

int
main(int argc, char **argv)
{
	const char *program = argv[0];
	bool passed;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	if (argc > 2 && strcmp(argv[1], "--test") == 0) {
		pattern = argv[2];
		any_matches = false;
		cmocka_set_test_filter(pattern);
		argv[2] = argv[0];
		argc -= 2;
		argv += 2;
	}
	if (argc > 1 && argv[1][0] == '-')
		return usage(program);
	passed = run(argc, argv);
	if (!any_matches) {
		fprintf(stderr, "%s: no test matches '%s'\n", program, pattern);
		return EXIT_USAGE;
	}
	return passed ? EXIT_SUCCESS : EXIT_FAILURE;
}
