/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The switch's directory: one switch at a time, what a killed one has left is removed, and nobody else's is taken.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dir.h"

static char top[64];

static void
put(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
}

static void
test_take(void **state)
{
	struct switch_dir d, other;
	char path[128], ports[160], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/new", top);
	snprintf(ports, sizeof(ports), "%s/ports", path);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	assert_string_equal(d.path, path);
	assert_int_equal(uroce_switch_dir_take(&other, path), -EBUSY);
	assert_int_not_equal(access(ports, F_OK), 0);
	assert_int_equal(uroce_switch_dir_open(&d, 12), 0);
	f = fopen(ports, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, "12\n");
	fclose(f);
	put(d.socket);
	uroce_switch_dir_release(&d);
	assert_int_not_equal(access(ports, F_OK), 0);
	assert_int_not_equal(access(d.socket, F_OK), 0);
	put(d.socket); /* as one that was killed leaves them */
	put(ports);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	assert_int_not_equal(access(d.socket, F_OK), 0);
	assert_int_not_equal(access(ports, F_OK), 0);
	uroce_switch_dir_release(&d);
}

/* Who may write to the directory, too, leads the switch to no other file. */
static void
test_link(void **state)
{
	char path[128], ports[160], other[160];
	struct switch_dir d;
	struct stat st;

	snprintf(path, sizeof(path), "%s/link-in", top);
	snprintf(ports, sizeof(ports), "%s/ports", path);
	snprintf(other, sizeof(other), "%s/other", path);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	put(other);
	assert_int_equal(symlink(other, ports), 0);
	assert_int_equal(uroce_switch_dir_open(&d, 12), -EEXIST);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 0);
	uroce_switch_dir_release(&d);
}

/* Who looks whether there is a switch keeps none from starting. */
static void
test_looked_at(void **state)
{
	const struct timespec a_moment = { .tv_nsec = 20000000 };
	char path[128], lock[140], byte = 0;
	struct switch_dir d;
	int pipes[2], fd, status;
	pid_t child;

	snprintf(path, sizeof(path), "%s/looked", top);
	snprintf(lock, sizeof(lock), "%s/lock", path);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	uroce_switch_dir_release(&d);
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		fd = open(lock, O_RDONLY);
		if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(pipes[1], &byte, 1) != 1)
			_exit(1);
		nanosleep(&a_moment, NULL);
		_exit(0);
	}
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	uroce_switch_dir_release(&d);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(pipes[0]);
	close(pipes[1]);
}

static void
test_own(void **state)
{
	struct switch_dir d;
	char expected[128];

	setenv("XDG_RUNTIME_DIR", top, 1);
	snprintf(expected, sizeof(expected), "%s/uroce/memif", top);
	assert_int_equal(uroce_switch_dir_take(&d, NULL), 0);
	assert_string_equal(d.socket, expected);
	uroce_switch_dir_release(&d);
	snprintf(expected, sizeof(expected), "%s/named", top);
	setenv("UROCE_DIR", expected, 1);
	assert_int_equal(uroce_switch_dir_take(&d, NULL), 0);
	assert_string_equal(d.path, expected);
	uroce_switch_dir_release(&d);
	unsetenv("UROCE_DIR");
}

static void
test_refused(void **state)
{
	struct switch_dir d;
	char path[256];

	snprintf(path, sizeof(path), "%s/file", top);
	put(path);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/link", top);
	assert_int_equal(symlink(top, path), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/a,b", top);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EINVAL);
	snprintf(path, sizeof(path), "%s/a b", top);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EINVAL);
	snprintf(path, sizeof(path), "%s/not/there", top);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENOENT);
	memset(path, 'x', 120);
	path[0] = '/';
	path[120] = '\0';
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENAMETOOLONG);
	if (geteuid() != 0)
		return;
	snprintf(path, sizeof(path), "%s/theirs", top);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EACCES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_looked_at),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_refused),
	};
	char command[96];
	int ret;

	snprintf(top, sizeof(top), "/tmp/uroce-switch-XXXXXX");
	if (mkdtemp(top) == NULL)
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command) == 0 ? ret : 1;
}
