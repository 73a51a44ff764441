/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the process that holds a port among the ancestors of this process, by its environment and its thread.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "progress/holder.h"
#include "uroce_config.h"

#define ARGS "--no-pci --vdev=net_null0"

enum found { NOBODY, PARENT, SOMEBODY };

/* The result in a child, or in a child's child. */
static enum found
search(const char *args, unsigned int generations)
{
	const pid_t parent = getpid();
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < generations; i++) {
		pid = fork();
		assert_true(pid >= 0);
		if (pid > 0) {
			assert_int_equal(waitpid(pid, &status, 0), pid);
			if (getpid() != parent)
				_exit(WEXITSTATUS(status));
			return (enum found)WEXITSTATUS(status);
		}
		pthread_setname_np(pthread_self(), "child");
	}
	pid = uroce_holder_ancestor(args);
	_exit(pid == 0 ? NOBODY : pid == parent ? PARENT : SOMEBODY);
}

static void
test_ancestor(void **state)
{
	char name[16];

	assert_int_equal(search(ARGS, 1), NOBODY);
	assert_int_equal(pthread_setname_np(pthread_self(), UROCE_VERBS_THREAD_NAME), 0);
	assert_int_equal(search(ARGS, 1), PARENT);
	assert_int_equal(search(ARGS, 3), PARENT);
	assert_int_equal(search("--vdev=net_null1", 1), NOBODY);	/* the process has other ports */
	uroce_holder_name(getpid(), name, sizeof(name));
	assert_string_equal(name, UROCE_VERBS_THREAD_NAME);
	/* a thread's name may contain parentheses and blanks */
	assert_int_equal(pthread_setname_np(pthread_self(), ") S 1 (x y"), 0);
	assert_int_equal(search(ARGS, 2), NOBODY);
}

static void
test_no_process(void **state)
{
	char name[16];

	uroce_holder_name(-1, name, sizeof(name));
	assert_string_equal(name, "?");
}

int
main(int argc, char *argv[])
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ancestor),
		cmocka_unit_test(test_no_process),
	};

	/* other processes see the environment with which a program was started */
	if (getenv("UROCE_EAL_ARGS") == NULL) {
		setenv("UROCE_EAL_ARGS", ARGS, 1);
		execv("/proc/self/exe", argv);
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
