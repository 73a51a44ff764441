/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tells whether the process's CPUs are oversubscribed. On such CPUs, a thread that polls without a pause keeps other
 * threads from running, perhaps the one that it waits for. Any thread.
 */

#ifndef UROCE_DRIVERS_VERBS_PROGRESS_CPU_LOAD_H
#define UROCE_DRIVERS_VERBS_PROGRESS_CPU_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct uroce_cpu_load {
	int fd;			/* of `path`; -1: not open */
	pid_t thread;		/* the CPUs of this thread count */
	uint64_t looked_ns;	/* atomic: time of the last reading */
	unsigned int running;	/* atomic: runnable threads at looked_ns; 0: unknown */
	unsigned int processors;	/* atomic: CPUs of `thread` at looked_ns; 0: unknown */
};

/**
 * @param path	/proc/loadavg. If it cannot be read, the CPUs count as oversubscribed
 * @param thread	a thread with the affinity of the process; 0: the caller
 */
void uroce_cpu_load_init(struct uroce_cpu_load *c, const char *path, pid_t thread);

/** Are the CPUs oversubscribed? The result is at most UROCE_VERBS_CROWD_NS old. */
bool uroce_cpu_load_is_high(struct uroce_cpu_load *c, uint64_t now_ns);

#endif /* UROCE_DRIVERS_VERBS_PROGRESS_CPU_LOAD_H */
