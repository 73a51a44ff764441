/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Namespaces on a file or a block device, by the poller's io_uring. The main thread opens and closes.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/backend.h"
#include "store/uring.h"
#include "uroce_config.h"

static int
refuse(const struct nvmf_namespace *ns, struct nvmf_reason *why, const char *what)
{
	snprintf(why->text, sizeof(why->text), "namespace %s: %s", ns->path, what);
	return -1;
}

/* A block device's blocks must not be larger than ours: the host would write parts of them. */
static void
choose_block(struct nvmf_namespace *ns)
{
	int bytes;

	if (ioctl(ns->fd, BLKSSZGET, &bytes) == 0) /* fails for a file */
		while (1 << ns->block_shift < bytes)
			ns->block_shift++;
}

/* O_DIRECT, which keeps the data out of the page cache, where the file system has it for blocks of our size. */
static int
open_direct(const struct nvmf_namespace *ns, int flags)
{
	int fd = open(ns->path, flags | O_DIRECT);
	void *page = NULL;

	if (fd < 0)
		return open(ns->path, flags);
	if (posix_memalign(&page, 4096, 4096) == 0 && pread(fd, page, 1 << ns->block_shift, 0) < 0 && errno == EINVAL) {
		close(fd);
		fd = open(ns->path, flags);
	}
	free(page);
	return fd;
}

static int
file_open(struct nvmf_namespace *ns, const char *spec, struct nvmf_reason *why)
{
	struct stat st;

	(void)spec;
	if (stat(ns->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return refuse(ns, why, "it is neither a file nor a block device");
	ns->fd = open_direct(ns, (ns->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (ns->fd < 0)
		return refuse(ns, why, strerror(errno));
	choose_block(ns);
	ns->can_punch = true;
	return 0;
}

static void
file_close(struct nvmf_namespace *ns)
{
	close(ns->fd);
}

static int64_t
file_bytes(struct nvmf_namespace *ns)
{
	off_t end = lseek(ns->fd, 0, SEEK_END);

	return end >= 0 ? (int64_t)end : -errno;
}

const struct nvmf_backend uroce_nvmf_backend_file = {
	.name = "file",
	.open = file_open,
	.close = file_close,
	.bytes = file_bytes,
	.submit = uroce_nvmf_uring_submit,
};
