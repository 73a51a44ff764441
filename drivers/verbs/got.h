/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Redirects the calls of one shared object, and of no other, by the slots of its global offset table.
 */

#ifndef UROCE_DRIVERS_VERBS_GOT_H
#define UROCE_DRIVERS_VERBS_GOT_H

#include <stdbool.h>
#include <stddef.h>

struct uroce_got_call {
	const char *name;	/* of the function that is called */
	const char *alias;	/* another name of it, as by _FILE_OFFSET_BITS; NULL: it has none */
	void (*instead)(void);	/* one of the same type */
};

/** The name by which others need the object that an address is in (DT_SONAME); NULL: it has none, or there is none. */
const char *uroce_got_soname(const void *address);

/**
 * Lead calls of the object that an address is in elsewhere. All or none. Any thread, with no such call under way.
 *
 * @return true; false: it does not make one of these calls by way of its table, or that cannot be written
 */
bool uroce_got_replace(const void *address, const struct uroce_got_call *calls, size_t count);

#endif /* UROCE_DRIVERS_VERBS_GOT_H */
