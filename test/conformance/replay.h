/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The replay of captured exchanges with uroce's responder and requester, each configured as the captured end was. For
 * one thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_REPLAY_H
#define UROCE_TEST_CONFORMANCE_REPLAY_H

#include <uroce.h>

#include "capture.h"
#include "differences.h"

/* replay_end.c: a device with a queue pair that plays one end of an exchange */
struct replay_end {
	const struct exchange *x;
	enum replay_role role;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;		/* UD */
};

void replay_end_open(struct replay_end *end, const struct exchange *x, enum replay_role role);
void replay_end_close(struct replay_end *end);
/**
 * Give the engine a captured frame, readdressed to its QP. `change` may alter the packet, which begins with its BTH;
 * NULL: nothing.
 */
void replay_end_in(struct replay_end *end, const struct captured *c,
		   void (*change)(void *arg, const struct captured *c, uint8_t *bth), void *arg);

/** Print a difference that is not in the table, and count it. */
void replay_fail(const struct replay_end *end, const struct captured *c, const char *what, const char *ours);
unsigned int replay_failures(void);

void replay_responder(const struct exchange *x);
void replay_requester(const struct exchange *x);

/**
 * Compare the opcode, the PSN, the solicited event, all extension headers (except credits) and the payload. @return the
 * first difference; NULL: none
 */
const char *replay_compare(const struct captured *c, const struct device_frame *ours);

#endif /* UROCE_TEST_CONFORMANCE_REPLAY_H */
