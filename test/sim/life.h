/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a connection goes through when it fails, while the others go on: its traffic ends or is
 * interrupted, a scenario runs, both QPs are flushed, what became of it all is checked, and it is made
 * anew.
 */

#ifndef UROCE_TEST_SIM_LIFE_H
#define UROCE_TEST_SIM_LIFE_H

#include <stdbool.h>

struct conn;
struct sim;

/** It is up; from now on it is not. */
void life_begin(struct sim *sim, struct conn *c);

/** It is not up: do what is next, if it is time.
 * @param hurry	what may last any time lasts no longer
 * @return whether it is up again */
bool life_go_on(struct sim *sim, struct conn *c, bool hurry);

#endif /* UROCE_TEST_SIM_LIFE_H */
