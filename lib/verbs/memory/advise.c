/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_advise_mr(3): has the kernel fault in a region's pages before a worker touches them, because registration neither
 * pins nor touches a page. Control threads.
 */

#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_common.h>

#include "uroce.h"
#include "mem/mr.h"
#include "verbs/device/device.h"

/* since Linux 5.14; older headers lack them */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

static int
madvise_of(enum ibv_advise_mr_advice advice)
{
	switch (advice) {
	case IBV_ADVISE_MR_ADVICE_PREFETCH:
		return MADV_POPULATE_READ;
	case IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE:
		return MADV_POPULATE_WRITE;
	case IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT:
		return MADV_WILLNEED;
	default:
		return -1;
	}
}

/* @return the entry's bytes; NULL: its key does not cover them. The application must not deregister the region now. */
static uint8_t *
bytes_of(struct ibv_pd *pd, const struct ibv_sge *sge, bool write)
{
	const struct uroce_mr_key *k = uroce_mr_lookup(&uroce_device_of(pd->context)->mrs, sge->lkey, pd,
						       sge->addr, sge->length,
						       write ? IBV_ACCESS_LOCAL_WRITE : 0);

	/* a null MR has no bytes of its own */
	return k == NULL || k->mr == NULL ? NULL : uroce_mr_va(k, sge->addr);
}

static int
advise(uint8_t *bytes, size_t length, int advice)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *first = RTE_PTR_ALIGN_FLOOR(bytes, page);

	if (length == 0)
		return 0;
	if (madvise(first, (size_t)(bytes - first) + length, advice) == 0)
		return 0;
	/* EINVAL: hugepages and files do not take a hint, or this kernel does not have MADV_POPULATE_* */
	if (errno == EINVAL)
		return advice == MADV_WILLNEED ? 0 : ENOTSUP;
	return errno;
}

int
uroce_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sg_list,
		uint32_t num_sge)
{
	const bool write = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE;
	const int how = madvise_of(advice);

	/* the pages are there when the call returns, with or without FLUSH */
	if (how < 0 || (flags & ~(uint32_t)IBV_ADVISE_MR_FLAG_FLUSH) != 0)
		return EINVAL;
	for (uint32_t i = 0; i < num_sge; i++) {
		if (bytes_of(pd, &sg_list[i], write) == NULL)
			return EFAULT;
	}
	for (uint32_t i = 0; i < num_sge; i++) {
		int ret = advise(bytes_of(pd, &sg_list[i], write), sg_list[i].length, how);

		if (ret != 0)
			return ret;
	}
	return 0;
}
