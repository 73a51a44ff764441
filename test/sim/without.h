/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What a world can do without: features that a seed has drawn, switched off by their names.
 */

#ifndef UROCE_TEST_SIM_WITHOUT_H
#define UROCE_TEST_SIM_WITHOUT_H

#include <stdbool.h>

struct world_conf;

/** Names with commas between them. @return false: one is not known */
bool without_parse(const char *list);

/** Make a world do without them. */
void without_apply(struct world_conf *c);

/** Print the names of those that a world has. */
void without_print(const struct world_conf *c);

#endif /* UROCE_TEST_SIM_WITHOUT_H */
