/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Every RoCEv2 frame of test/pcap, none of which uroce produced: it decodes, its ICRC is right, and encoding the
 * decoded packet gives the same bytes. Further tests split each frame, cut it short and flip its bits.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <rte_byteorder.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "frames.h"
#include "groups.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/template.h"

#define L3   RTE_ETHER_HDR_LEN
#define ROOM 16384

/* The one frame that the author of the captures corrupted on purpose. */
#define CORRUPTED_FILE "corrupt_write.pcap"

struct tally {
	struct test_chain chain;
	uint64_t random;
	unsigned int frames;
	unsigned int bad_icrc;
	unsigned int by_transport[UROCE_TRANSPORT_CNP + 1];
	unsigned int by_ip_version[7];
	unsigned int variants;
};

static struct uroce_packet
decode_ok(const struct test_frame *f, struct rte_mbuf *m)
{
	struct uroce_packet p;
	enum uroce_verdict v = uroce_packet_decode(m, L3, &p);

	if (v != UROCE_OK)
		fail_msg("%s frame %u: %s", f->file, f->number, uroce_verdicts[v].name);
	return p;
}

/* False for the frame with the wrong ICRC, which no further test can use. */
static bool
is_intact(const struct test_frame *f, struct tally *t)
{
	struct rte_mbuf *m = test_chain_set(&t->chain, f->bytes, f->len, NULL, 0);
	struct uroce_packet p;

	t->frames++;
	if (uroce_packet_decode(m, L3, &p) != UROCE_DROP_ICRC)
		return true;
	assert_string_equal(f->file, CORRUPTED_FILE);
	t->bad_icrc++;
	return false;
}

/* ---- decode, encode ----------------------------------------------------------------- */

static void
template_of(const struct test_frame *f, const struct uroce_packet *p, struct uroce_template *t)
{
	const struct rte_ether_hdr *eth = (const void *)f->bytes;
	struct uroce_template_conf conf = {
		.src_mac = eth->src_addr,
		.dst_mac = eth->dst_addr,
		.vlan_tci = 0xffff,
		.src_gid = { [10] = 0xff, [11] = 0xff },
		.dst_gid = { [10] = 0xff, [11] = 0xff },
		.traffic_class = p->traffic_class,
		.udp_src_port = p->udp_src_port,
	};

	if (p->ip_version == 4) {
		const struct rte_ipv4_hdr *ip = (const void *)(f->bytes + L3);

		memcpy(conf.src_gid + 12, p->src_ip, 4);
		memcpy(conf.dst_gid + 12, p->dst_ip, 4);
		conf.hop_limit = ip->time_to_live;
	} else {
		const struct rte_ipv6_hdr *ip = (const void *)(f->bytes + L3);

		memcpy(conf.src_gid, p->src_ip, 16);
		memcpy(conf.dst_gid, p->dst_ip, 16);
		conf.hop_limit = ip->hop_limits;
		conf.flow_label = rte_be_to_cpu_32(ip->vtc_flow) & 0xfffff;
	}
	assert_int_equal(uroce_template_init(t, &conf), 0);
}

/* Linux counts its IPv4 packets in the identification, which uroce's templates leave at 0. */
static void
ipv4_set_id(struct rte_ipv4_hdr *ip, rte_be16_t id)
{
	ip->packet_id = id;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
}

#define COPY16(field) to->field = rte_cpu_to_be_16(rte_be_to_cpu_16(from->field))
#define COPY32(field) to->field = rte_cpu_to_be_32(rte_be_to_cpu_32(from->field))
#define COPY64(field) to->field = rte_cpu_to_be_64(rte_be_to_cpu_64(from->field))

