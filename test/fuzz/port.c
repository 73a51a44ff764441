/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: a port's handling of frames: RoCEv2, ARP, neighbor discovery, ICMP, IGMP, MLD, departures, and any other. The
 * port has addresses of both families, is in two groups, and resolves two neighbors. After each input, all received
 * mbufs must be back in their pool. The port stays open across inputs.
 *
 * The input: frames, each with the parts to repair, its length, and its bytes behind the MAC addresses.
 */

#include <string.h>

#include <rte_ip.h>
#include <rte_ring.h>

#include "base/dpdk_compat.h"
#include "fuzz.h"
#include "port/net/address.h"
#include "port/cm/departure.h"
#include "tap.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#define L3         RTE_ETHER_HDR_LEN
#define MAX_FRAMES 16
#define QKEY       0x11111111

enum mend {
	MEND_CHECKSUM = 0x01,  /* of IPv4, ICMP, IGMP */
	MEND_CHECKSUM6 = 0x02, /* of ICMPv6 */
	MEND_ICRC = 0x04,
	MEND_GROUP_MAC = 0x08, /* the MAC address of the destination group, or the bridges' */
	MEND_BROADCAST = 0x10,
	MEND_OTHER_MAC = 0x20,
	MEND_LENGTH = 0x40, /* of IP */
	MEND_TARGET = 0x80, /* send to the device's address of the same family */
};

static const char *const cidrs[] = { "10.0.0.1/24", "fd00::1/64", NULL };
static struct tap tap;
/* Created once. */
static struct {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_ah *ahs[2];
} objects;

/* The device is never closed, and only EAL's memory, which LeakSanitizer does not scan, points to its memory. */
int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}

static void
neighbor_add(uint8_t index, const char *address)
{
	struct ibv_ah_attr attr = { .is_global = 1,
				    .port_num = 1,
				    .grh = { .hop_limit = 64, .sgid_index = 1 + index } };

	RTE_VERIFY(uroce_gid_parse(attr.grh.dgid.raw, address) == 0);
	objects.ahs[index] = uroce_create_ah(objects.pd, &attr);
	RTE_VERIFY(objects.ahs[index] != NULL);
}

static void
groups_attach(void)
{
	static const union ibv_gid groups[] = {
		{ .raw = { [10] = 0xff, 0xff, 239, 0, 0, 7 } },
		{ .raw = { 0xff, 0x0e, [15] = 7 } },
	};

	for (unsigned int i = 0; i < RTE_DIM(groups); i++)
		RTE_VERIFY(uroce_attach_mcast(objects.qp, &groups[i], 0) == 0);
}

/* A UD QP in two groups, without receives. */
static void
receiver_create(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };

	init.send_cq = init.recv_cq = objects.cq = uroce_create_cq(tap.context, 16, NULL, NULL, 0);
	objects.qp = uroce_create_qp(objects.pd, &init);
	RTE_VERIFY(objects.qp != NULL);
	RTE_VERIFY(uroce_modify_qp(objects.qp, &attr,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY) ==
		   0);
	attr.qp_state = IBV_QPS_RTR;
	RTE_VERIFY(uroce_modify_qp(objects.qp, &attr, IBV_QP_STATE) == 0);
	groups_attach();
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_init(true);
	tap_open(&tap, 0, cidrs);
	tap.port->at_process = true;
	objects.pd = uroce_alloc_pd(tap.context);
	RTE_VERIFY(objects.pd != NULL);
	neighbor_add(0, "10.0.0.2");
	neighbor_add(1, "fd00::2");
	receiver_create();
	return 0;
}

static void
mac_set(uint8_t *frame, uint8_t mend)
{
	struct rte_ether_hdr *ether = (struct rte_ether_hdr *)frame;
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(frame + L3);
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(frame + L3);
	uint8_t gid[16];

	memcpy(&ether->dst_addr, &tap.port->mac, RTE_ETHER_ADDR_LEN);
	RTE_VERIFY(rte_ether_unformat_addr(TAP_PEER, &ether->src_addr) == 0);
	if ((mend & MEND_BROADCAST) != 0)
		memset(&ether->dst_addr, 0xff, RTE_ETHER_ADDR_LEN);
	if ((mend & MEND_OTHER_MAC) != 0)
		ether->dst_addr.addr_bytes[5] ^= 1;
	if ((mend & MEND_GROUP_MAC) == 0)
		return;
	uroce_gid_from_ipv4(gid, ip4->dst_addr);
	uroce_multicast_mac(&ether->dst_addr, ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6)
						      ? UROCE_IPV6_BYTES(ip6->dst_addr)
						      : gid);
	if (ether->ether_type == RTE_BE16(UROCE_DEPARTURE_ETHERTYPE))
		ether->dst_addr = uroce_departure_group();
}

