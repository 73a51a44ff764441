/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Descriptors of the rdma_cm device: their IDs after a close, an exit or a fork, and IDs that move between descriptors.
 */

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/wait.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

#define MANY 200	/* descriptors, which make the table grow */

/* Unread events move with their ID. */
static void
test_migrate(void **state)
{
	const uint32_t id = ucma_create(RDMA_PS_TCP, UID(1));
	const struct rdma_ucm_resolve_ip addr = { .id = id, .dst_addr = ucma_address(world_v4(2, PORT)) };
	struct rdma_ucm_migrate_resp resp = { .events_reported = UINT32_MAX };
	struct rdma_ucm_migrate_id cmd = { .id = id, .fd = (uint32_t)ucma_fd, .response = (uintptr_t)&resp };
	struct uroce_ucma_file *first = ucma_file, *other;
	const int other_fd = ucma_open(&other);
	struct rdma_ucm_event_resp none;

	assert_int_equal(COMMAND(RESOLVE_IP, addr, 0), 0);
	cmd.fd = (uint32_t)-1;
	assert_int_equal(ucma_command_of(other, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd), sizeof(resp)), EBADF);
	cmd.fd = (uint32_t)other_fd;
	assert_int_equal(COMMAND(MIGRATE_ID, cmd, sizeof(resp)), EINVAL);	/* it does not have this ID */
	cmd.fd = (uint32_t)ucma_fd;
	assert_int_equal(ucma_command_of(other, RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd), sizeof(resp)), 0);
	assert_int_equal(resp.events_reported, 0);
	assert_int_equal(ucma_get_event(&none), EAGAIN);
	assert_int_equal(ucma_bind_ip(id, world_v4(1, 0)), EINVAL);
	ucma_file = other;
	assert_int_equal(ucma_event(RDMA_CM_EVENT_ADDR_RESOLVED, UID(1)).id, id);
	assert_int_equal(ucma_destroy(id), 1);
	ucma_file = first;
	assert_int_equal(uroce_ucma_close(other_fd), 0);
}

/* A program exits without closing, and another closes before it destroys its IDs. */
static void
test_close(void **state)
{
	struct uroce_ucma_file *first = ucma_file, *other;
	int other_fd = ucma_open(&other);
	uint32_t id;

	ucma_file = other;
	ucma_listen_at(ucma_create(RDMA_PS_TCP, UID(0)), world_v4(2, PORT));
	id = ucma_create(RDMA_PS_TCP, UID(1));
	ucma_file = first;
	assert_int_equal(uroce_ucma_close(other_fd), 0);
	assert_int_equal(uroce_ucma_close(other_fd), 1);
	assert_null(uroce_ucma_file_get(other_fd));
	assert_int_equal(ucma_bind_ip(id, world_v4(1, 0)), ENOENT);
	/* and the port is free again */
	id = ucma_create(RDMA_PS_TCP, UID(2));
	assert_int_equal(ucma_bind_ip(id, world_v4(2, PORT)), 0);
	ucma_destroy(id);
	assert_int_equal(uroce_ucma_close(-1), 1);
	assert_int_equal(uroce_ucma_close(1 << 20), 1);
}

/* The kernel closes descriptors at exit; the library must do so, too. */
static void
test_exit(void **state)
{
	struct uroce_ucma_file *other;
	const int other_fd = ucma_open(&other);
	struct ucma_pair pair;
	uint32_t id;

	ucma_connect_pair(&pair);
	uroce_ucma_exit();
	assert_null(uroce_ucma_file_get(ucma_fd));
	assert_null(uroce_ucma_file_get(other_fd));
	ucma_fd = ucma_open(&ucma_file);
	id = ucma_create(RDMA_PS_TCP, UID(3));
	assert_int_equal(ucma_bind_ip(id, world_v4(2, PORT)), 0);
	ucma_destroy(id);
}

/* In a child, the parent's descriptors are dead, and the parent's are not changed. */
static void
test_fork(void **state)
{
	struct uroce_ucma_file *mine;
	int mine_fd = ucma_open(&mine), status;
	pid_t child = fork();

	if (child == 0) {	/* the child must not change the parent's objects */
		uroce_ucma_forked(true);
		_exit(uroce_ucma_open() == -1 && errno == ENODEV ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	uroce_ucma_forked(false);
	assert_int_equal(COMMAND(LISTEN, ((struct rdma_ucm_listen){ .id = 0 }), 0), EACCES);
	ucma_file->inherited = false;
	mine->inherited = false;
	assert_int_equal(uroce_ucma_close(mine_fd), 0);
}

static void *
open_many(void *arg)
{
	struct uroce_ucma_file *file;
	int fds[MANY];

	for (unsigned int i = 0; i < RTE_DIM(fds); i++)
		fds[i] = ucma_open(&file);
	for (unsigned int i = 0; i < RTE_DIM(fds); i++)
		RTE_VERIFY(uroce_ucma_close(fds[i]) == 0);
	__atomic_store_n((bool *)arg, true, __ATOMIC_RELEASE);
	return NULL;
}

/* A fork at any moment gives the child a consistent table. */
static void
test_fork_while_opening(void **state)
{
	static bool registered, done;
	pthread_t thread;
	int status;

	if (!registered)
		assert_int_equal(pthread_atfork(uroce_ucma_fork, uroce_ucma_fork_over, NULL), 0);
	registered = true;
	assert_int_equal(pthread_create(&thread, NULL, open_many, &done), 0);
	do {
		pid_t child = fork();

		if (child == 0) {
			uroce_ucma_forked(true);
			_exit(ucma_file->inherited ? 0 : 1);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	} while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE));
	pthread_join(thread, NULL);
}

UROCE_TESTS(ucma_file)
{
	const struct CMUnitTest tests[] = {
		UCMA_TEST(test_migrate),
		UCMA_TEST(test_close),
		UCMA_TEST(test_exit),
		UCMA_TEST(test_fork),
		UCMA_TEST(test_fork_while_opening),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
