/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What work requests name: as long as one of them may use a key it is not taken away, or else it is, and then
 * nothing is read or written by it any more.
 */

#ifndef UROCE_TEST_SIM_KEY_H
#define UROCE_TEST_SIM_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/** Does anything that has not completed name it? */
bool key_is_used(const struct sim *sim, uint32_t key);

/** It is no more. What is in place stays; a request that is not done by now must fail. */
void key_gone(struct sim *sim, uint32_t key);

/** Have one of an end's regions of memory another key, or other bounds, if nobody uses it just now. */
void key_churn(struct sim *sim);

#endif /* UROCE_TEST_SIM_KEY_H */
