/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Declares libibverbs' symbols for its own providers, which symbols.list lists and private.c defines.
 */

#ifndef UROCE_DRIVERS_VERBS_PRIVATE_H
#define UROCE_DRIVERS_VERBS_PRIVATE_H

#include "verbs_symbols.h"

#define UROCE_VERBS_INT(name) int name(void);
#define UROCE_VERBS_POINTER(name) void *name(void);
UROCE_VERBS_PRIVATE(UROCE_VERBS_INT)
UROCE_VERBS_PRIVATE_POINTERS(UROCE_VERBS_POINTER)

void UROCE_VERBS_REGISTER_DRIVER(const void *ops);
void __verbs_log(void *context, unsigned int level, const char *format, ...);

#endif /* UROCE_DRIVERS_VERBS_PRIVATE_H */
