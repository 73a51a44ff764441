/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses addresses and numbers of the command line. No state.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "address.h"

int
uroce_app_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno != 0 || *end != '\0' || *value < min || *value > max ? -EINVAL : 0;
}

int
uroce_app_gid_parse(const char *text, union ibv_gid *gid)
{
	struct in_addr v4;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		memset(gid, 0, sizeof(*gid));
		gid->raw[10] = 0xff;
		gid->raw[11] = 0xff;
		memcpy(&gid->raw[12], &v4, sizeof(v4));
		return 0;
	}
	return inet_pton(AF_INET6, text, gid->raw) == 1 ? 0 : -EINVAL;
}

int
uroce_app_cidr_parse(const char *text, union ibv_gid *gid)
{
	char address[INET6_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	size_t length = slash == NULL ? 0 : (size_t)(slash - text);
	uint64_t prefix;

	if (length == 0 || length >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, length);
	address[length] = '\0';
	if (uroce_app_gid_parse(address, gid) != 0)
		return -EINVAL;
	return uroce_app_number_parse(slash + 1, 1, uroce_app_gid_is_v4(gid) ? 32 : 128, &prefix);
}