/* Write the extension headers of p field by field; all other bits stay 0. */
static void
ext_encode(const struct uroce_packet *p, uint8_t *bth)
{
	const uint8_t *ext = p->info->ext;

	if (ext[UROCE_EXT_DETH] != 0) {
		const struct uroce_deth *from = uroce_packet_ext(p, UROCE_EXT_DETH);
		struct uroce_deth *to = (void *)(bth + ext[UROCE_EXT_DETH]);

		COPY32(qkey);
		uroce_put24(to->src_qp, uroce_get24(from->src_qp));
	}
	if (ext[UROCE_EXT_RETH] != 0) {
		const struct uroce_reth *from = uroce_packet_ext(p, UROCE_EXT_RETH);
		struct uroce_reth *to = (void *)(bth + ext[UROCE_EXT_RETH]);

		COPY64(va);
		COPY32(rkey);
		COPY32(dma_len);
	}
	if (ext[UROCE_EXT_ATOMICETH] != 0) {
		const struct uroce_atomiceth *from = uroce_packet_ext(p, UROCE_EXT_ATOMICETH);
		struct uroce_atomiceth *to = (void *)(bth + ext[UROCE_EXT_ATOMICETH]);

		COPY64(va);
		COPY32(rkey);
		COPY64(swap_add);
		COPY64(compare);
	}
	if (ext[UROCE_EXT_AETH] != 0) {
		const struct uroce_aeth *from = uroce_packet_ext(p, UROCE_EXT_AETH);
		struct uroce_aeth *to = (void *)(bth + ext[UROCE_EXT_AETH]);

		to->syndrome = from->syndrome;
		uroce_put24(to->msn, uroce_get24(from->msn));
	}
	if (ext[UROCE_EXT_ATOMICACKETH] != 0) {
		const struct uroce_atomicacketh *from = uroce_packet_ext(p, UROCE_EXT_ATOMICACKETH);
		struct uroce_atomicacketh *to = (void *)(bth + ext[UROCE_EXT_ATOMICACKETH]);

		COPY64(original);
	}
	if (ext[UROCE_EXT_IMMDT] != 0) {
		const struct uroce_immdt *from = uroce_packet_ext(p, UROCE_EXT_IMMDT);
		struct uroce_immdt *to = (void *)(bth + ext[UROCE_EXT_IMMDT]);

		COPY32(imm);
	}
}

/* @return the length of the frame made from p. */
static uint32_t
encode(const struct test_frame *f, const struct uroce_packet *p, uint8_t *buf)
{
	uint32_t pad = -p->payload_bytes & 3;
	struct uroce_template t;
	uint8_t flags = (uint8_t)(p->solicited ? UROCE_BTH_SE : 0) |
			(uint8_t)(pad << UROCE_BTH_PAD_SHIFT) | (p->bth->flags & UROCE_BTH_MIGREQ);
	struct rte_mbuf m;
	uint8_t *bth;
	uint32_t len;

	template_of(f, p, &t);
	uroce_template_write(&t, buf,
			     p->info->header_bytes + p->payload_bytes + pad + UROCE_ICRC_BYTES);
	if (p->ip_version == 4)
		ipv4_set_id((void *)(buf + L3),
			    ((const struct rte_ipv4_hdr *)(f->bytes + L3))->packet_id);
	bth = buf + t.header_bytes;
	memset(bth, 0, p->info->header_bytes);
	uroce_bth_write(bth, &(const struct uroce_bth_values){
		.opcode = p->opcode, .flags = flags, .pkey = p->pkey, .dest_qpn = p->dest_qpn,
		.ack = p->ack_req ? UROCE_BTH_ACKREQ : 0, .psn = p->psn,
	});
	ext_encode(p, bth);
	len = t.header_bytes + p->info->header_bytes;
	uroce_packet_copy(p, 0, buf + len, p->payload_bytes);
	len += p->payload_bytes;
	test_mbuf_init(&m, buf, ROOM, len);
	uroce_icrc_append(&m, &m, L3, t.l2_bytes + t.l3_bytes, pad);
	return m.pkt_len;
}

static void
round_trip(const struct test_frame *f, void *arg)
{
	struct tally *t = arg;
	static uint8_t buf[ROOM];
	struct uroce_packet p;
	uint32_t len;

	if (!is_intact(f, t))
		return;
	p = decode_ok(f, test_chain_set(&t->chain, f->bytes, f->len, NULL, 0));
	t->by_transport[p.info->transport]++;
	t->by_ip_version[p.ip_version]++;
	memset(buf, 0xa5, sizeof(buf));
	len = encode(f, &p, buf);
	if (len != f->len || memcmp(buf, f->bytes, len) != 0)
		fail_msg("%s frame %u: encoded differently (%u bytes for %u)", f->file, f->number,
			 len, f->len);
}

/* ---- the same frames, split, cut and corrupted ---------------------------------------- */

