/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * See player.h. The player reads the expected PSN from the QP itself; it does not guess.
 */

#include "player.h"

#include <string.h>

#include "device.h"
#include "frames.h"
#include "transport/qp/state.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/opcode.h"
#include "wire/psn.h"
#include "wire/sack.h"
#include "world.h"

#define PACKET_BYTES  4400u
#define PAYLOAD_BYTES 4200u

static struct device_frame burst[DEVICE_BURST];
static unsigned int gathered;

struct packet {
	enum world_qp qp;
	const struct uroce_opcode_info *info;
	uint8_t how;
	uint8_t opcode;
	uint32_t psn;
	uint32_t payload_bytes;
};

static uint8_t
opcode_of(const struct packet *p, uint8_t byte)
{
	const uint8_t base = world_qp(p->qp)->opcode_base;

	if ((p->how & PLAYER_RAW_OPCODE) != 0)
		return byte;
	switch (world_qp(p->qp)->transport) {
	case UROCE_TRANSPORT_UC: return (uint8_t)(UROCE_UC_SEND_FIRST + byte % 12);
	case UROCE_TRANSPORT_UD: return (uint8_t)(UROCE_UD_SEND_ONLY + byte % 2);
	default: break;
	}
	if (byte == UROCE_RC_ASK || byte == UROCE_RC_SACK)
		return byte;
	byte %= UROCE_RC_ATOMIC_WRITE + 1;
	/* responses have RC's opcodes */
	return (uint8_t)((uroce_opcodes[byte].flags & UROCE_OPF_REQUEST) != 0 ? byte + base : byte);
}

static uint32_t
psn_of(const struct packet *p, struct fuzz_input *in)
{
	const struct uroce_qp *qp = world_qp(p->qp);
	int8_t delta = (int8_t)fuzz_u8(in);
	uint32_t psn;

	if ((p->info->flags & UROCE_OPF_REQUEST) != 0) {
		psn = uroce_responder_of(qp)->psn;
		/* packets of the same burst come first */
		for (unsigned int i = 0; i < gathered; i++)
			psn = uroce_psn_add(psn, 1);
		return (p->how & PLAYER_ODD_PSN) != 0
			       ? uroce_psn_add(psn, (uint32_t)delta & UROCE_PSN_MASK)
			       : psn;
	}
	psn = uroce_requester_of(qp)->unacked;
	delta = (p->how & PLAYER_ODD_PSN) != 0 ? delta : (int8_t)(delta & 7);
	return uroce_psn_add(psn, (uint32_t)delta & UROCE_PSN_MASK);
}

static uint32_t
payload_of(const struct packet *p, struct fuzz_input *in)
{
	uint32_t bytes = fuzz_u16(in), mtu = world_qp(p->qp)->mtu_bytes;

	if ((p->info->flags & UROCE_OPF_PAYLOAD) == 0 && (p->how & PLAYER_ODD_SIZE) == 0)
		return 0;
	if (p->info->op == UROCE_OP_ATOMIC_WRITE && (p->how & PLAYER_ODD_SIZE) == 0)
		return 8;
	if ((p->how & PLAYER_ODD_SIZE) != 0 || world_qp(p->qp)->transport == UROCE_TRANSPORT_UD)
		return bytes % PAYLOAD_BYTES;
	switch (p->info->flags & UROCE_OPF_ONLY) {
	case UROCE_OPF_ONLY: return bytes % (mtu + 1);
	case UROCE_OPF_LAST: return bytes % mtu + 1;
	default: return mtu;
	}
}

