/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A view of /sys and /dev that only this process and its children see.
 */

#ifndef UROCE_DRIVERS_VERBS_SYSFS_VIEW_H
#define UROCE_DRIVERS_VERBS_SYSFS_VIEW_H

/**
 * Enter a private mount namespace: only this process and its children see its later mounts. Needs root, or a kernel
 * that allows user namespaces. Call it before a second thread starts.
 *
 * @return	0; -EPERM and other errors of unshare(2)
 */
int uroce_view_enter(void);

/**
 * Make a system directory writable in this view. Its entries stay, except those of `without`. Call it after
 * uroce_view_enter().
 *
 * @param path	the directory
 * @param without	names of entries to leave out, ended by NULL
 * @return	0 or -errno
 */
int uroce_view_open(const char *path, const char *const *without);

#endif /* UROCE_DRIVERS_VERBS_SYSFS_VIEW_H */
