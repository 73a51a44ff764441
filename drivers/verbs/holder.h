/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The process that has a port already which this one is to open: a port serves one process.
 */

#ifndef UROCE_DRIVERS_VERBS_HOLDER_H
#define UROCE_DRIVERS_VERBS_HOLDER_H

#include <stddef.h>
#include <sys/types.h>

/**
 * Of the processes that have started this one, the nearest that drives ports by the same UROCE_EAL_ARGS.
 *
 * @return	its ID; 0: there is none that can be seen
 */
pid_t uroce_holder_ancestor(const char *eal_args);

/** The name of a process, "?" if it cannot be known. */
void uroce_holder_name(pid_t pid, char *name, size_t bytes);

#endif /* UROCE_DRIVERS_VERBS_HOLDER_H */
