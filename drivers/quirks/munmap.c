/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Replaces munmap(2) in programs with net_memif ports, so that a peer that exits does not crash the program. The
 * driver unmaps the shared memory on EAL's interrupt thread, without a lock against the threads that poll it. On that
 * thread, munmap(2) waits until no thread polls; the driver checks its state before it reads again.
 */

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_interrupts.h>

#include "munmap.h"
#include "port/memif/memif.h"

/* Of liburoce.a; with liburoce.so the driver moves the frames. */
#pragma weak uroce_memif_disconnect

struct unmapping {
	void *addr;
	size_t length;
	int ret;	/* errno is set too: fn runs on the calling thread */
};

static void
unmap(void *arg)
{
	struct unmapping *u = arg;

	u->ret = (int)syscall(SYS_munmap, u->addr, u->length);
}

static void
unmap_of_driver(void *arg)
{
	unmap(arg);
	if (uroce_memif_disconnect != NULL)
		uroce_memif_disconnect();
}

/* Visible to the drivers, which are shared objects. */
__attribute__((visibility("default"))) int
munmap(void *addr, size_t length)
{
	struct unmapping u = { .addr = addr, .length = length };

	if (rte_thread_is_intr())
		uroce_memif_hold(unmap_of_driver, &u);
	else
		unmap(&u);
	return u.ret;
}
