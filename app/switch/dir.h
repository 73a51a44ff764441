/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Where processes of this host find the switch: a directory that only its owner may write, with
 *
 *	lock	held by the switch that runs
 *	memif	the socket of all its ports
 *	ports	how many there are
 *	port.N	held by the process that has port N (uroce-run)
 */

#ifndef UROCE_SWITCH_DIR_H
#define UROCE_SWITCH_DIR_H

#include <limits.h>

struct switch_dir {
	char path[PATH_MAX];
	char socket[PATH_MAX];
	char ports[PATH_MAX];
	int lock; /* a descriptor; it goes with the process */
};

/** Make the directory if need be, become its switch, and remove the files of a switch that was killed.
 * @param path	NULL: the user's own
 * @return	0 or -errno: EBUSY, it has a switch; EACCES, it is another user's; ENAMETOOLONG, of the socket;
 *	EINVAL, there is a comma or a blank in it, which a device's arguments cannot hold */
int uroce_switch_dir_take(struct switch_dir *d, const char *path);

/** Say how many ports there are: from then on they can be had. @return 0 or -errno */
int uroce_switch_dir_open(const struct switch_dir *d, unsigned int ports);

/** No more of them. */
void uroce_switch_dir_release(struct switch_dir *d);

#endif /* UROCE_SWITCH_DIR_H */
