/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keys that work requests name. Normally a key is not invalidated while a request may use it. If a scenario invalidates
 * it nevertheless, no memory may be read or written by it from then on.
 */

#ifndef UROCE_TEST_SIM_KEY_H
#define UROCE_TEST_SIM_KEY_H

#include <stdbool.h>
#include <stdint.h>

struct sim;

/** Does any outstanding request name the key? */
bool key_is_used(const struct sim *sim, uint32_t key);

/** The key was invalidated. Placed data stays; requests that are not done must fail. */
void key_gone(struct sim *sim, uint32_t key);

/** Give one of an end's regions another key or other bounds, if no request uses it. */
void key_churn(struct sim *sim);

#endif /* UROCE_TEST_SIM_KEY_H */
