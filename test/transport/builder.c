/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the builder: all ways to build a packet write the same bytes, for each kind of path and each opcode, and the
 * decoder reads back the values of the description.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "transport/packet/packet.h"
#include "transport/requester/requester.h"
#include "uroce_config.h"
#include "wire/sack.h"

#define LONGEST 1500

/* Opcode after opcode, with values in all fields. */
static struct uroce_packet_desc
describe(const struct uroce_path *path, uint8_t opcode, uint32_t psn)
{
	const uint16_t set = uroce_opcodes[opcode].ext_set;
	struct uroce_packet_desc d = {
		.path = path,
		.bth = { .opcode = opcode, .flags = UROCE_BTH_SE, .dest_qpn = 0xabcdef, .psn = psn },
		.srqn = 0xfedcba, .imm = rte_cpu_to_be_32(0x12345678),
	};

	if (set & UROCE_EXT_BIT(UROCE_EXT_AETH)) {
		d.msn = 0x135791;
		d.syndrome = 0x1f;
		d.original = 0x0123456789abcdef;
	} else if (set & UROCE_EXT_BIT(UROCE_EXT_DETH)) {
		d.qkey = 0x80010000;
		d.src_qpn = 0x246802;
	} else {
		d.va = 0x123456789abcdef0;
		d.rkey = 0xfedcba98;
		d.dma_len = 0x10203;
		d.swap_add = 0x1122334455667788;
		d.compare = 0x99aabbccddeeff00;
	}
	return d;
}

static void
check_ext(const struct uroce_packet *p, const struct uroce_packet_desc *d)
{
	const uint8_t *ext = p->info->ext;

	if (ext[UROCE_EXT_XRCETH] != 0) {
		const struct uroce_xrceth *h = uroce_packet_ext(p, UROCE_EXT_XRCETH);

		assert_int_equal(h->reserved, 0);
		assert_int_equal(uroce_get24(h->srq), d->srqn);
	}
	if (ext[UROCE_EXT_DETH] != 0) {
		const struct uroce_deth *h = uroce_packet_ext(p, UROCE_EXT_DETH);

		assert_int_equal(rte_be_to_cpu_32(h->qkey), d->qkey);
		assert_int_equal(h->reserved, 0);
		assert_int_equal(uroce_get24(h->src_qp), d->src_qpn);
	}
	if (ext[UROCE_EXT_RETH] != 0) {
		const struct uroce_reth *h = uroce_packet_ext(p, UROCE_EXT_RETH);

		assert_int_equal(rte_be_to_cpu_64(h->va), d->va);
		assert_int_equal(rte_be_to_cpu_32(h->rkey), d->rkey);
		assert_int_equal(rte_be_to_cpu_32(h->dma_len), d->dma_len);
	}
	if (ext[UROCE_EXT_ATOMICETH] != 0) {
		const struct uroce_atomiceth *h = uroce_packet_ext(p, UROCE_EXT_ATOMICETH);

		assert_int_equal(rte_be_to_cpu_64(h->va), d->va);
		assert_int_equal(rte_be_to_cpu_32(h->rkey), d->rkey);
		assert_int_equal(rte_be_to_cpu_64(h->swap_add), d->swap_add);
		assert_int_equal(rte_be_to_cpu_64(h->compare), d->compare);
	}
	if (ext[UROCE_EXT_AETH] != 0) {
		const struct uroce_aeth *h = uroce_packet_ext(p, UROCE_EXT_AETH);

		assert_int_equal(h->syndrome, d->syndrome);
		assert_int_equal(uroce_get24(h->msn), d->msn);
	}
	if (ext[UROCE_EXT_ATOMICACKETH] != 0) {
		const struct uroce_atomicacketh *h = uroce_packet_ext(p, UROCE_EXT_ATOMICACKETH);

		assert_int_equal(rte_be_to_cpu_64(h->original), d->original);
	}
	if (ext[UROCE_EXT_IMMDT] != 0)
		assert_memory_equal(uroce_packet_ext(p, UROCE_EXT_IMMDT), &d->imm, 4);
	if (ext[UROCE_EXT_IETH] != 0)
		assert_memory_equal(uroce_packet_ext(p, UROCE_EXT_IETH), &d->imm, 4);
	if (ext[UROCE_EXT_FETH] != 0)
		assert_memory_equal(uroce_packet_ext(p, UROCE_EXT_FETH), &d->imm, 4);
}

