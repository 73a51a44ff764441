/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Disks that are full, short or broken: the host gets a status that says so, and no data with it, and acknowledged data
 * are kept.
 */

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "host.h"

#define BLOCK 512u
#define BLOCKS 2048u

static char file[] = "/tmp/uroce-nvmf-XXXXXX";
static struct host h;
static struct host_queue admin, io;

static int
setup(void **state)
{
	const char *namespaces[] = { file };
	int fd;

	strcpy(file + strlen(file) - 6, "XXXXXX");
	fd = mkstemp(file);
	if (fd < 0 || ftruncate(fd, BLOCKS * BLOCK) != 0)
		return -1;
	close(fd);
	host_open(&h, namespaces, 1);
	(void)host_start(&h, &admin, &io);
	return 0;
}

static int
teardown(void **state)
{
	host_queue_close(&io);
	host_queue_close(&admin);
	host_close(&h);
	return unlink(file);
}

static uint16_t
run(uint8_t opcode, uint64_t slba, uint32_t blocks, uint16_t control)
{
	struct nvme_command c = { .opcode = opcode, .nsid = rte_cpu_to_le_32(1) };

	if (opcode != NVME_IO_FLUSH) {
		c.rw.slba = rte_cpu_to_le_64(slba);
		c.rw.blocks = rte_cpu_to_le_16((uint16_t)(blocks - 1));
		c.rw.control = rte_cpu_to_le_16(control);
		host_keyed(&h, &c, blocks * BLOCK);
	}
	return host_status(host_run(&io, &c, 0));
}

static uint16_t
write_blocks(uint64_t slba, uint32_t blocks, uint8_t value)
{
	memset(h.data, value, blocks * BLOCK);
	return run(NVME_IO_WRITE, slba, blocks, 0);
}

static void
expect_blocks(uint64_t slba, uint32_t blocks, uint8_t value)
{
	memset(h.data, (uint8_t)~value, blocks * BLOCK);
	assert_int_equal(run(NVME_IO_READ, slba, blocks, 0), NVME_SUCCESS);
	for (uint32_t i = 0; i < blocks * BLOCK; i++)
		assert_int_equal(h.data[i], value);
}

/* A read that fails brings no data. */
static void
expect_read_error(uint8_t opcode, uint64_t slba, uint32_t blocks)
{
	memset(h.data, 0xee, blocks * BLOCK);
	assert_int_equal(run(opcode, slba, blocks, 0), NVME_READ_ERROR);
	for (uint32_t i = 0; i < blocks * BLOCK; i++)
		assert_int_equal(h.data[i], 0xee);
}

/* Let the namespace's file be another one from now on. */
static void
replace(const char *path)
{
	int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, h.target->subsystem.namespaces[0]->fd), h.target->subsystem.namespaces[0]->fd);
	close(fd);
	h.target->subsystem.changes++; /* register it with the ring */
	while (h.target->pollers[0].seen != h.target->subsystem.changes)
		host_poll(&h);
}

/* The file may grow no further than its middle. */
static void
test_full(void **state)
{
	const uint64_t middle = BLOCKS / 2;
	struct rlimit before, limit;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = middle * BLOCK;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	assert_int_equal(write_blocks(0, 64, 1), NVME_SUCCESS);
	assert_int_equal(write_blocks(middle - 8, 8, 2), NVME_SUCCESS);
	assert_int_equal(write_blocks(middle, 8, 3), NVME_CAPACITY_EXCEEDED);
	assert_int_equal(write_blocks(BLOCKS - 8, 8, 3), NVME_CAPACITY_EXCEEDED);
	assert_int_equal(write_blocks(middle - 8, 16, 3), NVME_CAPACITY_EXCEEDED); /* the first half may be there */
	assert_int_equal(run(NVME_IO_FLUSH, 0, 0, 0), NVME_SUCCESS);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_blocks(0, 64, 1);
	expect_blocks(middle, 8, 0);
	assert_int_equal(write_blocks(middle, 8, 4), NVME_SUCCESS); /* there is room again */
	expect_blocks(middle, 8, 4);
}

static void
test_no_space(void **state)
{
	replace("/dev/full");
	assert_int_equal(write_blocks(0, 8, 1), NVME_CAPACITY_EXCEEDED);
	memset(h.data, 1, BLOCK);
	assert_int_equal(run(NVME_IO_WRITE, 0, 1, NVME_CONTROL_FUA), NVME_CAPACITY_EXCEEDED);
	replace(file);
	expect_blocks(0, 8, 0);
}

static void
test_short(void **state)
{
	assert_int_equal(write_blocks(0, 8, 1), NVME_SUCCESS);
	assert_int_equal(truncate(file, BLOCKS / 2 * BLOCK), 0);
	expect_blocks(0, 8, 1);
	expect_read_error(NVME_IO_READ, BLOCKS / 2, 8);
	expect_read_error(NVME_IO_READ, BLOCKS / 2 - 4, 8);
	expect_read_error(NVME_IO_COMPARE, BLOCKS - 8, 8);
	expect_read_error(NVME_IO_VERIFY, BLOCKS - 8, 8);
	assert_int_equal(write_blocks(BLOCKS - 8, 8, 2), NVME_SUCCESS); /* the file grows */
	expect_blocks(BLOCKS - 8, 8, 2);
}

/* The memory of a process that has nothing mapped there: EIO. */
static void
test_broken(void **state)
{
	replace("/proc/self/mem");
	expect_read_error(NVME_IO_READ, 0, 8);
	expect_read_error(NVME_IO_COMPARE, 0, 8);
	expect_read_error(NVME_IO_VERIFY, 0, 8);
	assert_int_equal(write_blocks(0, 8, 1), NVME_WRITE_FAULT);
	assert_int_equal(run(NVME_IO_WRITE_ZEROES, 0, 8, 0), NVME_WRITE_FAULT);
	replace(file);
	expect_blocks(0, 8, 0);
	assert_int_equal(write_blocks(0, 8, 1), NVME_SUCCESS);
}

/* A flush that fails once has lost data for good. */
static void
test_failed_flush(void **state)
{
	assert_int_equal(run(NVME_IO_FLUSH, 0, 0, 0), NVME_SUCCESS);
	replace("/proc/self/mem"); /* it cannot be flushed */
	assert_int_equal(run(NVME_IO_FLUSH, 0, 0, 0), NVME_WRITE_FAULT);
	replace(file);
	assert_int_equal(run(NVME_IO_FLUSH, 0, 0, 0), NVME_WRITE_FAULT);
	memset(h.data, 1, BLOCK);
	assert_int_equal(run(NVME_IO_WRITE, 0, 1, NVME_CONTROL_FUA), NVME_WRITE_FAULT);
	assert_int_equal(write_blocks(0, 8, 1), NVME_SUCCESS); /* without a promise */
}

/* A write with FUA flushes the page cache, and its error is not reported again. */
static void
test_failed_fua(void **state)
{
	replace("/proc/self/mem");
	memset(h.data, 1, BLOCK);
	assert_int_equal(run(NVME_IO_WRITE, 0, 1, NVME_CONTROL_FUA), NVME_WRITE_FAULT);
	replace(file);
	assert_int_equal(run(NVME_IO_FLUSH, 0, 0, 0), NVME_WRITE_FAULT);
}

UROCE_TESTS(nvmf_disks)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_space, setup, teardown),
		cmocka_unit_test_setup_teardown(test_short, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_flush, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_fua, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
