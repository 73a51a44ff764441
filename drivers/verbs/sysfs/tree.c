/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes files one after the other. After the first error no call does anything, so that the caller checks once at
 * the end. One thread.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysfs/tree.h"

enum { DIRECTORY_MODE = 0755, FILE_MODE = 0644, DEVICE_MODE = 0666 };

/* @return false: the path is too long, or an earlier call has failed */
static bool
path_of(struct uroce_tree *tree, const char *name, char path[UROCE_VERBS_PATH_BYTES])
{
	int n;

	if (tree->error != 0)
		return false;
	n = snprintf(path, UROCE_VERBS_PATH_BYTES, "%s/%s/%s", tree->root, tree->within, name);
	if (n >= UROCE_VERBS_PATH_BYTES)
		tree->error = ENAMETOOLONG;
	return tree->error == 0;
}

static void
make_directories(struct uroce_tree *tree)
{
	char path[UROCE_VERBS_PATH_BYTES];

	if (!path_of(tree, "", path))
		return;
	for (char *slash = path + strlen(tree->root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
		*slash = '\0';
		if (mkdir(path, DIRECTORY_MODE) != 0 && errno != EEXIST)
			tree->error = errno;
	}
}

void
uroce_tree_within(struct uroce_tree *tree, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(tree->within, sizeof(tree->within), format, args); /* path_of() refuses a truncated path */
	va_end(args);
	make_directories(tree);
}

void
uroce_tree_put(struct uroce_tree *tree, const char *name, const char *format, ...)
{
	char path[UROCE_VERBS_PATH_BYTES];
	va_list args;
	FILE *file;
	bool ok;

	if (!path_of(tree, name, path))
		return;
	file = fopen(path, "wxe");
	if (file == NULL) {
		tree->error = errno;
		return;
	}
	va_start(args, format);
	ok = vfprintf(file, format, args) >= 0 && fputc('\n', file) != EOF && fchmod(fileno(file), FILE_MODE) == 0;
	va_end(args);
	if (fclose(file) != 0 || !ok)
		tree->error = errno != 0 ? errno : EIO;
}

void
uroce_tree_link(struct uroce_tree *tree, const char *name, const char *target)
{
	char path[UROCE_VERBS_PATH_BYTES];

	if (path_of(tree, name, path) && symlink(target, path) != 0)
		tree->error = errno;
}

/* The kernel lets every user create device 0:0, which has no driver. */
void
uroce_tree_device(struct uroce_tree *tree, const char *name)
{
	char path[UROCE_VERBS_PATH_BYTES];

	if (path_of(tree, name, path) &&
	    (mknod(path, S_IFCHR | DEVICE_MODE, makedev(0, 0)) != 0 || chmod(path, DEVICE_MODE) != 0))
		tree->error = errno;
}
