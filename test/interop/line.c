/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A line with a command, and words of the form "key=value".
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include "line.h"

const char *
line_text(const char *line, const char *key)
{
	size_t n = strlen(key);

	for (const char *word = strchr(line, ' '); word != NULL; word = strchr(word, ' ')) {
		word++;
		if (strncmp(word, key, n) == 0 && word[n] == '=')
			return word + n + 1;
	}
	return NULL;
}

uint64_t
line_number(const char *line, const char *key, uint64_t otherwise)
{
	const char *text = line_text(line, key);

	return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

bool
line_gid(const char *line, const char *key, union ibv_gid *gid)
{
	const char *text = line_text(line, key);
	char address[INET6_ADDRSTRLEN];

	return text != NULL && sscanf(text, "%45s", address) == 1 &&
	       inet_pton(AF_INET6, address, gid) == 1;
}
