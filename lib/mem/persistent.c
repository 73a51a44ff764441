/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Recognizes persistent memory by its mapping with MAP_SYNC, whose file system metadata is always durable: so bytes
 * are durable once the caches are written back. The kernel marks such a mapping with "sf" among the VmFlags in smaps.
 * Control threads check, workers write back.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_atomic.h>
#include <rte_common.h>

#include "mem/persistent.h"

#define FLAGS "VmFlags:"

/* Is the line "start-end rwxp …", the first of a mapping? */
static bool
is_header(const char *line, uint64_t *start, uint64_t *end)
{
	return sscanf(line, "%" SCNx64 "-%" SCNx64 " ", start, end) == 2;
}

/* Mappings are in the order of their addresses; the flags are the last line of each. */
static int
scan(FILE *f, uint64_t first, uint64_t last)
{
	uint64_t start = 0, end = 0, at = first;
	char *line = NULL;
	size_t room = 0;
	int rc = -EINVAL;

	while (getline(&line, &room, f) > 0) {
		if (is_header(line, &start, &end))
			continue;
		if (strncmp(line, FLAGS, strlen(FLAGS)) != 0 || end <= at)
			continue;
		if (start > at || strstr(line, " sf") == NULL)
			break;
		at = end;
		if (last < end) {
			rc = 0;
			break;
		}
	}
	free(line);
	return rc;
}

int
uroce_persistent_scan(int fd, uint64_t first, uint64_t last)
{
	FILE *f = fdopen(fd, "r");
	int rc;

	if (f == NULL)
		return -errno;
	rc = scan(f, first, last);
	fclose(f);
	return rc;
}

#if defined(RTE_ARCH_X86)

#include <emmintrin.h>

int
uroce_persistent_check(uint64_t first, uint64_t last)
{
	int fd = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : uroce_persistent_scan(fd, first, last);
}

void
uroce_persist(const void *va, size_t bytes)
{
	const uint8_t *line = RTE_PTR_ALIGN_FLOOR((uint8_t *)(uintptr_t)va, RTE_CACHE_LINE_SIZE);
	const uint8_t *end = (const uint8_t *)va + bytes;

	for (; line < end; line += RTE_CACHE_LINE_SIZE)
		_mm_clflush(line);
	_mm_sfence();
}

#else

int
uroce_persistent_check(uint64_t first, uint64_t last)
{
	RTE_SET_USED(first);
	RTE_SET_USED(last);
	return -EINVAL;
}

void
uroce_persist(const void *va, size_t bytes)
{
	RTE_SET_USED(va);
	RTE_SET_USED(bytes);
	rte_wmb(); /* pairs with nothing: uroce_persistent_check() refuses every region */
}

#endif
