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
#include "program.h"
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

/* O_EXCL, for a device to write to: the kernel refuses one with a mounted file system, or one that LVM uses. */
static int
open_store(struct nvmf_namespace *ns, struct nvmf_reason *why)
{
	int flags = (ns->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC;
	struct stat st = { 0 };

	if (stat(ns->path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return refuse(ns, why, "it is neither a file nor a block device");
	ns->fd = open_direct(ns, S_ISBLK(st.st_mode) && !ns->read_only ? flags | O_EXCL : flags);
	if (ns->fd >= 0)
		return 0;
	why->busy = errno == EBUSY;
	return refuse(ns, why, why->busy ? "it is used by a file system or another program (see lsblk and fuser -v): "
					   "unmount it, or stop the program" : strerror(errno));
}

/* Lock the file against other targets and QEMU. The lock ends with the process. */
static int
lock_store(const struct nvmf_namespace *ns, struct nvmf_reason *why)
{
	struct flock all = { .l_type = ns->read_only ? F_RDLCK : F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(ns->fd, F_OFD_SETLK, &all) == 0)
		return 0;
	why->busy = errno == EAGAIN || errno == EACCES;
	if (why->busy)
		return refuse(ns, why, "another process serves it or has locked it (see fuser -v): stop the "
				       "process, or start both with --read-only");
	fprintf(stderr, "%s: namespace %s: cannot lock it, so it can be served twice: %s\n", uroce_app_name, ns->path,
		strerror(errno));
	return 0;
}

static int
file_open(struct nvmf_namespace *ns, const char *spec, struct nvmf_reason *why)
{
	(void)spec;
	if (open_store(ns, why) != 0)
		return -1;
	if (lock_store(ns, why) != 0) {
		close(ns->fd);
		return -1;
	}
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
