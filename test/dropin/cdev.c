/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The calls of one shared object are redirected to the rdma_cm device: only that object's, and only for that device.
 * The object is bound immediately, as Debian's librdmacm is, or lazily.
 */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "ucma/cdev.h"
#include "cma_world.h"
#include "eal.h"
#include "plt_hook.h"
#include "tasks.h"
#include "ucma/ucma.h"
#include "ucma/ucma_abi.h"

#define DEVICE "/dev/infiniband/rdma_cm"

/* of victim.c */
static int (*victim_open)(const char *path, int flags, mode_t mode);
static int (*victim_fstat)(int fd, struct stat *st);
static ssize_t (*victim_write)(int fd, const void *buf, size_t bytes);
static int (*victim_close)(int fd);
static pid_t (*victim_parent)(void);

/* Before the attach, the object's calls reach the C library. The calls of this process itself are never redirected. */
static void
test_attach(void **state)
{
	errno = 0;
	assert_int_equal(victim_fstat(-1, &(struct stat){ 0 }), -1);
	assert_int_equal(errno, EBADF);
	assert_string_equal(uroce_plt_soname((const void *)victim_open), "librdmacm.so.0");
	assert_false(uroce_cdev_attach((const void *)strlen));	/* an object that is the C library */
	assert_false(uroce_cdev_attach(NULL));
	assert_true(uroce_cdev_attach((const void *)victim_open));
	assert_true(uroce_cdev_attach((const void *)victim_close));	/* a second attach changes nothing */
}

static uint32_t
create_id(int fd)
{
	struct rdma_ucm_create_id_resp resp = { .id = UINT32_MAX };
	const struct {
		struct rdma_ucm_cmd_hdr header;
		struct rdma_ucm_create_id cmd;
	} create = {
		.header = { RDMA_USER_CM_CMD_CREATE_ID, sizeof(create.cmd), sizeof(resp) },
		.cmd = { .response = (uintptr_t)&resp, .ps = RDMA_PS_TCP },
	};

	assert_int_equal(victim_write(fd, &create, sizeof(create)), sizeof(create));
	return resp.id;
}

