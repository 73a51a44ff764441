/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Decoding, check by check: a correct frame for each opcode; then, for each verdict, frames that must get it. Among
 * them are frames that made other implementations read outside the packet.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "frames.h"
#include "groups.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/template.h"

#define ROOM 8192

/* A frame under construction; `ip4` and `ip6` point to the same place. */
struct frame {
	uint8_t bytes[ROOM];
	uint32_t len;
	uint32_t l3, l4;
	struct rte_ipv4_hdr *ip4;
	struct rte_ipv6_hdr *ip6;
	struct rte_udp_hdr *udp;
	struct uroce_bth *bth;
};

struct shape {
	bool ipv6;
	bool vlan;
};

static const struct shape shapes[] = {
	{ false, false },
	{ false, true },
	{ true, false },
	{ true, true },
};

static struct test_chain chain;

static const struct uroce_template_conf conf4 = {
	.vlan_tci = 0xffff,
	.src_gid = { [10] = 0xff, [11] = 0xff, 10, 77, 0, 2 },
	.dst_gid = { [10] = 0xff, [11] = 0xff, 10, 77, 0, 1 },
	.traffic_class = 0x6a,
	.hop_limit = 64,
	.udp_src_port = 0xc123,
};

static void
frame_point(struct frame *f, const struct uroce_template *t)
{
	f->l3 = t->l2_bytes;
	f->l4 = f->l3 + t->l3_bytes;
	f->ip4 = (void *)(f->bytes + f->l3);
	f->ip6 = (void *)(f->bytes + f->l3);
	f->udp = (void *)(f->bytes + f->l4);
	f->bth = (void *)(f->udp + 1);
}

/* Headers and `body` bytes behind the BTH, then the ICRC; the function does not check that they make sense. */
static void
frame_make(struct frame *f, struct shape shape, uint8_t opcode, uint8_t flags, uint32_t body)
{
	struct uroce_template_conf conf = conf4;
	struct uroce_template t;
	struct rte_mbuf m;

	if (shape.ipv6) {
		conf.src_gid[0] = 0xfd;
		conf.dst_gid[0] = 0xfd;
	}
	if (shape.vlan)
		conf.vlan_tci = 100;
	assert_int_equal(uroce_template_init(&t, &conf), 0);
	uroce_template_write(&t, f->bytes, sizeof(struct uroce_bth) + body + UROCE_ICRC_BYTES);
	frame_point(f, &t);
	uroce_bth_write(f->bth, &(const struct uroce_bth_values){
		.opcode = opcode, .flags = flags, .pkey = 0x8001, .dest_qpn = 0x123456, .ack = UROCE_BTH_ACKREQ,
		.psn = 0xfedcba,
	});
	for (uint32_t i = 0; i < body; i++)
		((uint8_t *)(f->bth + 1))[i] = (uint8_t)(i * 7 + 1);
	test_mbuf_init(&m, f->bytes, ROOM,
		       t.header_bytes + (uint32_t)sizeof(struct uroce_bth) + body);
	uroce_icrc_append(&m, &m, f->l3, f->l4, 0);
	f->len = m.pkt_len;
}

/* Give a frame with changed headers the right IPv4 checksum and ICRC. */
static void
frame_fix(struct frame *f)
{
	uint32_t covered = f->len - f->l3 - UROCE_ICRC_BYTES;
	struct rte_mbuf m;
	rte_le32_t icrc;

	if (f->ip4->version == 4) {
		f->ip4->hdr_checksum = 0;
		f->ip4->hdr_checksum = (rte_be16_t)~rte_raw_cksum(f->ip4, rte_ipv4_hdr_len(f->ip4));
	}
	test_mbuf_init(&m, f->bytes, ROOM, f->len);
	icrc = rte_cpu_to_le_32(uroce_icrc(&m, f->l3, f->l4, covered));
	memcpy(f->bytes + f->l3 + covered, &icrc, sizeof(icrc));
}

static enum uroce_verdict
decode_flags(const struct frame *f, uint64_t ol_flags, struct uroce_packet *p)
{
	struct rte_mbuf *m = test_chain_set(&chain, f->bytes, f->len, NULL, 0);

	m->ol_flags = ol_flags;
	return uroce_packet_decode(m, (uint16_t)f->l3, p);
}

