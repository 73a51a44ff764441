/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Threads that do conflicting things with an ID of the rdma_cm device: move it, destroy it, join and leave groups, and
 * take its events. The results are consistent, and no freed object is used.
 */

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <arpa/inet.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_debug.h>

#include "cma_world.h"
#include "eal.h"
#include "groups.h"
#include "ucma_fixture.h"

#define ROUNDS 100
#define REQUESTS 20

static struct uroce_ucma_file *files[2];
static int fds[2];
static uint32_t id;			/* the ID in question, in either file */
static pthread_barrier_t barrier;	/* before and after each round */
static bool done;			/* atomic */

static int
setup(void **state)
{
	ucma_setup(state);
	for (unsigned int i = 0; i < RTE_DIM(files); i++)
		fds[i] = ucma_open(&files[i]);
	__atomic_store_n(&done, false, __ATOMIC_RELAXED);
	return 0;
}

static int
teardown(void **state)
{
	for (unsigned int i = 0; i < RTE_DIM(files); i++) {
		assert_true(LIST_EMPTY(&files[i]->ids));
		assert_int_equal(uroce_ucma_close(fds[i]), 0);
	}
	return ucma_teardown(state);
}

static bool
is_done(void)
{
	return __atomic_load_n(&done, __ATOMIC_ACQUIRE);
}

/* Move the ID to files[to]. */
static int
migrate(unsigned int to)
{
	struct rdma_ucm_migrate_resp resp;
	const struct rdma_ucm_migrate_id cmd = {
		.id = id, .fd = (uint32_t)fds[!to], .response = (uintptr_t)&resp,
	};

	return ucma_command_of(files[to], RDMA_USER_CM_CMD_MIGRATE_ID, &cmd, sizeof(cmd), sizeof(resp));
}

static int
destroy(unsigned int from, uint32_t which)
{
	struct rdma_ucm_destroy_id_resp resp;
	const struct rdma_ucm_destroy_id cmd = { .id = which, .response = (uintptr_t)&resp };

	return ucma_command_of(files[from], RDMA_USER_CM_CMD_DESTROY_ID, &cmd, sizeof(cmd), sizeof(resp));
}

static uint32_t
create(unsigned int in)
{
	struct uroce_ucma_file *own = ucma_file;
	uint32_t created;

	ucma_file = files[in];
	created = ucma_create(RDMA_PS_UDP, UID(1));
	ucma_file = own;
	return created;
}

/* Possible results: the ID has moved, it is elsewhere, or it is gone. */
static void *
move(void *arg)
{
	const unsigned int to = *(const unsigned int *)arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		int error;

		pthread_barrier_wait(&barrier);
		error = migrate(to);
		RTE_VERIFY(error == 0 || error == EINVAL || error == ENOENT);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

static void
test_move_and_destroy(void **state)
{
	static const unsigned int to[3] = { 1, 0, 1 };
	pthread_t threads[3];

	pthread_barrier_init(&barrier, NULL, 1 + RTE_DIM(threads));
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, move, (void *)(uintptr_t)&to[i]), 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		int error;

		id = create(i & 1);
		pthread_barrier_wait(&barrier);
		/* in whichever file it is */
		for (unsigned int from = 0; (error = destroy(from, id)) != 0; from = !from)
			assert_int_equal(error, EINVAL);
		pthread_barrier_wait(&barrier);
		assert_int_equal(destroy(0, id), ENOENT);
		assert_true(LIST_EMPTY(&files[0]->ids) && LIST_EMPTY(&files[1]->ids));
	}
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
}

/* Two threads move the ID at once: the last one has it. */
static void
test_move_at_once(void **state)
{
	static const unsigned int to[2] = { 0, 1 };
	pthread_t threads[2];

	pthread_barrier_init(&barrier, NULL, 1 + RTE_DIM(threads));
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, move, (void *)(uintptr_t)&to[i]), 0);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int in;

		id = create(i & 1);
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		in = LIST_EMPTY(&files[0]->ids);
		assert_ptr_equal(LIST_FIRST(&files[in]->ids)->file, files[in]);
		assert_ptr_equal(LIST_FIRST(&files[in]->ids)->cm->channel, files[in]->channel);
		assert_int_equal(destroy(!in, id), EINVAL);
		assert_int_equal(destroy(in, id), 0);
	}
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
}

static uint32_t refused;	/* atomic */

