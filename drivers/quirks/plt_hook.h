/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Redirects calls of shared objects, through the slots of their global offset tables.
 */

#ifndef UROCE_DRIVERS_QUIRKS_PLT_HOOK_H
#define UROCE_DRIVERS_QUIRKS_PLT_HOOK_H

#include <stdbool.h>
#include <stddef.h>

struct uroce_plt_call {
	const char *name;	/* of the called function */
	const char *alias;	/* its other name, as with _FILE_OFFSET_BITS; NULL: none */
	void (*instead)(void);	/* the replacement, of the same type */
};

/** @return the DT_SONAME of the object that contains the address; NULL: the object has none, or there is no object */
const char *uroce_plt_soname(const void *address);

/**
 * Redirect all of these calls of the object that contains the address, or none. Any thread, while no thread makes
 * such a call.
 *
 * @return true; false: the object's table has no slot for one of the calls, or it cannot be written
 */
bool uroce_plt_hook(const void *address, const struct uroce_plt_call *calls, size_t count);

/** @return an address in a loaded object whose DT_SONAME begins with the prefix; NULL: there is none */
const void *uroce_plt_object(const char *prefix);

/** Redirect this call of all loaded objects, except the one that contains the replacement. */
void uroce_plt_hook_all(const struct uroce_plt_call *call);

#endif /* UROCE_DRIVERS_QUIRKS_PLT_HOOK_H */
