/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A program that forks before it has opened a device, and again later. The first child uses devices as any process; the
 * second one gets no devices and a message, and its parent is not disturbed.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>

#include "ends.h"

static void
use_a_device(void)
{
	struct end a, b;

	connect_here(&a, &b, device_at(0));
	exchange_here(&a, &b);
	end_close(&a);
	end_close(&b);
}

static void
expect_none(void)
{
	int count = -1;
	struct ibv_device **list = ibv_get_device_list(&count);

	NEED(list != NULL);
	NEED(count == 0);
	NEED(list[0] == NULL);
	ibv_free_device_list(list);
}

static void
end_of(pid_t child)
{
	int status;

	NEED(waitpid(child, &status, 0) == child);
	NEED(WIFEXITED(status));
	NEED(WEXITSTATUS(status) == 0);
}

int
main(void)
{
	struct end a, b;
	int pipes[2];
	pid_t child;
	char byte;

	NEED(ibv_fork_init() == 0);
	NEED((child = fork()) >= 0);
	if (child == 0) {
		use_a_device();
		exit(0);
	}
	end_of(child);

	connect_here(&a, &b, device_at(0));
	exchange_here(&a, &b);
	NEED(pipe(pipes) == 0);
	NEED((child = fork()) >= 0);
	if (child == 0) {
		close(pipes[1]);
		expect_none();
		NEED(ibv_open_device(a.context->device) == NULL);
		NEED(read(pipes[0], &byte, 1) == 0);	/* it lives until the parent is done */
		exit(0);
	}
	close(pipes[0]);
	exchange_here(&a, &b);
	close(pipes[1]);
	end_of(child);
	exchange_here(&a, &b);
	end_close(&a);
	end_close(&b);
	puts("forked twice");
	return 0;
}
