/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Has the shared net_memif driver call the replacements of munmap.c and sendmsg.c, which are hidden in
 * libibverbs.so.1. Calls of the program and of its other libraries reach the C library as before.
 */

#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "munmap.h"
#include "plt_hook.h"

#define DRIVER "librte_net_memif.so."

void
uroce_memif_driver_hook(void)
{
	static const struct uroce_plt_call calls[] = {
		{ "munmap", NULL, (void (*)(void))munmap },
		{ "recvmsg", NULL, (void (*)(void))recvmsg },
		{ "sendmsg", NULL, (void (*)(void))sendmsg },
	};
	const void *driver = uroce_plt_object(DRIVER);

	if (driver != NULL)
		(void)uroce_plt_hook(driver, calls, sizeof(calls) / sizeof(calls[0]));
}