/* Take the requests of a file, and refuse them there. */
static void *
refuse(void *arg)
{
	const unsigned int at = *(const unsigned int *)arg;
	struct rdma_ucm_event_resp resp;
	const struct rdma_ucm_get_event get = { .response = (uintptr_t)&resp };

	while (!is_done()) {
		if (ucma_command_of(files[at], RDMA_USER_CM_CMD_GET_EVENT, &get, sizeof(get), sizeof(resp)) != 0) {
			sched_yield();
			continue;
		}
		RTE_VERIFY(resp.event == RDMA_CM_EVENT_CONNECT_REQUEST);
		RTE_VERIFY(destroy(at, resp.id) == 0);
		__atomic_fetch_add(&refused, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

static void *
move_to_and_fro(void *arg)
{
	for (unsigned int to = 1; !is_done(); to = !to) {
		RTE_VERIFY(migrate(to) == 0);
		sched_yield();
	}
	return NULL;
}

/* A listener moves while requests arrive: a thread that gets a request can answer it in the file from which it got
 * it. */
static void
test_move_a_listener(void **state)
{
	static const unsigned int at[2] = { 0, 1 };
	struct uroce_ucma_file *own = ucma_file;
	struct rdma_ucm_event_resp resp;
	pthread_t threads[3];

	refused = 0;
	id = create(0);
	ucma_file = files[0];
	ucma_listen_at(id, world_v4(2, PORT));
	ucma_file = own;
	for (unsigned int i = 0; i < RTE_DIM(at); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, refuse, (void *)(uintptr_t)&at[i]), 0);
	assert_int_equal(pthread_create(&threads[2], NULL, move_to_and_fro, NULL), 0);
	for (unsigned int i = 0; i < REQUESTS; i++) {
		const uint32_t client = ucma_create(RDMA_PS_UDP, UID(1));

		ucma_resolve(client, UID(1), world_v4(2, PORT));
		assert_int_equal(ucma_try_connect(client, 1, ""), 0);
		while (__atomic_load_n(&refused, __ATOMIC_ACQUIRE) <= i) {
			world_deliver();
			sched_yield();
		}
		assert_int_equal(ucma_get_event(&resp), 0);
		assert_int_equal(resp.event, RDMA_CM_EVENT_UNREACHABLE);
		ucma_destroy(client);
	}
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < RTE_DIM(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(destroy(LIST_EMPTY(&files[0]->ids), id), 0);
}

static void
leave(uint32_t handle)
{
	struct rdma_ucm_destroy_id_resp resp;
	const struct rdma_ucm_destroy_id cmd = { .id = handle, .response = (uintptr_t)&resp };
	int error = ucma_command_of(files[0], RDMA_USER_CM_CMD_LEAVE_MCAST, &cmd, sizeof(cmd), sizeof(resp));

	RTE_VERIFY(error == 0 || error == ENOENT);
}

/* Leave any group, joined or not. */
static void *
leave_any(void *arg)
{
	while (!is_done())
		for (uint32_t handle = 0; handle < 3; handle++)
			leave(handle);
	return NULL;
}

static void *
join_groups(void *arg)
{
	struct sockaddr_in group = { .sin_family = AF_INET };
	struct rdma_ucm_create_id_resp resp;
	struct rdma_ucm_join_ip_mcast cmd = { .id = id, .response = (uintptr_t)&resp };

	for (uint32_t n = 0; !is_done(); n++) {
		int error;

		group.sin_addr.s_addr = htonl(0xef010200 | (n & 3));
		cmd.addr = ucma_address((const struct sockaddr *)&group);
		error = ucma_command_of(files[0], RDMA_USER_CM_CMD_JOIN_IP_MCAST, &cmd, sizeof(cmd), sizeof(resp));
		RTE_VERIFY(error == 0 || error == EADDRINUSE || error == ENOENT);
	}
	return NULL;
}

/* The ID is destroyed while threads join and leave groups. */
static void
test_groups(void **state)
{
	void *(*const calls[])(void *arg) = { join_groups, leave_any, leave_any };
	struct uroce_ucma_file *own = ucma_file;
	pthread_t threads[RTE_DIM(calls)];

	for (unsigned int i = 0; i < ROUNDS / 10; i++) {
		__atomic_store_n(&done, false, __ATOMIC_RELEASE);
		id = create(0);
		ucma_file = files[0];
		assert_int_equal(ucma_bind_ip(id, world_v4(1, 0)), 0);
		ucma_file = own;
		for (unsigned int n = 0; n < RTE_DIM(threads); n++)
			assert_int_equal(pthread_create(&threads[n], NULL, calls[n], NULL), 0);
		usleep(100 * i);
		assert_int_equal(destroy(0, id), 0);
		__atomic_store_n(&done, true, __ATOMIC_RELEASE);
		for (unsigned int n = 0; n < RTE_DIM(threads); n++)
			pthread_join(threads[n], NULL);
		assert_int_equal(world.devices[0].host.joined, 0);
	}
}

/* As a write(2) to the descriptor: the file stays until it returns. */
static void *
wait_for_event(void *arg)
{
	struct uroce_ucma_file *file = *(struct uroce_ucma_file **)arg;
	struct rdma_ucm_event_resp resp;
	const struct rdma_ucm_get_event cmd = { .response = (uintptr_t)&resp };

	RTE_VERIFY(ucma_command_of(file, RDMA_USER_CM_CMD_GET_EVENT, &cmd, sizeof(cmd), sizeof(resp)) == 0);
	RTE_VERIFY(resp.event == RDMA_CM_EVENT_ADDR_RESOLVED);
	uroce_ucma_file_put(file);
	return NULL;
}

/* The program exits while a thread waits: its IDs are destroyed anyway. */
static void
test_exit(void **state)
{
	const int fd = uroce_ucma_open();
	struct uroce_ucma_file *file = uroce_ucma_file_get(fd);
	struct rdma_ucm_resolve_ip cmd = { .dst_addr = ucma_address(world_v4(2, PORT)) };
	pthread_t thread;

	assert_non_null(file);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_event, &file), 0);
	ucma_file = file;
	ucma_listen_at(ucma_create(RDMA_PS_TCP, UID(0)), world_v4(2, PORT));
	uroce_ucma_exit();
	assert_true(LIST_EMPTY(&file->ids));
	/* the thread still holds the file */
	cmd.id = ucma_create(RDMA_PS_TCP, UID(1));
	assert_int_equal(COMMAND(RESOLVE_IP, cmd, 0), 0);
	pthread_join(thread, NULL);
	ucma_fd = ucma_open(&ucma_file);
	for (unsigned int i = 0; i < RTE_DIM(files); i++)
		fds[i] = ucma_open(&files[i]);
	id = ucma_create(RDMA_PS_TCP, UID(2));
	assert_int_equal(ucma_bind_ip(id, world_v4(2, PORT)), 0);
	ucma_destroy(id);
}

UROCE_TESTS(ucma_threads)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_move_and_destroy),
		TEST(test_move_at_once),
		TEST(test_move_a_listener),
		TEST(test_groups),
		TEST(test_exit),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
