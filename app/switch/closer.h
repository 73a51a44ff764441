/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Descriptors that clients have passed, and their sockets, in which more of them may lie: the last close(2) of one may
 * wait for as long as who made it likes (a file of FUSE, a socket that lingers), so that a thread does it.
 */

#ifndef UROCE_SWITCH_CLOSER_H
#define UROCE_SWITCH_CLOSER_H

/** Start the thread. Main thread. @return 0 or -errno */
int uroce_switch_closer_start(void);
/** It ends when it has closed what it was given. */
void uroce_switch_closer_stop(void);

/** Close it, at some time. Does not wait, while there is the thread. Main thread. */
void uroce_switch_close(int fd);

#endif /* UROCE_SWITCH_CLOSER_H */
