/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Address handles by LID: a RoCE port accepts only its own LID.
 */

#ifndef UROCE_DRIVERS_VERBS_AH_H
#define UROCE_DRIVERS_VERBS_AH_H

#include <stdbool.h>

struct ibv_ah_attr;
struct ibv_context;

/** Turn a path to the port's own LID into one to the GID of one of the port's addresses.
 * @return false: the path is not to the port's own LID, or the port has no address */
bool uroce_lid_resolve(struct ibv_context *context, struct ibv_ah_attr *attr);

#endif /* UROCE_DRIVERS_VERBS_AH_H */