static void
split(const struct test_frame *f, void *arg)
{
	static uint8_t whole[ROOM], parts[ROOM];
	struct tally *t = arg;
	struct uroce_packet p, q;

	if (!is_intact(f, t))
		return;
	p = decode_ok(f, test_chain_set(&t->chain, f->bytes, f->len, NULL, 0));
	uroce_packet_copy(&p, 0, whole, p.payload_bytes);
	for (unsigned int round = 0; round < 16; round++) {
		uint32_t cuts[TEST_CHAIN_SEGS - 1], at = p.payload_offset, half;
		unsigned int n = 1 + test_random(&t->random) % RTE_DIM(cuts);

		for (unsigned int i = 0; i < n; i++)
			cuts[i] = at += test_random(&t->random) % (f->len - at + 1);
		q = decode_ok(f, test_chain_set(&t->chain, f->bytes, f->len, cuts, n));
		assert_int_equal(q.payload_bytes, p.payload_bytes);
		half = test_random(&t->random) % (p.payload_bytes + 1);
		uroce_packet_copy(&q, 0, parts, half);
		uroce_packet_copy(&q, half, parts + half, p.payload_bytes - half);
		assert_memory_equal(parts, whole, p.payload_bytes);
		t->variants++;
	}
	for (uint32_t cut = 0; cut < p.payload_offset; cut++) {
		struct rte_mbuf *m = test_chain_set(&t->chain, f->bytes, f->len, &cut, 1);

		assert_int_equal(uroce_packet_decode(m, L3, &q), UROCE_DROP_L2_SHORT);
		t->variants++;
	}
}

/* Write this length into the IP and UDP headers; the caller's RX flag covers the IPv4 checksum. */
static void
lengths_set(uint8_t *bytes, uint32_t len)
{
	struct rte_ipv4_hdr *ip4 = (void *)(bytes + L3);
	struct rte_ipv6_hdr *ip6 = (void *)(bytes + L3);
	struct rte_udp_hdr *udp;

	if (ip4->version == 4) {
		udp = (void *)(ip4 + 1);
		ip4->total_length = rte_cpu_to_be_16((uint16_t)(len - L3));
	} else {
		udp = (void *)(ip6 + 1);
		ip6->payload_len = rte_cpu_to_be_16((uint16_t)(len - L3 - sizeof(*ip6)));
	}
	udp->dgram_len = rte_cpu_to_be_16((uint16_t)(bytes + len - (uint8_t *)udp));
}

static void
cut_short(const struct test_frame *f, void *arg)
{
	static uint8_t bytes[ROOM];
	struct tally *t = arg;
	struct uroce_packet p;

	if (!is_intact(f, t))
		return;
	p = decode_ok(f, test_chain_set(&t->chain, f->bytes, f->len, NULL, 0));
	for (uint32_t len = 0; len < f->len; len++) {
		struct rte_mbuf *m = test_chain_set(&t->chain, f->bytes, len, NULL, 0);
		struct uroce_packet q;
		enum uroce_verdict v = uroce_packet_decode(m, L3, &q);

		assert_true(v == UROCE_DROP_L2_SHORT || v == UROCE_DROP_IP_HEADER);
		t->variants++;
	}
	memcpy(bytes, f->bytes, f->len);
	for (uint32_t len = f->len - 1; len >= p.payload_offset - p.info->header_bytes; len--) {
		struct rte_mbuf *m;
		struct uroce_packet q;
		enum uroce_verdict v;

		lengths_set(bytes, len);
		m = test_chain_set(&t->chain, bytes, len, NULL, 0);
		m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
		v = uroce_packet_decode(m, L3, &q);
		assert_true(v == UROCE_DROP_LENGTH || v == UROCE_DROP_PAD || v == UROCE_DROP_ICRC);
		t->variants++;
	}
}

/* True if the ICRC does not cover this bit of the byte at this offset. */
static bool
is_masked(const struct uroce_packet *p, uint32_t at, uint8_t bit)
{
	uint32_t bth = p->payload_offset - p->info->header_bytes;
	uint32_t ip = at - L3;

	if (at == bth - 2 || at == bth - 1 || at == bth + 4)
		return true;
	if (at >= bth)
		return false;
	if (p->ip_version == 4)
		return ip == 1 || ip == 8 || ip == 10 || ip == 11;
	return (ip == 0 && bit < 0x10) || (ip >= 1 && ip <= 3) || ip == 7;
}

