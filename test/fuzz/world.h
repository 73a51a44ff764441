/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * What the target engine works on: QPs of every type on one engine, connected to a peer that the
 * input plays, and memory in areas with different rights, with guards between them. One thread.
 */

#ifndef UROCE_TEST_FUZZ_WORLD_H
#define UROCE_TEST_FUZZ_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce.h>

#include "verbs/qp/qp.h"

#define WORLD_AREA_BYTES  4096u
#define WORLD_GUARD_BYTES 512u
#define WORLD_PEER_QPN    0x123456
#define WORLD_QKEY        0x11111111
#define WORLD_WR          16u

enum world_area {
	WORLD_OPEN,    /* every right */
	WORLD_LENT,    /* the same, until it is deregistered: then as SECRET */
	WORLD_READ,    /* to be read only, here and by peers */
	WORLD_OWN,     /* local access only */
	WORLD_SECRET,  /* the same, but nothing is ever posted that names it: nobody reads or writes
			  it */
	WORLD_FOREIGN, /* every right, in another protection domain */
	WORLD_BARE,    /* never registered */
	WORLD_AREAS,
};

enum world_qp {
	WORLD_RC,
	WORLD_RC_SRQ, /* receives from the SRQ */
	WORLD_UC,
	WORLD_UD,
	WORLD_XRC_SEND,
	WORLD_XRC_RECV,
	WORLD_QPS,
};

struct world {
	struct ibv_pd *pd, *foreign_pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq, *xrc_srq;
	struct ibv_xrcd *xrcd;
	struct ibv_ah *ah;
	struct ibv_qp *qps[WORLD_QPS];
	struct ibv_mr *mrs[WORLD_AREAS]; /* NULL: none, or not any more */
	struct ibv_mr *null_mr;
	struct ibv_mw *mws[3];      /* types 1, 2, 2 */
	uint32_t keys[WORLD_AREAS]; /* also of what is gone */
	uint32_t srqn;
};

extern struct world world;

/** @param cqe	of the one CQ of all
 * @param copy	the port takes no chains
 * @param dpdk	memory that the port can reach: payloads of a large MTU are sent without a copy
 * @param go_back_n	neither end of loss recovery */
void world_open(int cqe, bool copy, bool dpdk, bool go_back_n);
/** Destroy everything; nothing may be left, and no byte written that nobody had the right to write.
 */
void world_close(void);

/** Memory as it must be: guards and what nobody may write to. */
void world_check_memory(void);
/** A frame that leaves must be right, and tell no secret. */
void world_check_frame(const uint8_t *frame, uint32_t len);

uint8_t *world_area(enum world_area area);
/** What peers call it. */
uint64_t world_address(enum world_area area);
/** From RESET to RTS; the attributes count from there. False: the QP is not in RESET. */
bool world_connect(struct ibv_qp *qp);
/** Deregister WORLD_LENT, if no window is bound to it. */
void world_take_back(void);

/** The QP behind a handle: an XRC target is not its handle. */
struct uroce_qp *world_qp(enum world_qp qp);

#endif /* UROCE_TEST_FUZZ_WORLD_H */
