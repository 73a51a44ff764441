/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A directory that other processes see unchanged, and that a child of this process sees with additions and omissions.
 * Skipped if the kernel gives this user no namespace.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "groups.h"
#include "sysfs/view.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, strerror(errno)); \
			return 1; \
		} \
	} while (0)

enum { SKIPPED = 77 };

static char root[] = "/tmp/uroce-view-XXXXXX";

static bool
has(const char *name, const char *text)
{
	char got[16] = "";
	int fd = open(name, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, got, sizeof(got) - 1);

	if (fd >= 0)
		close(fd);
	return n >= 0 && strcmp(got, text) == 0;
}

static int
write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");
	int ret = file == NULL ? -1 : fputs(text, file);

	return file == NULL || fclose(file) != 0 || ret < 0 ? -1 : 0;
}

/* The user, and the existing files, are the same; created files are not visible outside. */
static int
look(void)
{
	static const char *const without[] = { "hidden", "no such one", NULL };
	const uid_t uid = geteuid();
	struct stat st;

	if (uroce_view_enter() != 0)
		return SKIPPED;
	CHECK(geteuid() == uid);
	CHECK(uroce_view_open("no such one", without) == -ENOENT);
	CHECK(uroce_view_open("file", without) == -ENOTDIR);
	CHECK(uroce_view_open(root, without) == 0);
	CHECK(chdir("/") == 0 && chdir(root) == 0);
	CHECK(has("directory/in it", "in it") && (has("link", "file") || has("link", "changed")));
	CHECK(lstat("link", &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(stat("hidden", &st) != 0 && errno == ENOENT);
	CHECK(write_file("file", "changed") == 0);	/* it is the same file */
	CHECK(mkdir("hidden", 0755) == 0 && write_file("hidden/new", "") == 0 && write_file("new", "") == 0);
	/* a directory that is a copy itself can be copied again */
	CHECK(uroce_view_open(root, (const char *const[]){ "new", NULL }) == 0);
	CHECK(chdir("/") == 0 && chdir(root) == 0);
	CHECK(has("directory/in it", "in it") && has("hidden/new", "") && stat("new", &st) != 0);
	return 0;
}

/* As an ordinary user, too, if the test runs as root. */
static int
look_as_user(void)
{
	if (chmod(root, 0777) != 0 || chmod("file", 0666) != 0 || setgid(65534) != 0 || setuid(65534) != 0)
		return SKIPPED;
	prctl(PR_SET_DUMPABLE, 1);	/* as after an exec: otherwise the process does not own its /proc/self */
	return look();
}

static int
status_of(int (*fn)(void))
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(fn());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	return WEXITSTATUS(status);
}

static void
assert_only_the_file_has_changed(void)
{
	struct stat st;

	assert_true(has("file", "changed"));
	assert_int_equal(stat("new", &st), -1);
	assert_int_equal(stat("hidden/new", &st), -1);
	assert_true(has("hidden/old", "old"));
}

static void
test_view(void **state)
{
	assert_int_equal(status_of(look), 0);
	assert_only_the_file_has_changed();
}

static void
test_user(void **state)
{
	assert_int_equal(status_of(look_as_user), 0);
	assert_only_the_file_has_changed();
}

static int
make_root(void **state)
{
	if (mkdtemp(root) == NULL || chdir(root) != 0 || mkdir("directory", 0755) != 0 || mkdir("hidden", 0755) != 0)
		return -1;
	return write_file("file", "file") != 0 || write_file("directory/in it", "in it") != 0 ||
	       write_file("hidden/old", "old") != 0 || symlink("file", "link") != 0 ? -1 : 0;
}

static int
remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "cd /; rm -rf %s", root);
	return system(command);
}

UROCE_TESTS(view)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view),
		cmocka_unit_test(test_user),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
