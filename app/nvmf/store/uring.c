/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A poller's io_uring: data go between files and the buffers that RDMA reads and writes, without a copy.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include <rte_common.h>

#include "store/uring.h"
#include "program.h"
#include "uroce_config.h"

#ifndef IORING_SETUP_TASKRUN_FLAG /* liburing before 2.2, which does not look at the ring's flags */
#define IORING_SETUP_COOP_TASKRUN 0
#define IORING_SETUP_TASKRUN_FLAG 0
#endif

/* A poller enters the kernel when the ring's flags ask for it, so that a completion need not interrupt it. Kernels before
 * 5.19 do not know these flags. */
static int
ring_create(struct nvmf_uring *u)
{
	int ret = io_uring_queue_init(UROCE_NVMF_URING, &u->ring, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);

	return ret == -EINVAL ? io_uring_queue_init(UROCE_NVMF_URING, &u->ring, 0) : ret;
}

int
uroce_nvmf_uring_init(struct nvmf_uring *u, void *arena, size_t bytes)
{
	struct iovec buffers = { .iov_base = arena, .iov_len = bytes };
	int ret = ring_create(u);

	if (ret < 0) {
		u->ring.ring_fd = -1;
		fprintf(stderr, "%s: cannot create an io_uring (a kernel older than 5.6, or one that forbids it): %s\n",
			uroce_app_name, strerror(-ret));
		return -1;
	}
	u->arena = arena;
	u->arena_bytes = bytes;
	memset(u->files, 0xff, sizeof(u->files)); /* -1 */
	u->has_files = io_uring_register_files(&u->ring, u->files, RTE_DIM(u->files)) == 0;
	ret = io_uring_register_buffers(&u->ring, &buffers, 1);
	if (ret == 0)
		return 0;
	fprintf(stderr, "%s: cannot register buffers with io_uring: raise the limit of locked memory (ulimit -l): %s\n",
		uroce_app_name, strerror(-ret));
	return -1;
}

void
uroce_nvmf_uring_fini(struct nvmf_uring *u)
{
	if (u->ring.ring_fd >= 0)
		io_uring_queue_exit(&u->ring);
}

void
uroce_nvmf_uring_set_file(struct nvmf_uring *u, unsigned int i, int fd)
{
	if (!u->has_files || (u->files[i] == -1 && fd == -1))
		return;
	u->files[i] = io_uring_register_files_update(&u->ring, i, &fd, 1) == 1 ? fd : -1;
}

/* An I/O may come before its file is registered, or after it was removed. */
static void
set_file(const struct nvmf_uring *u, const struct nvmf_namespace *ns, struct io_uring_sqe *sqe)
{
	if (u->files[ns->nsid - 1] != ns->fd)
		return;
	sqe->fd = (int)(ns->nsid - 1);
	sqe->flags |= IOSQE_FIXED_FILE;
}

static bool
is_registered(const struct nvmf_uring *u, const uint8_t *data, size_t bytes)
{
	return data >= u->arena && data + bytes <= u->arena + u->arena_bytes;
}

/* An I/O waits for an entry of the ring if all are in use; uroce_nvmf_uring_poll() submits it then. */
static void
prepare(struct nvmf_uring *u, struct nvmf_io *io, struct io_uring_sqe *sqe)
{
	uint8_t *data = io->moved != 0 ? io->data + io->moved : io->data; /* NULL without data */
	unsigned int left = (unsigned int)RTE_MIN(io->bytes - io->moved, (uint64_t)UROCE_NVMF_BUFFER_BYTES);
	uint64_t at = io->offset + io->moved;
	int fd = io->ns->fd;

	switch (io->kind) {
	case NVMF_IO_READ:
		if (is_registered(u, data, left))
			io_uring_prep_read_fixed(sqe, fd, data, left, at, 0);
		else
			io_uring_prep_read(sqe, fd, data, left, at);
		break;
	case NVMF_IO_WRITE:
		if (is_registered(u, data, left))
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
	set_file(u, io->ns, sqe);
	io_uring_sqe_set_data(sqe, io);
}

/* After an error the kernel forgets which pages it could not write, and the next fdatasync(2) succeeds. So the first
 * error is also the result of all later flushes, of all hosts: data written before may be lost. */
static int
flush_error(const struct nvmf_io *io)
{
	return io->kind == NVMF_IO_FLUSH || io->fua ? __atomic_load_n(&io->ns->flush_error, __ATOMIC_RELAXED) : 0;
}

/* May this error concern writes that were acknowledged before? RWF_DSYNC reports those of the page cache, too. */
static bool
is_flush_error(const struct nvmf_io *io, int error)
{
	if (io->kind != NVMF_IO_WRITE || !io->fua)
		return io->kind == NVMF_IO_FLUSH;
	return error == -EIO && (fcntl(io->ns->fd, F_GETFL) & O_DIRECT) == 0;
}

static void
keep_error(const struct nvmf_io *io, int error)
{
	if (!is_flush_error(io, error) || __atomic_exchange_n(&io->ns->flush_error, error, __ATOMIC_RELAXED) != 0)
		return;
	fprintf(stderr, "%s: namespace %u: a flush has failed: %s: hosts may have lost data; flushes fail until a restart\n",
		uroce_app_name, io->ns->nsid, strerror(-error));
}

void
uroce_nvmf_uring_submit(struct nvmf_uring *u, struct nvmf_io *io)
{
	struct io_uring_sqe *sqe;
	int error = flush_error(io);

	if (error != 0) {
		io->done(io, error);
		return;
	}
	sqe = u->busy < UROCE_NVMF_URING ? io_uring_get_sqe(&u->ring) : NULL;
	if (sqe == NULL) {
		io->done(io, -EAGAIN); /* the queues' depths bound the number of I/Os: see queue.c */
		return;
	}
	prepare(u, io, sqe);
	u->busy++;
	u->unsubmitted++;
}

static bool
is_transfer(const struct nvmf_io *io)
{
	return io->kind == NVMF_IO_READ || io->kind == NVMF_IO_WRITE;
}

/* @param result	of the system call */
static void
finish(struct nvmf_uring *u, struct nvmf_io *io, int result)
{
	if (result == -EINTR || result == -EAGAIN) {
		uroce_nvmf_uring_submit(u, io);
		return;
	}
	if (result < 0) {
		keep_error(io, result);
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
		uroce_nvmf_uring_submit(u, io);
}

unsigned int
uroce_nvmf_uring_poll(struct nvmf_uring *u)
{
	struct io_uring_cqe *cqes[UROCE_NVMF_URING_BATCH];
	unsigned int n;

	if (u->unsubmitted != 0) {
		int submitted = io_uring_submit(&u->ring);

		if (submitted > 0)
			u->unsubmitted -= RTE_MIN((unsigned int)submitted, u->unsubmitted);
	}
	if (u->busy == 0)
		return 0;
	n = io_uring_peek_batch_cqe(&u->ring, cqes, RTE_DIM(cqes));
	for (unsigned int i = 0; i < n; i++) {
		struct nvmf_io *io = io_uring_cqe_get_data(cqes[i]);
		int result = cqes[i]->res;

		io_uring_cqe_seen(&u->ring, cqes[i]);
		u->busy--;
		finish(u, io, result);
	}
	return n;
}
