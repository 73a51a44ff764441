/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "process.h"

static void
set(const char *name, const char *value)
{
	if (value == NULL)
		unsetenv(name);
	else
		setenv(name, value, 1);
}

static void
read_all(int fd, char said[PROCESS_TEXT_BYTES])
{
	size_t bytes = 0;
	ssize_t n;
	char rest[256];

	while (bytes < PROCESS_TEXT_BYTES - 1 && (n = read(fd, said + bytes, PROCESS_TEXT_BYTES - 1 - bytes)) > 0)
		bytes += (size_t)n;
	said[bytes] = '\0';
	while (read(fd, rest, sizeof(rest)) > 0)
		;
}

/* Ends by _exit(): the parent does what cmocka and the sanitizers do at exit. */
void
process_run(const char *eal_args, const char *addresses, int (*fn)(void), char said[PROCESS_TEXT_BYTES])
{
	int pipes[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(pipes[0]);
		dup2(pipes[1], STDERR_FILENO);
		close(pipes[1]);
		set("UROCE_EAL_ARGS", eal_args);
		set("UROCE_ADDR", addresses);
		_exit(fn() == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
	}
	close(pipes[1]);
	read_all(pipes[0], said);
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFSIGNALED(status))
		fail_msg("ended by signal %d: %s", WTERMSIG(status), said);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != EXIT_SUCCESS)
		fail_msg("%s", said);
}
