/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Address handles by LID, of which a RoCE port has only its own.
 */

#ifndef UROCE_DRIVERS_VERBS_AH_H
#define UROCE_DRIVERS_VERBS_AH_H

#include <stdbool.h>

struct ibv_ah_attr;
struct ibv_context;

/** Give a path by LID to the port itself the GID of one of its addresses.
 * @return false: it is no such path, or the port has no address */
bool uroce_lid_resolve(struct ibv_context *context, struct ibv_ah_attr *attr);

#endif /* UROCE_DRIVERS_VERBS_AH_H */
