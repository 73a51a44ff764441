/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The unit tests of a folder are one program, unit_FOLDER. Each test file registers a group of tests with it:
 *
 *	UROCE_TESTS(ack)
 *	{
 *		const struct CMUnitTest tests[] = {
 *			cmocka_unit_test(test_something),
 *		};
 *
 *		return cmocka_run_group_tests(tests, NULL, NULL);
 *	}
 *
 * The name is that of the test in the folder's meson.build. `unit_transport ack` runs the group, as `meson test ack` does.
 */

#ifndef UROCE_TEST_GROUPS_H
#define UROCE_TEST_GROUPS_H

struct test_group {
	const char *name;
	int (*run)(void);	/* returns how many tests failed, the exit status */
	struct test_group *next;
};

/** Called before main(). */
void test_group_register(struct test_group *group);

/** Run the tests that the pattern of --test matches. Parameters and return value: cmocka_run_group_tests(). */
int test_group_run(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
		   CMFixtureFunction teardown);
#define _cmocka_run_group_tests test_group_run	/* what cmocka_run_group_tests() calls */

/* The function is not static: two groups of one name do not link. */
#define UROCE_TESTS(group) \
	int uroce_tests_##group(void); \
	static struct test_group group_##group = { .name = #group, .run = uroce_tests_##group }; \
	__attribute__((constructor)) static void \
	register_##group(void) \
	{ \
		test_group_register(&group_##group); \
	} \
	int \
	uroce_tests_##group(void)

#endif /* UROCE_TEST_GROUPS_H */
