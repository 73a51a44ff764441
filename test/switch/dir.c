/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The switch's directory: it has one switch at a time, the files of a killed switch are removed, and files of other
 * users are left alone.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dir.h"
#include "groups.h"
#include "tasks.h"

static char top[64];

static void
put(const char *path)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fclose(f);
}

static void
test_take(void **state)
{
	struct switch_dir d, other;
	char path[128], ports[160], text[16] = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/new", top);
	snprintf(ports, sizeof(ports), "%s/ports", path);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	assert_string_equal(d.path, path);
	assert_int_equal(uroce_switch_dir_take(&other, path), -EBUSY);
	assert_int_not_equal(access(ports, F_OK), 0);
	assert_int_equal(uroce_switch_dir_open(&d, 12), 0);
	f = fopen(ports, "r");
	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, "12\n");
	fclose(f);
	put(d.socket);
	uroce_switch_dir_release(&d);
	assert_int_not_equal(access(ports, F_OK), 0);
	assert_int_not_equal(access(d.socket, F_OK), 0);
	put(d.socket); /* files of a killed switch */
	put(ports);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	assert_int_not_equal(access(d.socket, F_OK), 0);
	assert_int_not_equal(access(ports, F_OK), 0);
	uroce_switch_dir_release(&d);
}

/* Another user with write permission in the directory cannot redirect the switch to another file by a link. */
static void
test_link(void **state)
{
	char path[128], ports[160], other[160];
	struct switch_dir d;
	struct stat st;

	snprintf(path, sizeof(path), "%s/link-in", top);
	snprintf(ports, sizeof(ports), "%s/ports", path);
	snprintf(other, sizeof(other), "%s/other", path);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	put(other);
	assert_int_equal(symlink(other, ports), 0);
	assert_int_equal(uroce_switch_dir_open(&d, 12), -EEXIST);
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 0);
	uroce_switch_dir_release(&d);
}

struct look {
	const char *lock;
	pid_t main;
	bool locked;	/* atomic */
};

/* A program that looks for a switch holds the lock, until the switch waits for it. */
static void *
look(void *arg)
{
	struct look *l = arg;
	int fd = open(l->lock, O_RDONLY);

	if (fd < 0 || flock(fd, LOCK_EX) != 0)
		abort();
	__atomic_store_n(&l->locked, true, __ATOMIC_RELEASE);
	test_task_await_sleep(l->main);
	close(fd);
	return NULL;
}

