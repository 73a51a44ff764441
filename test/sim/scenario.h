/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The bad ends of connections: a request that must fail, and how; everything behind it must be
 * flushed, and nothing of it executed.
 */

#ifndef UROCE_TEST_SIM_SCENARIO_H
#define UROCE_TEST_SIM_SCENARIO_H

#include "workload.h"

/** End every connection, each in a way of its own, drawn from the seed. */
void scenario_run(struct sim *sim);

/** Overrun a CQ (R43). */
void scenario_overrun(struct sim *sim);

#endif /* UROCE_TEST_SIM_SCENARIO_H */
