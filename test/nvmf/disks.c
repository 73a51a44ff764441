/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Disks that are full, short or broken: the host gets a status that says so, and no data with it, and acknowledged data
 * are kept. Stores that another process uses, or that need too much memory, are refused.
 */

#include <fcntl.h>
#include <linux/loop.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
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

static void
expect_refused(const char *spec, bool read_only, const char *says)
{
	struct nvmf_subsystem *s = &h.target->subsystem;
	struct nvmf_reason why;

	s->read_only = read_only;
	assert_int_equal(uroce_nvmf_subsystem_add(s, spec, &why), 0);
	s->read_only = false;
	assert_non_null(strstr(why.text, says));
}

/* Another process serves the file: it has a lock of this type until it is killed. @return it */
static pid_t
serve_elsewhere(const char *path, short type)
{
	struct flock range = { .l_type = type, .l_whence = SEEK_SET };
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		int fd = open(path, type == F_RDLCK ? O_RDONLY : O_RDWR);

		if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || fd < 0 || fcntl(fd, F_OFD_SETLK, &range) != 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

static void
kill_process(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Two namespaces of one file: hosts that write to both destroy its file system. */
static void
test_twice(void **state)
{
	char link_path[sizeof(file) + 8];

	snprintf(link_path, sizeof(link_path), "%s.link", file);
	assert_int_equal(link(file, link_path), 0);
	expect_refused(file, false, "it is the same as namespace 1, /tmp/uroce-nvmf-");
	expect_refused(link_path, false, "it is the same as namespace 1, /tmp/uroce-nvmf-");
	expect_refused(file, true, "it is the same as namespace 1, /tmp/uroce-nvmf-");
	assert_int_equal(unlink(link_path), 0);
}

static void
test_other_process(void **state)
{
	struct nvmf_subsystem *s = &h.target->subsystem;
	char second[] = "/tmp/uroce-nvmf-XXXXXX";
	int fd = mkstemp(second);
	struct nvmf_reason why;
	pid_t pid;

	assert_true(fd >= 0 && ftruncate(fd, BLOCKS * BLOCK) == 0);
	pid = serve_elsewhere(second, F_WRLCK);
	expect_refused(second, false, "another process serves it");
	expect_refused(second, true, "another process serves it");
	kill_process(pid);
	pid = serve_elsewhere(second, F_RDLCK);
	expect_refused(second, false, "another process serves it");
	s->read_only = true;
	assert_int_equal(uroce_nvmf_subsystem_add(s, second, &why), 2);
	s->read_only = false;
	kill_process(pid);
	close(fd);
	unlink(second);
}

/* A device that has a mounted file system, or serves another program alone. */
static void
test_device_in_use(void **state)
{
	char device[32];
	int fd, control = open("/dev/loop-control", O_RDWR);
	int n = control < 0 ? -1 : ioctl(control, LOOP_CTL_GET_FREE);
	struct nvmf_reason why;

	if (control >= 0)
		close(control);
	snprintf(device, sizeof(device), "/dev/loop%d", n);
	fd = n < 0 ? -1 : open(device, O_RDWR | O_EXCL);
	if (fd < 0)
		skip();
	expect_refused(device, false, "is used by a file system or another program");
	close(fd);
	assert_int_equal(uroce_nvmf_subsystem_add(&h.target->subsystem, device, &why), 0);
	assert_non_null(strstr(why.text, "it is empty"));
}

static void
test_too_little_memory(void **state)
{
	expect_refused("ram:100T", false, "it needs 104857600 MiB, and ");
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
		cmocka_unit_test_setup_teardown(test_twice, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_process, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_in_use, setup, teardown),
		cmocka_unit_test_setup_teardown(test_too_little_memory, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
