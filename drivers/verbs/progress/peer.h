/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waits for the sockets of the processes that net_memif ports connect to.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_PEER_H
#define UROCE_DRIVERS_VERBS_PROGRESS_PEER_H

#include <stdbool.h>

/**
 * Wait until the other processes have made their sockets.
 *
 * @param paths	with commas between them; NULL or empty: there is none to wait for
 * @return false: one has not within so many milliseconds
 */
bool uroce_peer_wait(const char *paths, unsigned int limit_ms);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_PEER_H */
