/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#ifndef UROCE_DRIVERS_VERBS_STALE_H
#define UROCE_DRIVERS_VERBS_STALE_H

#include <sys/types.h>

/**
 * Remove the socket that a process has left which was the server of a port, as this argument of EAL has one.
 *
 * @return	-1: the port can be had; else a process listens at its socket: its ID, or 0 if that cannot be known
 */
pid_t uroce_stale_remove(const char *eal_arg);

#endif /* UROCE_DRIVERS_VERBS_STALE_H */
