/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The directory in which processes of this host find the switch. Only its owner may write to it. Its files:
 *
 *	lock	held by the running switch
 *	memif	the socket of all its ports
 *	ports	the number of ports
 *	port.N	held by the process that has port N (uroce-run)
 */

#ifndef UROCE_SWITCH_DIR_H
#define UROCE_SWITCH_DIR_H

#include <limits.h>

struct switch_dir {
	char path[PATH_MAX];
	char socket[PATH_MAX];
	char ports[PATH_MAX];
	int lock; /* a descriptor, which the process keeps until it exits */
};

/** Create the directory if it does not exist, lock it, and remove the files of a switch that was killed.
 * @param path	NULL: the user's own
 * @return	0 or -errno: EBUSY, another switch has the directory; EACCES, another user owns it; ENAMETOOLONG, the
 *		socket's path is too long; EINVAL, the path has a comma or a blank, which a device's arguments cannot
 *		contain */
int uroce_switch_dir_take(struct switch_dir *d, const char *path);

/** Write the number of ports: from then on processes can use them. @return 0 or -errno */
int uroce_switch_dir_open(const struct switch_dir *d, unsigned int ports);

/** Remove the files, and unlock the directory. */
void uroce_switch_dir_release(struct switch_dir *d);

#endif /* UROCE_SWITCH_DIR_H */
