/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * I/O commands: Read, Write, Flush, Write Zeroes, Dataset Management, Compare, Verify. A command that the back end cannot
 * do in one I/O is done in several, one after the other. The poller of the queue.
 */

#include <errno.h>
#include <string.h>

#include <rte_common.h>

#include "store/backend.h"
#include "controller.h"
#include "command/execute.h"
#include "poller.h"
#include "queue.h"
#include "request.h"
#include "target.h"

static struct nvmf_request *
request_of(struct nvmf_io *io)
{
	return container_of(io, struct nvmf_request, io);
}

static bool
writes(const struct nvmf_request *req)
{
	return req->command.opcode == NVME_IO_WRITE || req->command.opcode == NVME_IO_WRITE_ZEROES ||
	       req->command.opcode == NVME_IO_DSM;
}

/* The status that tells the host what has happened to its data. */
static uint16_t
status_of(const struct nvmf_request *req, int error)
{
	switch (-error) {
	case 0: return NVME_SUCCESS;
	case ENOSPC:
	case EDQUOT:
	case EFBIG: return NVME_CAPACITY_EXCEEDED | NVME_DO_NOT_RETRY;
	case EROFS:
	case EPERM: return NVME_WRITE_PROTECTED | NVME_DO_NOT_RETRY;
	case EAGAIN:
	case ENOMEM: return NVME_INTERNAL_ERROR;
	default: return writes(req) || req->command.opcode == NVME_IO_FLUSH ? NVME_WRITE_FAULT : NVME_READ_ERROR;
	}
}

static void
done(struct nvmf_io *io, int error)
{
	struct nvmf_request *req = request_of(io);

	uroce_nvmf_request_finish(req, status_of(req, error));
}

static void
submit(struct nvmf_request *req, enum nvmf_io_kind kind, uint64_t offset, uint64_t bytes,
       void (*then)(struct nvmf_io *io, int error))
{
	struct nvmf_io *io = &req->io;

	io->kind = kind;
	io->offset = offset;
	io->bytes = bytes;
	io->moved = 0;
	io->done = then;
	io->ns->backend->submit(&req->queue->poller->uring, io);
}

/* @return a status; blocks: of the command */
static uint16_t
check_range(const struct nvmf_request *req, const struct nvmf_namespace *ns, uint64_t slba, uint64_t blocks)
{
	uint64_t size = uroce_nvmf_namespace_blocks(ns);

	if (slba >= size || blocks > size - slba)
		return NVME_LBA_OUT_OF_RANGE;
	return writes(req) && ns->read_only ? NVME_WRITE_PROTECTED : NVME_SUCCESS;
}

static uint64_t
slba_of(const struct nvmf_request *req)
{
	return rte_le_to_cpu_64(req->command.rw.slba);
}

static uint64_t
blocks_of(const struct nvmf_request *req)
{
	return (uint64_t)rte_le_to_cpu_16(req->command.rw.blocks) + 1;
}

/* Read, Write */
static uint16_t
transfer(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	uint64_t bytes = blocks_of(req) << ns->block_shift;

	if (bytes != req->data_bytes) /* the SGL describes other data than the command */
		return NVME_SGL_LENGTH_INVALID;
	req->io.data = req->data;
	req->io.fua = (rte_le_to_cpu_16(req->command.rw.control) & NVME_CONTROL_FUA) != 0;
	submit(req, req->command.opcode == NVME_IO_READ ? NVMF_IO_READ : NVMF_IO_WRITE, slba_of(req) << ns->block_shift,
	       bytes, done);
	return NVME_SUCCESS;
}

/* A buffer of the poller for a command without one. */
static bool
take_buffer(struct nvmf_request *req)
{
	if (req->buffer == NULL)
		req->buffer = uroce_nvmf_buffer_get(&req->queue->poller->buffers);
	return req->buffer != NULL;
}

