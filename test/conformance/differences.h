/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Where the replay of a capture is not like it, and why: a table, each row of which must be met. One
 * thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_DIFFERENCES_H
#define UROCE_TEST_CONFORMANCE_DIFFERENCES_H

#include <stdbool.h>
#include <stdint.h>

enum replay_role { REPLAY_RESPONDER, REPLAY_REQUESTER };

enum difference_kind {
	DIFFERENCE_NONE,
	OURS_IS_NOT_CAPTURED,	/* our frame comes before the captured one; 0: after the last */
	CAPTURED_IS_NOT_OURS,	/* the captured frame has none of ours */
	NOT_THE_SAME,		/* ours is another in its place */
};

/** Is there a row for this, that has not been met yet? It is, then. @param frame the captured one; 0: after
 * the last */
enum difference_kind difference_find(const char *file, enum replay_role role, unsigned int frame);
/** Was the frame lost, or corrupted, behind where it was captured? */
bool difference_lost(const char *file, unsigned int frame);
/** Print the rows, with their reasons. @return how many have not been met */
unsigned int difference_report(void);

#endif /* UROCE_TEST_CONFORMANCE_DIFFERENCES_H */
