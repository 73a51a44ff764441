/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Random requests and receives on a reliable connection, one side at a time.
 */

#ifndef UROCE_TEST_SIM_TRAFFIC_H
#define UROCE_TEST_SIM_TRAFFIC_H

#include <stdbool.h>

#include "conn.h"
#include "load.h"
#include "workload.h"

/** Do one thing. @return whether something was sent */
bool traffic_act(struct sim *sim, struct side *s);

/** Poll, and post what it takes for all that was posted to complete. */
void traffic_settle(struct sim *sim, struct side *s, bool post_receives);

/** Has all completed that is going to? */
bool traffic_is_idle(const struct side *s);

/** Post up to `most` random requests, if there is room. @return how many */
unsigned int traffic_send(struct sim *sim, struct side *s, unsigned int most);

/** How many messages for this side it has not received yet. */
unsigned int traffic_messages(const struct side *s);

#endif /* UROCE_TEST_SIM_TRAFFIC_H */
