/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A queue of frames in flight in the order of their due times; frames due at the same time stay in the order of sending.
 */

#ifndef UROCE_TEST_SIM_LINK_QUEUE_H
#define UROCE_TEST_SIM_LINK_QUEUE_H

#include "link.h"

/** Takes ownership of the frame. */
void link_queue_push(struct link_queue *q, struct link_frame *f);

/** @return the first frame that is due by now, which the caller frees; NULL: none is due */
struct link_frame *link_queue_due(struct link_queue *q, uint64_t now_ns);

/** Free the queue's frames. */
void link_queue_clear(struct link_queue *q);

#endif /* UROCE_TEST_SIM_LINK_QUEUE_H */