/* The frame decodes to the values of its description, and its ICRC is right. */
static void
check(struct rte_mbuf *m, const struct uroce_packet_desc *d, const uint8_t *payload, uint32_t length)
{
	uint8_t got[LONGEST];
	struct uroce_packet p;

	rte_mbuf_sanity_check(m, 1);
	assert_int_equal(uroce_packet_decode(m, d->path->headers.l2_bytes, &p), UROCE_OK);
	assert_int_equal(p.opcode, d->bth.opcode);
	assert_int_equal(p.psn, d->bth.psn);
	assert_int_equal(p.dest_qpn, d->bth.dest_qpn);
	assert_int_equal(p.pkey, UROCE_DEFAULT_PKEY);
	assert_int_equal(p.bth->ecn, d->bth.ecn);
	assert_int_equal(p.bth->ack, d->bth.ack);
	assert_int_equal(p.bth->flags & ~UROCE_BTH_PAD_MASK, d->bth.flags | UROCE_BTH_MIGREQ);
	assert_int_equal(p.payload_bytes, length);
	assert_int_equal(m->pkt_len, d->path->headers.header_bytes + p.info->header_bytes + length + (-length & 3) +
					     UROCE_ICRC_BYTES);
	if (d->udp_src_port != 0)
		assert_int_equal(p.udp_src_port, d->udp_src_port);
	check_ext(&p, d);
	uroce_packet_copy(&p, 0, got, length);
	assert_memory_equal(got, payload, length);
}

static void
assert_same_frame(const struct rte_mbuf *a, const struct rte_mbuf *b)
{
	uint8_t room[2][LONGEST + 200];

	assert_int_equal(a->pkt_len, b->pkt_len);
	assert_memory_equal(rte_pktmbuf_read(a, 0, a->pkt_len, room[0]), rte_pktmbuf_read(b, 0, b->pkt_len, room[1]),
			    a->pkt_len);
	assert_int_equal(a->port, b->port);
	assert_int_equal(a->ol_flags, b->ol_flags);
}

/* The frame leaves by the port, or its route has the peer, the device's port and the destination. */
static void
check_route(struct peer *p, struct rte_mbuf *m, const struct uroce_packet_desc *d)
{
	const struct uroce_frame_route *route = uroce_frame_route(m);

	if (d->path->out == 0 && (d->path->lladdr == NULL || *d->path->lladdr != 0)) {
		assert_int_equal(m->port, p->dev.port_id);
		return;
	}
	assert_int_equal(m->port, RTE_MBUF_PORT_INVALID);
	assert_int_equal(route->port_id, p->dev.port_id);
	assert_int_equal(route->out, d->path->out);
	assert_int_equal(route->dest_qpn, d->bth.dest_qpn);
	assert_memory_equal(&route->dgid, &d->path->dgid, sizeof(route->dgid));
}

/* Build the payload from bytes and from a slice, for each short length and some long ones. */
static void
build_both(struct peer *p, struct uroce_packet_desc *d)
{
	const bool has_payload = uroce_opcodes[d->bth.opcode].flags & UROCE_OPF_PAYLOAD;
	struct ibv_sge sge[2] = { { (uintptr_t)p->buffer, 5, p->mr->lkey },
				  { (uintptr_t)p->buffer + 5, LONGEST, p->mr->lkey } };
	struct uroce_slice slice = { .sge = sge, .num_sge = 2 };
	struct uroce_qp *qp = uroce_qp_of(p->qp);
	struct rte_mbuf *inlined, *copied;

	for (uint32_t length = 0; length <= (has_payload ? LONGEST : 0); length += length < 80 ? 1 : 171) {
		d->slice = NULL;
		d->bytes = (const uint8_t *)p->buffer;
		d->length = length;
		assert_int_equal(uroce_packet_build(&p->engine, qp, d, &inlined), 0);
		assert_int_equal(inlined->nb_segs, 1);
		check(inlined, d, (const uint8_t *)p->buffer, length);
		check_route(p, inlined, d);
		slice.length = length;
		d->slice = &slice;
		assert_int_equal(uroce_packet_build(&p->engine, qp, d, &copied), 0);
		check(copied, d, (const uint8_t *)p->buffer, length);
		check_route(p, copied, d);
		assert_same_frame(inlined, copied);
		rte_pktmbuf_free(inlined);
		rte_pktmbuf_free(copied);
	}
}

