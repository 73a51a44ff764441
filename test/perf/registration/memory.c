/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Allocates memory to be registered, with all of its pages: no measurement includes a page fault.
 */

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_malloc.h>

#include "registration.h"

const char *
memory_name(enum memory_kind kind)
{
	return kind == MEMORY_ORDINARY ? "ordinary" : rte_eal_has_hugepages() ? "hugepages" : "no-huge";
}

static void *
ordinary_get(size_t bytes, char *left_out, size_t room)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *va;

	/* at most half of the free memory: a benchmark must not exhaust the machine's memory */
	if (bytes / page > (size_t)sysconf(_SC_AVPHYS_PAGES) / 2) {
		snprintf(left_out, room, "too little free memory");
		return NULL;
	}
	va = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (va == MAP_FAILED) {
		snprintf(left_out, room, "no memory: %s", strerror(errno));
		return NULL;
	}
	/* a kernel without transparent hugepages refuses: the pages are ordinary then */
	(void)madvise(va, bytes, MADV_NOHUGEPAGE);
	memset(va, 1, bytes);
	return va;
}

void *
memory_get(enum memory_kind kind, size_t bytes, char *left_out, size_t room)
{
	void *va;

	if (kind == MEMORY_ORDINARY)
		return ordinary_get(bytes, left_out, room);
	va = rte_malloc("registration", bytes, (unsigned int)sysconf(_SC_PAGESIZE));
	if (va == NULL)
		snprintf(left_out, room, "EAL has not so much memory left");
	else
		memset(va, 1, bytes);
	return va;
}

void
memory_put(enum memory_kind kind, void *va, size_t bytes)
{
	if (kind == MEMORY_ORDINARY)
		munmap(va, bytes);
	else
		rte_free(va);
}
