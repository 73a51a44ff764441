/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The target as a host sees it: connections, admin and I/O commands, and what it refuses. Every byte is compared.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "groups.h"
#include "host.h"
#include "report/telemetry.h"
#include "telemetry_client.h"

#define BLOCK 512u
#define BLOCKS 8192u	/* of the file and of the memory */

static char file[] = "/tmp/uroce-nvmf-XXXXXX";
static struct host h;
static struct host_queue admin, io;
static uint16_t cntlid;

static int
setup(void **state)
{
	const char *namespaces[] = { file, "ram:4M" };
	int fd = mkstemp(file);

	if (fd < 0 || ftruncate(fd, BLOCKS * BLOCK) != 0)
		return -1;
	close(fd);
	host_open(&h, namespaces, 2);
	cntlid = host_start(&h, &admin, &io);
	uroce_nvmf_telemetry_start(h.target);
	telemetry_open();
	return 0;
}

static int
teardown(void **state)
{
	telemetry_close();
	uroce_nvmf_telemetry_stop();
	host_queue_close(&io);
	host_queue_close(&admin);
	host_close(&h);
	return unlink(file);
}

static void
fill(uint8_t *to, uint32_t bytes, unsigned int seed)
{
	for (uint32_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(i * 7 + i / 251 + seed);
}

static uint16_t
rw_on(struct host_queue *q, uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t blocks, uint32_t bytes)
{
	struct nvme_command c = { .opcode = opcode, .nsid = rte_cpu_to_le_32(nsid) };

	c.rw.slba = rte_cpu_to_le_64(slba);
	c.rw.blocks = rte_cpu_to_le_16((uint16_t)(blocks - 1));
	host_keyed(&h, &c, bytes);
	return host_status(host_run(q, &c, 0));
}

static uint16_t
rw(uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t blocks, uint32_t bytes)
{
	return rw_on(&io, opcode, nsid, slba, blocks, bytes);
}

/* Writes by RDMA READ, and in the capsule, are read back by RDMA WRITE, for one block up to the largest transfer. */
static void
test_write_and_read(void **state)
{
	static const uint32_t sizes[] = { 1, 8, 17, 64, 256 };
	uint8_t *expected = malloc(HOST_BYTES);

	assert_non_null(expected);
	for (uint32_t nsid = 1; nsid <= 2; nsid++)
		for (unsigned int i = 0; i < RTE_DIM(sizes); i++) {
			uint32_t bytes = sizes[i] * BLOCK;

			fill(expected, bytes, nsid + i);
			memcpy(h.data, expected, bytes);
			assert_int_equal(rw(NVME_IO_WRITE, nsid, 100 * i, sizes[i], bytes), NVME_SUCCESS);
			memset(h.data, 0xee, HOST_BYTES);
			assert_int_equal(rw(NVME_IO_READ, nsid, 100 * i, sizes[i], bytes), NVME_SUCCESS);
			assert_memory_equal(h.data, expected, bytes);
			assert_int_equal(h.data[bytes], 0xee);
		}
	free(expected);
}

static void
test_in_capsule(void **state)
{
	struct nvme_command c = { .opcode = NVME_IO_WRITE, .nsid = rte_cpu_to_le_32(1) };

	c.rw.slba = rte_cpu_to_le_64(40);
	c.rw.blocks = rte_cpu_to_le_16(15);
	c.rw.control = rte_cpu_to_le_16(NVME_CONTROL_FUA);
	c.sgl.block.length = rte_cpu_to_le_32(16 * BLOCK);
	c.sgl.block.type = NVME_SGL_IN_CAPSULE;
	fill(io.memory->in_capsule, 16 * BLOCK, 77);
	assert_int_equal(host_status(host_run(&io, &c, 16 * BLOCK)), NVME_SUCCESS);
	assert_int_equal(rw(NVME_IO_READ, 1, 40, 16, 16 * BLOCK), NVME_SUCCESS);
	assert_memory_equal(h.data, io.memory->in_capsule, 16 * BLOCK);
	/* more than the capsule has, and beyond it */
	c.sgl.block.length = rte_cpu_to_le_32(17 * BLOCK);
	assert_int_equal(host_status(host_run(&io, &c, 16 * BLOCK)), NVME_SGL_LENGTH_INVALID);
	c.sgl.block.offset = rte_cpu_to_le_64(UINT64_MAX);
	assert_int_equal(host_status(host_run(&io, &c, 16 * BLOCK)), NVME_SGL_OFFSET_INVALID);
	c.sgl.block.offset = rte_cpu_to_le_64(BLOCK);
	c.sgl.block.length = rte_cpu_to_le_32(BLOCK);
	assert_int_equal(host_status(host_run(&io, &c, 16 * BLOCK)), NVME_SGL_LENGTH_INVALID); /* 16 blocks announced */
}

static void
test_refused(void **state)
{
	struct nvme_command c = { .opcode = NVME_IO_READ, .nsid = rte_cpu_to_le_32(1) };

	assert_int_equal(rw(NVME_IO_READ, 1, BLOCKS, 1, BLOCK), NVME_LBA_OUT_OF_RANGE);
	assert_int_equal(rw(NVME_IO_READ, 1, BLOCKS - 1, 2, 2 * BLOCK), NVME_LBA_OUT_OF_RANGE);
	assert_int_equal(rw(NVME_IO_WRITE, 1, UINT64_MAX, 2, 2 * BLOCK), NVME_LBA_OUT_OF_RANGE);
	assert_int_equal(rw(NVME_IO_READ, 1, BLOCKS - 1, 1, BLOCK), NVME_SUCCESS);
	assert_int_equal(rw(NVME_IO_READ, 0, 0, 1, BLOCK), NVME_INVALID_NAMESPACE);
	assert_int_equal(rw(NVME_IO_READ, 3, 0, 1, BLOCK), NVME_INVALID_NAMESPACE);
	assert_int_equal(rw(NVME_IO_READ, NVME_NSID_ALL, 0, 1, BLOCK), NVME_INVALID_NAMESPACE);
	assert_int_equal(rw(NVME_IO_READ, 1, 0, 2, BLOCK), NVME_SGL_LENGTH_INVALID);
	assert_int_equal(rw(NVME_IO_READ, 1, 0, 1, 2 * BLOCK), NVME_SGL_LENGTH_INVALID);
	assert_int_equal(rw(NVME_IO_READ, 1, 0, 1, 0), NVME_SGL_LENGTH_INVALID);
	assert_int_equal(rw(NVME_IO_READ, 1, 0, 257, 257 * BLOCK), NVME_SGL_LENGTH_INVALID);
	assert_int_equal(rw(0x7e, 1, 0, 1, BLOCK), NVME_INVALID_OPCODE);
	assert_int_equal(rw(0x83, 1, 0, 1, BLOCK), NVME_INVALID_OPCODE);
	/* SGL types, PRPs, fused commands */
	for (unsigned int type = 0; type < 256; type++) {
		host_keyed(&h, &c, BLOCK);
		c.sgl.keyed.type = (uint8_t)type;
		if (type != NVME_SGL_KEYED && type != NVME_SGL_KEYED_INVALIDATE && type != NVME_SGL_IN_CAPSULE)
			assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_SGL_TYPE_INVALID);
	}
	host_keyed(&h, &c, BLOCK);
	c.flags = 1;
	assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_INVALID_FIELD);
	c.flags = 0x80;
	assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_INVALID_FIELD);
}

