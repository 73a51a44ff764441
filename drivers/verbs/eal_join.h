/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Uses the EAL that the program has started.
 */

#ifndef UROCE_DRIVERS_VERBS_EAL_JOIN_H
#define UROCE_DRIVERS_VERBS_EAL_JOIN_H

#include <stdbool.h>

/** Has the program started the EAL that this library is linked with? */
bool uroce_eal_is_running(void);

/** Is this library linked with a shared EAL, which the program may use, too? */
bool uroce_eal_is_shared(void);

/**
 * Make the calling thread one of EAL's, and plug in the devices that UROCE_EAL_ARGS names and EAL lacks. EAL's other
 * arguments have no effect.
 * @param leave	called when the program calls rte_eal_cleanup(). @return false: EAL must not be cleaned up, because
 *		objects in its memory still exist
 * @return false after a message on stderr with the reason
 */
bool uroce_eal_join(bool (*leave)(void));

#endif /* UROCE_DRIVERS_VERBS_EAL_JOIN_H */
