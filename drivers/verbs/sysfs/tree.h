/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes small text files in directories, as sysfs has them.
 */

#ifndef UROCE_DRIVERS_VERBS_SYSFS_TREE_H
#define UROCE_DRIVERS_VERBS_SYSFS_TREE_H

#include <stdbool.h>

#include "uroce_config.h"

struct uroce_tree {
	const char *root;
	char within[UROCE_VERBS_PATH_BYTES];	/* the directory of the next files, below root */
	int error;	/* errno of the first failure; later calls do nothing */
};

/** Write the next files to a directory below the root; creates it and its parents. */
__attribute__((format(printf, 2, 3))) void uroce_tree_within(struct uroce_tree *tree, const char *format, ...);

/** Write a file of one line to this directory. */
__attribute__((format(printf, 3, 4))) void uroce_tree_put(struct uroce_tree *tree, const char *name,
							  const char *format, ...);

/** Create a symbolic link in this directory. */
void uroce_tree_link(struct uroce_tree *tree, const char *name, const char *target);

/** Create a character device that cannot be opened; this needs no privilege. */
void uroce_tree_device(struct uroce_tree *tree, const char *name);

#endif /* UROCE_DRIVERS_VERBS_SYSFS_TREE_H */
