/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The world of target engine: QPs of each type on one engine, connected to a peer that the input plays, and memory
 * areas with different rights and guards between them. For one thread.
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
	WORLD_OPEN,    /* all rights */
	WORLD_LENT,    /* all rights until it is deregistered; then as WORLD_SECRET */
	WORLD_READ,    /* read-only, locally and for peers */
	WORLD_OWN,     /* local access only */
	WORLD_SECRET,  /* local access only, and no request refers to it: never read or written */
	WORLD_FOREIGN, /* all rights, in another protection domain */
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
	struct ibv_mr *mrs[WORLD_AREAS]; /* NULL: not registered, or not any more */
	struct ibv_mr *null_mr;
	struct ibv_mw *mws[3];      /* types 1, 2, 2 */
	uint32_t keys[WORLD_AREAS]; /* also of deregistered areas */
	uint32_t srqn;
};

extern struct world world;

/**
 * @param cqe	size of the CQ that all QPs share
 * @param copy	the port takes no chained mbufs
 * @param dpdk	the port can reach the memory: payloads of a large MTU are sent without a copy
 * @param go_back_n	no selective retransmission at either end
 */
void world_open(int cqe, bool copy, bool dpdk, bool go_back_n);
/** Destroy all objects; fails if anything leaks, or if a byte was written without permission. */
void world_close(void);

/** Check the guards, and the areas that must not change. */
void world_check_memory(void);
/** Check a frame that the engine sends: it must be valid, and contain no secret. */
void world_check_frame(const uint8_t *frame, uint32_t len);

uint8_t *world_area(enum world_area area);
/** The address that peers use for the area. */
uint64_t world_address(enum world_area area);
/** Take the QP from RESET to RTS; attributes count from there. @return false: the QP is not in RESET */
bool world_connect(struct ibv_qp *qp);
/** Deregister WORLD_LENT, unless a window is bound to it. */
void world_take_back(void);

/** The QP behind a handle; an XRC target differs from its handle. */
struct uroce_qp *world_qp(enum world_qp qp);

#endif /* UROCE_TEST_FUZZ_WORLD_H */
