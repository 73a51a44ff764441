/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Packets to send: every frame that the transport sends is built here. No retransmission, no order: the callers decide
 * what is sent and when. On the engine's thread.
 *
 *	frame.c		builds one packet of any kind: headers, payload by copy or by reference, pad and ICRC; and copies a
 *			received payload to where a request says
 *	tx_inline.c	builds an ACK, or a short inline SEND or WRITE of one packet, in one go
 *	tx_bulk.c	builds a row of packets from the middle of a WRITE, SEND or READ response, several per call
 *	mbuf.h		allocates mbufs from the engine's pools, prefetches the next ones, writes Ethernet to UDP headers
 */

#ifndef UROCE_TRANSPORT_PACKET_PACKET_H
#define UROCE_TRANSPORT_PACKET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include "transport/engine.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* Bytes of a message: a slice of a list of scatter/gather entries, as one side may access it. */
struct uroce_slice {
	const struct ibv_sge *sge;
	uint32_t num_sge;
	uint32_t offset;
	uint32_t length;
	uint32_t access;	/* enum ibv_access_flags that the keys must have */
	const struct ibv_pd *pd;	/* of the keys; NULL: the QP's */
	bool copy;		/* the memory may change before the frame leaves: copy it */
	bool only_stable;	/* reference the memory only if the region is stable */
};

/* frame.c: one packet in the making */
struct uroce_frame {
	struct rte_mbuf *head;
	struct rte_mbuf *tail;
	const struct uroce_path *path;
	uint32_t pad;			/* bytes, R4 */
	struct uroce_bth *bth;
	uint8_t *ext;			/* behind the BTH */
};

/** @return 0; -ENOBUFS: a pool is empty; -EACCES: a key of the slice does not allow it. `bytes` instead of a
 * slice is inline data. On error nothing is held. The BTH is written; extension headers are the caller's. */
int uroce_frame_begin_to(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_path *path,
			 uint32_t dest_qpn, uint8_t opcode, uint8_t bth_flags, bool ack_req, uint32_t psn,
			 const struct uroce_slice *slice, const uint8_t *bytes, struct uroce_frame *f);
/** Append pad and ICRC: the frame is ready for uroce_engine_send()'s caller. */
struct rte_mbuf *uroce_frame_end(struct uroce_engine *e, struct uroce_frame *f);

/** The same to the QP that this one is connected to. */
static inline int
uroce_frame_begin(struct uroce_engine *e, const struct uroce_qp *qp, uint8_t opcode, uint8_t bth_flags,
		  bool ack_req, uint32_t psn, const struct uroce_slice *slice, const uint8_t *bytes,
		  struct uroce_frame *f)
{
	return uroce_frame_begin_to(e, qp, &qp->path, qp->dest_qpn, opcode, bth_flags, ack_req, psn,
				    slice, bytes, f);
}

/** Copy a packet's payload to the slice. @return 0 or -EACCES: nothing was written */
int uroce_slice_scatter(const struct uroce_qp *qp, const struct uroce_slice *slice,
			const struct uroce_packet *packet);
/** The same from slice->length bytes. */
int uroce_slice_write(const struct uroce_qp *qp, const struct uroce_slice *slice, const uint8_t *bytes);

/* tx_inline.c */
/** Is the WQE, which has its PSNs, for uroce_tx_inline_packet()? */
static inline bool
uroce_tx_inline_fits(const struct uroce_qp *qp, const struct uroce_sqe *sqe)
{
	return (sqe->flags & IBV_SEND_INLINE) && sqe->psn_count == 1 &&
	       (sqe->opcode == IBV_WR_RDMA_WRITE || sqe->opcode == IBV_WR_SEND) && sqe->length <= UROCE_TX_INLINE_BYTES &&
	       qp->transport == UROCE_TRANSPORT_RC;
}
/** @return NULL: the pool is empty */
struct rte_mbuf *uroce_tx_inline_packet(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_sqe *sqe,
				    bool ack_req);
/** A positive acknowledgement of all requests up to psn. @return NULL: the pool is empty */
struct rte_mbuf *uroce_tx_ack_packet(struct uroce_engine *e, const struct uroce_qp *qp, uint32_t psn);

/* tx_bulk.c: several packets that go without AckReq, or extension headers, and whose payloads are attached.
 * @return	how many; 0: nothing has changed, and they are to be made one by one */
/** Of a WQE from req.offset on, where a packet goes that is not the first. `window`: how many more may be unanswered */
unsigned int uroce_tx_bulk_request(struct uroce_engine *e, struct uroce_qp *qp, const struct uroce_sqe *sqe,
			       uint32_t window, struct rte_mbuf **frames, unsigned int room);
/** Make responses, from r->next on, of a READ whose responses reference the memory. */
unsigned int uroce_tx_bulk_response(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_rd_atomic *r,
				struct rte_mbuf **frames, unsigned int room);

#endif /* UROCE_TRANSPORT_PACKET_PACKET_H */