/* Write Zeroes, Deallocate, Compare, Verify, Flush */
static void
test_other_commands(void **state)
{
	struct nvme_command c = { .opcode = NVME_IO_FLUSH };
	struct nvme_dsm_range *range = (struct nvme_dsm_range *)io.memory->in_capsule;

	for (uint32_t nsid = 1; nsid <= 2; nsid++) {
		fill(h.data, 16 * BLOCK, 5);
		assert_int_equal(rw(NVME_IO_WRITE, nsid, 200, 16, 16 * BLOCK), NVME_SUCCESS);
		assert_int_equal(rw(NVME_IO_COMPARE, nsid, 200, 16, 16 * BLOCK), NVME_SUCCESS);
		h.data[16 * BLOCK - 1] ^= 1;
		assert_int_equal(rw(NVME_IO_COMPARE, nsid, 200, 16, 16 * BLOCK), NVME_COMPARE_FAILURE);

		c = (struct nvme_command){ .opcode = NVME_IO_WRITE_ZEROES, .nsid = rte_cpu_to_le_32(nsid) };
		c.rw.slba = rte_cpu_to_le_64(204);
		c.rw.blocks = rte_cpu_to_le_16(7);
		assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_SUCCESS);
		assert_int_equal(rw(NVME_IO_READ, nsid, 200, 16, 16 * BLOCK), NVME_SUCCESS);
		for (unsigned int i = 0; i < 8 * BLOCK; i++)
			assert_int_equal(h.data[4 * BLOCK + i], 0);
		assert_int_equal(h.data[4 * BLOCK - 1], (uint8_t)((4 * BLOCK - 1) * 7 + (4 * BLOCK - 1) / 251 + 5));

		c.opcode = NVME_IO_VERIFY;
		c.rw.slba = 0;
		c.rw.blocks = rte_cpu_to_le_16(BLOCKS - 1);
		assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_SUCCESS);

		*range = (struct nvme_dsm_range){ .slba = rte_cpu_to_le_64(208), .blocks = rte_cpu_to_le_32(8) };
		c = (struct nvme_command){ .opcode = NVME_IO_DSM, .nsid = rte_cpu_to_le_32(nsid) };
		c.cdw[1] = rte_cpu_to_le_32(NVME_DSM_DEALLOCATE);
		c.sgl.block.length = rte_cpu_to_le_32(sizeof(*range));
		c.sgl.block.type = NVME_SGL_IN_CAPSULE;
		assert_int_equal(host_status(host_run(&io, &c, sizeof(*range))), NVME_SUCCESS);
		range->blocks = rte_cpu_to_le_32(BLOCKS);
		assert_int_equal(host_status(host_run(&io, &c, sizeof(*range))), NVME_LBA_OUT_OF_RANGE);
		c.cdw[0] = rte_cpu_to_le_32(1);	/* two ranges, data of one */
		assert_int_equal(host_status(host_run(&io, &c, sizeof(*range))), NVME_SGL_LENGTH_INVALID);
	}
	c = (struct nvme_command){ .opcode = NVME_IO_FLUSH, .nsid = rte_cpu_to_le_32(NVME_NSID_ALL) };
	assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_SUCCESS);
	c.nsid = rte_cpu_to_le_32(1);
	assert_int_equal(host_status(host_run(&io, &c, 0)), NVME_SUCCESS);
}

