/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * See fuzz.h.
 */

#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "eal.h"

void
fuzz_init(bool eal)
{
	/* outside its tests, cmocka's assertions have no effect */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	if (eal)
		test_eal_init("--log-level=*:error", NULL);
}

void
fuzz_bytes(struct fuzz_input *in, void *dst, size_t n)
{
	size_t taken = RTE_MIN(n, in->left);

	memcpy(dst, in->at, taken);
	memset((uint8_t *)dst + taken, 0, n - taken);
	in->at += taken;
	in->left -= taken;
}
