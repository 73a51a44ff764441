/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Makes sure that no other process has the ports that this process is about to open.
 */

#ifndef UROCE_DRIVERS_VERBS_EAL_CLAIM_H
#define UROCE_DRIVERS_VERBS_EAL_CLAIM_H

#include <stdbool.h>

/**
 * Remove sockets that former processes have left, and wait for the other processes of the pairs in UROCE_PEER.
 * @param given	UROCE_EAL_ARGS
 * @return false after a message on stderr: another process has a port
 */
bool uroce_eal_claim(const char *given);

#endif /* UROCE_DRIVERS_VERBS_EAL_CLAIM_H */
