/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A line with a command, and words of the form "key=value".
 */

#ifndef INTEROP_LINE_H
#define INTEROP_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/** The text after "key=", up to the end of the line, or NULL. */
const char *line_text(const char *line, const char *key);

uint64_t line_number(const char *line, const char *key, uint64_t otherwise);

/** @return false: the word is missing, or is not an IPv6 address */
bool line_gid(const char *line, const char *key, union ibv_gid *gid);

#endif /* INTEROP_LINE_H */