static void
flip_bits(const struct test_frame *f, void *arg)
{
	static uint8_t bytes[ROOM];
	struct tally *t = arg;
	struct uroce_packet p, q;

	if (!is_intact(f, t))
		return;
	p = decode_ok(f, test_chain_set(&t->chain, f->bytes, f->len, NULL, 0));
	memcpy(bytes, f->bytes, f->len);
	for (uint32_t at = L3; at < f->len; at++) {
		for (uint8_t bit = 1; bit != 0; bit = (uint8_t)(bit << 1)) {
			enum uroce_verdict v;
			struct rte_mbuf *m;

			if (at >= p.payload_offset && at + 4 < f->len)
				continue;
			bytes[at] ^= bit;
			m = test_chain_set(&t->chain, bytes, f->len, NULL, 0);
			m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
			v = uroce_packet_decode(m, L3, &q);
			if ((v == UROCE_OK) != is_masked(&p, at, bit))
				fail_msg("%s frame %u byte %u bit %#x: %s", f->file, f->number, at,
					 bit, uroce_verdicts[v].name);
			if (at >= p.payload_offset)
				assert_int_equal(v, UROCE_DROP_ICRC);
			m->ol_flags = 0;
			if (p.ip_version == 4 && at < L3 + sizeof(struct rte_ipv4_hdr))
				assert_int_not_equal(uroce_packet_decode(m, L3, &q), UROCE_OK);
			bytes[at] ^= bit;
			t->variants++;
		}
	}
	if (p.payload_bytes > 0) {
		bytes[p.payload_offset + test_random(&t->random) % p.payload_bytes] ^= 0x10;
		assert_int_equal(uroce_packet_decode(
					 test_chain_set(&t->chain, bytes, f->len, NULL, 0), L3, &q),
				 UROCE_DROP_ICRC);
	}
}

/* Frames with random bytes in their headers get a verdict and cause no bad read or write. */
static void
scramble(const struct test_frame *f, void *arg)
{
	static uint8_t bytes[ROOM];
	struct tally *t = arg;

	if (!is_intact(f, t))
		return;
	for (unsigned int round = 0; round < 64; round++) {
		uint32_t len = RTE_MIN(f->len, L3 + 20 + test_random(&t->random) % 160);
		uint32_t headers = RTE_MIN(len, 120u);
		enum uroce_verdict v;
		struct uroce_packet q;
		struct rte_mbuf *m;

		memcpy(bytes, f->bytes, len);
		for (unsigned int n = 1 + test_random(&t->random) % 8; n > 0; n--)
			bytes[L3 + test_random(&t->random) % (headers - L3)] =
				(uint8_t)test_random(&t->random);
		m = test_chain_set(&t->chain, bytes, len, NULL, 0);
		m->ol_flags = RTE_MBUF_F_RX_IP_CKSUM_GOOD;
		v = uroce_packet_decode(m, L3, &q);
		assert_true(v < UROCE_VERDICT_COUNT);
		t->variants++;
	}
}

/* ---- UDP source ports --------------------------------------------------------------- */

/* A connection: two QPs, each other's destination, with one UDP source port. */
struct flow {
	uint16_t port;
	uint8_t src_ip_last; /* of the sender of the first frame */
	uint32_t qpn;        /* its destination QPN */
	uint32_t other_qpn;  /* destination QPN in the other direction */
};

struct flows {
	char file[64];
	struct flow flows[4];
	unsigned int n;
	unsigned int checked;
	struct test_chain chain;
};

/* What Linux derives from the two QPNs without a flow label, the same at both ends. */
static uint16_t
linux_port(uint32_t qpn, uint32_t other_qpn)
{
	uint64_t v = (uint64_t)qpn * other_qpn;

	v ^= v >> 20;
	v ^= v >> 40;
	return uroce_udp_src_port(v & UROCE_FLOW_LABEL_MASK, 0);
}

