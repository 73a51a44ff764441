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

/** Do one random action. @return whether something was posted */
bool traffic_act(struct sim *sim, struct side *s);

/** Poll, and post the receives and signaled requests that outstanding requests need to complete. */
void traffic_settle(struct sim *sim, struct side *s, bool post_receives);

/** Have all requests completed that will? */
bool traffic_is_idle(const struct side *s);

/** Post up to `most` random requests, if there is room. @return number of requests */
unsigned int traffic_send(struct sim *sim, struct side *s, unsigned int most);

/** @return number of messages that this side has not received yet */
unsigned int traffic_messages(const struct side *s);

#endif /* UROCE_TEST_SIM_TRAFFIC_H */
