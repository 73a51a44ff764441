/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Copies public structs between a program and the library, which may be of different releases. Such a struct begins
 * with a size_t, its size in the program; members are only added at its end. Control paths only.
 */

#ifndef UROCE_BASE_SIZED_H
#define UROCE_BASE_SIZED_H

#include <stddef.h>
#include <stdint.h>

/** The size of a struct up to the end of `member`. With the last member of the first release, it is `least` below. */
#define UROCE_SIZED_UP_TO(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))

/**
 * Copy the program's struct into the library's. Members that the program's struct lacks become 0.
 *
 * @param name	of the struct, for the log
 * @param least	size in the first release that had the struct
 * @return	0; -EINVAL: the size is less than `least`; -E2BIG: the size exceeds UROCE_MAX_STRUCT_BYTES, or a byte
 *		beyond the library's struct is not 0
 */
int uroce_sized_get(const char *name, void *own, size_t own_bytes, size_t least, const void *program);

/** Copy the library's struct, except its size, into the program's. Members that the library's lacks become 0.
 * @return 0; -EINVAL; -E2BIG: the size exceeds UROCE_MAX_STRUCT_BYTES */
int uroce_sized_put(const char *name, const void *own, size_t own_bytes, size_t least, void *program);

/* A member of a struct that is a limit, of type uint16_t or uint32_t. 0 stands for its default. */
struct uroce_sized_member {
	const char *name;
	size_t offset;
	size_t bytes;
	uint32_t standard;	/* the default; 0: another part chooses it */
	uint32_t least;
	uint32_t most;
};

#define UROCE_SIZED_MEMBER(type, member, standard, least, most)                                                    \
	{                                                                                                          \
		#member, offsetof(struct type, member), sizeof(((struct type *)0)->member), standard, least, most \
	}

/** Set members that are 0 to their defaults, and check the others. @return 0; -EINVAL: a member is out of its range */
int uroce_sized_limit(const char *name, void *own, const struct uroce_sized_member *members, unsigned int n);
/** Set a member. @return 0; -EINVAL: the value is out of its range, and not 0; then `reason` says so */
int uroce_sized_set(const char *name, void *own, const struct uroce_sized_member *m, uint64_t value, char *reason,
		    size_t room);

#endif /* UROCE_BASE_SIZED_H */
