/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Memory that a command points to: unreadable or unwritable memory, that of the command itself included, returns
 * EFAULT, and the command has no effect.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"
#include "uroce_config.h"

enum { SKIPPED = 77 };

static uint8_t *pages;	/* one readable and writable, one readable, one without access */
static size_t page_bytes;

static int
map(void **state)
{
	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	pages = mmap(NULL, 3 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return -1;
	memset(pages, 0xff, 3 * page_bytes);
	return mprotect(pages + page_bytes, page_bytes, PROT_READ) != 0 ||
	       mprotect(pages + 2 * page_bytes, page_bytes, PROT_NONE) != 0 ? -1 : 0;
}

static int
unmap(void **state)
{
	return munmap(pages, 3 * page_bytes);
}

static uint64_t
at(unsigned int page, size_t offset)
{
	return (uintptr_t)pages + page * page_bytes + offset;
}

static void
test_clear(void **state)
{
	assert_int_equal(uroce_ucma_user_clear(at(0, 8), 16), 0);
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(pages[i], i >= 8 && i < 24 ? 0 : 0xff);
	assert_int_equal(uroce_ucma_user_clear(at(0, 0), UROCE_UCMA_MAX_BYTES), 0);
	assert_int_equal(uroce_ucma_user_clear(at(0, page_bytes - 8), 8), 0);
	assert_int_equal(uroce_ucma_user_clear(at(0, page_bytes - 8), 9), -EFAULT);	/* across into the next page */
	assert_int_equal(uroce_ucma_user_clear(at(1, 0), 1), -EFAULT);
	assert_int_equal(pages[page_bytes], 0xff);
	assert_int_equal(uroce_ucma_user_clear(at(2, 0), 1), -EFAULT);
	assert_int_equal(uroce_ucma_user_clear(0, 1), -EFAULT);
	assert_int_equal(uroce_ucma_user_clear(UINT64_MAX - 3, 16), -EFAULT);
	memset(pages, 0xff, page_bytes);
}

static void
test_read(void **state)
{
	uint8_t to[UROCE_UCMA_MAX_BYTES] = { 0 };

	assert_int_equal(uroce_ucma_user_read(at(1, 0), to, 4), 0);
	assert_memory_equal(to, "\xff\xff\xff\xff\0", 5);
	assert_int_equal(uroce_ucma_user_read(0, to, 0), 0);
	assert_int_equal(uroce_ucma_user_read(at(0, 0), to, sizeof(to)), 0);
	assert_int_equal(uroce_ucma_user_read(at(1, page_bytes - 1), to, 2), -EFAULT);
	assert_int_equal(uroce_ucma_user_read(at(2, 0), to, 1), -EFAULT);
	assert_int_equal(uroce_ucma_user_read(0, to, 1), -EFAULT);
}

/* @return the failed check, or 0 */
static int
believe(void)
{
	struct sock_filter calls[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog rules = { .len = RTE_DIM(calls), .filter = calls };
	uint8_t to[4] = { 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &rules) != 0)
		return SKIPPED;
	if (uroce_ucma_user_read(at(1, 0), to, sizeof(to)) != 0 || memcmp(to, "\xff\xff\xff\xff", 4) != 0)
		return 1;
	if (uroce_ucma_user_clear(at(0, 8), 4) != 0 || pages[7] != 0xff || pages[8] != 0 || pages[12] != 0xff)
		return 2;
	return 0;
}

/* In a container that forbids the kernel's call, the library trusts the application. */
static void
test_forbidden(void **state)
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(believe());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == SKIPPED)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int
create_at(uint64_t response)
{
	const struct rdma_ucm_create_id cmd = { .uid = UID(1), .response = response, .ps = RDMA_PS_TCP };

	return COMMAND(CREATE_ID, cmd, sizeof(struct rdma_ucm_create_id_resp));
}

static void
test_answers(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	const struct rdma_ucm_resolve_ip addr = { .id = id, .dst_addr = ucma_address(world_v4(2, PORT)) };
	struct rdma_ucm_get_event get = { .response = at(2, 0) };
	struct rdma_ucm_destroy_id destroy = { .id = id, .response = at(1, 0) };

	assert_int_equal(create_at(0), EFAULT);
	assert_int_equal(create_at(at(1, 0)), EFAULT);
	assert_int_equal(create_at(at(0, page_bytes - 2)), EFAULT);
	assert_int_equal(ucma_create(RDMA_PS_TCP, UID(2)), id + 1);	/* no ID was created */
	ucma_destroy(id + 1);
	assert_int_equal(COMMAND(RESOLVE_IP, addr, 0), 0);
	/* the event stays queued */
	assert_int_equal(COMMAND(GET_EVENT, get, sizeof(struct rdma_ucm_event_resp)), EFAULT);
	assert_int_equal(ucma_event(RDMA_CM_EVENT_ADDR_RESOLVED, UID(1)).id, id);
	/* and the ID stays */
	assert_int_equal(COMMAND(DESTROY_ID, destroy, sizeof(struct rdma_ucm_destroy_id_resp)), EFAULT);
	assert_int_equal(ucma_destroy(id), 1);
}

/* A longer response is truncated to its room. */
static void
test_room(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	const size_t least = offsetof(struct rdma_ucm_query_route_resp, ibdev_index);
	struct rdma_ucm_query cmd = { .id = id, .response = at(0, page_bytes - least) };

	assert_int_equal(COMMAND(QUERY_ROUTE, cmd, least), 0);
	assert_int_equal(COMMAND(QUERY_ROUTE, cmd, least + 1), EFAULT);
	assert_int_equal(COMMAND(QUERY_ROUTE, cmd, UINT16_MAX), EFAULT);
	cmd.response = at(0, page_bytes - sizeof(struct rdma_ucm_query_route_resp));
	assert_int_equal(COMMAND(QUERY_ROUTE, cmd, UINT16_MAX), 0);
	ucma_destroy(id);
}

static void
test_options(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	struct rdma_ucm_set_option cmd = {
		.id = id, .level = RDMA_OPTION_ID, .optname = RDMA_OPTION_ID_REUSEADDR, .optlen = sizeof(int),
	};

	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), EFAULT);
	cmd.optval = at(1, page_bytes - 1);
	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), EFAULT);
	cmd.optval = at(1, page_bytes - sizeof(int));
	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), 0);
	cmd.optval = at(0, 0);
	for (uint32_t bytes = UROCE_UCMA_MAX_BYTES; bytes != 0; bytes <<= 1) {
		cmd.optlen = bytes;
		assert_int_equal(COMMAND(SET_OPTION, cmd, 0), EINVAL);
	}
	cmd.optlen = UINT32_MAX;
	assert_int_equal(COMMAND(SET_OPTION, cmd, 0), EINVAL);
	ucma_destroy(id);
}

UROCE_TESTS(ucma_user)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_forbidden),
		UCMA_TEST(test_answers),
		UCMA_TEST(test_room),
		UCMA_TEST(test_options),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, map, unmap);
}
