/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waiting for another process's socket: none is named, it exists, it appears later, it never appears, or its process
 * has exited.
 */

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>

#include "groups.h"
#include "tasks.h"
#include "progress/memif_socket.h"

#define LONG_MS 60000

static char dir[] = "/tmp/uroce-peer.XXXXXX";
static char path[64];
static int server = -1;

static int
setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	return snprintf(path, sizeof(path), "%s/socket", dir) < (int)sizeof(path) ? 0 : -1;
}

static int
teardown(void **state)
{
	return rmdir(dir);
}

static void
bind_there(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	server = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	memcpy(addr.sun_path, path, strlen(path));
	if (server < 0 || bind(server, (struct sockaddr *)&addr, sizeof(addr)) != 0)
		abort();
}

static void
listen_there(void)
{
	bind_there();
	if (listen(server, 1) != 0)
		abort();
}

static void
end_there(void)
{
	assert_int_equal(close(server), 0);
	assert_int_equal(unlink(path), 0);
}

static void *
listen_when_asleep(void *id)
{
	test_task_await_sleep((pid_t)(uintptr_t)id);
	listen_there();
	return NULL;
}

static void
test_none(void **state)
{
	assert_true(uroce_memif_sockets_wait(NULL, 0));
	assert_true(uroce_memif_sockets_wait("", 0));
}

static void
test_does_not_come(void **state)
{
	FILE *f;

	assert_false(uroce_memif_sockets_wait(path, 0));
	assert_false(uroce_memif_sockets_wait(path, 20));
	/* another kind of file does not count */
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
	assert_false(uroce_memif_sockets_wait(path, 20));
	assert_int_equal(unlink(path), 0);
}

static void
test_there(void **state)
{
	listen_there();
	assert_true(uroce_memif_sockets_wait(path, 0));
	end_there();
}

static void
test_comes(void **state)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, listen_when_asleep, (void *)(uintptr_t)gettid()), 0);
	assert_true(uroce_memif_sockets_wait(path, LONG_MS));
	assert_int_equal(pthread_join(thread, NULL), 0);
	end_there();
}

/* The socket of a process that has exited does not count, nor one that is bound but does not listen yet. */
static void
test_has_exited(void **state)
{
	bind_there();
	assert_false(uroce_memif_sockets_wait(path, 20));
	assert_int_equal(listen(server, 1), 0);
	assert_true(uroce_memif_sockets_wait(path, 0));
	assert_int_equal(close(server), 0);
	assert_false(uroce_memif_sockets_wait(path, 20));
	assert_int_equal(unlink(path), 0);
}

/* The socket's queue of connections is full: a process listens. */
static void
test_full(void **state)
{
	listen_there();
	for (unsigned int i = 0; i < 4; i++)
		assert_true(uroce_memif_sockets_wait(path, 0));
	end_there();
}

/* Wait for each of several sockets; more than the limit are an error. */
static void
test_several(void **state)
{
	char paths[300];

	snprintf(paths, sizeof(paths), "%s,%s/other", path, dir);
	listen_there();
	assert_false(uroce_memif_sockets_wait(paths, 20));
	snprintf(paths, sizeof(paths), "%s/other,%s", dir, path);
	assert_false(uroce_memif_sockets_wait(paths, 20));
	snprintf(paths, sizeof(paths), "%s,,%s,", path, path);
	assert_true(uroce_memif_sockets_wait(paths, 0));
	snprintf(paths, sizeof(paths), "%s,/%0200d", path, 0);
	assert_false(uroce_memif_sockets_wait(paths, LONG_MS));
	end_there();
}

UROCE_TESTS(memif_sockets_wait)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_does_not_come),
		cmocka_unit_test(test_there),
		cmocka_unit_test(test_comes),
		cmocka_unit_test(test_has_exited),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_several),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
