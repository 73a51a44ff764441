/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The data buffers of a poller.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_malloc.h>

#include "buffer.h"
#include "program.h"

int
uroce_nvmf_buffers_init(struct nvmf_buffers *b, struct ibv_pd *pd)
{
	b->arena_bytes = (size_t)UROCE_NVMF_BUFFERS * UROCE_NVMF_BUFFER_BYTES;
	b->arena = rte_malloc("nvmf_buffers", b->arena_bytes, 4096);
	if (b->arena == NULL) {
		fprintf(stderr, "%s: out of memory for data buffers of %zu bytes: reserve more hugepages, or raise EAL's -m\n",
			uroce_app_name, b->arena_bytes);
		return -1;
	}
	b->mr = uroce_reg_mr(pd, b->arena, b->arena_bytes, IBV_ACCESS_LOCAL_WRITE);
	if (b->mr == NULL) {
		fprintf(stderr, "%s: cannot register the data buffers: %s\n", uroce_app_name, strerror(errno));
		return -1;
	}
	for (unsigned int i = UROCE_NVMF_BUFFERS; i-- > 0;)
		uroce_nvmf_buffer_put(b, b->arena + (size_t)i * UROCE_NVMF_BUFFER_BYTES);
	return 0;
}

void
uroce_nvmf_buffers_fini(struct nvmf_buffers *b)
{
	if (b->mr != NULL)
		(void)uroce_dereg_mr(b->mr);
	rte_free(b->arena);
}

uint8_t *
uroce_nvmf_buffer_get(struct nvmf_buffers *b)
{
	void *buffer = b->free;

	if (buffer == NULL)
		return NULL;
	memcpy(&b->free, buffer, sizeof(b->free));
	b->nb_free--;
	return buffer;
}

void
uroce_nvmf_buffer_put(struct nvmf_buffers *b, uint8_t *buffer)
{
	memcpy(buffer, &b->free, sizeof(b->free));
	b->free = buffer;
	b->nb_free++;
}