static struct nvme_completion
identify(uint8_t cns, uint32_t nsid)
{
	struct nvme_command c = { .opcode = NVME_ADMIN_IDENTIFY, .nsid = rte_cpu_to_le_32(nsid) };

	memset(h.data, 0xee, HOST_BYTES);
	c.cdw[0] = rte_cpu_to_le_32(cns);
	host_keyed(&h, &c, NVME_PAGE_BYTES);
	return host_run(&admin, &c, 0);
}

static void
test_identify(void **state)
{
	const struct nvme_identify_controller *ctrl = (struct nvme_identify_controller *)h.data;
	const struct nvme_identify_namespace *ns = (struct nvme_identify_namespace *)h.data;
	const rte_le32_t *list = (rte_le32_t *)h.data;
	uint8_t nguid[16];

	assert_int_equal(host_status(identify(NVME_CNS_CONTROLLER, 0)), NVME_SUCCESS);
	assert_string_equal(ctrl->subnqn, TARGET_NQN);
	assert_memory_equal(ctrl->serial, "0123456789abcdef    ", 20);
	assert_int_equal(rte_le_to_cpu_16(ctrl->cntlid), cntlid);
	assert_int_equal(rte_le_to_cpu_32(ctrl->nn), UROCE_NVMF_MAX_NAMESPACES);
	assert_int_equal(rte_le_to_cpu_32(ctrl->ioccsz) * 16, 64 + UROCE_NVMF_IN_CAPSULE_BYTES);
	assert_int_equal(1u << ctrl->mdts << 12, UROCE_NVMF_BUFFER_BYTES);
	assert_int_equal(h.data[NVME_PAGE_BYTES], 0xee);

	assert_int_equal(host_status(identify(NVME_CNS_NAMESPACE, 1)), NVME_SUCCESS);
	assert_int_equal(rte_le_to_cpu_64(ns->nsze), BLOCKS);
	assert_int_equal(ns->lbaf[0].data_shift, 9);
	memcpy(nguid, ns->nguid, sizeof(nguid));
	assert_int_equal(host_status(identify(NVME_CNS_NAMESPACE, 2)), NVME_SUCCESS);
	assert_memory_not_equal(nguid, ns->nguid, sizeof(nguid));
	assert_int_equal(host_status(identify(NVME_CNS_NAMESPACE, 3)), NVME_SUCCESS); /* not active: zeros */
	assert_int_equal(ns->nsze, 0);
	assert_int_equal(host_status(identify(NVME_CNS_DESCRIPTORS, 3)), NVME_INVALID_NAMESPACE);
	assert_int_equal(host_status(identify(NVME_CNS_NAMESPACE, UROCE_NVMF_MAX_NAMESPACES + 1)), NVME_INVALID_NAMESPACE);

	assert_int_equal(host_status(identify(NVME_CNS_DESCRIPTORS, 1)), NVME_SUCCESS);
	assert_int_equal(h.data[0], NVME_DESCRIPTOR_NGUID);
	assert_memory_equal(&h.data[4], nguid, sizeof(nguid));

	assert_int_equal(host_status(identify(NVME_CNS_ACTIVE_NAMESPACES, 0)), NVME_SUCCESS);
	assert_int_equal(rte_le_to_cpu_32(list[0]), 1);
	assert_int_equal(rte_le_to_cpu_32(list[1]), 2);
	assert_int_equal(list[2], 0);
	assert_int_equal(host_status(identify(NVME_CNS_ACTIVE_NAMESPACES, 1)), NVME_SUCCESS);
	assert_int_equal(rte_le_to_cpu_32(list[0]), 2);
	assert_int_equal(list[1], 0);
	assert_int_equal(host_status(identify(0xff, 1)), NVME_INVALID_FIELD);
}

