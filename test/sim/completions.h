/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The part of the oracle that checks work completions against what was posted.
 */

#ifndef UROCE_TEST_SIM_COMPLETIONS_H
#define UROCE_TEST_SIM_COMPLETIONS_H

#include "conn.h"

/** @return whether the completion raises the event of a CQ armed for solicited completions only */
bool completion_check(struct side *s, const struct ibv_wc *wc, bool is_recv);

/** No more completions will come, from a CQ in error or for a destroyed QP: treat posted requests as failed. */
void completions_drop(struct side *s);

#endif /* UROCE_TEST_SIM_COMPLETIONS_H */
