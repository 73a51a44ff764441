/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Do more threads want to run than there are processors for the process? Then one that waits without a pause keeps
 * another from running, perhaps that for which it waits. Any thread.
 */

#ifndef UROCE_DRIVERS_VERBS_CROWD_H
#define UROCE_DRIVERS_VERBS_CROWD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct uroce_crowd {
	int fd;			/* of what the kernel says; -1: nothing */
	pid_t thread;		/* whose processors count */
	uint64_t looked_ns;	/* atomic */
	unsigned int running;	/* atomic: threads, at looked_ns; 0: not known */
	unsigned int processors;	/* atomic: of the thread, at looked_ns; 0: not known */
};

/**
 * @param path	/proc/loadavg. Where it cannot be read, there is always a crowd
 * @param thread	one that may run wherever the process may; 0: the one that asks
 */
void uroce_crowd_init(struct uroce_crowd *c, const char *path, pid_t thread);

/** What is known of UROCE_VERBS_CROWD_NS ago, or later. */
bool uroce_crowd_is(struct uroce_crowd *c, uint64_t now_ns);

#endif /* UROCE_DRIVERS_VERBS_CROWD_H */
