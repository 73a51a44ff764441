/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * usage: plugin LIBIBVERBS LIBUROCE. Loads the built libraries by dlopen(3), as a host of plug-ins does, and unloads
 * them. The program is linked with neither of them, nor with DPDK. It also tests what an application sees of the
 * libraries' threads.
 */

#include <dlfcn.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "process.h"
#include "tasks.h"

#define ONE PROCESS_EAL " --vdev=net_null0,no-rx=1"
#define PROGRESS "uroce-progress"
#define CM "uroce-cm"
#define PAUSE_US 1000

static const char *verbs_path, *uroce_path;
static char said[PROCESS_TEXT_BYTES];

struct verbs {
	void *handle;
	struct ibv_device **(*get_device_list)(int *count);
	void (*free_device_list)(struct ibv_device **list);
};

struct cma {
	void *handle;
	struct rdma_event_channel *(*create_event_channel)(void);
	void (*destroy_event_channel)(struct rdma_event_channel *channel);
};

static int
load_verbs(struct verbs *verbs)
{
	verbs->handle = dlopen(verbs_path, RTLD_NOW | RTLD_GLOBAL);
	if (verbs->handle == NULL)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(verbs->handle != NULL);
	*(void **)&verbs->get_device_list = dlsym(verbs->handle, "ibv_get_device_list");
	*(void **)&verbs->free_device_list = dlsym(verbs->handle, "ibv_free_device_list");
	CHECK(verbs->get_device_list != NULL && verbs->free_device_list != NULL);
	return 0;
}

/* The distribution's librdmacm. It needs libibverbs.so.1, which is loaded by now: uroce's. */
static int
load_cma(struct cma *cma)
{
	cma->handle = dlopen("librdmacm.so.1", RTLD_NOW);
	CHECK(cma->handle != NULL);
	*(void **)&cma->create_event_channel = dlsym(cma->handle, "rdma_create_event_channel");
	*(void **)&cma->destroy_event_channel = dlsym(cma->handle, "rdma_destroy_event_channel");
	CHECK(cma->create_event_channel != NULL && cma->destroy_event_channel != NULL);
	return 0;
}

static int
has_one_device(const struct verbs *verbs)
{
	struct ibv_device **list;
	int count;

	list = verbs->get_device_list(&count);
	CHECK(list != NULL && count == 1);
	verbs->free_device_list(list);
	return 0;
}

static int
channel_comes_and_goes(const struct cma *cma)
{
	struct rdma_event_channel *channel = cma->create_event_channel();

	CHECK(channel != NULL);
	cma->destroy_event_channel(channel);
	return 0;
}

/* Wait until the thread has slept and woken a few times: it executes the library's code. */
static int
wait_until_it_runs(pid_t thread)
{
	unsigned long sleeps, first = 0;
	char line[TEST_TASK_LINE];

	do {
		usleep(PAUSE_US);
		CHECK(test_task_status(thread, "voluntary_ctxt_switches:\t", line) == 0);
		sleeps = strtoul(line, NULL, 10);
		first = first == 0 ? sleeps : first;
	} while (sleeps < first + 3);
	return 0;
}

/* As OpenMPI's openib BTL does without a device. */
static int
unload(void)
{
	struct test_tasks before, started;
	struct verbs verbs, again;
	pid_t progress;

	test_tasks_list(&before);
	CHECK(load_verbs(&verbs) == 0);
	CHECK(has_one_device(&verbs) == 0);
	test_tasks_since(&before, &started);
	CHECK((progress = test_task_named(&started, PROGRESS)) != 0);
	CHECK(dlclose(verbs.handle) == 0);
	CHECK(wait_until_it_runs(progress) == 0);
	CHECK(load_verbs(&again) == 0);
	CHECK(again.get_device_list == verbs.get_device_list);
	return has_one_device(&again);
}

static void
test_unload(void **state)
{
	process_run(ONE, "10.0.0.1/24", unload, said);
}

/* librdmacm may be unloaded and loaded again: its calls are redirected each time. */
static int
unload_cma(void)
{
	struct verbs verbs;
	struct cma cma;

	CHECK(load_verbs(&verbs) == 0);
	for (int i = 0; i < 3; i++) {
		CHECK(load_cma(&cma) == 0);
		CHECK(channel_comes_and_goes(&cma) == 0);
		CHECK(dlclose(cma.handle) == 0);
	}
	CHECK(dlclose(verbs.handle) == 0);
	return 0;
}

