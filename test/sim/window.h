/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A side's memory windows. The type 2 window is bound to all of its end's memory. Then the side either invalidates it,
 * or lends it to the peer, which reads and writes through it until it invalidates it with a SEND. The type 1 window is
 * lent to the peer, and unbound when the peer does not use it.
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

/** Make the request bind or invalidate the side's window. @return false: neither is possible now */
bool window_request(struct sim *sim, struct side *s, struct request *q);
/** Make the request, a SEND, invalidate the peer's window, which is lent. */
void window_invalidate(struct side *s, struct request *q);

/** Bind the side's window of type 1, or unbind it, if either is possible now. */
void window_turn(struct sim *sim, struct side *s);

/** @return the key of a window that the side's requests may use; 0: none */
uint32_t window_draw_key(struct sim *sim, const struct side *s);

/** A request of this side has succeeded. */
void window_op_succeeded(struct side *s, const struct op *op);
/** The side has received the peer's SEND with invalidate. */
void window_invalidated(struct side *s, const struct ibv_wc *wc);

#endif /* UROCE_TEST_SIM_WINDOW_H */
