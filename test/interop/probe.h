/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The probe is one source for two verbs implementations: uroce (with -DPROBE_UROCE, probe_uroce.c)
 * and libibverbs (probe_ibverbs.c). This is all in which they differ.
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

/** Open the device. Exits with a message when it cannot. */
struct ibv_context *probe_open(int argc, char **argv);

/** Let the implementation work. @return false: it needs no thread of ours */
bool probe_progress(void);

/** Memory for messages, aligned to PROBE_ALIGN. own: such as the implementation can send without a
 * copy, if it knows any. @return NULL: there is none */
void *probe_alloc(size_t size, bool own);
void probe_free(void *memory, bool own);

/** Send an echo request and wait for the answer. @return 0 or a positive errno; ENOTSUP: not our
 * business */
int probe_ping(struct ibv_context *context, const char *address);

/** Print the device's counters that are not zero as "name=value ", for the log. */
void probe_counters(struct ibv_context *context);

#endif /* INTEROP_PROBE_H */
