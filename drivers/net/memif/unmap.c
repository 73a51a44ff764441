/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * When the peer of a net_memif goes, the driver (DPDK 22.11) unmaps what they shared, on EAL's interrupt thread and
 * without a lock against those who are reading it. A program of which this file is a part outlives its peer: its
 * munmap(2) waits there until nobody polls, and the driver looks at its own state before it reads again. Not part of
 * the library, where it would be everybody's munmap(2).
 */

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "unmap.h"

struct unmapping {
	void *addr;
	size_t length;
	int ret;	/* errno goes with it: all of this is one thread's */
};

static void
unmap(void *arg)
{
	struct unmapping *u = arg;

	u->ret = (int)syscall(SYS_munmap, u->addr, u->length);
}

/* Visible to the drivers, which are shared objects. */
__attribute__((visibility("default"))) int
munmap(void *addr, size_t length)
{
	struct unmapping u = { .addr = addr, .length = length };

	if (rte_thread_is_intr())
		uroce_memif_hold(unmap, &u);
	else
		unmap(&u);
	return u.ret;
}