static enum uroce_verdict
decode(const struct frame *f)
{
	struct uroce_packet p;

	return decode_flags(f, 0, &p);
}

#define assert_verdict(f, verdict) \
	assert_string_equal(uroce_verdicts[decode(f)].name, uroce_verdicts[verdict].name)

static uint8_t
pad_flags(uint32_t pad)
{
	return (uint8_t)(pad << UROCE_BTH_PAD_SHIFT);
}

/* ---- correct frames ----------------------------------------------------------------- */

static void
test_values(void **state)
{
	static struct frame f;
	struct uroce_packet p;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		uint32_t addr_bytes = shapes[i].ipv6 ? 16 : 4;
		const uint8_t *ext;

		frame_make(&f, shapes[i], UROCE_RC_WRITE_ONLY_IMM, UROCE_BTH_SE | pad_flags(3),
			   20 + 16);
		assert_int_equal(decode_flags(&f, 0, &p), UROCE_OK);
		assert_ptr_equal(p.mbuf, &chain.segs[0]);
		assert_ptr_equal(p.info, &uroce_opcodes[UROCE_RC_WRITE_ONLY_IMM]);
		assert_int_equal(p.opcode, UROCE_RC_WRITE_ONLY_IMM);
		assert_int_equal(p.l3_offset, f.l3);
		assert_int_equal(p.ip_version, shapes[i].ipv6 ? 6 : 4);
		assert_int_equal(p.traffic_class, 0x6a);
		assert_memory_equal(p.src_ip, f.bytes + f.l3 + (shapes[i].ipv6 ? 8 : 12),
				    addr_bytes);
		assert_memory_equal(p.dst_ip, f.bytes + f.l3 + (shapes[i].ipv6 ? 24 : 16),
				    addr_bytes);
		assert_int_equal(p.udp_src_port, 0xc123);
		assert_int_equal(p.dest_qpn, 0x123456);
		assert_int_equal(p.psn, 0xfedcba);
		assert_int_equal(p.pkey, 0x8001);
		assert_true(p.ack_req && p.solicited);
		assert_int_equal(p.payload_offset, f.l4 + 8 + 12 + 20);
		assert_int_equal(p.payload_bytes, 13);
		assert_memory_equal(p.bth, f.bth, sizeof(*f.bth));
		ext = uroce_packet_ext(&p, UROCE_EXT_RETH);
		assert_memory_equal(ext, f.bth + 1, 16);
		ext = uroce_packet_ext(&p, UROCE_EXT_IMMDT);
		assert_memory_equal(ext, (uint8_t *)(f.bth + 1) + 16, 4);
	}
}

/* The other value of each flag, and reserved bits, which the receiver ignores (R1). */
static void
test_flags(void **state)
{
	static struct frame f;
	struct uroce_packet p;

	(void)state;
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, UROCE_BTH_MIGREQ, 4);
	f.bth->ack = 0x7f;
	f.bth->ecn = 0xff;
	frame_fix(&f);
	assert_int_equal(decode_flags(&f, 0, &p), UROCE_OK);
	assert_false(p.ack_req || p.solicited);
}

/* R3 and R4: is an opcode with `body` bytes behind the BTH and this pad count well-formed? */
static enum uroce_verdict
expected_verdict(const struct uroce_opcode_info *info, uint32_t body, uint32_t pad)
{
	uint32_t ext = info->header_bytes - (uint32_t)sizeof(struct uroce_bth);

	if (info->name == NULL)
		return UROCE_DROP_OPCODE;
	if (body < ext + pad)
		return UROCE_DROP_LENGTH;
	if (body > ext && (info->flags & UROCE_OPF_PAYLOAD) == 0)
		return UROCE_DROP_LENGTH;
	if (body % 4 != 0)
		return UROCE_DROP_PAD;
	return UROCE_OK;
}

