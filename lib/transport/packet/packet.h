/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Builds every frame that the transport sends. The callers decide which packets to send, and their order. On the
 * engine's thread.
 *
 *	builder.c	builds a packet from its description: headers, payload by copy or by reference, pad and ICRC
 *	tx_inline.h	builds the headers, and packets whose payload is not in registered memory, inline
 *	tx_bulk.c	builds a run: several packets from the middle of a message
 *	slice.c		copies payloads between a message's scatter/gather list and packets
 *	slice.h		a slice of a scatter/gather list, and a cursor through its pieces
 *	mbuf.h		allocates and prefetches mbufs of the engine's pools, writes the headers from Ethernet to UDP
 */

#ifndef UROCE_TRANSPORT_PACKET_PACKET_H
#define UROCE_TRANSPORT_PACKET_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "transport/engine.h"
#include "transport/packet/slice.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

/* A packet to build. Fields of extension headers that the opcode does not have are not read. */
struct uroce_packet_desc {
	const struct uroce_path *path;
	const struct uroce_slice *slice;	/* the payload in registered memory; NULL: it is in bytes */
	const uint8_t *bytes;			/* the payload, if slice is NULL */
	uint32_t length;			/* length of bytes */
	struct uroce_bth_values bth;		/* the builder sets pkey, MigReq and the pad count */
	uint16_t udp_src_port;			/* 0: use the path's port */
	uint8_t syndrome;			/* AETH */
	uint32_t msn;				/* AETH */
	uint64_t original;			/* AtomicAckETH */
	uint64_t va;				/* RETH, AtomicETH */
	uint32_t rkey;				/* RETH, AtomicETH */
	uint32_t dma_len;			/* RETH */
	uint64_t swap_add;			/* AtomicETH */
	uint64_t compare;			/* AtomicETH */
	uint32_t qkey;				/* DETH */
	uint32_t src_qpn;			/* DETH */
	uint32_t srqn;				/* XRCETH */
	rte_be32_t imm;				/* ImmDt, IETH or FETH */
};

/** @return true: the payload is copied; false: it is attached, if DPDK knows its memory */
static inline bool
uroce_packet_copies(const struct uroce_path *path, const struct uroce_slice *slice)
{
	return slice->length < UROCE_ZERO_COPY_BYTES || !path->multi_seg || slice->copy;
}

/** Does the port read payloads by virtual address, before the worker's round ends? Any memory can then be attached. */
static inline bool
uroce_packet_by_cpu(const struct uroce_qp *qp, const struct uroce_path *path)
{
	return qp->dev->by_cpu && path->out == 0;
}

/** @return true: leave the ICRC out. A frame that stays in the process may wait while its payload's memory changes */
static inline bool
uroce_packet_no_icrc(const struct uroce_qp *qp, const struct uroce_path *path)
{
	return qp->dev->no_icrc && path->out == 0;
}

/**
 * Build packets. One packet may have any description. Several packets have consecutive PSNs, each carries the next
 * slice->length bytes, and none has AckReq or extension headers.
 *
 * @param frames	set to frames that are ready for the port; the caller owns them
 * @param n	up to UROCE_SEND_QUANTUM
 * @return	the number of packets built: n, or 1 if they are not a run (see tx_bulk.c) or mbufs are short; -ENOBUFS:
 *		a pool is empty; -EACCES: a key of the slice does not allow the access
 */
int uroce_packets_build(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
			struct rte_mbuf **frames, unsigned int n);

/** Build one packet. @return 0, or as uroce_packets_build() */
static inline int
uroce_packet_build(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
		   struct rte_mbuf **out)
{
	int ret = uroce_packets_build(e, qp, d, out, 1);

	return RTE_MIN(ret, 0);
}

/* The BTH of a packet to the connected peer. */
#define UROCE_BTH_TO_PEER(qp, operation, psn_, ack_) \
	{ .opcode = (uint8_t)(operation), .dest_qpn = (qp)->dest_qpn, .psn = (psn_), .ack = (ack_) }

/** The part of uroce_packets_build() for several packets. @return n; 0: no packet was built */
unsigned int uroce_tx_bulk(struct uroce_engine *e, const struct uroce_qp *qp, const struct uroce_packet_desc *d,
			   struct rte_mbuf **frames, unsigned int n);

#endif /* UROCE_TRANSPORT_PACKET_PACKET_H */