/* The next piece of a command that reads or writes its blocks through one buffer. The rest begins at block req->at. */
static void
next_piece(struct nvmf_io *io, int error)
{
	struct nvmf_request *req = request_of(io);
	uint64_t blocks = RTE_MIN(blocks_of(req) - req->at, (uint64_t)UROCE_NVMF_BUFFER_BYTES >> io->ns->block_shift);
	uint64_t first = slba_of(req) + req->at;

	if (error != 0 || blocks == 0) {
		done(io, error);
		return;
	}
	req->at += (uint32_t)blocks;
	submit(req, io->kind, first << io->ns->block_shift, blocks << io->ns->block_shift, next_piece);
}

/* Verify: read, and drop what was read. */
static uint16_t
verify(struct nvmf_request *req)
{
	if (!take_buffer(req))
		return NVME_INTERNAL_ERROR; /* the host tries again */
	req->io.data = req->buffer;
	req->io.kind = NVMF_IO_READ;
	next_piece(&req->io, 0);
	return NVME_SUCCESS;
}

/* Compare: read into a buffer other than that of the host's data. */
static void
compared(struct nvmf_io *io, int error)
{
	struct nvmf_request *req = request_of(io);
	uint16_t status = status_of(req, error);

	if (error == 0 && memcmp(io->data, req->data, io->bytes) != 0)
		status = NVME_COMPARE_FAILURE | NVME_DO_NOT_RETRY;
	uroce_nvmf_buffer_put(&req->queue->poller->buffers, io->data);
	uroce_nvmf_request_finish(req, status);
}

static uint16_t
compare(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	uint64_t bytes = blocks_of(req) << ns->block_shift;

	if (bytes != req->data_bytes)
		return NVME_SGL_LENGTH_INVALID;
	req->io.data = uroce_nvmf_buffer_get(&req->queue->poller->buffers);
	if (req->io.data == NULL)
		return NVME_INTERNAL_ERROR;
	submit(req, NVMF_IO_READ, slba_of(req) << ns->block_shift, bytes, compared);
	return NVME_SUCCESS;
}

/* If the file system has no fallocate(2), write zeros. If it has, flush for FUA, which fallocate(2) lacks. */
static void
zeroed(struct nvmf_io *io, int error)
{
	struct nvmf_request *req = request_of(io);

	if (error == -EOPNOTSUPP && take_buffer(req)) {
		memset(req->buffer, 0, UROCE_NVMF_BUFFER_BYTES);
		io->data = req->buffer;
		io->kind = NVMF_IO_WRITE;
		next_piece(io, 0);
	} else if (error == 0 && io->fua) {
		submit(req, NVMF_IO_FLUSH, 0, 0, done);
	} else {
		done(io, error == -EOPNOTSUPP ? -ENOMEM : error);
	}
}

static uint16_t
write_zeroes(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	req->io.fua = (rte_le_to_cpu_16(req->command.rw.control) & NVME_CONTROL_FUA) != 0;
	submit(req, NVMF_IO_ZERO, slba_of(req) << ns->block_shift, blocks_of(req) << ns->block_shift, zeroed);
	return NVME_SUCCESS;
}

static unsigned int
nb_ranges(const struct nvmf_request *req)
{
	return (uroce_nvmf_cdw(req, 10) & 0xff) + 1;
}

static struct nvme_dsm_range
range_of(const struct nvmf_request *req, unsigned int i)
{
	struct nvme_dsm_range range;

	memcpy(&range, req->data + i * sizeof(range), sizeof(range));
	return range;
}

/* Dataset Management: deallocate range after range. It is a hint: a file system that cannot is no error. */
static void
punch_next(struct nvmf_io *io, int error)
{
	struct nvmf_request *req = request_of(io);

	if (error == -EOPNOTSUPP)
		error = 0;
	while (error == 0 && req->at < nb_ranges(req)) {
		struct nvme_dsm_range range = range_of(req, req->at++);
		uint64_t blocks = rte_le_to_cpu_32(range.blocks);

		if (blocks == 0)
			continue;
		submit(req, NVMF_IO_PUNCH, rte_le_to_cpu_64(range.slba) << io->ns->block_shift,
		       blocks << io->ns->block_shift, punch_next);
		return;
	}
	done(io, error);
}

