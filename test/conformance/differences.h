/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The allowed differences between a capture and its replay, with their reasons: a table, each row of which must occur.
 * For one thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_DIFFERENCES_H
#define UROCE_TEST_CONFORMANCE_DIFFERENCES_H

#include <stdbool.h>
#include <stdint.h>

enum replay_role { REPLAY_RESPONDER, REPLAY_REQUESTER };

enum difference_kind {
	DIFFERENCE_NONE,
	OURS_IS_NOT_CAPTURED,	/* uroce's frame comes before the captured one; 0: after the last */
	CAPTURED_IS_NOT_OURS,	/* uroce sends no frame for the captured one */
	NOT_THE_SAME,		/* uroce's frame differs from the captured one */
};

/**
 * Find a row for this frame that has not occurred yet, and mark it. @param frame the captured frame; 0: after the last
 */
enum difference_kind difference_find(const char *file, enum replay_role role, unsigned int frame);
/** Was the frame lost or corrupted after it was captured? */
bool difference_lost(const char *file, unsigned int frame);
/** Print the rows with their reasons. @return the number of rows that did not occur */
unsigned int difference_report(void);

#endif /* UROCE_TEST_CONFORMANCE_DIFFERENCES_H */
