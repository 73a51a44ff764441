/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rules are those of Linux for extensible structs: see copy_struct_from_user().
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "base/log.h"
#include "base/sized.h"
#include "uroce_config.h"

/* @return 0, and the size of the program's struct; -EINVAL; -E2BIG */
static int
read_size(const char *name, size_t least, const void *program, size_t *bytes)
{
	memcpy(bytes, program, sizeof(*bytes));
	if (*bytes < least) {
		UROCE_LOG(ERR, "struct %s: size %zu is less than %zu: set it to sizeof(struct %s)\n", name,
			  *bytes, least, name);
		return -EINVAL;
	}
	if (*bytes > UROCE_MAX_STRUCT_BYTES) {
		UROCE_LOG(ERR, "struct %s: size %zu exceeds the limit %u: set it to sizeof(struct %s)\n", name,
			  *bytes, UROCE_MAX_STRUCT_BYTES, name);
		return -E2BIG;
	}
	return 0;
}

int
uroce_sized_get(const char *name, void *own, size_t own_bytes, size_t least, const void *program)
{
	const uint8_t *from = program;
	size_t bytes, common;
	int ret = read_size(name, least, program, &bytes);

	if (ret < 0)
		return ret;
	for (size_t i = own_bytes; i < bytes; i++)
		if (from[i] != 0) {
			UROCE_LOG(ERR,
				  "struct %s: byte %zu is not 0, but this library has only %zu bytes: set the new "
				  "members to 0, or use a newer library\n",
				  name, i, own_bytes);
			return -E2BIG;
		}
	common = RTE_MIN(bytes, own_bytes);
	memset((uint8_t *)own + common, 0, own_bytes - common);
	memcpy(own, from, common);
	memcpy(own, &own_bytes, sizeof(own_bytes));
	return 0;
}

int
uroce_sized_put(const char *name, const void *own, size_t own_bytes, size_t least, void *program)
{
	uint8_t *to = program;
	size_t bytes, common;
	int ret = read_size(name, least, program, &bytes);

	if (ret < 0)
		return ret;
	common = RTE_MIN(bytes, own_bytes);
	memcpy(to + sizeof(size_t), (const uint8_t *)own + sizeof(size_t), common - sizeof(size_t));
	memset(to + common, 0, bytes - common);
	return 0;
}

static uint32_t
member_get(const void *own, const struct uroce_sized_member *m)
{
	const void *at = RTE_PTR_ADD(own, m->offset);

	return m->bytes == sizeof(uint16_t) ? *(const uint16_t *)at : *(const uint32_t *)at;
}

static void
member_set(void *own, const struct uroce_sized_member *m, uint32_t value)
{
	void *at = RTE_PTR_ADD(own, m->offset);

	if (m->bytes == sizeof(uint16_t))
		*(uint16_t *)at = (uint16_t)value;
	else
		*(uint32_t *)at = value;
}

/* Is the value 0, or in the member's range? */
static int
check(const char *name, const struct uroce_sized_member *m, uint64_t value, char *reason, size_t room)
{
	char standard[16] = "the default";

	if (value == 0 || (value >= m->least && value <= m->most))
		return 0;
	if (m->standard != 0)
		snprintf(standard, sizeof(standard), "%u", m->standard);
	snprintf(reason, room, "struct %s: %s %" PRIu64 " is not in %u..%u: pass a number in this range, or 0 for %s", name,
		 m->name, value, m->least, m->most, standard);
	return -EINVAL;
}

int
uroce_sized_limit(const char *name, void *own, const struct uroce_sized_member *members, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint32_t value = member_get(own, &members[i]);
		char reason[160];

		if (check(name, &members[i], value, reason, sizeof(reason)) < 0) {
			UROCE_LOG(ERR, "%s\n", reason);
			return -EINVAL;
		}
		member_set(own, &members[i], value != 0 ? value : members[i].standard);
	}
	return 0;
}

int
uroce_sized_set(const char *name, void *own, const struct uroce_sized_member *m, uint64_t value, char *reason,
		size_t room)
{
	if (check(name, m, value, reason, room) < 0)
		return -EINVAL;
	member_set(own, m, (uint32_t)value);
	return 0;
}
