/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A typical first RDMA program: open the device, allocate a protection domain, register memory for local and remote
 * writing, and print its keys. It is linked with -libverbs only.
 */

#include <stdio.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#define BYTES 4096

static int
use(struct ibv_context *context)
{
	struct ibv_pd *pd = ibv_alloc_pd(context);
	char *buffer = calloc(1, BYTES);
	struct ibv_mr *mr;

	if (pd == NULL || buffer == NULL) {
		perror("ibv_alloc_pd");
		return 1;
	}
	mr = ibv_reg_mr(pd, buffer, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (mr == NULL) {
		perror("ibv_reg_mr");
		return 1;
	}
	printf("lkey 0x%x rkey 0x%x\n", mr->lkey, mr->rkey);
	if (ibv_dereg_mr(mr) != 0 || ibv_dealloc_pd(pd) != 0)
		return 1;
	free(buffer);
	return 0;
}

int
main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;
	int ret = 1;

	if (list != NULL && list[0] != NULL)
		context = ibv_open_device(list[0]);
	if (context == NULL) {
		fprintf(stderr, "no device\n");
		return 1;
	}
	ret = use(context);
	if (ibv_close_device(context) != 0)
		ret = 1;
	ibv_free_device_list(list);
	return ret;
}