/* Check the flows at the end of a file. The CM chooses flow labels of its own for its connections. */
static void
flows_check(struct flows *s)
{
	static const char *const by_cm[] = { "rdma_client", "rping", "ucmatose", "write_bw_cm" };

	for (unsigned int i = 0; i < RTE_DIM(by_cm); i++) {
		if (strncmp(s->file, by_cm[i], strlen(by_cm[i])) == 0)
			s->n = 0;
	}
	for (unsigned int i = 0; i < s->n; i++) {
		const struct flow *f = &s->flows[i];

		if (f->other_qpn == 0) /* no frame in the other direction */
			continue;
		assert_int_equal(linux_port(f->qpn, f->other_qpn), f->port);
		s->checked++;
	}
	s->n = 0;
}

static void
flow_add(const struct test_frame *frame, void *arg)
{
	struct flows *s = arg;
	struct uroce_packet p;
	uint8_t last;

	if (strcmp(s->file, frame->file) != 0)
		flows_check(s);
	snprintf(s->file, sizeof(s->file), "%s", frame->file);
	if (uroce_packet_decode(test_chain_set(&s->chain, frame->bytes, frame->len, NULL, 0), L3,
				&p) != UROCE_OK)
		return;
	if (p.info->transport == UROCE_TRANSPORT_UD)
		return;
	last = p.src_ip[p.ip_version == 4 ? 3 : 15];
	for (unsigned int i = 0; i < s->n; i++) {
		if (s->flows[i].port != p.udp_src_port)
			continue;
		if (s->flows[i].src_ip_last != last)
			s->flows[i].other_qpn = p.dest_qpn;
		return;
	}
	assert_true(s->n < RTE_DIM(s->flows));
	s->flows[s->n++] = (struct flow){
		.port = p.udp_src_port,
		.src_ip_last = last,
		.qpn = p.dest_qpn,
	};
}

/* ---- tests -------------------------------------------------------------------------- */

static void
run(struct tally *t, test_frame_fn fn)
{
	memset(t, 0, sizeof(*t));
	t->random = 1;
	test_chain_init(&t->chain);
	assert_int_equal(test_frames_each(fn, t), TEST_CAPTURE_FILES);
	assert_int_equal(t->frames, TEST_CAPTURE_FRAMES);
	assert_int_equal(t->bad_icrc, 1);
	test_chain_fini(&t->chain);
}

static void
test_round_trip(void **state)
{
	struct tally t;

	(void)state;
	run(&t, round_trip);
	assert_int_equal(t.by_transport[UROCE_TRANSPORT_RC] + t.by_transport[UROCE_TRANSPORT_UC] +
				 t.by_transport[UROCE_TRANSPORT_UD],
			 TEST_CAPTURE_FRAMES - 1);
	assert_true(t.by_transport[UROCE_TRANSPORT_RC] > 1000);
	assert_true(t.by_transport[UROCE_TRANSPORT_UC] > 50);
	assert_true(t.by_transport[UROCE_TRANSPORT_UD] > 20);
	assert_true(t.by_ip_version[4] > 1000 && t.by_ip_version[6] > 200);
}

static void
test_split(void **state)
{
	struct tally t;

	(void)state;
	run(&t, split);
	assert_true(t.variants > 16 * (TEST_CAPTURE_FRAMES - 1));
}

static void
test_cut_short(void **state)
{
	struct tally t;

	(void)state;
	run(&t, cut_short);
	assert_true(t.variants > 1000000);
}

static void
test_flip_bits(void **state)
{
	struct tally t;

	(void)state;
	run(&t, flip_bits);
	assert_true(t.variants > 8 * 40 * (TEST_CAPTURE_FRAMES - 1));
}

static void
test_scramble(void **state)
{
	struct tally t;

	(void)state;
	run(&t, scramble);
	assert_int_equal(t.variants, 64 * (TEST_CAPTURE_FRAMES - 1));
}

/* Linux derives the port from the two QPNs as uroce does. */
static void
test_udp_src_port(void **state)
{
	static struct flows s;

	(void)state;
	test_chain_init(&s.chain);
	test_frames_each(flow_add, &s);
	flows_check(&s);
	assert_int_equal(s.checked, 56);
	test_chain_fini(&s.chain);
}

UROCE_TESTS(wire_captures)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_split),
		cmocka_unit_test(test_cut_short),  cmocka_unit_test(test_flip_bits),
		cmocka_unit_test(test_scramble),   cmocka_unit_test(test_udp_src_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