static void
test_device(void **state)
{
	struct stat st;
	int fd = victim_open(DEVICE, O_RDWR | O_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(victim_fstat(fd, &st), 0);
	assert_true(S_ISCHR(st.st_mode));
	assert_int_equal(fstat(fd, &st), 0);
	assert_false(S_ISCHR(st.st_mode));	/* this program's own call sees the real file */
	assert_int_not_equal(create_id(fd), UINT32_MAX);
	errno = 0;
	assert_int_equal(victim_write(fd, "abc", 3), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(victim_close(fd), 0);
	assert_int_equal(victim_close(fd), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(world.started, 0);
}

/* The write of a thread with a pending cancellation. */
struct canceled {
	int fd;
	const void *command;
	size_t bytes;
	ssize_t written;
};

static void *
write_cancelled(void *arg)
{
	struct canceled *c = arg;

	if (pthread_cancel(pthread_self()) != 0)
		abort();
	c->written = victim_write(c->fd, c->command, c->bytes);
	pthread_testcancel();
	return NULL;
}

/* defined by AddressSanitizer, if the program is built with it */
extern void __asan_init(void) __attribute__((weak));

static void
join_cancelled(pthread_t thread)
{
	void *ret;

	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
}

struct get_event {
	struct rdma_ucm_cmd_hdr header;
	struct rdma_ucm_get_event cmd;
};

static struct get_event
get_event_into(struct rdma_ucm_event_resp *resp)
{
	return (struct get_event){
		.header = { RDMA_USER_CM_CMD_GET_EVENT, sizeof(struct rdma_ucm_get_event), sizeof(*resp) },
		.cmd = { .response = (uintptr_t)resp },
	};
}

/* A thread that waits for an event is canceled in the wait, and the descriptor stays usable. AddressSanitizer does
 * not notice that the unwinding has removed the frames in between, and would report an error. */
static void
test_cancelled_waiting(void **state)
{
	struct rdma_ucm_event_resp resp;
	const struct get_event get = get_event_into(&resp);
	struct canceled c = { .fd = victim_open(DEVICE, O_RDWR, 0), .command = &get, .bytes = sizeof(get) };
	pthread_t thread;

	assert_true(c.fd >= 0);
	if (&__asan_init == NULL) {
		assert_int_equal(pthread_create(&thread, NULL, write_cancelled, &c), 0);
		join_cancelled(thread);
	}
	assert_int_equal(victim_close(c.fd), 0);
	assert_int_equal(fcntl(c.fd, F_GETFD), -1);
	assert_int_equal(world.started, 0);
}

/* A command that waits for another command completes before the cancellation. */
static void
test_cancelled_in_between(void **state)
{
	struct canceled c = { .fd = victim_open(DEVICE, O_RDWR, 0) };
	struct uroce_ucma_file *file = uroce_ucma_file_get(c.fd);
	struct rdma_ucm_destroy_id_resp resp;
	struct {
		struct rdma_ucm_cmd_hdr header;
		struct rdma_ucm_destroy_id cmd;
	} destroy = {
		.header = { RDMA_USER_CM_CMD_DESTROY_ID, sizeof(destroy.cmd), sizeof(resp) },
		.cmd = { .response = (uintptr_t)&resp, .id = create_id(c.fd) },
	};
	struct uroce_ucma_id *id, *same;
	pthread_t thread;

	assert_int_equal(uroce_ucma_id_get(file, destroy.cmd.id, &id), 0);
	c.command = &destroy;
	c.bytes = sizeof(destroy);
	assert_int_equal(pthread_create(&thread, NULL, write_cancelled, &c), 0);
	while (uroce_ucma_id_get(file, destroy.cmd.id, &same) == 0)
		uroce_ucma_id_put(same);
	uroce_ucma_id_put(id);
	join_cancelled(thread);
	assert_int_equal(c.written, sizeof(destroy));
	uroce_ucma_file_put(file);
	assert_int_equal(victim_close(c.fd), 0);
	assert_int_equal(world.started, 0);
}

struct taker {
	int fd;
	pid_t tid;		/* 0: no event taken yet; atomic, partner: test_closed_in_between() */
	bool closed;		/* atomic, partner: test_closed_in_between() */
	ssize_t written;	/* of the second command, with errno */
	int error;
};

/* Take an event, and another one when the descriptor is closed. */
static void *
take_two(void *arg)
{
	struct taker *t = arg;
	struct rdma_ucm_event_resp resp;
	const struct get_event get = get_event_into(&resp);

	if (victim_write(t->fd, &get, sizeof(get)) != sizeof(get) || resp.event != UROCE_UCMA_EVENT_USER)
		abort();
	__atomic_store_n(&t->tid, gettid(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&t->closed, __ATOMIC_ACQUIRE))
		sched_yield();
	t->written = victim_write(t->fd, &get, sizeof(get));
	t->error = errno;
	return NULL;
}

static void
interrupt(int signal)
{
}

static void
write_event(int fd)
{
	const struct {
		struct rdma_ucm_cmd_hdr header;
		struct uroce_ucma_write_cm_event cmd;
	} event = {
		.header = { UROCE_UCMA_CMD_WRITE_CM_EVENT, sizeof(event.cmd), 0 },
		.cmd = { .id = create_id(fd), .event = UROCE_UCMA_EVENT_USER },
	};

	assert_int_equal(victim_write(fd, &event, sizeof(event)), sizeof(event));
}

/* Wait until the thread sleeps in the kernel. */
static void
wait_asleep(pthread_t thread, pid_t tid)
{
	char state[TEST_TASK_LINE] = "";

	while (state[0] != 'S') {
		assert_int_equal(pthread_tryjoin_np(thread, NULL), EBUSY);
		assert_int_equal(test_task_status(tid, "State:\t", state), 0);
		sched_yield();
	}
}

/* A thread that comes for the next event after the close waits, as one that came before it, also if another file has
 * the descriptor's number. rping's thread may come after its main thread has closed the channel, and would end the
 * program with an error if write() failed. */
static void
check_closed_in_between(bool is_reused)
{
	const int lower = dup(STDERR_FILENO);	/* the file that wait_asleep() reads gets it, not the device's */
	struct taker t = { .fd = victim_open(DEVICE, O_RDWR, 0) };
	const int other = open("/dev/null", O_RDONLY);
	pthread_t thread;

	assert_true(lower >= 0 && t.fd > lower);
	write_event(t.fd);
	assert_int_equal(pthread_create(&thread, NULL, take_two, &t), 0);
	while (__atomic_load_n(&t.tid, __ATOMIC_ACQUIRE) == 0)
		sched_yield();
	close(lower);
	assert_int_equal(victim_close(t.fd), 0);
	if (is_reused)
		assert_int_equal(dup2(other, t.fd), t.fd);
	__atomic_store_n(&t.closed, true, __ATOMIC_RELEASE);
	wait_asleep(thread, t.tid);
	assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = interrupt }, NULL), 0);
	assert_int_equal(pthread_kill(thread, SIGUSR1), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(t.written, -1);
	assert_int_equal(t.error, EINTR);
	assert_int_equal(world.started, 0);
	if (is_reused)
		close(t.fd);
	close(other);
}

static void
test_closed_in_between(void **state)
{
	check_closed_in_between(false);
	check_closed_in_between(true);
}

/* Calls for other files, which may create them, reach the system. */
static void
test_files(void **state)
{
	char path[64], text[4] = "";
	struct stat st;
	int fd;

	snprintf(path, sizeof(path), "/tmp/uroce-cdev-%d", (int)getpid());
	unlink(path);
	fd = victim_open(path, O_RDWR | O_CREAT | O_EXCL, 0640);
	assert_true(fd >= 0);
	assert_int_equal(victim_fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777 & ~0640u, 0);
	assert_int_equal(st.st_mode & 0600, 0600);
	assert_int_equal(victim_write(fd, "abc", 4), 4);
	assert_int_equal(pread(fd, text, 4, 0), 4);
	assert_string_equal(text, "abc");
	assert_int_equal(victim_close(fd), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	unlink(path);
	assert_int_equal(victim_open(path, O_RDONLY, 0), -1);
	assert_int_equal(errno, ENOENT);
}

static int
instead(void)
{
	return 0;
}

static void
test_all_or_none(void **state)
{
	const struct uroce_plt_call calls[] = {
		{ "close", NULL, (void (*)(void))instead },
		{ "what_it_does_not_call", "nor_this", (void (*)(void))instead },
	};

	assert_false(uroce_plt_hook((const void *)victim_open, calls, 2));
	assert_int_equal(victim_close(-1), -1);
	assert_false(uroce_plt_hook(NULL, calls, 1));
}

static pid_t
no_parent(void)
{
	return 0;
}

/* The call of every object, except of the one that has the replacement. */
static void
test_all_objects(void **state)
{
	const struct uroce_plt_call call = { "getppid", NULL, (void (*)(void))no_parent };

	assert_int_equal(victim_parent(), getppid());
	uroce_plt_hook_all(&call);
	assert_int_equal(victim_parent(), 0);
	assert_int_not_equal(getppid(), 0);
}

static void
test_object(void **state)
{
	const void *victim = uroce_plt_object("librdmacm.so.");

	assert_non_null(victim);
	assert_string_equal(uroce_plt_soname(victim), "librdmacm.so.0");
	assert_null(uroce_plt_object("libnonsense.so."));
}

static void
find(void *handle, const char *name, void *function)
{
	void *found = dlsym(handle, name);

	assert_non_null(found);
	memcpy(function, &found, sizeof(found));
}

/* usage: test_cdev VICTIM.so */
int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attach),
		cmocka_unit_test_setup_teardown(test_device, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_cancelled_waiting, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_cancelled_in_between, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_closed_in_between, world_setup, world_teardown),
		cmocka_unit_test_setup_teardown(test_files, world_setup, world_teardown),
		cmocka_unit_test(test_all_or_none),
		cmocka_unit_test(test_all_objects),
		cmocka_unit_test(test_object),
	};

	void *handle = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	if (handle == NULL)
		return EXIT_FAILURE;
	find(handle, "victim_open", &victim_open);
	find(handle, "victim_fstat", &victim_fstat);
	find(handle, "victim_write", &victim_write);
	find(handle, "victim_close", &victim_close);
	find(handle, "victim_parent", &victim_parent);
	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
