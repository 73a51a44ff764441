/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The oracle: told what is posted, it says what must become of it, and compares every completion
 * and every byte. It knows verbs' rules and nothing of the engine.
 */

#ifndef UROCE_TEST_SIM_ORACLE_H
#define UROCE_TEST_SIM_ORACLE_H

#include <stdbool.h>

#include "conn.h"

/** About to be posted, with its regions and keys chosen: note what it has to do. */
void oracle_send(struct side *s, struct op *op);
void oracle_receive(struct side *s, struct receive *r);

/** Is there a message that no receive is posted for? */
bool oracle_wants_receive(const struct side *s);

/** Poll a side's CQs for up to n completions each, and check them. @return how many there were */
unsigned int oracle_poll(struct side *s, unsigned int n);

/** Poll until both CQs are empty, and check their events. */
void oracle_poll_all(struct side *s);

/** All is at rest and every completion has come: what became of the requests that failed must be
 * some beginning of what was posted. Drops what is left. */
void oracle_finish(struct side *s);

/** Compare every byte of every end's memory. */
void oracle_sweep(struct world *w, struct conn *const *conns, unsigned int n);

#endif /* UROCE_TEST_SIM_ORACLE_H */
