/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One QP of an engine, and a peer that the test plays: packets in both directions are given as fields, and the test
 * sets the clock. For one thread.
 */

#ifndef UROCE_TEST_PEER_H
#define UROCE_TEST_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce.h>
#include <rte_mbuf.h>

#include "harness/device.h"
#include "transport/engine.h"
#include "transport/qp/state.h"

#define PEER_QPN 0x123456
#define PEER_RQ_PSN 0x1000	/* the first PSN that the QP expects */
#define PEER_SQ_PSN 0x2000	/* the first PSN that the QP sends */
#define PEER_QKEY 0x11111111	/* of a UD QP */
#define PEER_BUFFER_BYTES (64 * 1024)
#define PEER_WALL_NS 1700000000000000000	/* from the test's clock to the wall clock */

struct peer_conf {
	enum ibv_mtu mtu;		/* 0: 1024 */
	uint8_t max_rd_atomic;		/* in both directions; 0: 4 */
	uint8_t timeout;		/* 0: 14, 67 ms */
	uint8_t retry_cnt;		/* 0: 7 */
	uint8_t rnr_retry;		/* 0: 7, infinite */
	uint8_t min_rnr_timer;		/* 0: 12, 0.64 ms */
	unsigned int access;		/* of the QP; 0: all */
	uint32_t rq_psn, sq_psn;	/* 0: PEER_RQ_PSN, PEER_SQ_PSN */
	uint32_t dest_qpn;		/* 0: PEER_QPN, the only one that peer_out() accepts */
	int cqe;			/* 0: 256 */
	unsigned int log2_max_qp;	/* of the device; 0: 4 */
	unsigned int log2_window;	/* of the device and the engine; 0: UROCE_LOG2_WINDOW */
	bool copy;			/* the port takes no chained mbufs */
	bool go_back_n;			/* of the device */
	enum ibv_qp_state state;	/* 0: RTS */
	enum ibv_qp_type type;		/* 0: RC */
};

struct peer {
	union {
		struct harness_device host;
		struct uroce_device dev;	/* host.dev */
	};
	struct uroce_engine engine;
	struct uroce_engine other;	/* for moves of the QP; it has none of its own */
	struct rte_mempool *headers;
	struct rte_mempool *payloads;
	struct uroce_template to_engine;
	uint64_t now_ns;
	struct ibv_pd *pd;
	struct ibv_cq *send_cq;
	struct ibv_cq *recv_cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah;		/* UD: for the peer; peer_stop() destroys it unless it is NULL */
	uint8_t *buffer;		/* of mr, PEER_BUFFER_BYTES */
};

/* A packet as fields; the opcode determines which of them count. */
struct peer_packet {
	uint8_t opcode;
	uint32_t psn;
	bool ack_req;
	bool solicited;
	bool migreq;
	bool unmarked;			/* in: without the mark of uroce, in packets that carry it (wire/sack.h) */
	uint32_t srqn;			/* XRCETH */
	uint64_t va;			/* RETH, AtomicETH */
	uint32_t rkey;
	uint32_t dma_len;
	uint64_t swap_add;
	uint64_t compare;
	uint8_t syndrome;		/* AETH */
	uint32_t msn;
	uint64_t original;		/* AtomicAckETH */
	uint32_t imm;			/* ImmDt, or the rkey of an IETH; host order */
	uint32_t feth;
	uint32_t qkey;			/* DETH; in, 0: PEER_QKEY */
	uint32_t src_qpn;		/* in, 0: PEER_QPN */
	uint16_t udp_src_port;		/* out */
	const uint8_t *payload;		/* in; NULL: payload_bytes of zeros */
	uint32_t payload_bytes;
	uint16_t pkey;			/* 0: the default */
	uint8_t last_ip_byte;		/* of the source address; 0: the peer's */
	uint8_t traffic_class;
	uint16_t stripped_tci;		/* in: the tag that the port has stripped; 0: none */
	uint8_t bytes[4200];		/* out: the payload */
};

void peer_start(struct peer *p, const struct peer_conf *conf);
/* Connect a further QP, as peer_start() does. Packets go to the QP that is p->qp at the time. */
void peer_connect(struct ibv_qp *qp, const struct peer_conf *conf);
/* Destroy all objects; fails if an mbuf leaks. */
void peer_stop(struct peer *p);

/* Move the QP to an engine of p. The other functions use p->engine only. */
void peer_move(struct peer *p, struct uroce_engine *to);

/* Deliver a packet to the engine. @return its verdict */
enum uroce_verdict peer_in(struct peer *p, const struct peer_packet *in);
/* Deliver several packets in one burst. */
void peer_in_burst(struct peer *p, const struct peer_packet *in, unsigned int n);
/* Take the engine's next packet; checks its ICRC and lengths. @return false if there is none */
bool peer_out(struct peer *p, struct peer_packet *out);
/* Report the round of the last packet and the next round, as a worker does: deferred ACKs become due. */
void peer_next_round(struct peer *p);
/* As peer_out(), for ACKs that are due. */
bool peer_out_due(struct peer *p, struct peer_packet *out);
/* As peer_out(), for packets that a control call sends before it changes anything. */
bool peer_out_owed(struct peer *p, struct peer_packet *out);
/* The engine's next packet has this opcode and PSN. */
struct peer_packet peer_expect(struct peer *p, uint8_t opcode, uint32_t psn);
void peer_expect_ack(struct peer *p, uint8_t syndrome, uint32_t psn, uint32_t msn);
void peer_expect_nothing(struct peer *p);

/* Post a signaled request on buffer + offset. */
void peer_post(struct peer *p, enum ibv_wr_opcode opcode, uint32_t offset, uint32_t length, uint64_t wr_id,
	       unsigned int flags);
void peer_post_recv(struct peer *p, uint32_t offset, uint32_t length, uint64_t wr_id);
/* The next completion of the CQ has this status and wr_id. */
struct ibv_wc peer_expect_wc(struct ibv_cq *cq, enum ibv_wc_status status, uint64_t wr_id);
void peer_expect_no_wc(struct ibv_cq *cq);
/* Advance the clock to the engine's deadline. */
void peer_wait(struct peer *p);

#endif /* UROCE_TEST_PEER_H */