/* Repair the destination and the length. The frame has room for all headers. */
static void
ip_mend(uint8_t *frame, size_t len, uint8_t mend)
{
	struct rte_ether_hdr *ether = (struct rte_ether_hdr *)frame;
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(frame + L3);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(frame + L3);
	bool v6 = ether->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6);

	if ((mend & MEND_TARGET) != 0 && v6)
		RTE_VERIFY(uroce_gid_parse(UROCE_IPV6_BYTES(ip6->dst_addr), "fd00::1") == 0);
	else if ((mend & MEND_TARGET) != 0)
		ip4->dst_addr = RTE_BE32(RTE_IPV4(10u, 0, 0, 1));
	if ((mend & MEND_LENGTH) != 0 && v6)
		ip6->payload_len = rte_cpu_to_be_16((uint16_t)(len - L3 - sizeof(*ip6)));
	else if ((mend & MEND_LENGTH) != 0)
		ip4->total_length = rte_cpu_to_be_16((uint16_t)(len - L3));
}

static void
icrc_mend(uint8_t *frame, size_t len)
{
	size_t l4 = L3 + (frame[L3] >> 4 == 6 ? sizeof(struct rte_ipv6_hdr)
					      : sizeof(struct rte_ipv4_hdr));
	struct rte_mbuf *m;
	uint32_t icrc;

	if (len < l4 + 8 + sizeof(struct uroce_bth) + UROCE_ICRC_BYTES)
		return;
	m = tap_mbuf(&tap, frame, len);
	icrc = rte_cpu_to_le_32(
		uroce_icrc(m, L3, (uint32_t)l4, (uint32_t)(len - UROCE_ICRC_BYTES - L3)));
	rte_pktmbuf_free(m);
	memcpy(frame + len - UROCE_ICRC_BYTES, &icrc, UROCE_ICRC_BYTES);
}

static void
checksums_mend(uint8_t *frame, size_t len, uint8_t mend)
{
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(frame + L3);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(frame + L3);
	size_t bytes = rte_be_to_cpu_16(ip4->total_length),
	       bytes6 = rte_be_to_cpu_16(ip6->payload_len);

	if ((mend & MEND_CHECKSUM) != 0 && len >= L3 + sizeof(*ip4)) {
		ip4->hdr_checksum = 0;
		tap_checksum_ipv4(frame, L3);
		if (bytes >= sizeof(*ip4) + 4 && bytes <= len - L3 &&
		    ip4->next_proto_id != IPPROTO_UDP) {
			ip4->hdr_checksum = 0;
			memset(frame + L3 + sizeof(*ip4) + 2, 0, 2);
			tap_checksum_icmp(frame, L3);
		}
	}
	if ((mend & MEND_CHECKSUM6) != 0 && len >= L3 + sizeof(*ip6) + 4 && bytes6 >= 4 &&
	    bytes6 <= len - L3 - sizeof(*ip6)) {
		memset(frame + L3 + sizeof(*ip6) + 2, 0, 2);
		tap_checksum_icmp6(frame, L3);
	}
}

static void
drain(void)
{
	struct rte_mbuf *m;

	test_poll(&tap.worker, 1, 3);
	while (rte_ring_dequeue(tap.wire.tx[0], (void **)&m) == 0) {
		rte_mbuf_sanity_check(m, 1);
		rte_pktmbuf_free(m);
	}
}

/* The frame in one or two segments. */
static struct rte_mbuf *
mbuf_make(const uint8_t *frame, size_t len, size_t split)
{
	struct rte_mbuf *m = tap_mbuf(&tap, frame, split), *rest;

	if (split < len) {
		rest = tap_mbuf(&tap, frame + split, len - split);
		RTE_VERIFY(rte_pktmbuf_chain(m, rest) == 0);
	}
	return m;
}

static void
frame_in(struct fuzz_input *in)
{
	static uint8_t frame[TAP_BYTES];
	uint8_t mend = fuzz_u8(in);
	uint16_t length = fuzz_u16(in);
	size_t len = RTE_MIN((size_t)(length & 0xfff), in->left) + 2 * RTE_ETHER_ADDR_LEN;

	len = RTE_MIN(len, sizeof(frame));
	memset(frame, 0, sizeof(frame));
	fuzz_bytes(in, frame + 2 * RTE_ETHER_ADDR_LEN, len - 2 * RTE_ETHER_ADDR_LEN);
	if (len >= L3 + sizeof(struct rte_ipv6_hdr))
		ip_mend(frame, len, mend);
	mac_set(frame, mend);
	checksums_mend(frame, len, mend);
	if ((mend & MEND_ICRC) != 0)
		icrc_mend(frame, len);
	RTE_VERIFY(rte_ring_enqueue(
			   tap.wire.rx[0],
			   mbuf_make(frame, len, (length & 0x8000) != 0 ? len / 2 : len)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	for (unsigned int i = 0; i < MAX_FRAMES && fuzz_more(&in); i++)
		frame_in(&in);
	drain();
	RTE_VERIFY(rte_mempool_full(tap.pool));
	return 0;
}