/* A program that looks for a switch does not keep a switch from starting. */
static void
test_looked_at(void **state)
{
	char path[128], lock[140];
	struct look l = { .lock = lock, .main = gettid() };
	struct switch_dir d;
	pthread_t thread;

	snprintf(path, sizeof(path), "%s/looked", top);
	snprintf(lock, sizeof(lock), "%s/lock", path);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	uroce_switch_dir_release(&d);
	assert_int_equal(pthread_create(&thread, NULL, look, &l), 0);
	while (!__atomic_load_n(&l.locked, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	uroce_switch_dir_release(&d);
	pthread_join(thread, NULL);
}

static void
test_own(void **state)
{
	struct switch_dir d;
	char expected[128];

	setenv("XDG_RUNTIME_DIR", top, 1);
	snprintf(expected, sizeof(expected), "%s/uroce/memif", top);
	assert_int_equal(uroce_switch_dir_take(&d, NULL), 0);
	assert_string_equal(d.socket, expected);
	uroce_switch_dir_release(&d);
	snprintf(expected, sizeof(expected), "%s/named", top);
	setenv("UROCE_DIR", expected, 1);
	assert_int_equal(uroce_switch_dir_take(&d, NULL), 0);
	assert_string_equal(d.path, expected);
	uroce_switch_dir_release(&d);
	unsetenv("UROCE_DIR");
}

/* As a user without a directory of their own, with a private /run and /tmp. @return 0: the default directories are
 * right */
static int
take_default(void)
{
	struct switch_dir d;

	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", "/run", "tmpfs", 0, NULL) != 0 || mount("none", "/tmp", "tmpfs", 0, "mode=1777") != 0)
		return 0; /* not permitted here: skip */
	unsetenv("UROCE_DIR");
	unsetenv("XDG_RUNTIME_DIR");
	if (uroce_switch_dir_take(&d, NULL) != 0 || strcmp(d.path, "/run/uroce") != 0)
		return 1;
	uroce_switch_dir_release(&d);
	if (seteuid(65534) != 0)
		return 2;
	setenv("UROCE_DIR", "", 1);
	setenv("XDG_RUNTIME_DIR", "not/from/the/root", 1);
	if (uroce_switch_dir_take(&d, NULL) != 0 || strcmp(d.path, "/tmp/uroce-65534") != 0)
		return 3;
	uroce_switch_dir_release(&d);
	return uroce_switch_dir_take(&d, "/uroce-none") == -EACCES ? 0 : 4;
}

static void
test_default(void **state)
{
	int status;
	pid_t child;

	if (geteuid() != 0)
		skip();
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(take_default());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* The next descriptor is the lowest free number. */
static int
next_fd(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* A lock that is not a file, and a lock that another switch holds. */
static void
test_lock(void **state)
{
	char path[128], lock[160];
	struct switch_dir d, other;
	int next;

	snprintf(path, sizeof(path), "%s/lock-in", top);
	snprintf(lock, sizeof(lock), "%s/lock", path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(mkdir(lock, 0700), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EISDIR);
	assert_int_equal(rmdir(lock), 0);
	assert_int_equal(symlink(top, lock), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ELOOP);
	assert_int_equal(unlink(lock), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	next = next_fd();
	assert_int_equal(uroce_switch_dir_take(&other, path), -EBUSY);
	assert_int_equal(next_fd(), next);
	uroce_switch_dir_release(&d);
}

/* A path whose socket's name is as long as possible, and one that is longer. */
static void
test_long(void **state)
{
	const size_t most = sizeof(((struct sockaddr_un *)NULL)->sun_path) - sizeof("/memif");
	char path[2 * PATH_MAX];
	struct switch_dir d;

	memset(path, 'x', sizeof(path));
	memcpy(path, top, strlen(top));
	path[strlen(top)] = '/';
	path[most] = '\0';
	assert_int_equal(uroce_switch_dir_take(&d, path), 0);
	uroce_switch_dir_release(&d);
	path[most] = 'x';
	path[most + 1] = '\0';
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENAMETOOLONG);
	path[most + 1] = 'x';
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENAMETOOLONG);
	setenv("UROCE_DIR", path, 1);
	assert_int_equal(uroce_switch_dir_take(&d, NULL), -ENAMETOOLONG);
	unsetenv("UROCE_DIR");
}

static void
test_refused(void **state)
{
	struct switch_dir d;
	char path[256];

	snprintf(path, sizeof(path), "%s/file", top);
	put(path);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/link", top);
	assert_int_equal(symlink(top, path), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENOTDIR);
	snprintf(path, sizeof(path), "%s/a,b", top);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EINVAL);
	snprintf(path, sizeof(path), "%s/a b", top);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EINVAL);
	snprintf(path, sizeof(path), "%s/not/there", top);
	assert_int_equal(uroce_switch_dir_take(&d, path), -ENOENT);
	if (geteuid() != 0)
		return;
	snprintf(path, sizeof(path), "%s/theirs", top);
	assert_int_equal(mkdir(path, 0777), 0);
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(uroce_switch_dir_take(&d, path), -EACCES);
}

UROCE_TESTS(switch_dir)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_link),
		cmocka_unit_test(test_looked_at),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_default),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_refused),
	};
	char command[96];
	int ret;

	snprintf(top, sizeof(top), "/tmp/uroce-switch-XXXXXX");
	if (mkdtemp(top) == NULL)
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	snprintf(command, sizeof(command), "rm -r %s", top);
	return system(command) == 0 ? ret : 1;
}
