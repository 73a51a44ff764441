/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The oracle: derives the results of posted requests, and compares every completion and every byte with them. It knows
 * the rules of verbs, but not the engine.
 */

#ifndef UROCE_TEST_SIM_ORACLE_H
#define UROCE_TEST_SIM_ORACLE_H

#include <stdbool.h>

#include "conn.h"

/** Record a request that is about to be posted, with its regions and keys, and its expected effects. */
void oracle_send(struct side *s, struct op *op);
void oracle_receive(struct side *s, struct receive *r);

/** Is there a message without a posted receive? */
bool oracle_wants_receive(const struct side *s);

/** Poll a side's CQs for up to n completions each, and check them. @return number of completions */
unsigned int oracle_poll(struct side *s, unsigned int n);

/** Poll until both CQs are empty, and check their events. */
void oracle_poll_all(struct side *s);

/** When all is at rest and all completions were polled: check that the failed requests were executed up to some point
 * of the order of posting, and drop them. */
void oracle_finish(struct side *s);

/** Compare every byte of every end's memory. */
void oracle_sweep(struct world *w, struct conn *const *conns, unsigned int n);

#endif /* UROCE_TEST_SIM_ORACLE_H */
