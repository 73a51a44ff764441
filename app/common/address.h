/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses addresses of the command line as GIDs; an IPv4 address is mapped into IPv6. No state.
 */

#ifndef UROCE_APP_ADDRESS_H
#define UROCE_APP_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/** Parse "10.0.0.1" or "fd00::1". @return 0 or -EINVAL */
int uroce_app_gid_parse(const char *text, union ibv_gid *gid);

/** Parse "10.0.0.1/24". @return 0 or -EINVAL */
int uroce_app_cidr_parse(const char *text, union ibv_gid *gid);

/** A whole decimal number from min to max, nothing around it. @return 0 or -EINVAL */
int uroce_app_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value);

static inline bool
uroce_app_gid_is_v4(const union ibv_gid *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return __builtin_memcmp(gid->raw, mapped, sizeof(mapped)) == 0;
}

#endif /* UROCE_APP_ADDRESS_H */
