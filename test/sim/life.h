/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The phases of a connection that fails while the others continue: its traffic ends or is interrupted, a scenario runs,
 * both QPs are flushed, the results are checked, and the connection is renewed.
 */

#ifndef UROCE_TEST_SIM_LIFE_H
#define UROCE_TEST_SIM_LIFE_H

#include <stdbool.h>

struct conn;
struct sim;

/** Begin the failure of a connection that is up. */
void life_begin(struct sim *sim, struct conn *c);

/** Continue with a connection that is not up, if its phase can end.
 * @param hurry	end phases of any length now
 * @return whether it is up again */
bool life_go_on(struct sim *sim, struct conn *c, bool hurry);

#endif /* UROCE_TEST_SIM_LIFE_H */
