/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The layout of the InfiniBand Architecture's transport headers: bytes and big-endian fields, no bitfields. Use
 * uroce_get24() and uroce_put24() for 24-bit fields.
 */

#ifndef UROCE_WIRE_HEADERS_H
#define UROCE_WIRE_HEADERS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <rte_byteorder.h>

#define UROCE_UDP_PORT        4791
#define UROCE_ICRC_BYTES      4
#define UROCE_DEFAULT_PKEY    0xffff
#define UROCE_GSI_QPN         1
#define UROCE_GSI_QKEY        0x80010000
#define UROCE_MULTICAST_QPN   0xffffff
#define UROCE_QPN_MASK        0xffffff
#define UROCE_FLOW_LABEL_MASK 0xfffffu
#define UROCE_GRH_BYTES       40
#define UROCE_CNP_BYTES       16 /* reserved, behind the BTH of a CNP */

/* BTH.flags */
#define UROCE_BTH_SE        0x80
#define UROCE_BTH_MIGREQ    0x40
#define UROCE_BTH_PAD_SHIFT 4
#define UROCE_BTH_PAD_MASK  0x30
#define UROCE_BTH_TVER_MASK 0x0f
/* ECN, the low bits of a traffic class */
#define UROCE_ECN_MASK 0x03
#define UROCE_ECN_ECT0 0x02 /* ECN-capable transport: a switch may mark the packet instead of dropping it */
#define UROCE_ECN_CE   0x03 /* congestion experienced: a switch has marked the packet */
/* BTH.ecn */
#define UROCE_BTH_FECN 0x80
#define UROCE_BTH_BECN 0x40
/* BTH.ack */
#define UROCE_BTH_ACKREQ 0x80
#define UROCE_BTH_RESV7_MASK 0x7f

struct uroce_bth {
	uint8_t opcode;
	uint8_t flags; /* SE, MigReq, pad count, TVer */
	rte_be16_t pkey;
	uint8_t ecn; /* FECN, BECN, 6 bits reserved: not covered by the ICRC */
	uint8_t dest_qp[3];
	uint8_t ack; /* AckReq, 7 bits reserved */
	uint8_t psn[3];
} __attribute__((packed));

struct uroce_deth {
	rte_be32_t qkey;
	uint8_t reserved;
	uint8_t src_qp[3];
} __attribute__((packed));

struct uroce_reth {
	rte_be64_t va;
	rte_be32_t rkey;
	rte_be32_t dma_len;
} __attribute__((packed));

struct uroce_atomiceth {
	rte_be64_t va;
	rte_be32_t rkey;
	rte_be64_t swap_add;
	rte_be64_t compare;
} __attribute__((packed));

struct uroce_aeth {
	uint8_t syndrome;
	uint8_t msn[3];
} __attribute__((packed));

struct uroce_atomicacketh {
	rte_be64_t original;
} __attribute__((packed));

struct uroce_immdt {
	rte_be32_t imm;
} __attribute__((packed));

struct uroce_ieth {
	rte_be32_t rkey;
} __attribute__((packed));

struct uroce_xrceth {
	uint8_t reserved;
	uint8_t srq[3];
} __attribute__((packed));

/* FETH: placement type in bits 0-3, selectivity in bits 4-5, the rest reserved. */
struct uroce_feth {
	rte_be32_t bits;
} __attribute__((packed));

static_assert(sizeof(struct uroce_bth) == 12, "BTH");
static_assert(sizeof(struct uroce_deth) == 8, "DETH");
static_assert(sizeof(struct uroce_reth) == 16, "RETH");
static_assert(sizeof(struct uroce_atomiceth) == 28, "AtomicETH");
static_assert(sizeof(struct uroce_aeth) == 4, "AETH");
static_assert(sizeof(struct uroce_atomicacketh) == 8, "AtomicAckETH");
static_assert(sizeof(struct uroce_immdt) == 4, "ImmDt");
static_assert(sizeof(struct uroce_ieth) == 4, "IETH");
static_assert(sizeof(struct uroce_xrceth) == 4, "XRCETH");
static_assert(sizeof(struct uroce_feth) == 4, "FETH");

/* AETH.syndrome (R30) */
enum uroce_aeth_class {
	UROCE_AETH_ACK = 0x00,     /* | credit count */
	UROCE_AETH_RNR_NAK = 0x20, /* | timer code */
	UROCE_AETH_NAK = 0x60,     /* | enum uroce_nak */
	UROCE_AETH_CLASS_MASK = 0xe0,
	UROCE_AETH_VALUE_MASK = 0x1f,
	UROCE_AETH_CREDITS_UNLIMITED = 0x1f,
};

enum uroce_nak {
	UROCE_NAK_PSN_SEQUENCE_ERROR = 0,
	UROCE_NAK_INVALID_REQUEST = 1,
	UROCE_NAK_REMOTE_ACCESS_ERROR = 2,
	UROCE_NAK_REMOTE_OPERATIONAL_ERROR = 3,
	UROCE_NAK_INVALID_RD_REQUEST = 4,
};

/* The syndrome of a NAK that reports a PSN sequence error (R12). */
#define UROCE_AETH_SEQUENCE_NAK (UROCE_AETH_NAK | UROCE_NAK_PSN_SEQUENCE_ERROR)

static inline uint32_t
uroce_get24(const uint8_t b[3])
{
	return (uint32_t)b[0] << 16 | (uint32_t)b[1] << 8 | b[2];
}

static inline void
uroce_put24(uint8_t b[3], uint32_t v)
{
	b[0] = (uint8_t)(v >> 16);
	b[1] = (uint8_t)(v >> 8);
	b[2] = (uint8_t)v;
}

/* The values of a BTH. */
struct uroce_bth_values {
	uint32_t psn; /* 24 bits */
	uint16_t pkey;
	uint32_t dest_qpn; /* 24 bits */
	uint8_t opcode;
	uint8_t flags; /* SE, MigReq, pad count, shifted as in the BTH */
	uint8_t ecn;
	uint8_t ack; /* AckReq, reserved bits */
};

static inline void
uroce_bth_write(void *at, const struct uroce_bth_values *v)
{
	/* Written whole from registers: a later load of bytes that smaller stores wrote would stall. */
	const rte_be64_t first = rte_cpu_to_be_64((uint64_t)v->opcode << 56 | (uint64_t)v->flags << 48 |
						  (uint64_t)v->pkey << 32 | (uint32_t)v->ecn << 24 |
						  (v->dest_qpn & UROCE_QPN_MASK));
	const rte_be32_t last = rte_cpu_to_be_32((uint32_t)v->ack << 24 | (v->psn & 0xffffff));

	static_assert(sizeof(first) + sizeof(last) == sizeof(struct uroce_bth), "BTH");
	memcpy(at, &first, sizeof(first));
	memcpy((uint8_t *)at + sizeof(first), &last, sizeof(last));
}

static inline void
uroce_reth_write(void *at, uint64_t va, uint32_t rkey, uint32_t dma_len)
{
	struct uroce_reth *reth = (struct uroce_reth *)at;

	reth->va = rte_cpu_to_be_64(va);
	reth->rkey = rte_cpu_to_be_32(rkey);
	reth->dma_len = rte_cpu_to_be_32(dma_len);
}

static inline void
uroce_aeth_write(void *dst, uint8_t syndrome, uint32_t msn)
{
	struct uroce_aeth *aeth = dst;

	aeth->syndrome = syndrome;
	uroce_put24(aeth->msn, msn);
}

#endif /* UROCE_WIRE_HEADERS_H */
