/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Closes descriptors that clients have passed, and clients' sockets, which may contain more of them. The last
 * close(2) of a descriptor may block as long as its creator likes (a FUSE file, a lingering socket), so a thread of
 * its own does it.
 */

#ifndef UROCE_SWITCH_CLOSER_H
#define UROCE_SWITCH_CLOSER_H

/** Start the thread. Main thread. @return 0 or -errno */
int uroce_switch_closer_start(void);
/** The thread ends when it has closed all descriptors that it was given. */
void uroce_switch_closer_stop(void);

/** Close a descriptor later; does not block while the thread runs. Main thread. */
void uroce_switch_close(int fd);

#endif /* UROCE_SWITCH_CLOSER_H */
