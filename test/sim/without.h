/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Disables features of a world, which the seed has drawn, by name.
 */

#ifndef UROCE_TEST_SIM_WITHOUT_H
#define UROCE_TEST_SIM_WITHOUT_H

#include <stdbool.h>

struct world_conf;

/** Parse names, separated by commas. @return false: a name is unknown */
bool without_parse(const char *list);

/** Disable these features in a world. */
void without_apply(struct world_conf *c);

/** Print the names of a world's features. */
void without_print(const struct world_conf *c);

#endif /* UROCE_TEST_SIM_WITHOUT_H */
