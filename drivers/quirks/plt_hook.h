/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Redirects calls that one shared object makes, and no other, by the slots of its global offset table.
 */

#ifndef UROCE_DRIVERS_QUIRKS_PLT_HOOK_H
#define UROCE_DRIVERS_QUIRKS_PLT_HOOK_H

#include <stdbool.h>
#include <stddef.h>

struct uroce_plt_call {
	const char *name;	/* of the function that is called */
	const char *alias;	/* another name of it, as by _FILE_OFFSET_BITS; NULL: it has none */
	void (*instead)(void);	/* one of the same type */
};

/** The DT_SONAME of the object that has this address; NULL: the object has none, or no object has the address. */
const char *uroce_plt_soname(const void *address);

/**
 * Redirect all of these calls of the object that has this address, or none. Any thread, while no thread makes such
 * a call.
 *
 * @return true; false: the object does not make one of the calls by its table, or the table cannot be written
 */
bool uroce_plt_hook(const void *address, const struct uroce_plt_call *calls, size_t count);

#endif /* UROCE_DRIVERS_QUIRKS_PLT_HOOK_H */
