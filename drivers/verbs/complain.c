/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints messages for the program's user to stderr. Any thread.
 */

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>

#include "complain.h"

void
uroce_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	flockfile(stderr);
	fputs("uroce: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(args);
}

/* @return NULL: the type is supported */
static const char *
unsupported(enum ibv_qp_type type)
{
	switch ((int)type) {
	case IBV_QPT_RC:
	case IBV_QPT_UC:
	case IBV_QPT_UD:
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV: return NULL;
	case IBV_QPT_RAW_PACKET: return "IBV_QPT_RAW_PACKET (raw Ethernet frames)";
	case IBV_QPT_DRIVER: return "IBV_QPT_DRIVER (vendor-specific)";
	default: return "unknown to rdma-core";
	}
}

void
uroce_complain_qp_type(enum ibv_qp_type type)
{
	static uint32_t said; /* atomic: a bit for each unsupported type, the last one for unknown types */
	const uint32_t bit = type == IBV_QPT_RAW_PACKET ? 1 : type == IBV_QPT_DRIVER ? 2 : 4;
	const char *name = unsupported(type);

	if (name == NULL)
		return;
	if (__atomic_fetch_or(&said, bit, __ATOMIC_RELAXED) & bit)
		return;
	uroce_complain("QP type %d, %s, is not supported: use RC, UC, UD or XRC", (int)type, name);
}

static unsigned int
free_descriptors(rlim_t limit, unsigned int enough)
{
	unsigned int n = 0;

	for (rlim_t fd = 0; fd < limit && n < enough; fd++)
		n += fcntl((int)fd, F_GETFD) < 0;
	return n;
}

void
uroce_complain_descriptors(unsigned int needed)
{
	struct rlimit limit;
	unsigned int n;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	n = free_descriptors(limit.rlim_cur, needed);
	if (n < needed)
		uroce_complain("%u file descriptors are free of the limit of %llu (ulimit -n), but a device and its "
			       "program may need %u: raise the limit, e.g. by \"ulimit -n 1024\"",
			       n, (unsigned long long)limit.rlim_cur, needed);
}
