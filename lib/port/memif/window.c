/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Maps the memory that a peer shows, read-only, while all workers are held.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <rte_common.h>

#include "port/memif/window.h"

#define ALIGN (1ull << 30) /* of the largest hugepages */

/* Is the file in tmpfs or hugetlbfs, and does it reach to `end`? F_GET_SEALS comes first: it refuses most other files,
 * for which the further calls may block. */
static int
check(int fd, uint64_t end)
{
	struct statfs fs;
	struct stat st;

	if (fcntl(fd, F_GET_SEALS) < 0 || fstatfs(fd, &fs) != 0 ||
	    (fs.f_type != TMPFS_MAGIC && fs.f_type != HUGETLBFS_MAGIC))
		return -EPERM;
	return fstat(fd, &st) == 0 && end <= (uint64_t)st.st_size ? 0 : -EINVAL;
}

/* Reserve a window of zeros. */
static int
reserve(struct uroce_memif_window *w, uint64_t bytes)
{
	const uint64_t all = bytes + ALIGN;
	void *at = mmap(NULL, all, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	(void)madvise(at, all, MADV_DONTDUMP);
	*w = (struct uroce_memif_window){
		.addr = RTE_PTR_ALIGN_CEIL(at, ALIGN), .bytes = bytes, .mapping = at, .mapping_bytes = all,
	};
	return 0;
}

/* Map a part of the window. */
static int
map(const struct uroce_memif_window *w, const struct memif_show *show, int flags, int fd, uint64_t file_at)
{
	void *at = mmap(w->addr + show->at, show->bytes, PROT_READ, flags | MAP_FIXED, fd, (off_t)file_at);

	if (at == MAP_FAILED)
		return -errno;
	(void)madvise(at, show->bytes, MADV_DONTDUMP);
	return 0;
}

static int
map_zeros(const struct uroce_memif_window *w, const struct memif_show *show)
{
	return map(w, show, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static int
map_file(const struct uroce_memif_window *w, const struct memif_show *show, int fd)
{
	const int ret = map(w, show, MAP_SHARED, fd, show->file_at);

	if (ret != 0) /* the kernel may have unmapped the part first, as for hugepages that it cannot reserve */
		(void)map_zeros(w, show);
	return ret;
}

int
uroce_memif_window_set(struct uroce_memif_windows *windows, const struct memif_show *show, int fd)
{
	struct uroce_memif_window *w = &windows->at[show->window % UROCE_MEMIF_WINDOWS];
	int ret = 0;

	if (show->window >= UROCE_MEMIF_WINDOWS || show->window_bytes > UROCE_MEMIF_WINDOW_BYTES || show->bytes == 0 ||
	    show->bytes > show->window_bytes || show->at > show->window_bytes - show->bytes ||
	    (w->addr != NULL && show->window_bytes != w->bytes))
		return -EINVAL;
	if (!show->is_gone)
		ret = show->file_at > UROCE_MEMIF_WINDOW_BYTES ? -EINVAL : check(fd, show->file_at + show->bytes);
	if (ret == 0 && w->addr == NULL)
		ret = reserve(w, show->window_bytes);
	if (ret != 0)
		return ret;
	return show->is_gone ? map_zeros(w, show) : map_file(w, show, fd);
}

void
uroce_memif_windows_drop(struct uroce_memif_windows *windows)
{
	for (unsigned int i = 0; i < UROCE_MEMIF_WINDOWS; i++) {
		struct uroce_memif_window *w = &windows->at[i];

		/* not munmap(): that of drivers/quirks ends connections */
		if (w->addr != NULL)
			syscall(SYS_munmap, w->mapping, w->mapping_bytes);
		*w = (struct uroce_memif_window){ 0 };
	}
}
