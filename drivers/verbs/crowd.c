/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * How many threads of the machine are running or could, from /proc/loadavg, against the processors that the caller may
 * use. To let others run and see whether they do says less: the scheduler lets who has slept go on, and gives who has
 * not so to a whole slice.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "crowd.h"
#include "uroce_config.h"

#define LINE_BYTES 128

void
uroce_crowd_init(struct uroce_crowd *c, const char *path)
{
	*c = (struct uroce_crowd){ .fd = open(path, O_RDONLY | O_CLOEXEC) };
}

/* "0.20 0.18 0.12 1/80 11206": the fourth. @return 0: it is not there */
static unsigned int
running(int fd)
{
	char line[LINE_BYTES];
	ssize_t n = pread(fd, line, sizeof(line) - 1, 0);
	unsigned int count;

	if (n <= 0)
		return 0;
	line[n] = '\0';
	/* not as numbers: the program may have a locale in which they are written otherwise */
	return sscanf(line, "%*s %*s %*s %u/", &count) == 1 ? count : 0;
}

/* Threads of a program may be bound to processors of their own, each at any time. @return 0: it is not known */
static unsigned int
own_processors(uint64_t now_ns)
{
	static __thread struct {
		uint64_t looked_ns;
		unsigned int count;
	} own;
	cpu_set_t cpus;

	if (own.looked_ns == 0 || now_ns >= own.looked_ns + UROCE_VERBS_CROWD_NS) {
		own.count = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? (unsigned int)CPU_COUNT(&cpus) : 0;
		own.looked_ns = now_ns;
	}
	return own.count;
}

static unsigned int
running_lately(struct uroce_crowd *c, uint64_t now_ns)
{
	uint64_t looked_ns = __atomic_load_n(&c->looked_ns, __ATOMIC_RELAXED);
	unsigned int count;

	if (looked_ns != 0 && now_ns < looked_ns + UROCE_VERBS_CROWD_NS)
		return __atomic_load_n(&c->running, __ATOMIC_RELAXED);
	count = running(c->fd);
	__atomic_store_n(&c->running, count, __ATOMIC_RELAXED);
	__atomic_store_n(&c->looked_ns, now_ns, __ATOMIC_RELAXED);
	return count;
}

bool
uroce_crowd_is(struct uroce_crowd *c, uint64_t now_ns)
{
	const unsigned int count = running_lately(c, now_ns), cpus = own_processors(now_ns);

	/* with a single one, this thread is in the way of all others of its program */
	return count == 0 || cpus <= 1 || count > cpus;
}
