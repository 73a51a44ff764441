/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A view of /sys and /dev that only this process and its children see.
 */

#ifndef UROCE_DRIVERS_VERBS_SYSFS_VIEW_H
#define UROCE_DRIVERS_VERBS_SYSFS_VIEW_H

/**
 * From now on what this process mounts is seen by it and its children alone. Needs root, or a kernel that gives
 * users namespaces. Before there is a second thread.
 *
 * @return	0; -EPERM and others of unshare(2)
 */
int uroce_view_enter(void);

/**
 * Have a directory of the system's that can be written to: entries are what they were, but for some. After
 * uroce_view_enter().
 *
 * @param path		the directory
 * @param without	names of entries that it shall not have; NULL ends them
 * @return		0 or -errno
 */
int uroce_view_open(const char *path, const char *const *without);

#endif /* UROCE_DRIVERS_VERBS_SYSFS_VIEW_H */
