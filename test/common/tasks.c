/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tasks.h"

#define SPIN_NS 1000000

static bool
has(const struct test_tasks *tasks, pid_t id)
{
	for (unsigned int i = 0; i < tasks->count; i++)
		if (tasks->ids[i] == id)
			return true;
	return false;
}

void
test_tasks_since(const struct test_tasks *before, struct test_tasks *tasks)
{
	DIR *directory = opendir("/proc/self/task");
	struct dirent *entry;

	tasks->count = 0;
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		pid_t id = (pid_t)atoi(entry->d_name);	/* 0: "." and ".." */

		if (id != 0 && !has(before, id) && tasks->count < TEST_TASKS)
			tasks->ids[tasks->count++] = id;
	}
	if (directory != NULL)
		closedir(directory);
}

void
test_tasks_list(struct test_tasks *tasks)
{
	static const struct test_tasks none;

	test_tasks_since(&none, tasks);
}

int
test_task_status(pid_t id, const char *title, char line[TEST_TASK_LINE])
{
	const size_t length = strlen(title);
	char path[64];
	FILE *file;
	int ret = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", id);
	file = fopen(path, "r");
	if (file == NULL)
		return -1;
	while (ret != 0 && fgets(line, TEST_TASK_LINE, file) != NULL) {
		if (strncmp(line, title, length) != 0)
			continue;
		memmove(line, line + length, strlen(line + length) + 1);
		line[strcspn(line, "\n")] = '\0';
		ret = 0;
	}
	fclose(file);
	return ret;
}

pid_t
test_task_named(const struct test_tasks *tasks, const char *name)
{
	char line[TEST_TASK_LINE];

	for (unsigned int i = 0; i < tasks->count; i++)
		if (test_task_status(tasks->ids[i], "Name:\t", line) == 0 && strcmp(line, name) == 0)
			return tasks->ids[i];
	return 0;
}

/* The signals that a thread blocks which blocks all of them. An emulator keeps some for itself, and numbers others as the
 * kernel below it does. */
static uint64_t
blockable(const sigset_t *except)
{
	char line[TEST_TASK_LINE] = "";
	sigset_t all, before;

	sigfillset(&all);
	for (int number = 1; except != NULL && number <= 64; number++)
		if (sigismember(except, number) == 1)
			sigdelset(&all, number);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	test_task_status((pid_t)syscall(SYS_gettid), "SigBlk:\t", line);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return strtoull(line, NULL, 16);
}

unsigned int
test_tasks_take_signals(const struct test_tasks *tasks, const sigset_t *except)
{
	const uint64_t wanted = blockable(except);
	char name[TEST_TASK_LINE], line[TEST_TASK_LINE];
	unsigned int count = 0;

	for (unsigned int i = 0; i < tasks->count; i++) {
		if (test_task_status(tasks->ids[i], "Name:\t", name) != 0 ||
		    test_task_status(tasks->ids[i], "SigBlk:\t", line) != 0)
			continue;
		if (wanted != 0 && (strtoull(line, NULL, 16) & wanted) == wanted)
			continue;
		fprintf(stderr, "thread %s blocks only the signals 0x%s of 0x%016llx\n", name, line,
			(unsigned long long)wanted);
		count++;
	}
	return count;
}

pid_t
test_task_start(pthread_t *thread, void *(*start)(void *), void *arg)
{
	struct test_tasks before, tasks;

	test_tasks_list(&before);
	if (pthread_create(thread, NULL, start, arg) != 0)
		abort();
	test_tasks_since(&before, &tasks);
	return tasks.count > 0 ? tasks.ids[0] : 0;	/* 0: it has ended */
}

void
test_task_await_sleep(pid_t id)
{
	char line[TEST_TASK_LINE];

	while (id != 0 && test_task_status(id, "State:\t", line) == 0 && line[0] != 'S')
		sched_yield();
}

/* @return the CPU time of the thread in ns; UINT64_MAX: it has ended */
static uint64_t
cpu_ns(pthread_t thread)
{
	struct timespec used;
	clockid_t clock;

	if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
		return UINT64_MAX;
	return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

void
test_thread_await_spin(pthread_t thread)
{
	const uint64_t from = cpu_ns(thread);

	if (from == UINT64_MAX)
		return;
	while (cpu_ns(thread) < from + SPIN_NS)
		sched_yield();
}
