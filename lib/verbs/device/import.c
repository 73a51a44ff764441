/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * ibv_import_device(3), ibv_import_pd(3), ibv_import_mr(3), ibv_import_dm(3) import objects of a kernel's device
 * that processes share. A uroce device belongs to one process, so these calls fail. Any thread.
 */

#include <errno.h>
#include <stddef.h>

#include "uroce.h"

struct ibv_context *
uroce_import_device(int cmd_fd)
{
	(void)cmd_fd;
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_pd *
uroce_import_pd(struct ibv_context *context, uint32_t pd_handle)
{
	(void)context;
	(void)pd_handle;
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_mr *
uroce_import_mr(struct ibv_pd *pd, uint32_t mr_handle)
{
	(void)pd;
	(void)mr_handle;
	errno = EOPNOTSUPP;
	return NULL;
}

struct ibv_dm *
uroce_import_dm(struct ibv_context *context, uint32_t dm_handle)
{
	(void)context;
	(void)dm_handle;
	errno = EOPNOTSUPP;
	return NULL;
}

void
uroce_unimport_pd(struct ibv_pd *pd)
{
	(void)pd;
}

void
uroce_unimport_mr(struct ibv_mr *mr)
{
	(void)mr;
}

void
uroce_unimport_dm(struct ibv_dm *dm)
{
	(void)dm;
}