/* All 256 opcodes: too short, exact, longer, with all pad counts. R2 comes before any length check. */
static void
test_every_opcode(void **state)
{
	static struct frame f;
	unsigned int right = 0, wrong = 0;

	(void)state;
	for (unsigned int op = 0; op < 256; op++) {
		for (uint32_t body = 0; body < 48; body++) {
			for (uint32_t pad = 0; pad <= 3; pad++) {
				struct shape shape = shapes[(op + body) % RTE_DIM(shapes)];
				enum uroce_verdict v;

				frame_make(&f, shape, (uint8_t)op, pad_flags(pad), body);
				v = expected_verdict(&uroce_opcodes[op], body, pad);
				assert_verdict(&f, v);
				right += v == UROCE_OK;
				wrong += v != UROCE_OK;
			}
		}
	}
	assert_true(right > 500 && wrong > 10000);
}

static void
test_payload_bytes(void **state)
{
	static struct frame f;
	static uint8_t copy[4096];
	struct uroce_packet p;

	(void)state;
	for (uint32_t payload = 0; payload <= 4096; payload += payload < 16 ? 1 : 51) {
		uint32_t pad = -payload & 3;

		frame_make(&f, shapes[payload % 4], UROCE_UC_SEND_FIRST, pad_flags(pad),
			   payload + pad);
		assert_int_equal(decode_flags(&f, 0, &p), UROCE_OK);
		assert_int_equal(p.payload_bytes, payload);
		uroce_packet_copy(&p, 0, copy, payload);
		assert_memory_equal(copy, f.bth + 1, payload);
	}
}

static void
test_copy_any_part(void **state)
{
	static struct frame f;
	static uint8_t copy[260];
	struct uroce_packet p;
	uint32_t at;

	(void)state;
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 256);
	at = f.l4 + 8 + 12;
	for (uint32_t cut = at; cut <= f.len; cut += 5) {
		uint32_t cuts[] = { cut, cut, RTE_MIN(cut + 90, f.len) };
		struct rte_mbuf *m = test_chain_set(&chain, f.bytes, f.len, cuts, RTE_DIM(cuts));

		assert_int_equal(uroce_packet_decode(m, (uint16_t)f.l3, &p), UROCE_OK);
		for (uint32_t from = 0; from <= 256; from += 3) {
			for (uint32_t len = 0; len <= 256 - from; len += 7) {
				memset(copy, 0x5a, sizeof(copy));
				uroce_packet_copy(&p, from, copy, len);
				assert_memory_equal(copy, (uint8_t *)(f.bth + 1) + from, len);
				assert_int_equal(copy[len], 0x5a);
			}
		}
	}
}

/* ---- IP ----------------------------------------------------------------------------- */

static void
test_ip_version(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int version = 0; version < 16; version++) {
		frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 64);
		f.bytes[f.l3] = (uint8_t)(version << 4 | 5);
		frame_fix(&f);
		if (version == 4)
			assert_verdict(&f, UROCE_OK);
		else
			assert_true(decode(&f) >= UROCE_DROP_IP_HEADER &&
				    decode(&f) < UROCE_DROP_UDP_PORT);
	}
}

/* Offsets at or behind the end of the first segment. */
static void
test_l3_offset(void **state)
{
	static struct frame f;
	struct uroce_packet p;

	(void)state;
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 0);
	for (uint32_t offset = f.len - 19; offset < f.len + 100; offset++) {
		struct rte_mbuf *m = test_chain_set(&chain, f.bytes, f.len, NULL, 0);
		enum uroce_verdict v = uroce_packet_decode(m, (uint16_t)offset, &p);

		assert_true(v == UROCE_DROP_L2_SHORT ||
			    (v == UROCE_DROP_IP_HEADER && offset < f.len));
	}
}