static uint16_t
manage(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	if (req->data_bytes < nb_ranges(req) * sizeof(struct nvme_dsm_range))
		return NVME_SGL_LENGTH_INVALID;
	for (unsigned int i = 0; i < nb_ranges(req); i++) {
		struct nvme_dsm_range range = range_of(req, i);
		uint16_t status = check_range(req, ns, rte_le_to_cpu_64(range.slba), rte_le_to_cpu_32(range.blocks));

		if (rte_le_to_cpu_32(range.blocks) != 0 && status != NVME_SUCCESS)
			return status;
	}
	if ((uroce_nvmf_cdw(req, 11) & NVME_DSM_DEALLOCATE) == 0)
		uroce_nvmf_request_finish(req, NVME_SUCCESS); /* hints about access patterns */
	else
		punch_next(&req->io, 0);
	return NVME_SUCCESS;
}

/* Flush of one namespace, or of all, one after the other; req->at is the number of the last. */
static void
flush_next(struct nvmf_io *io, int error)
{
	struct nvmf_request *req = request_of(io);
	const struct nvmf_subsystem *s = uroce_nvmf_queue_subsystem(req->queue);

	while (error == 0 && req->at < UROCE_NVMF_MAX_NAMESPACES) {
		struct nvmf_namespace *ns = uroce_nvmf_subsystem_namespace(s, ++req->at);

		if (ns == NULL || ns->stable)
			continue;
		uroce_nvmf_request_use(req, ns);
		submit(req, NVMF_IO_FLUSH, 0, 0, flush_next);
		return;
	}
	done(io, error);
}

static uint16_t
flush(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	if (ns->stable)
		uroce_nvmf_request_finish(req, NVME_SUCCESS);
	else
		submit(req, NVMF_IO_FLUSH, 0, 0, done);
	return NVME_SUCCESS;
}

static uint16_t
execute_on(struct nvmf_request *req, struct nvmf_namespace *ns)
{
	uint8_t opcode = req->command.opcode;
	uint16_t status = NVME_SUCCESS;

	uroce_nvmf_request_use(req, ns);
	req->io.fua = false;
	if (opcode != NVME_IO_FLUSH && opcode != NVME_IO_DSM) {
		if ((rte_le_to_cpu_16(req->command.rw.control) & NVME_CONTROL_PRINFO) != 0)
			return NVME_INVALID_FIELD; /* no protection information */
		status = check_range(req, ns, slba_of(req), blocks_of(req));
	}
	if (status != NVME_SUCCESS)
		return status;
	switch (opcode) {
	case NVME_IO_READ:
	case NVME_IO_WRITE: return transfer(req, ns);
	case NVME_IO_FLUSH: return flush(req, ns);
	case NVME_IO_WRITE_ZEROES: return write_zeroes(req, ns);
	case NVME_IO_DSM: return manage(req, ns);
	case NVME_IO_COMPARE: return compare(req, ns);
	default: return verify(req);
	}
}

static bool
is_known(uint8_t opcode)
{
	switch (opcode) {
	case NVME_IO_FLUSH:
	case NVME_IO_WRITE:
	case NVME_IO_READ:
	case NVME_IO_COMPARE:
	case NVME_IO_WRITE_ZEROES:
	case NVME_IO_DSM:
	case NVME_IO_VERIFY: return true;
	default: return false;
	}
}

void
uroce_nvmf_io_execute(struct nvmf_request *req)
{
	const struct nvmf_subsystem *s = uroce_nvmf_queue_subsystem(req->queue);
	uint32_t nsid = rte_le_to_cpu_32(req->command.nsid);
	struct nvmf_namespace *ns = uroce_nvmf_subsystem_namespace(s, nsid);
	uint16_t status;

	if (!is_known(req->command.opcode)) {
		status = NVME_INVALID_OPCODE;
	} else if (req->command.opcode == NVME_IO_FLUSH && nsid == NVME_NSID_ALL) {
		flush_next(&req->io, 0);
		return;
	} else {
		status = ns == NULL ? NVME_INVALID_NAMESPACE : execute_on(req, ns);
	}
	if (status != NVME_SUCCESS)
		uroce_nvmf_request_finish(req, status == NVME_INTERNAL_ERROR ? status : status | NVME_DO_NOT_RETRY);
}
