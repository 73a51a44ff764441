/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the process that holds a port: searches /proc for a progress thread, which has a name of its own. Called
 * once, by the thread that starts EAL.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "progress/holder.h"
#include "uroce_config.h"

#define EAL_ARGS "UROCE_EAL_ARGS="

static bool
read_line(const char *path, char *line, size_t bytes)
{
	FILE *f = fopen(path, "re");
	bool ok = f != NULL && fgets(line, (int)bytes, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (ok)
		line[strcspn(line, "\n")] = '\0';
	return ok;
}

void
uroce_holder_name(pid_t pid, char *name, size_t bytes)
{
	char path[UROCE_VERBS_PATH_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	if (!read_line(path, name, bytes))
		snprintf(name, bytes, "?");
}

/* The name in /proc/PID/stat is in parentheses, and may contain parentheses. */
static pid_t
parent_of(pid_t pid)
{
	char path[UROCE_VERBS_PATH_BYTES], line[UROCE_VERBS_PATH_BYTES], *end;
	int parent = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_line(path, line, sizeof(line)))
		return 0;
	end = strrchr(line, ')');
	return end != NULL && sscanf(end, ") %*c %d", &parent) == 1 ? (pid_t)parent : 0;
}

static bool
drives_ports(pid_t pid)
{
	char path[UROCE_VERBS_PATH_BYTES], name[UROCE_VERBS_PATH_BYTES];
	const struct dirent *task;
	bool found = false;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	while (tasks != NULL && !found && (task = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "/proc/%d/task/%.16s/comm", (int)pid, task->d_name);
		found = read_line(path, name, sizeof(name)) && strcmp(name, UROCE_VERBS_THREAD_NAME) == 0;
	}
	if (tasks != NULL)
		closedir(tasks);
	return found;
}

static bool
has_args(pid_t pid, const char *eal_args)
{
	char path[UROCE_VERBS_PATH_BYTES], *word = NULL;
	bool found = false;
	size_t room = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	while (f != NULL && !found && getdelim(&word, &room, '\0', f) > 0)
		found = strncmp(word, EAL_ARGS, strlen(EAL_ARGS)) == 0 &&
			strcmp(&word[strlen(EAL_ARGS)], eal_args) == 0;
	free(word);
	if (f != NULL)
		fclose(f);
	return found;
}

pid_t
uroce_holder_ancestor(const char *eal_args)
{
	for (pid_t pid = getppid(); pid > 0; pid = parent_of(pid))
		if (drives_ports(pid) && has_args(pid, eal_args))
			return pid;
	return 0;
}