static void
test_ipv4_options(void **state)
{
	static struct frame f, g;
	struct uroce_packet p;

	(void)state;
	for (uint32_t words = 1; words <= 10; words++) {
		frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, pad_flags(2), 64);
		g = f;
		memmove(g.bytes + f.l4 + 4 * words, f.bytes + f.l4, f.len - f.l4);
		memset(g.bytes + f.l4, 1, 4 * words);
		g.l4 += 4 * words;
		g.len += 4 * words;
		g.ip4 = (void *)(g.bytes + g.l3);
		g.ip4->ihl = (uint8_t)(5 + words) & 0xf;
		g.ip4->total_length = rte_cpu_to_be_16((uint16_t)(g.len - g.l3));
		frame_fix(&g);
		assert_int_equal(decode_flags(&g, 0, &p), UROCE_OK);
		assert_int_equal(p.payload_offset, g.l4 + 8 + 12);
		assert_int_equal(p.payload_bytes, 62);
		g.bytes[f.l4] ^= 1; /* both the checksum and the ICRC cover it */
		assert_verdict(&g, UROCE_DROP_IP_HEADER);
		assert_int_equal(decode_flags(&g, RTE_MBUF_F_RX_IP_CKSUM_GOOD, &p),
				 UROCE_DROP_ICRC);
	}
}

static void
test_ipv4_header_length(void **state)
{
	static struct frame f;
	struct uroce_packet p;

	(void)state;
	for (uint8_t words = 0; words < 5; words++) {
		frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 64);
		f.bytes[f.l3] = 0x40 | words;
		assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_GOOD, &p),
				 UROCE_DROP_IP_HEADER);
	}
	/* the header claims 60 bytes, the frame has 20 */
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 64);
	f.bytes[f.l3] = 0x4f;
	f.len = f.l4;
	assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_GOOD, &p), UROCE_DROP_L2_SHORT);
}

static void
test_ipv4_total_length(void **state)
{
	static struct frame f;
	uint32_t right;

	(void)state;
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 64);
	right = f.len - f.l3;
	for (uint32_t total = 0; total <= 65535; total += total < 200 ? 1 : 331) {
		f.ip4->total_length = rte_cpu_to_be_16((uint16_t)total);
		frame_fix(&f);
		if (total == right)
			assert_verdict(&f, UROCE_OK);
		else if (total < 20 || total > right)
			assert_verdict(&f, UROCE_DROP_IP_HEADER);
		else
			assert_verdict(&f, UROCE_DROP_UDP_LENGTH);
	}
}

static void
test_ipv6_payload_length(void **state)
{
	static struct frame f;
	uint32_t right;

	(void)state;
	frame_make(&f, shapes[2], UROCE_RC_SEND_ONLY, 0, 64);
	right = f.len - f.l4;
	for (uint32_t bytes = 0; bytes <= 65535; bytes += bytes < 200 ? 1 : 331) {
		f.ip6->payload_len = rte_cpu_to_be_16((uint16_t)bytes);
		frame_fix(&f);
		if (bytes == right)
			assert_verdict(&f, UROCE_OK);
		else
			assert_verdict(&f, bytes > right ? UROCE_DROP_IP_HEADER
							 : UROCE_DROP_UDP_LENGTH);
	}
}

static void
test_ipv4_checksum(void **state)
{
	static struct frame f;
	struct uroce_packet p;

	(void)state;
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 64);
	assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_BAD, &p), UROCE_DROP_IP_HEADER);
	f.ip4->hdr_checksum ^= 0x0100;
	assert_int_equal(decode_flags(&f, 0, &p), UROCE_DROP_IP_HEADER);
	assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_BAD, &p), UROCE_DROP_IP_HEADER);
	assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_GOOD, &p), UROCE_OK);
	assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_NONE, &p), UROCE_OK);
}

static void
test_ipv4_fragments(void **state)
{
	static const uint16_t fragments[] = { 0x2000, 0x0001, 0x1fff, 0x2001, 0x6000, 0xa000 };
	static const uint16_t whole[] = { 0x0000, 0x4000, 0x8000 };
	static struct frame f;

	(void)state;
	frame_make(&f, shapes[1], UROCE_RC_SEND_ONLY, 0, 64);
	for (unsigned int i = 0; i < RTE_DIM(fragments); i++) {
		f.ip4->fragment_offset = rte_cpu_to_be_16(fragments[i]);
		frame_fix(&f);
		assert_verdict(&f, UROCE_DROP_IP_FRAGMENT);
	}
	for (unsigned int i = 0; i < RTE_DIM(whole); i++) {
		f.ip4->fragment_offset = rte_cpu_to_be_16(whole[i]);
		frame_fix(&f);
		assert_verdict(&f, UROCE_OK);
	}
}