/* A command without data brings none of another command's. */
static void
test_no_data(void **state)
{
	struct nvme_command c = { .opcode = NVME_ADMIN_GET_FEATURES, .cdw[0] = rte_cpu_to_le_32(NVME_FEATURE_QUEUES) };

	memset(h.data, 0x5a, 8 * BLOCK);
	assert_int_equal(rw(NVME_IO_WRITE, 1, 0, 8, 8 * BLOCK), NVME_SUCCESS);
	memset(h.data, 0, 8 * BLOCK);
	host_keyed(&h, &c, 8 * BLOCK);
	assert_int_equal(host_status(host_run(&admin, &c, 0)), NVME_SUCCESS);
	for (unsigned int i = 0; i < 8 * BLOCK; i++)
		assert_int_equal(h.data[i], 0);
}

/* Send an asynchronous event request. After a change, the target answers it at once. */
static void
send_event_request(void)
{
	const struct nvme_command event = { .opcode = NVME_ADMIN_ASYNC_EVENT, .flags = NVME_PSDT_SGL, .cid = 999 };
	struct nvme_command features = { .opcode = NVME_ADMIN_SET_FEATURES, .sgl.keyed.type = NVME_SGL_KEYED };
	struct ibv_sge sge = { (uintptr_t)&admin.memory->command, sizeof(event), admin.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	features.cdw[0] = rte_cpu_to_le_32(NVME_FEATURE_ASYNC_EVENTS);
	features.cdw[1] = rte_cpu_to_le_32(NVME_EVENT_NAMESPACE);
	assert_int_equal(host_status(host_run(&admin, &features, 0)), NVME_SUCCESS);
	admin.memory->command = event;
	assert_int_equal(uroce_post_send(admin.id->qp, &wr, &bad), 0);
}

/* Before a change: wait until the target has the request. */
static void
request_event(void)
{
	send_event_request();
	while (LIST_FIRST(&h.target->subsystem.controllers)->nb_events == 0)
		host_poll(&h);
}

/* The event comes, and the log names this namespace. */
static void
expect_event(uint32_t nsid)
{
	struct nvme_command log = { .opcode = NVME_ADMIN_GET_LOG_PAGE };
	struct nvme_completion event = host_wait(&admin);

	assert_int_equal(event.cid, 999);
	assert_int_equal(rte_le_to_cpu_32(event.dw0), NVME_EVENT_NAMESPACE_CHANGED);

	log.cdw[0] = rte_cpu_to_le_32(NVME_LOG_CHANGED_NAMESPACES | 1023u << 16);
	host_keyed(&h, &log, 4096);
	assert_int_equal(host_status(host_run(&admin, &log, 0)), NVME_SUCCESS);
	assert_int_equal(((rte_le32_t *)h.data)[0], rte_cpu_to_le_32(nsid));
	assert_int_equal(((rte_le32_t *)h.data)[1], 0);
}

/* A change of the file's size reaches the host: event, log, Identify. */
static void
test_resize(void **state)
{
	struct nvmf_subsystem *s = &h.target->subsystem;

	request_event();
	assert_int_equal(uroce_nvmf_subsystem_resize(s), 0);
	assert_int_equal(truncate(file, 2 * BLOCKS * BLOCK), 0);
	assert_int_equal(uroce_nvmf_subsystem_resize(s), 1);
	expect_event(1);
	assert_int_equal(host_status(identify(NVME_CNS_NAMESPACE, 1)), NVME_SUCCESS);
	assert_int_equal(rte_le_to_cpu_64(((struct nvme_identify_namespace *)h.data)->nsze), 2 * BLOCKS);
	assert_int_equal(truncate(file, BLOCKS * BLOCK), 0);
	/* the file is shorter than the host believes: a media error, not a crash */
	assert_int_equal(rw(NVME_IO_READ, 1, BLOCKS, 1, BLOCK), NVME_READ_ERROR);
	assert_int_equal(uroce_nvmf_subsystem_resize(s), 1);
	send_event_request();
	expect_event(1);
}

/* Telemetry shows what the host has done, and adds a namespace, which the host then uses. */
static void
test_telemetry(void **state)
{
	telemetry_expect("/uroce/nvmf/info", "\"namespaces\":2");
	telemetry_expect("/uroce/nvmf/info", TARGET_NQN);
	telemetry_expect("/uroce/nvmf/controllers", "[1]");
	telemetry_expect("/uroce/nvmf/controller,1", "\"host\":\"" HOST_NQN "\"");
	assert_int_equal(telemetry_number("queues"), 2);
	telemetry_expect("/uroce/nvmf/controller,2", "\"error: there is no controller 2: ");
	telemetry_expect("/uroce/nvmf/controller", "\"error: '' is not the number of a controller, 1 to 65519: ");
	telemetry_ask("/uroce/nvmf/poller,0");
	assert_int_equal(telemetry_number("queues"), 2);
	assert_true(telemetry_number("bytes_written") >= 256 * BLOCK && telemetry_number("bytes_read") >= 256 * BLOCK);
	assert_true(telemetry_number("errors") > 256); /* of test_refused() */
	telemetry_expect("/uroce/nvmf/poller,1", "\"error: '1' is not the number of a poller, 0 to 0: ");
	telemetry_expect("/uroce/nvmf/latency", "\"below_4194304_us\":");
	telemetry_expect("/uroce/nvmf/namespace,2", "\"store\":\"ram:4M\"");
	telemetry_expect("/uroce/nvmf/namespace,3", "\"error: there is no namespace 3\"");
	telemetry_expect("/uroce/nvmf/add,ram:no", "\"error: namespace ram:no: 'no' is no size: ");
	telemetry_expect("/uroce/nvmf/add", "\"error: put PATH, ");
	telemetry_expect("/uroce/nvmf/resize", "\"resized\":0");

	request_event();
	telemetry_expect("/uroce/nvmf/add,ram:1M", "\"nsid\":3");
	expect_event(3);
	assert_int_equal(rw(NVME_IO_READ, 3, 2047, 1, BLOCK), NVME_SUCCESS);
	assert_int_equal(rw(NVME_IO_READ, 3, 2048, 1, BLOCK), NVME_LBA_OUT_OF_RANGE);
}

/* One round of the target without that of its io_uring, so that an I/O stays in progress. */
static void
poll_without_disk(void)
{
	struct nvmf_poller *p = &h.target->pollers[0];
	struct ibv_wc wc;

	uroce_worker_poll(h.workers[0]);
	uroce_worker_poll(h.workers[1]);
	while (uroce_poll_cq(p->cq, 1, &wc) == 1)
		uroce_nvmf_queue_completion(&wc);
}

/* A namespace is removed with a write in progress: the write ends, and is in the file; the next command finds no
 * namespace; the file is closed when both have ended, and not before. Its number is not used again soon. */
static void
test_remove(void **state)
{
	struct nvmf_subsystem *s = &h.target->subsystem;
	struct nvmf_poller *p = &h.target->pollers[0];
	struct nvme_command c = { .opcode = NVME_IO_WRITE, .nsid = rte_cpu_to_le_32(4) };
	char second[] = "/tmp/uroce-nvmf-XXXXXX", command[64];
	uint8_t stored[BLOCK];
	int fd = mkstemp(second);

	assert_true(fd >= 0 && ftruncate(fd, BLOCKS * BLOCK) == 0);
	snprintf(command, sizeof(command), "/uroce/nvmf/add,%s", second);
	telemetry_expect(command, "\"nsid\":4");
	send_event_request();
	expect_event(4);

	request_event();
	c.rw.slba = rte_cpu_to_le_64(8);
	host_keyed(&h, &c, BLOCK);
	memset(h.data, 0x77, BLOCK);
	host_send(&io, &c, 0);
	while (p->uses[3] == 0)
		poll_without_disk();
	telemetry_expect("/uroce/nvmf/remove,4", "\"removed\":4");
	telemetry_expect("/uroce/nvmf/namespace,4", "\"error: there is no namespace 4\"");
	p->seen = s->changes;
	uroce_nvmf_subsystem_reclaim(s, p, 1);
	assert_non_null(s->leaving[3]);
	assert_int_equal(host_status(host_wait(&io)), NVME_SUCCESS);
	assert_int_equal(pread(fd, stored, BLOCK, 8 * BLOCK), BLOCK);
	assert_int_equal(stored[0], 0x77);
	assert_int_equal(rw(NVME_IO_READ, 4, 8, 1, BLOCK), NVME_INVALID_NAMESPACE);
	while (s->leaving[3] != NULL)
		host_poll(&h);
	expect_event(4);
	assert_int_equal(host_status(identify(NVME_CNS_ACTIVE_NAMESPACES, 3)), NVME_SUCCESS);
	assert_int_equal(((rte_le32_t *)h.data)[0], 0);

	telemetry_expect("/uroce/nvmf/remove,4", "\"error: there is no namespace 4\"");
	telemetry_expect("/uroce/nvmf/remove,0", "\"error: '0' is not the number of a namespace, 1 to 64: ");
	telemetry_expect("/uroce/nvmf/remove", "\"error: '' is not the number of a namespace, ");
	telemetry_expect("/uroce/nvmf/info", "\"namespaces\":3");
	telemetry_expect("/uroce/nvmf/add,ram:1M", "\"nsid\":5");
	telemetry_expect("/uroce/nvmf/remove,5", "\"removed\":5");
	send_event_request();
	expect_event(5);
	close(fd);
	unlink(second);
}

static void
test_cm_refused(void **state)
{
	static const struct {
		uint16_t recfmt, qid, hrqsize, hsqsize;
		int status;
	} cases[] = {
		{ 1, 0, 32, 31, NVME_CM_INVALID_RECFMT },
		{ 0, UROCE_NVMF_MAX_QUEUES, 32, 31, NVME_CM_INVALID_QID },
		{ 0, 0, 0, 31, NVME_CM_INVALID_HRQSIZE },
		{ 0, 0, UROCE_NVMF_QUEUE_DEPTH + 1, 31, NVME_CM_INVALID_HRQSIZE },
		{ 0, 0, 32, 0, NVME_CM_INVALID_HSQSIZE },
		{ 0, 0, 32, UROCE_NVMF_QUEUE_DEPTH, NVME_CM_INVALID_HSQSIZE },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++) {
		const struct nvme_cm_request priv = {
			.recfmt = rte_cpu_to_le_16(cases[i].recfmt), .qid = rte_cpu_to_le_16(cases[i].qid),
			.hrqsize = rte_cpu_to_le_16(cases[i].hrqsize), .hsqsize = rte_cpu_to_le_16(cases[i].hsqsize),
		};
		struct host_queue q;

		assert_false(host_queue_open(&h, &q, 0, &priv));
		assert_int_equal(q.rejected, cases[i].status);
		host_queue_close(&q);
	}
}

static void
test_connect_refused(void **state)
{
	static const struct nvmf_host hosts[] = { { .nqn = "nqn.2026-11.org.example:other" } };
	struct nvme_command identify_early = { .opcode = NVME_ADMIN_IDENTIFY, .sgl.keyed.type = NVME_SGL_KEYED };
	struct nvmf_subsystem *s = &h.target->subsystem;
	struct host_queue q;

	assert_true(host_queue_open(&h, &q, 0, NULL));
	assert_int_equal(host_status(host_run(&q, &identify_early, 0)), NVME_COMMAND_SEQUENCE);
	assert_int_equal(host_connect(&q, 0, NVME_CNTLID_DYNAMIC, "nqn.2026-11.org.example:none"), NVME_CONNECT_INVALID_PARAM);
	assert_true(q.no_retry);
	assert_int_equal(host_connect(&q, 1, NVME_CNTLID_DYNAMIC, TARGET_NQN), NVME_CONNECT_INVALID_PARAM);
	assert_int_equal(host_connect(&q, 0, 7, TARGET_NQN), NVME_CONNECT_INVALID_PARAM);
	s->hosts = hosts;
	s->nb_hosts = 1;
	assert_int_equal(host_connect(&q, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN), NVME_CONNECT_INVALID_HOST);
	assert_int_equal(host_connect_as(&q, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN, ""), NVME_CONNECT_INVALID_HOST);
	s->nb_hosts = 0;
	/* discovery is open to all */
	assert_int_equal(host_connect(&q, 0, NVME_CNTLID_DYNAMIC, NVME_DISCOVERY_NQN), NVME_SUCCESS);
	assert_int_equal(host_connect(&q, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN), NVME_COMMAND_SEQUENCE);
	host_queue_close(&q);
	/* without a list of hosts, one need not have a name, as SPDK's initiators */
	assert_true(host_queue_open(&h, &q, 0, NULL));
	assert_int_equal(host_connect_as(&q, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN, ""), NVME_SUCCESS);
	host_queue_close(&q);
	/* an I/O queue of a controller that does not exist: it may just have ended, so the host makes another; one twice */
	assert_true(host_queue_open(&h, &q, 1, NULL));
	assert_int_equal(host_connect(&q, 1, (uint16_t)(cntlid + 100), TARGET_NQN), NVME_CONNECT_INVALID_PARAM);
	assert_false(q.no_retry);
	assert_int_equal(host_connect(&q, 1, cntlid, TARGET_NQN), NVME_CONNECT_INVALID_PARAM);
	host_queue_close(&q);
}

/* Two hosts share a namespace: each reads what the other has written, neither can use the other's controller, and the
 * first goes on when the second leaves. */
static void
test_two_hosts(void **state)
{
	static const char second[] = "nqn.2026-11.org.example:second";
	struct host_queue admin2, io2;

	assert_true(host_queue_open(&h, &admin2, 0, NULL));
	assert_int_equal(host_connect_as(&admin2, 0, NVME_CNTLID_DYNAMIC, TARGET_NQN, second), NVME_SUCCESS);
	host_enable(&admin2);
	assert_true(host_queue_open(&h, &io2, 1, NULL));
	assert_int_equal(host_connect_as(&io2, 1, cntlid, TARGET_NQN, second), NVME_CONNECT_INVALID_PARAM);
	assert_int_equal(host_connect_as(&io2, 1, LIST_FIRST(&h.target->subsystem.controllers)->cntlid, TARGET_NQN, second),
			 NVME_SUCCESS);
	for (unsigned int i = 0; i < 2; i++) {
		memset(h.data, 0x10 + (int)i, BLOCK);
		assert_int_equal(rw_on(i == 0 ? &io : &io2, NVME_IO_WRITE, 1, 300, 1, BLOCK), NVME_SUCCESS);
		memset(h.data, 0, BLOCK);
		assert_int_equal(rw_on(i == 0 ? &io2 : &io, NVME_IO_READ, 1, 300, 1, BLOCK), NVME_SUCCESS);
		assert_int_equal(h.data[BLOCK - 1], 0x10 + i);
	}
	host_queue_close(&io2);
	host_queue_close(&admin2);
	assert_int_equal(rw(NVME_IO_READ, 1, 300, 1, BLOCK), NVME_SUCCESS);
}

/* A capsule shorter than a command ends the connection. */
static void
test_short_capsule(void **state)
{
	struct host_queue q;
	struct ibv_sge sge;
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	assert_true(host_queue_open(&h, &q, 0, NULL));
	sge = (struct ibv_sge){ (uintptr_t)&q.memory->command, 63, q.mr->lkey };
	assert_int_equal(uroce_post_send(q.id->qp, &wr, &bad), 0);
	while (!q.disconnected)
		host_poll(&h);
	host_queue_close(&q);
	assert_int_equal(rw(NVME_IO_READ, 1, 0, 1, BLOCK), NVME_SUCCESS); /* other queues go on */
}

/* Hosts drop a namespace whose identifiers change. */
static void
test_identifiers(void **state)
{
	const struct nvmf_namespace *ns = h.target->subsystem.namespaces[1];
	struct nvmf_reason why;
	struct nvmf_namespace *again = uroce_nvmf_namespace_open("ram:4M", 2, false, TARGET_NQN, &why);
	struct nvmf_namespace *other = uroce_nvmf_namespace_open("ram:4M", 3, false, TARGET_NQN, &why);

	assert_non_null(again);
	assert_non_null(other);
	assert_memory_equal(again->uuid, ns->uuid, sizeof(ns->uuid));
	assert_memory_not_equal(other->uuid, ns->uuid, sizeof(ns->uuid));
	uroce_nvmf_namespace_close(again);
	uroce_nvmf_namespace_close(other);
}

/* The target ends: it disconnects the hosts. */
static void
test_end(void **state)
{
	uroce_nvmf_subsystem_end(&h.target->subsystem);
	while (!admin.disconnected || !io.disconnected)
		host_poll(&h);
}

UROCE_TESTS(nvmf_commands)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_write_and_read),
		cmocka_unit_test(test_in_capsule),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_other_commands),
		cmocka_unit_test(test_identify),
		cmocka_unit_test(test_no_data),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_telemetry),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_cm_refused),
		cmocka_unit_test(test_connect_refused),
		cmocka_unit_test(test_two_hosts),
		cmocka_unit_test(test_short_capsule),
		cmocka_unit_test(test_identifiers),
		cmocka_unit_test(test_end),
	};
	int failed;

	if (telemetry_eal_init() != 0)
		return 1;
	failed = cmocka_run_group_tests(tests, setup, teardown);
	telemetry_eal_cleanup();
	return failed;
}
