/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Preloaded into perftest's client with -R. Its server listens twice, and does not announce the second listen: a client
 * that connects before it is refused, and crashes. Each rdma_connect() but the first waits for the server's second
 * listen, which uroce's libibverbs logs to the file that UROCE_SERVER_LOG names.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LISTENS "listens on port"

static bool
listens_again(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned int count = 0;
	char line[4096];

	if (file == NULL)
		return true;
	while (fgets(line, sizeof(line), file) != NULL)
		count += strstr(line, LISTENS) != NULL;
	fclose(file);
	return count >= 2;
}

int
rdma_connect(void *id, void *param)
{
	static int (*next)(void *id, void *param);
	const struct timespec pause = { .tv_nsec = 10000000 };
	const char *path = getenv("UROCE_SERVER_LOG");

	if (next != NULL && path != NULL)
		while (!listens_again(path))
			nanosleep(&pause, NULL);
	if (next == NULL)
		*(void **)&next = dlsym(RTLD_NEXT, "rdma_connect");
	return next != NULL ? next(id, param) : -1;
}
