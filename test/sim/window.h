/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A side's memory windows. The one of type 2 is bound to all of its end's memory, then either taken back by the side
 * itself or lent to the peer, who reads and writes by it until he invalidates it with a SEND. The one of type 1 is lent
 * to him, and taken back when he does not use it.
 */

#ifndef UROCE_TEST_SIM_WINDOW_H
#define UROCE_TEST_SIM_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct op;
struct request;
struct side;
struct sim;

enum window_state {
	WINDOW_FREE,
	WINDOW_BINDING, /* the bind is posted */
	WINDOW_BOUND,
	WINDOW_GOING, /* the invalidation is posted */
};

struct window {
	struct ibv_mw *mw;
	enum window_state state;
	bool kept; /* not lent */
	uint32_t rkey;
};

void window_init(struct side *s);
void window_fini(struct side *s);

/** May the side's requests use its peer's window now? */
bool window_is_lent(const struct side *s);

/** Have the request bind the side's window, or take it back. False: neither is possible now. */
bool window_request(struct sim *sim, struct side *s, struct request *q);
/** The request, a SEND, is to invalidate the peer's window, which is lent. */
void window_invalidate(struct side *s, struct request *q);

/** Bind the side's window of type 1, or unbind it, if either is possible now. */
void window_turn(struct sim *sim, struct side *s);

/** The key of a window that the side's requests may use; 0: none. */
uint32_t window_draw_key(struct sim *sim, const struct side *s);

/** A request of the side's own has succeeded. */
void window_op_succeeded(struct side *s, const struct op *op);
/** The peer's SEND with invalidate has come. */
void window_invalidated(struct side *s, const struct ibv_wc *wc);

#endif /* UROCE_TEST_SIM_WINDOW_H */
