/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: symbols for libibverbs' own providers (IBVERBS_PRIVATE_n). They exist for programs that link
 * providers, as perftest links mlx5's and efa's. No program calls them, since no device belongs to these providers.
 */

#include <errno.h>
#include <stddef.h>

#include "private.h"

void
UROCE_VERBS_REGISTER_DRIVER(const void *ops)
{
	(void)ops;
}

void
__verbs_log(void *context, unsigned int level, const char *format, ...)
{
	(void)context;
	(void)level;
	(void)format;
}

#define UNSUPPORTED(name) \
	int               \
	name(void)        \
	{                 \
		errno = EOPNOTSUPP; \
		return EOPNOTSUPP;  \
	}
#define NOTHING(name)     \
	void *            \
	name(void)        \
	{                 \
		errno = EOPNOTSUPP; \
		return NULL;        \
	}

UROCE_VERBS_PRIVATE(UNSUPPORTED)
UROCE_VERBS_PRIVATE_POINTERS(NOTHING)
