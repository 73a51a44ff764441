/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Which sockets are removed before a start, and which are not.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "groups.h"
#include "progress/memif_socket.h"

static char directory[] = "/tmp/uroce-stale-XXXXXX";
static char path[64];

static int
listen_there(int type)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type, 0);

	assert_true(fd >= 0);
	strcpy(address.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static bool
is_removed_by(const char *format)
{
	char arg[256];

	snprintf(arg, sizeof(arg), "%.*s%s%s", (int)(strchr(format, '@') - format), format, path,
		 strchr(format, '@') + 1);
	uroce_memif_socket_remove(arg);
	return access(path, F_OK) != 0;
}

#define SERVER "--vdev=net_memif0,role=server,id=0,socket=@,socket-abstract=no,bsize=8192"

static void
test_left(void **state)
{
	close(listen_there(SOCK_SEQPACKET));
	assert_false(is_removed_by("--vdev=net_memif0,role=client,id=0,socket=@,socket-abstract=no"));
	assert_false(is_removed_by("--vdev=net_memif0,role=server,id=0,socket=@"));
	assert_false(is_removed_by("--vdev=net_memif0,role=server,id=0,socket=@,socket-abstract=yes"));
	assert_false(is_removed_by("--vdev=net_other0,role=server,id=0,socket=@,socket-abstract=no"));
	assert_false(is_removed_by("--vdev=net_memif0,role=server,id=0,socket=@x,socket-abstract=no"));
	assert_true(is_removed_by(SERVER));
	assert_true(is_removed_by(SERVER));	/* no socket exists */
	close(listen_there(SOCK_SEQPACKET));
	assert_false(is_removed_by("net_other0,role=server,id=0,socket=@,socket-abstract=no"));
	assert_true(is_removed_by(&SERVER[strlen("--vdev=")]));	/* as an argument of its own */
}

/* The next descriptor is the lowest free number. */
static int
next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void
test_in_use(void **state)
{
	int fd = listen_there(SOCK_SEQPACKET), next = next_fd();

	for (unsigned int i = 0; i < 10; i++) {	/* the listener's backlog is full early */
		errno = ECONNREFUSED;
		assert_false(is_removed_by(SERVER));
	}
	assert_int_equal(next_fd(), next);
	close(fd);
	assert_true(is_removed_by(SERVER));
	fd = listen_there(SOCK_STREAM);	/* a socket of another type */
	assert_false(is_removed_by(SERVER));
	close(fd);
	assert_true(is_removed_by(SERVER));
}

static void
test_who_listens(void **state)
{
	char arg[256];
	int fd;

	snprintf(arg, sizeof(arg), "--vdev=net_memif0,role=server,id=0,socket=%s,socket-abstract=no", path);
	assert_int_equal(uroce_memif_socket_remove(arg), -1);	/* no socket exists */
	fd = listen_there(SOCK_SEQPACKET);
	assert_int_equal(uroce_memif_socket_remove(arg), getpid());
	close(fd);
	assert_int_equal(uroce_memif_socket_remove(arg), -1);	/* no process listens any more */
	assert_int_not_equal(access(path, F_OK), 0);
}

static void
test_a_file(void **state)
{
	close(open(path, O_CREAT | O_WRONLY, 0600));
	assert_false(is_removed_by(SERVER));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/log", path), 0);
	assert_true(lstat(path, &(struct stat){ 0 }) == 0);
	uroce_memif_socket_remove("--vdev=net_memif0,role=server,socket=,socket-abstract=no");
	is_removed_by(SERVER);
	assert_true(lstat(path, &(struct stat){ 0 }) == 0);
	assert_int_equal(unlink(path), 0);
}

static void
test_too_long(void **state)
{
	char arg[512];

	snprintf(arg, sizeof(arg), "--vdev=net_memif0,role=server,socket=/%0*d,socket-abstract=no", 300, 1);
	uroce_memif_socket_remove(arg);
	uroce_memif_socket_remove("");
	uroce_memif_socket_remove("--vdev=net_memif0");
}

static int
setup(void **state)
{
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/socket", directory);
	return 0;
}

static int
teardown(void **state)
{
	return rmdir(directory);
}

UROCE_TESTS(memif_socket)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_who_listens),
		cmocka_unit_test(test_a_file),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
