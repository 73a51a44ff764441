/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sizes of namespaces on the command line.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/namespace.h"
#include "uroce_config.h"

int
uroce_nvmf_size_parse(const char *text, uint64_t *bytes)
{
	static const char suffixes[] = "KMGT";
	const char *suffix;
	uint64_t value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	value = strtoull(text, &end, 10);
	suffix = *end != '\0' ? strchr(suffixes, *end) : NULL;
	if (errno != 0 || value == 0 || (*end != '\0' && (suffix == NULL || end[1] != '\0')))
		return -EINVAL;
	for (int i = suffix != NULL ? (int)(suffix - suffixes) + 1 : 0; i > 0; i--) {
		if (value > UROCE_NVMF_MAX_BYTES / 1024)
			return -EINVAL;
		value *= 1024;
	}
	if (value > UROCE_NVMF_MAX_BYTES)
		return -EINVAL;
	*bytes = value;
	return 0;
}