static void
builds_every_opcode_alike_in_every_way(void **state)
{
	static const uint8_t ipv4[2][16] = { { [10] = 0xff, 0xff, 10, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 0, 0, 2 } };
	static const uint8_t ipv6[2][16] = { { 0xfd, 1, [15] = 1 }, { 0xfd, 2, [15] = 2 } };
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, 1 }, .dst_mac.addr_bytes = { 2, 0, 0, 0, 0, 2 },
		.traffic_class = 0xa2, .hop_limit = 7, .flow_label = 0xabcde, .udp_src_port = 0xc123,
	};
	struct uroce_path path = { .dgid.raw = { 0xfe, 0x80, [15] = 9 } };
	unsigned int opcodes = 0;
	struct peer p;
	uint64_t mac = 0;

	peer_start(&p, NULL);
	for (unsigned int i = 0; i < LONGEST + 5; i++)
		((uint8_t *)p.buffer)[i] = (uint8_t)(i * 37 + (i >> 8));
	for (unsigned int i = 0; i < 8; i++) {
		memcpy(conf.src_gid, i & 1 ? ipv6[0] : ipv4[0], sizeof(conf.src_gid));
		memcpy(conf.dst_gid, i & 1 ? ipv6[1] : ipv4[1], sizeof(conf.dst_gid));
		conf.vlan_tci = i & 2 ? 0x6123 : UROCE_NO_VLAN;
		assert_int_equal(uroce_template_init(&path.headers, &conf), 0);
		path.lladdr = i & 4 ? &mac : NULL;
		for (unsigned int opcode = 0; opcode < 256; opcode++) {
			struct uroce_packet_desc d = describe(&path, (uint8_t)opcode, 0xfffff0 + opcode % 16);

			if (uroce_opcodes[opcode].name == NULL)
				continue;
			opcodes++;
			d.bth.ack = i & 1 ? UROCE_BTH_ACKREQ : UROCE_BTH_MARK;
			d.bth.ecn = i & 2 ? UROCE_BTH_BECN : 0;
			d.udp_src_port = i & 4 ? 0xd234 : 0;
			path.out = (uint16_t)(opcode % 3 * 3);
			memset(&mac, opcode & 1 ? 0 : 0x5a, RTE_ETHER_ADDR_LEN);
			build_both(&p, &d);
		}
	}
	assert_true(opcodes >= 8 * 60);
	assert_int_equal(rte_mempool_in_use_count(p.headers), 0);
	assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
	peer_stop(&p);
}

/* A key that does not resolve: the builder holds no memory, and returns the error. */
static void
refuses_a_wrong_key(void **state)
{
	struct ibv_sge sge = { .length = LONGEST };
	struct uroce_slice slice = { .sge = &sge, .num_sge = 1, .length = LONGEST };
	struct uroce_packet_desc d;
	struct rte_mbuf *m = NULL;
	struct peer p;

	peer_start(&p, NULL);
	d = describe(&uroce_qp_of(p.qp)->path, UROCE_RC_WRITE_FIRST, 1);
	d.slice = &slice;
	sge.addr = (uintptr_t)p.buffer;
	sge.lkey = p.mr->lkey ^ 1;
	for (int i = 0; i < 2; i++) {
		slice.copy = i == 0;
		assert_int_equal(uroce_packet_build(&p.engine, uroce_qp_of(p.qp), &d, &m), -EACCES);
	}
	assert_int_equal(rte_mempool_in_use_count(p.headers), 0);
	assert_int_equal(rte_mempool_in_use_count(p.payloads), 0);
	assert_int_equal(p.engine.counters[UROCE_NO_MBUF], 0);
	assert_int_equal(p.engine.counters[UROCE_SENT_PACKETS], 0);
	peer_stop(&p);
}

/* Without mbufs the request waits; it leaves when there are mbufs again. */
static void
waits_for_mbufs(void **state)
{
	struct ibv_sge sge = { .length = 8 };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED }, *bad;
	struct rte_mbuf *taken[4096];
	unsigned int n = 0;
	struct peer p;

	peer_start(&p, NULL);
	sge.addr = (uintptr_t)p.buffer;
	while ((taken[n] = rte_pktmbuf_alloc(p.headers)) != NULL)
		assert_uint_in_range(++n, 1, RTE_DIM(taken) - 1);
	assert_int_equal(uroce_post_send(p.qp, &wr, &bad), 0);
	peer_expect_nothing(&p);
	assert_int_not_equal(p.engine.counters[UROCE_NO_MBUF], 0);
	rte_pktmbuf_free_bulk(taken, n);
	peer_expect(&p, UROCE_RC_SEND_ONLY, PEER_SQ_PSN);
	peer_stop(&p);
}

UROCE_TESTS(builder)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builds_every_opcode_alike_in_every_way),
		cmocka_unit_test(refuses_a_wrong_key),
		cmocka_unit_test(waits_for_mbufs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
