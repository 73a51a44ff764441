/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Removes the memif socket of a process that has ended.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_MEMIF_SOCKET_H
#define UROCE_DRIVERS_VERBS_PROGRESS_MEMIF_SOCKET_H

#include <sys/types.h>

/**
 * Remove the memif socket in this argument of EAL, if the process that listened on it is dead.
 *
 * @return	-1: the port is free; else the ID of the process that listens on the socket, 0 if it is unknown
 */
pid_t uroce_memif_socket_remove(const char *eal_arg);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_MEMIF_SOCKET_H */