/* A key and an address, which may or may not belong together. */
static void
place_of(const struct packet *p, struct fuzz_input *in, uint32_t length, uint64_t *va,
	 uint32_t *rkey)
{
	uint8_t what = fuzz_u8(in);
	enum world_area area = what % WORLD_AREAS;
	uint16_t offset = fuzz_u16(in);

	*rkey = world.keys[area];
	*va = world_address(area) + (offset % WORLD_AREA_BYTES & ~7u);
	if ((what & 0x40) != 0) /* near the end */
		*va = world_address(area) + WORLD_AREA_BYTES - length + offset % 16 - (offset & 8);
	if (what >= 0x80)
		*rkey = world.mws[what % RTE_DIM(world.mws)]->rkey;
	if ((p->how & PLAYER_ODD_HEADERS) == 0)
		return;
	*va = world_address(area) + (uint64_t)(int64_t)(int16_t)offset;
	switch (fuzz_below(in, 8)) {
	case 0: *rkey = fuzz_u32(in); break;
	case 1: *rkey ^= 1u << fuzz_below(in, 32); break;
	case 2: *va = fuzz_u64(in); break;
	case 3: *va = UINT64_MAX - fuzz_u8(in); break;
	case 4: *rkey = world.null_mr->rkey; break;
	default: break;
	}
}

static void
put_reth(const struct packet *p, struct fuzz_input *in, uint8_t *at)
{
	uint32_t rkey, dma_len = p->payload_bytes, more = fuzz_u16(in);
	uint64_t va;

	if (p->info->op == UROCE_OP_READ_REQUEST || p->info->op == UROCE_OP_FLUSH)
		dma_len = more % 2048;
	else if ((p->info->flags & UROCE_OPF_LAST) == 0)
		dma_len += 1 + more % 1024;
	place_of(p, in, dma_len, &va, &rkey);
	if ((p->how & PLAYER_ODD_HEADERS) != 0 && fuzz_below(in, 2) == 0)
		dma_len = fuzz_u32(in);
	uroce_reth_write(at, va, rkey, dma_len);
}

static void
put_atomiceth(const struct packet *p, struct fuzz_input *in, uint8_t *at)
{
	struct uroce_atomiceth *eth = (struct uroce_atomiceth *)at;
	uint32_t rkey;
	uint64_t va;

	place_of(p, in, sizeof(uint64_t), &va, &rkey);
	eth->va = rte_cpu_to_be_64(va);
	eth->rkey = rte_cpu_to_be_32(rkey);
	eth->swap_add = rte_cpu_to_be_64(fuzz_u8(in));
	eth->compare = rte_cpu_to_be_64(fuzz_u8(in) * UINT64_C(0x0101010101010101));
}

static void
put_aeth(struct fuzz_input *in, uint8_t *at)
{
	static const uint8_t often[] = { 0x1f, 0x1f, 0x60, 0x2c, 0x61, 0x62, 0x00, 0x0a };
	uint8_t syndrome = fuzz_u8(in);

	if (syndrome >= 0xf0)
		syndrome = often[syndrome % RTE_DIM(often)];
	uroce_aeth_write(at, syndrome, fuzz_u8(in));
}

static void
put_deth(const struct packet *p, struct fuzz_input *in, uint8_t *at)
{
	struct uroce_deth *deth = (struct uroce_deth *)at;

	deth->qkey = rte_cpu_to_be_32((p->how & PLAYER_ODD_HEADERS) != 0 ? fuzz_u32(in)
									 : WORLD_QKEY);
	uroce_put24(deth->src_qp, WORLD_PEER_QPN);
}

static void
put_extensions(const struct packet *p, struct fuzz_input *in, uint8_t *bth)
{
	const uint8_t *ext = p->info->ext;
	uint32_t number = world.srqn;
	rte_be32_t word;

	if (ext[UROCE_EXT_XRCETH] != 0) {
		if ((p->how & PLAYER_ODD_HEADERS) != 0)
			number ^= fuzz_u16(in);
		uroce_put24(((struct uroce_xrceth *)(bth + ext[UROCE_EXT_XRCETH]))->srq, number);
	}
	if (ext[UROCE_EXT_DETH] != 0)
		put_deth(p, in, bth + ext[UROCE_EXT_DETH]);
	if (ext[UROCE_EXT_FETH] != 0) {
		word = rte_cpu_to_be_32(fuzz_u8(in));
		memcpy(bth + ext[UROCE_EXT_FETH], &word, sizeof(word));
	}
	if (ext[UROCE_EXT_RETH] != 0)
		put_reth(p, in, bth + ext[UROCE_EXT_RETH]);
	if (ext[UROCE_EXT_ATOMICETH] != 0)
		put_atomiceth(p, in, bth + ext[UROCE_EXT_ATOMICETH]);
	if (ext[UROCE_EXT_AETH] != 0)
		put_aeth(in, bth + ext[UROCE_EXT_AETH]);
	if (ext[UROCE_EXT_IETH] != 0) {
		uint8_t key = fuzz_u8(in);

		word = rte_cpu_to_be_32(key >= 0x80 ? world.mws[key % RTE_DIM(world.mws)]->rkey
						    : world.keys[key % WORLD_AREAS]);
		memcpy(bth + ext[UROCE_EXT_IETH], &word, sizeof(word));
	}
}

