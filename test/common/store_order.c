/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include "store_order.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static struct {
	uint8_t *boundary;
	struct sigaction before;
	uint8_t fill;
	volatile uint32_t below;
} order;

/* The refused store is retried when the handler returns. */
static void
refused(int sig, siginfo_t *info, void *context)
{
	const uint8_t *at = info->si_addr;
	uint32_t n = 0;

	(void)sig;
	(void)context;
	if (at < order.boundary || at >= order.boundary + STORE_ORDER_BYTES) {
		sigaction(SIGSEGV, &order.before, NULL);	/* another fault: the old handler gets it when it is retried */
		return;
	}
	while (n < STORE_ORDER_BYTES && order.boundary[-1 - (ptrdiff_t)n] != order.fill)
		n++;
	order.below = n;
	mprotect(order.boundary, STORE_ORDER_BYTES, PROT_READ | PROT_WRITE);
}

uint8_t *
store_order_init(void)
{
	struct sigaction action = { .sa_sigaction = refused, .sa_flags = SA_SIGINFO };
	uint8_t *pages = mmap(NULL, 2 * STORE_ORDER_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(pages, MAP_FAILED);
	order.boundary = pages + STORE_ORDER_BYTES;
	assert_int_equal(sigaction(SIGSEGV, &action, &order.before), 0);
	return order.boundary;
}

void
store_order_fini(void)
{
	assert_int_equal(sigaction(SIGSEGV, &order.before, NULL), 0);
	assert_int_equal(munmap(order.boundary - STORE_ORDER_BYTES, 2 * STORE_ORDER_BYTES), 0);
}

void
store_order_watch(uint8_t fill)
{
	order.fill = fill;
	order.below = UINT32_MAX;
	memset(order.boundary - STORE_ORDER_BYTES, fill, 2 * STORE_ORDER_BYTES);
	assert_int_equal(mprotect(order.boundary, STORE_ORDER_BYTES, PROT_READ), 0);
}

uint32_t
store_order_below(void)
{
	assert_int_equal(mprotect(order.boundary, STORE_ORDER_BYTES, PROT_READ | PROT_WRITE), 0);
	return order.below;
}
