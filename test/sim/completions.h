/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The part of the oracle that checks work completions against what was posted.
 */

#ifndef UROCE_TEST_SIM_COMPLETIONS_H
#define UROCE_TEST_SIM_COMPLETIONS_H

#include "conn.h"

/** @return whether it wakes who waits for solicited completions only */
bool completion_check(struct side *s, const struct ibv_wc *wc, bool is_recv);

/** No more completions will come, of a CQ in error or of a QP that is destroyed: what was posted
 * has failed, for all that is known. */
void completions_drop(struct side *s);

#endif /* UROCE_TEST_SIM_COMPLETIONS_H */