static void
test_unload_cma(void **state)
{
	process_run(ONE, "10.0.0.1/24", unload_cma, said);
}

/* DPDK keeps callbacks of liburoce (telemetry, log types), which are never unregistered. */
static int
unload_uroce(void)
{
	void *uroce = dlopen(uroce_path, RTLD_NOW);

	CHECK(uroce != NULL);
	CHECK(dlclose(uroce) == 0);
	CHECK(dlopen(uroce_path, RTLD_NOW | RTLD_NOLOAD) == uroce);
	return 0;
}

static void
test_unload_uroce(void **state)
{
	process_run(NULL, NULL, unload_uroce, said);
}

/* Only the application's threads take signals, whichever the application blocks. If it blocks a signal later, to
 * read it from a signalfd, the signal would end the program on the first thread that does not block it. */
static int
signals(void)
{
	struct test_tasks before, started;
	struct verbs verbs;
	sigset_t mask;
	struct cma cma;

	test_tasks_list(&before);
	CHECK(load_verbs(&verbs) == 0);
	CHECK(has_one_device(&verbs) == 0);
	CHECK(load_cma(&cma) == 0);
	CHECK(cma.create_event_channel() != NULL);
	test_tasks_since(&before, &started);
	CHECK(test_task_named(&started, PROGRESS) != 0 && test_task_named(&started, CM) != 0);
	CHECK(test_tasks_take_signals(&started, NULL) == 0);
	CHECK(sigprocmask(SIG_SETMASK, NULL, &mask) == 0 && sigisemptyset(&mask));
	return 0;
}

static void
test_signals(void **state)
{
	process_run(ONE, "10.0.0.1/24", signals, said);
}

/* tgtd blocks a signal after its first event channel, reads it from a file descriptor, and sends it to itself. */
static int
signal_blocked_later(void)
{
	struct verbs verbs;
	sigset_t one;
	struct cma cma;
	int number;

	CHECK(load_verbs(&verbs) == 0);
	CHECK(load_cma(&cma) == 0);
	CHECK(cma.create_event_channel() != NULL);
	sigemptyset(&one);
	sigaddset(&one, SIGUSR2);
	CHECK(sigprocmask(SIG_BLOCK, &one, NULL) == 0);
	for (int i = 0; i < 100; i++) {
		CHECK(kill(getpid(), SIGUSR2) == 0);
		CHECK(sigwait(&one, &number) == 0 && number == SIGUSR2);
	}
	return 0;
}

static void
test_signal_blocked_later(void **state)
{
	process_run(ONE, "10.0.0.1/24", signal_blocked_later, said);
}

/* A reactor like SPDK's asks for devices after the application has pinned it: no thread of the library may be
 * confined to that CPU. */
static int
pinned(void)
{
	char mask[TEST_TASK_LINE], line[TEST_TASK_LINE];
	struct test_tasks before, started;
	struct verbs verbs;
	cpu_set_t one;
	struct cma cma;

	test_tasks_list(&before);
	CHECK(test_task_status(getpid(), "Cpus_allowed:\t", mask) == 0);
	CHECK(load_verbs(&verbs) == 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(has_one_device(&verbs) == 0);
	CHECK(load_cma(&cma) == 0);
	CHECK(cma.create_event_channel() != NULL);
	test_tasks_since(&before, &started);
	CHECK(test_task_named(&started, PROGRESS) != 0 && test_task_named(&started, CM) != 0);
	for (unsigned int i = 0; i < started.count; i++) {
		CHECK(test_task_status(started.ids[i], "Cpus_allowed:\t", line) == 0);
		CHECK(strcmp(line, mask) == 0);
	}
	return 0;
}

static void
test_pinned(void **state)
{
	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	if (CPU_COUNT(&all) == 1)
		skip();
	process_run(ONE, "10.0.0.1/24", pinned, said);
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unload),
		cmocka_unit_test(test_unload_cma),
		cmocka_unit_test(test_unload_uroce),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_signal_blocked_later),
		cmocka_unit_test(test_pinned),
	};

	if (argc != 3) {
		fputs("usage: plugin LIBIBVERBS LIBUROCE\n", stderr);
		return 2;
	}
	verbs_path = argv[1];
	uroce_path = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
