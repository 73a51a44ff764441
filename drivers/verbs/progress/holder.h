/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the process that already holds the port which this process opens: a port serves one process.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_HOLDER_H
#define UROCE_DRIVERS_VERBS_PROGRESS_HOLDER_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Find the nearest ancestor of this process that drives ports with the same UROCE_EAL_ARGS.
 *
 * @return	its process ID; 0: none is visible
 */
pid_t uroce_holder_ancestor(const char *eal_args);

/** Get the name of a process, "?" if it is unknown. */
void uroce_holder_name(pid_t pid, char *name, size_t bytes);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_HOLDER_H */
