/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Namespaces on a file or a block device, by the poller's io_uring: data go between the file and the buffers that RDMA
 * reads and writes, without a copy. The main thread opens and closes; pollers submit, and take completions in
 * uroce_nvmf_uring_poll().
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <liburing.h>
#include <rte_common.h>

#include "store/backend.h"
#include "poller.h"
#include "program.h"
#include "uroce_config.h"

static int
complain(const struct nvmf_namespace *ns, const char *what)
{
	int error = errno;

	fprintf(stderr, "%s: --namespace %s: %s: %s\n", uroce_app_name, ns->path, what, strerror(error));
	return -error;
}

/* A block device's blocks must not be larger than ours: the host would write parts of them. */
static int
choose_block(struct nvmf_namespace *ns, const struct stat *st)
{
	int bytes = 1 << UROCE_NVMF_BLOCK_SHIFT;

	if (S_ISBLK(st->st_mode) && ioctl(ns->fd, BLKSSZGET, &bytes) != 0)
		return complain(ns, "cannot read the size of its blocks");
	while (1 << ns->block_shift < bytes)
		ns->block_shift++;
	return 0;
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
file_open(struct nvmf_namespace *ns, const char *spec)
{
	struct stat st;
	int ret;

	(void)spec;
	ns->fd = open_direct(ns, (ns->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC);
	if (ns->fd < 0)
		return complain(ns, "cannot open it");
	if (fstat(ns->fd, &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))) {
		close(ns->fd);
		fprintf(stderr, "%s: --namespace %s: neither a file nor a block device\n", uroce_app_name, ns->path);
		return -EINVAL;
	}
	ret = choose_block(ns, &st);
	if (ret != 0)
		close(ns->fd);
	ns->can_punch = true;
	return ret;
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

/* An I/O waits for an entry of the ring if all are in use; uroce_nvmf_uring_poll() submits it then. */
static void
prepare(struct nvmf_poller *p, struct nvmf_io *io, struct io_uring_sqe *sqe)
{
	uint8_t *data = io->data + io->moved;
	unsigned int left = (unsigned int)RTE_MIN(io->bytes - io->moved, (uint64_t)UROCE_NVMF_BUFFER_BYTES);
	uint64_t at = io->offset + io->moved;
	int fd = io->ns->fd;

	switch (io->kind) {
	case NVMF_IO_READ:
		if (uroce_nvmf_poller_has(p, data, left))
			io_uring_prep_read_fixed(sqe, fd, data, left, at, 0);
		else
			io_uring_prep_read(sqe, fd, data, left, at);
		break;
	case NVMF_IO_WRITE:
		if (uroce_nvmf_poller_has(p, data, left))
			io_uring_prep_write_fixed(sqe, fd, data, left, at, 0);
		else
			io_uring_prep_write(sqe, fd, data, left, at);
		sqe->rw_flags = io->fua ? RWF_DSYNC : 0;
		break;
	case NVMF_IO_FLUSH:
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		break;
	case NVMF_IO_ZERO:
		io_uring_prep_fallocate(sqe, fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, io->offset, io->bytes);
		break;
	case NVMF_IO_PUNCH:
		io_uring_prep_fallocate(sqe, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, io->offset, io->bytes);
		break;
	}
	io_uring_sqe_set_data(sqe, io);
}

static void
file_submit(struct nvmf_poller *p, struct nvmf_io *io)
{
	struct io_uring_sqe *sqe = p->uring_busy < UROCE_NVMF_URING ? io_uring_get_sqe(&p->uring) : NULL;

	if (sqe == NULL) {
		io->done(io, -EAGAIN); /* the queues' depths bound the number of I/Os: see queue.c */
		return;
	}
	prepare(p, io, sqe);
	p->uring_busy++;
	p->uring_unsubmitted++;
}

static bool
is_transfer(const struct nvmf_io *io)
{
	return io->kind == NVMF_IO_READ || io->kind == NVMF_IO_WRITE;
}

/* @param result	of the system call */
static void
finish(struct nvmf_poller *p, struct nvmf_io *io, int result)
{
	if (result == -EINTR || result == -EAGAIN) {
		file_submit(p, io);
		return;
	}
	if (result < 0) {
		io->done(io, result);
		return;
	}
	if (!is_transfer(io)) {
		io->done(io, 0);
		return;
	}
	io->moved += (unsigned int)result;
	if (io->moved == io->bytes)
		io->done(io, 0);
	else if (result == 0)
		io->done(io, -EIO); /* the file has become shorter */
	else
		file_submit(p, io);
}

unsigned int
uroce_nvmf_uring_poll(struct nvmf_poller *p)
{
	struct io_uring_cqe *cqes[UROCE_NVMF_URING_BATCH];
	unsigned int n;

	if (p->uring_unsubmitted != 0) {
		int submitted = io_uring_submit(&p->uring);

		if (submitted > 0)
			p->uring_unsubmitted -= RTE_MIN((unsigned int)submitted, p->uring_unsubmitted);
	}
	if (p->uring_busy == 0)
		return 0;
	n = io_uring_peek_batch_cqe(&p->uring, cqes, RTE_DIM(cqes));
	for (unsigned int i = 0; i < n; i++) {
		struct nvmf_io *io = io_uring_cqe_get_data(cqes[i]);
		int result = cqes[i]->res;

		io_uring_cqe_seen(&p->uring, cqes[i]);
		p->uring_busy--;
		finish(p, io, result);
	}
	return n;
}

const struct nvmf_backend uroce_nvmf_backend_file = {
	.name = "file",
	.open = file_open,
	.close = file_close,
	.bytes = file_bytes,
	.submit = file_submit,
};
