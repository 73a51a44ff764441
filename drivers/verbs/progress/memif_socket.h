/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prepares the sockets of net_memif ports before EAL starts.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_MEMIF_SOCKET_H
#define UROCE_DRIVERS_VERBS_PROGRESS_MEMIF_SOCKET_H

#include <stdbool.h>
#include <sys/types.h>

/**
 * Remove the memif socket in this argument of EAL, if the process that listened on it is dead.
 *
 * @return	-1: the port is free; else the ID of the process that listens on the socket, 0 if it is unknown
 */
pid_t uroce_memif_socket_remove(const char *eal_arg);

/**
 * Wait until other processes listen on their sockets.
 *
 * @param paths	separated by commas; NULL or empty: none
 * @return false: one still has no listener after limit_ms
 */
bool uroce_memif_sockets_wait(const char *paths, unsigned int limit_ms);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_MEMIF_SOCKET_H */
