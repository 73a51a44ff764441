/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Fills and checks the text of a ping: a number, then the alphabet, which starts one letter later in each ping. No
 * state.
 */

#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "ping.h"

#define FIRST   'A'
#define LETTERS ('z' - FIRST + 1)

void
uroce_rping_fill(char *data, uint32_t size, uint32_t n)
{
	uint32_t at = (uint32_t)RTE_MAX(0, snprintf(data, size, "rdma-ping-%d: ", (int)n));

	for (uint32_t i = 0; at + i < size; i++)
		data[at + i] = (char)(FIRST + (n % LETTERS + i) % LETTERS);
	data[size - 1] = '\0';
}

uint32_t
uroce_rping_text_bytes(const char *data, uint32_t size)
{
	return RTE_MIN((uint32_t)strnlen(data, size) + 1, size);
}

uint32_t
uroce_rping_compare(const char *sent, const char *received, uint32_t size)
{
	uint32_t i = 0;

	while (i < size && sent[i] == received[i])
		i++;
	return i;
}