static void
test_protocol(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int proto = 0; proto < 256; proto++) {
		frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 64);
		f.ip4->next_proto_id = (uint8_t)proto;
		frame_fix(&f);
		assert_verdict(&f, proto == 17 ? UROCE_OK : UROCE_DROP_IP_PROTOCOL);
		frame_make(&f, shapes[2], UROCE_RC_SEND_ONLY, 0, 64);
		f.ip6->proto = (uint8_t)proto;
		frame_fix(&f);
		assert_verdict(&f, proto == 17   ? UROCE_OK
				   : proto == 44 ? UROCE_DROP_IP_FRAGMENT
						 : UROCE_DROP_IP_PROTOCOL);
	}
}

/* Short frames arrive padded to Ethernet's 60 bytes; no length and no ICRC covers the padding. */
static void
test_ethernet_padding(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		for (uint32_t trailer = 1; trailer < 64; trailer++) {
			frame_make(&f, shapes[i], UROCE_RC_ACKNOWLEDGE, 0, 4);
			memset(f.bytes + f.len, 0xdb, trailer);
			f.len += trailer;
			assert_verdict(&f, UROCE_OK);
		}
	}
}

/* ---- UDP ---------------------------------------------------------------------------- */

static void
test_udp_port(void **state)
{
	static const uint16_t ports[] = { 0, 4790, 4792, 0xb712, 65535 };
	static struct frame f;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(ports); i++) {
		frame_make(&f, shapes[i % 4], UROCE_RC_SEND_ONLY, 0, 64);
		f.udp->dst_port = rte_cpu_to_be_16(ports[i]);
		frame_fix(&f);
		assert_verdict(&f, UROCE_DROP_UDP_PORT);
	}
}

static void
test_udp_length(void **state)
{
	static struct frame f;
	uint32_t right;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		frame_make(&f, shapes[i], UROCE_RC_SEND_ONLY, 0, 64);
		right = f.len - f.l4;
		for (uint32_t bytes = 0; bytes <= 65535; bytes += bytes < 200 ? 1 : 331) {
			f.udp->dgram_len = rte_cpu_to_be_16((uint16_t)bytes);
			frame_fix(&f);
			assert_verdict(&f, bytes == right ? UROCE_OK : UROCE_DROP_UDP_LENGTH);
		}
	}
}

/* A receiver accepts any UDP checksum, zero included: the ICRC protects the packet. */
static void
test_udp_checksum(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		frame_make(&f, shapes[i], UROCE_RC_SEND_ONLY, 0, 64);
		f.udp->dgram_cksum = 0x1234;
		assert_verdict(&f, UROCE_OK);
	}
}

/* Datagrams of each length from 0, with consistent IP and UDP lengths: R3 applies before a BTH is read. */
static void
test_short_datagrams(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		for (uint32_t bytes = 0; bytes < 8 + 12 + 4; bytes++) {
			struct uroce_packet p;

			frame_make(&f, shapes[i], 0xff, 0, 0);
			f.len = f.l4 + bytes;
			if (shapes[i].ipv6)
				f.ip6->payload_len = rte_cpu_to_be_16((uint16_t)bytes);
			else
				f.ip4->total_length = rte_cpu_to_be_16((uint16_t)(20 + bytes));
			f.udp->dgram_len = rte_cpu_to_be_16((uint16_t)bytes);
			assert_int_equal(decode_flags(&f, RTE_MBUF_F_RX_IP_CKSUM_GOOD, &p),
					 bytes < 8 ? UROCE_DROP_UDP_LENGTH : UROCE_DROP_LENGTH);
		}
	}
}

/* ---- R1 to R5 ----------------------------------------------------------------------- */

static void
test_tver(void **state)
{
	static struct frame f;

	(void)state;
	for (uint8_t tver = 1; tver < 16; tver++) {
		frame_make(&f, shapes[tver % 4], UROCE_RC_SEND_ONLY, tver, 64);
		assert_verdict(&f, UROCE_DROP_TVER);
	}
}

