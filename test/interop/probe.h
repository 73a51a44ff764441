/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The interface between the probe and its verbs implementation: uroce (with -DPROBE_UROCE, probe_uroce.c) or libibverbs
 * (probe_ibverbs.c). The rest of the probe is the same for both.
 */

#ifndef INTEROP_PROBE_H
#define INTEROP_PROBE_H

#include <stdbool.h>
#include <stdio.h>

#include <infiniband/verbs.h>

#ifdef PROBE_UROCE
#include "uroce.h"
#define VERB(name) uroce_##name
#else
#define VERB(name) ibv_##name
#endif

#define PROBE_ALIGN 4096
#define PROBE_ACCESS_FLUSH_GLOBAL (1 << 8) /* IBV_ACCESS_FLUSH_GLOBAL, which rdma-core 44 lacks */

/** Open the device. Exits with a message on failure. */
struct ibv_context *probe_open(int argc, char **argv);

/** Let the implementation make progress. @return false: it needs no thread of the probe */
bool probe_progress(void);

/**
 * Allocate memory for messages, aligned to PROBE_ALIGN. own: memory that the implementation can send without copying,
 * if it has any. @return NULL: no memory
 */
void *probe_alloc(size_t size, bool own);
void probe_free(void *memory, bool own);

/** Send an echo request, and wait for the reply. @return 0 or a positive errno; ENOTSUP: not implemented */
int probe_ping(struct ibv_context *context, const char *address);

/** Print the device's nonzero counters as "name=value ", for the log. */
void probe_counters(struct ibv_context *context);

#endif /* INTEROP_PROBE_H */
