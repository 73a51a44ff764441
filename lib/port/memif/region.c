/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps the memory that a memif client shares. The client may change any byte at any time. But the memory must not
 * shrink, nor lack a page when no memory is free, since either would raise SIGBUS in this process. Control threads.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "port/memif/region.h"

/* Accept only ordinary memory that is sealed against shrinking. Check the seals first: only the kernel's own memory
 * files have them, and a call on another file system's file may block. */
static int
check(int fd, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
		return -EPERM;
	if (fstatfs(fd, &fs) != 0 || fs.f_type != TMPFS_MAGIC)
		return -EPERM;
	if (fstat(fd, &st) != 0 || bytes == 0 || bytes > (uint64_t)st.st_size)
		return -EINVAL;
	return 0;
}

int
uroce_memif_region_add(struct memif_regions *r, int fd, uint64_t bytes)
{
	int ret = check(fd, bytes);
	void *addr;

	if (ret != 0)
		return ret;
	if (r->count == UROCE_MEMIF_REGIONS || bytes > UROCE_MEMIF_REGION_BYTES)
		return -ENOSPC;
	addr = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (addr == MAP_FAILED)
		return -errno;
	r->at[r->count++] = (struct memif_region){ .addr = addr, .bytes = bytes };
	return 0;
}

void
uroce_memif_regions_drop(struct memif_regions *r)
{
	while (r->count > 0) {
		struct memif_region *region = &r->at[--r->count];

		/* not the function of that name: in drivers/quirks it ends connections */
		syscall(SYS_munmap, region->addr, region->bytes);
	}
}