/* Write the packet from the BTH to the padding. @return bytes */
static uint32_t
packet_write(const struct packet *p, struct fuzz_input *in, uint8_t *bth)
{
	uint32_t header_bytes = p->info->name != NULL ? p->info->header_bytes
						      : sizeof(struct uroce_bth);
	uint32_t pad = -p->payload_bytes & 3, bytes = header_bytes + p->payload_bytes + pad;
	uint8_t flags = (uint8_t)(pad << UROCE_BTH_PAD_SHIFT | UROCE_BTH_MIGREQ);
	struct uroce_bth_values values;

	memset(bth, 0, header_bytes);
	if ((p->how & PLAYER_SOLICITED) != 0)
		flags |= UROCE_BTH_SE;
	values = (struct uroce_bth_values){
		.opcode = p->opcode, .flags = flags, .pkey = UROCE_DEFAULT_PKEY,
		.dest_qpn = world_qp(p->qp)->ibv.qp_num, .psn = p->psn,
		.ack = (p->how & PLAYER_ACKREQ) != 0 ? UROCE_BTH_ACKREQ : 0,
	};
	if (p->opcode == UROCE_RC_ASK || p->opcode == UROCE_RC_SACK)
		values.ack |= UROCE_BTH_MARK;
	uroce_bth_write(bth, &values);
	if (p->info->name != NULL)
		put_extensions(p, in, bth);
	/* fixed bytes, not the input's: placed payload must not look like a secret */
	memset(bth + header_bytes, 0x41, p->payload_bytes);
	memset(bth + header_bytes + p->payload_bytes, 0, pad);
	if ((p->how & PLAYER_DAMAGED) == 0)
		return bytes;
	fuzz_poke(in, bth, header_bytes);
	return RTE_MAX((uint32_t)sizeof(struct uroce_bth),
		       bytes - RTE_MIN(bytes, (uint32_t)fuzz_u8(in)));
}

void
player_packet(struct fuzz_input *in)
{
	static uint8_t bth[PACKET_BYTES];
	struct device_frame *f = &burst[gathered];
	struct packet p = { .qp = fuzz_below(in, WORLD_QPS) };
	struct rte_mbuf m;
	uint32_t bytes;

	p.how = fuzz_u8(in);
	p.opcode = opcode_of(&p, fuzz_u8(in));
	p.info = &uroce_opcodes[p.opcode];
	p.payload_bytes = payload_of(&p, in);
	p.psn = psn_of(&p, in);
	bytes = packet_write(&p, in, bth);
	f->len = device_headers_write(f->bytes, bytes + UROCE_ICRC_BYTES);
	memcpy(f->bytes + f->len, bth, bytes);
	test_mbuf_init(&m, f->bytes, sizeof(f->bytes), f->len + bytes);
	uroce_icrc_append(&m, &m, RTE_ETHER_HDR_LEN, f->len - 8, 0);
	f->len = m.pkt_len;
	if (++gathered == DEVICE_BURST || (p.how & PLAYER_MORE) == 0)
		player_flush();
}

void
player_flush(void)
{
	if (gathered > 0)
		device_in(burst, gathered);
	gathered = 0;
}
