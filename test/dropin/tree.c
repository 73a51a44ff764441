/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Small files, links and devices in directories; and the first error.
 */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "groups.h"
#include "sysfs/tree.h"

#define AT_ROOT(name) at(root, name)

static char root[] = "/tmp/uroce-tree-XXXXXX";

static const char *
at(const char *directory, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static void
assert_file(const char *name, const char *text)
{
	char got[64] = "";
	FILE *file = fopen(AT_ROOT(name), "r");

	assert_non_null(file);
	assert_true(fread(got, 1, sizeof(got) - 1, file) > 0);
	fclose(file);
	assert_string_equal(got, text);
}

static void
test_files(void **state)
{
	struct uroce_tree tree = { .root = root };
	const mode_t mask = umask(077);	/* which does not apply to these files */
	struct stat st;
	char target[16] = "";

	uroce_tree_within(&tree, "a/%s", "b");
	uroce_tree_put(&tree, "number", "0x%04x", 0xabu);
	uroce_tree_link(&tree, "link", "../c");
	uroce_tree_within(&tree, "a");
	uroce_tree_put(&tree, "empty", "%s", "");
	uroce_tree_within(&tree, "c");
	uroce_tree_device(&tree, "node");
	assert_int_equal(tree.error, 0);
	umask(mask);
	assert_file("a/b/number", "0x00ab\n");
	assert_int_equal(stat(AT_ROOT("a/b/number"), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0644);
	assert_file("a/empty", "\n");
	assert_int_equal(readlink(AT_ROOT("a/b/link"), target, sizeof(target) - 1), 4);
	assert_string_equal(target, "../c");
	assert_int_equal(stat(AT_ROOT("c/node"), &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0666);
	assert_int_equal(st.st_rdev, 0);
}

/* The first error is kept, and nothing is created after it. */
static void
test_errors(void **state)
{
	struct uroce_tree tree = { .root = root };
	char longer[UROCE_VERBS_PATH_BYTES];
	struct stat st;

	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	uroce_tree_within(&tree, "d");
	uroce_tree_put(&tree, "file", "%s", "once");
	uroce_tree_put(&tree, "file", "%s", "twice");
	assert_int_equal(tree.error, EEXIST);
	uroce_tree_put(&tree, "other", "%s", "");
	uroce_tree_link(&tree, "link", "file");
	uroce_tree_device(&tree, "node");
	uroce_tree_within(&tree, "d/e");
	assert_int_equal(tree.error, EEXIST);
	assert_file("d/file", "once\n");
	for (size_t i = 0; i < 4; i++) {
		static const char *const names[] = { "d/other", "d/link", "d/node", "d/e" };

		assert_int_equal(lstat(AT_ROOT(names[i]), &st), -1);
	}
	uroce_tree_put(&tree, longer, "%s", "");
	assert_int_equal(tree.error, EEXIST);
	tree = (struct uroce_tree){ .root = root, .within = "d" };
	uroce_tree_link(&tree, "file", "other");
	assert_int_equal(tree.error, EEXIST);
	tree = (struct uroce_tree){ .root = root, .within = "d" };
	uroce_tree_device(&tree, "file");
	assert_int_equal(tree.error, EEXIST);
	tree = (struct uroce_tree){ .root = root };
	uroce_tree_within(&tree, "d/file/f");
	assert_int_equal(tree.error, ENOTDIR);
	tree = (struct uroce_tree){ .root = root };
	uroce_tree_within(&tree, "%0*d", UROCE_VERBS_PATH_BYTES, 1);
	assert_int_equal(tree.error, ENAMETOOLONG);
	tree = (struct uroce_tree){ .root = root };
	uroce_tree_within(&tree, "%0*d", UROCE_VERBS_PATH_BYTES - 1, 1);	/* too long together with the root */
	assert_int_equal(tree.error, ENAMETOOLONG);
}

/* Names of the maximum length, and longer ones. */
static void
test_longest(void **state)
{
	struct uroce_tree tree = { .root = root };
	char name[UROCE_VERBS_PATH_BYTES];
	size_t room;

	uroce_tree_within(&tree, "%0*d/%0*d", 200, 1, 200, 1);
	assert_int_equal(tree.error, 0);
	room = UROCE_VERBS_PATH_BYTES - (strlen(root) + 1 + strlen(tree.within) + 1);
	memset(name, 'x', room);
	name[room - 1] = '\0';
	uroce_tree_put(&tree, name, "%s", "");
	assert_int_equal(tree.error, 0);
	name[room - 1] = 'x';
	name[room] = '\0';
	uroce_tree_put(&tree, name, "%s", "");
	assert_int_equal(tree.error, ENAMETOOLONG);
}

/* Write errors are detected. */
static void
test_no_room(void **state)
{
	struct uroce_tree tree = { .root = root };
	struct rlimit most, none;

	uroce_tree_within(&tree, "e");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &most), 0);
	none = (struct rlimit){ .rlim_max = most.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	uroce_tree_put(&tree, "file", "%s", "text");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
	assert_int_equal(tree.error, EFBIG);
}

static int
make_root(void **state)
{
	return mkdtemp(root) == NULL ? -1 : 0;
}

static int
remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

UROCE_TESTS(tree)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_longest),
		cmocka_unit_test(test_no_room),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