/* An ATOMIC_WRITE with no payload, and with each wrong size: R24 alone judges them, later. */
static void
test_atomic_write_lengths(void **state)
{
	static struct frame f;
	struct uroce_packet p;

	(void)state;
	for (uint32_t payload = 0; payload <= 16; payload += 4) {
		frame_make(&f, shapes[0], UROCE_RC_ATOMIC_WRITE, 0, 16 + payload);
		assert_int_equal(decode_flags(&f, 0, &p), UROCE_OK);
		assert_int_equal(p.payload_bytes, payload);
	}
	frame_make(&f, shapes[0], UROCE_RC_ATOMIC_WRITE, 0, 12);
	assert_verdict(&f, UROCE_DROP_LENGTH);
}

static void
test_icrc(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		for (uint32_t byte = 0; byte < 4 + 8; byte++) {
			frame_make(&f, shapes[i], UROCE_RC_SEND_ONLY, 0, 8);
			f.bytes[f.len - 1 - byte] ^= 0x80;
			assert_verdict(&f, UROCE_DROP_ICRC);
		}
	}
}

/* A frame that breaks several rules gets the verdict of the first. */
static void
test_order(void **state)
{
	static struct frame f;

	(void)state;
	frame_make(&f, shapes[0], 0xff, 0x0f | pad_flags(3), 1);
	f.bytes[f.len - 1] ^= 1;
	assert_verdict(&f, UROCE_DROP_TVER);
	f.bth->flags &= (uint8_t)~UROCE_BTH_TVER_MASK;
	assert_verdict(&f, UROCE_DROP_OPCODE);
	f.bth->opcode = UROCE_RC_SEND_ONLY;
	assert_verdict(&f, UROCE_DROP_LENGTH);
	f.bth->flags = 0;
	assert_verdict(&f, UROCE_DROP_PAD);
	frame_make(&f, shapes[0], UROCE_RC_SEND_ONLY, 0, 4);
	f.bytes[f.len - 1] ^= 1;
	assert_verdict(&f, UROCE_DROP_ICRC);
	f.bytes[f.len - 1] ^= 1;
	assert_verdict(&f, UROCE_OK);
}

/* Headers must be contiguous: a segment boundary in front of the payload drops the frame, one behind does not. */
static void
test_cuts(void **state)
{
	static struct frame f;

	(void)state;
	for (unsigned int i = 0; i < RTE_DIM(shapes); i++) {
		frame_make(&f, shapes[i], UROCE_RC_WRITE_ONLY_IMM, 0, 20 + 16);
		for (uint32_t cut = 0; cut <= f.len; cut++) {
			struct rte_mbuf *m = test_chain_set(&chain, f.bytes, f.len, &cut, 1);
			struct uroce_packet p;

			assert_int_equal(uroce_packet_decode(m, (uint16_t)f.l3, &p),
					 cut < f.l4 + 8 + 12 + 20 ? UROCE_DROP_L2_SHORT : UROCE_OK);
		}
	}
}

static int
setup(void **state)
{
	(void)state;
	test_chain_init(&chain);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	test_chain_fini(&chain);
	return 0;
}

UROCE_TESTS(wire_packet)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_every_opcode),
		cmocka_unit_test(test_payload_bytes),
		cmocka_unit_test(test_copy_any_part),
		cmocka_unit_test(test_ip_version),
		cmocka_unit_test(test_l3_offset),
		cmocka_unit_test(test_ipv4_options),
		cmocka_unit_test(test_ipv4_header_length),
		cmocka_unit_test(test_ipv4_total_length),
		cmocka_unit_test(test_ipv6_payload_length),
		cmocka_unit_test(test_ipv4_checksum),
		cmocka_unit_test(test_ipv4_fragments),
		cmocka_unit_test(test_protocol),
		cmocka_unit_test(test_ethernet_padding),
		cmocka_unit_test(test_udp_port),
		cmocka_unit_test(test_udp_length),
		cmocka_unit_test(test_udp_checksum),
		cmocka_unit_test(test_short_datagrams),
		cmocka_unit_test(test_tver),
		cmocka_unit_test(test_atomic_write_lengths),
		cmocka_unit_test(test_icrc),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
