/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Thread domains that name an engine. Control threads.
 */

#ifndef UROCE_VERBS_MEMORY_PD_H
#define UROCE_VERBS_MEMORY_PD_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct uroce_bells;
struct uroce_engine;

/** Create a thread domain whose QPs belong to an engine of the context's device.
 * @param engine	NULL: no particular one; else the thread domain releases it with engine_put()
 * @return NULL and errno: ENOMEM */
struct ibv_td *uroce_td_create(struct ibv_context *context, struct uroce_engine *engine);

/** Does one thread at a time use the objects of a domain, since it is a parent domain with a thread domain?
 * @param pd	may be NULL */
bool uroce_pd_is_single_threaded(const struct ibv_pd *pd);
/** @return the engine that the thread domain of a parent domain names; NULL: there is none. @param pd	may be NULL */
struct uroce_engine *uroce_pd_engine(const struct ibv_pd *pd);
/** @return the doorbells of that thread domain; NULL: there are none. @param pd	may be NULL */
struct uroce_bells *uroce_pd_bells(const struct ibv_pd *pd);

#endif /* UROCE_VERBS_MEMORY_PD_H */
