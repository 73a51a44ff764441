/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Send queues that are drained while traffic goes on.
 */

#ifndef UROCE_TEST_SIM_DRAIN_H
#define UROCE_TEST_SIM_DRAIN_H

#include <stdbool.h>

struct side;

/** RTS to SQD: requests that have begun complete, an event follows, and no further request begins. */
void drain_begin(struct side *s);

/** The event has been received. */
void drain_event(struct side *s);

/** SQD to RTS, if the queue is drained. */
void drain_end(struct side *s);

#endif /* UROCE_TEST_SIM_DRAIN_H */
