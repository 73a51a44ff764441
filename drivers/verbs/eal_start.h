/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Starts EAL inside a verbs program.
 */

#ifndef UROCE_DRIVERS_VERBS_EAL_START_H
#define UROCE_DRIVERS_VERBS_EAL_START_H

#include <stdbool.h>

/** Start EAL as UROCE_EAL_ARGS says, on a thread that runs until the process ends.
 * @return false after a message on stderr with the reason */
bool uroce_eal_start(void);

#endif /* UROCE_DRIVERS_VERBS_EAL_START_H */
