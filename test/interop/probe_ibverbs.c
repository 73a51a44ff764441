/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The probe on libibverbs, with the first device of the system. It is built for the Soft-RoCE guest.
 */

#include <errno.h>
#include <stdlib.h>

#include "probe.h"

struct ibv_context *
probe_open(int argc, char **argv)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	(void)argc;
	if (list != NULL && list[0] != NULL)
		context = ibv_open_device(list[0]);
	if (context == NULL) {
		fprintf(stderr, "%s: no verbs device\n", argv[0]);
		exit(1);
	}
	ibv_free_device_list(list);
	return context;
}

bool
probe_progress(void)
{
	return false;
}

void *
probe_alloc(size_t size, bool own)
{
	(void)own;
	return aligned_alloc(PROBE_ALIGN, (size + PROBE_ALIGN - 1) & ~(size_t)(PROBE_ALIGN - 1));
}

void
probe_free(void *memory, bool own)
{
	(void)own;
	free(memory);
}

int
probe_ping(struct ibv_context *context, const char *address)
{
	(void)context;
	(void)address;
	return ENOTSUP;
}

void
probe_counters(struct ibv_context *context)
{
	(void)context;
}
