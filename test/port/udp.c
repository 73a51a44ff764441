/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A port on UDP sockets, byte for byte: the other end is an ordinary socket of the loopback interface. Which bytes of a
 * frame are sent, and that their ICRC is right with the IP header that the kernel writes; frames made of datagrams;
 * datagrams of any size from strangers; a port number that is taken; two devices that exchange messages.
 */

#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/udp.h>

#include <cmocka.h>
#include <rte_debug.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_udp.h>

#include "eal.h"
#include "frames.h"
#include "port/port.h"
#include "port/worker/pool.h"
#include "uroce.h"
#include "wire/gid.h"
#include "wire/headers.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/template.h"
#include "wire/unseen_id.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define L3     14
#define L4     (L3 + 20)
#define HEAD   (L4 + 8)
#define ROUNDS 1000	/* polls until a datagram has arrived */

static struct rte_mempool *pool;
static uint8_t own[16], peer[16], second[16];

struct fixture {
	struct uroce_worker *worker;
	struct ibv_context *context;
	struct uroce_port *port;
	int socket; /* of the peer */
	unsigned int lost; /* rx_drop_socket at the last check */
};

/* Each process has addresses of its own in 127.0.0.0/8, so that copies of this test do not meet. */
static void
address_make(uint8_t gid[16], unsigned int host)
{
	const uint32_t address = 127u << 24 | ((uint32_t)getpid() & 0x3fffff) << 2 | host;

	uroce_gid_from_ipv4(gid, htonl(address));
}

static const char *
address_text(const uint8_t gid[16])
{
	static char text[2][INET_ADDRSTRLEN];
	static unsigned int last;

	last ^= 1;
	return inet_ntop(AF_INET, gid + UROCE_GID_IPV4_OFFSET, text[last], sizeof(text[0]));
}

static struct sockaddr_in
socket_address(const uint8_t gid[16])
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons(UROCE_UDP_PORT),
				     .sin_addr.s_addr = uroce_gid_to_ipv4(gid) };
}

static int
socket_open(const uint8_t gid[16])
{
	const struct sockaddr_in address = socket_address(gid);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static uint16_t
device_add(const char *name, const char *args)
{
	char ethdev[64];
	uint16_t port_id;

	assert_int_equal(rte_eal_hotplug_add("vdev", name, args), 0);
	snprintf(ethdev, sizeof(ethdev), UROCE_UDP_PREFIX "%s", name);
	assert_int_equal(rte_eth_dev_get_port_by_name(ethdev, &port_id), 0);
	return port_id;
}

static void
open_with(struct fixture *f, const char *options)
{
	static unsigned int sequence;
	char name[32], args[128];

	snprintf(name, sizeof(name), "net_uroce_udp%u", sequence++);
	snprintf(args, sizeof(args), "local=%s%s", address_text(own), options);
	f->worker = uroce_create_worker(-1);
	assert_non_null(f->worker);
	f->context = uroce_open_port(device_add(name, args), NULL, &f->worker, 1);
	assert_non_null(f->context);
	f->port = uroce_port_of_context(f->context);
	assert_true(f->port->dev.by_cpu);
	f->socket = socket_open(peer);
	f->lost = 0;
}

static void
close_all(struct fixture *f)
{
	close(f->socket);
	assert_int_equal(uroce_close_device(f->context), 0);
	assert_int_equal(uroce_destroy_worker(f->worker), 0);
}

/* A frame from the port to the peer, as an engine makes it: with a payload of so many bytes, in one or two mbufs. */
static struct rte_mbuf *
frame_make(const struct fixture *f, uint32_t payload_bytes, uint32_t psn, uint16_t src_port, bool split)
{
	struct uroce_template_conf conf = { .src_mac = f->port->mac, .vlan_tci = UROCE_NO_VLAN, .traffic_class = 2,
					    .hop_limit = 64, .udp_src_port = src_port };
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool), *last = m;
	struct uroce_template t;
	uint8_t *bytes;

	memcpy(conf.src_gid, own, sizeof(own));
	memcpy(conf.dst_gid, peer, sizeof(peer));
	assert_int_equal(uroce_template_init(&t, &conf), 0);
	bytes = (uint8_t *)rte_pktmbuf_append(m, (uint16_t)(HEAD + sizeof(struct uroce_bth)));
	RTE_VERIFY(bytes != NULL);
	uroce_template_write(&t, bytes, (uint32_t)sizeof(struct uroce_bth) + payload_bytes + UROCE_ICRC_BYTES);
	memset(bytes + HEAD, 0, sizeof(struct uroce_bth));
	bytes[HEAD] = 0x07; /* RC WRITE MIDDLE */
	uroce_put24(bytes + HEAD + offsetof(struct uroce_bth, psn), psn);
	if (split) {
		last = rte_pktmbuf_alloc(pool);
		assert_int_equal(rte_pktmbuf_chain(m, last), 0);
	}
	memset(rte_pktmbuf_append(m, (uint16_t)payload_bytes), (int)psn + 1, payload_bytes);
	uroce_icrc_append(m, last, L3, L4, 0);
	return m;
}

/* The peer receives a datagram: its ICRC is right with this identification, and the socket's port. */
static void
expect(const struct fixture *f, uint32_t payload_bytes, uint32_t psn, uint16_t id)
{
	static uint8_t bytes[HEAD + 9000];
	struct uroce_template_conf conf = { .vlan_tci = UROCE_NO_VLAN, .udp_src_port = UROCE_UDP_PORT };
	const uint32_t udp_bytes = (uint32_t)sizeof(struct uroce_bth) + payload_bytes + UROCE_ICRC_BYTES;
	struct uroce_template t;
	struct rte_mbuf m;
	ssize_t n = -1;

	for (unsigned int i = 0; i < ROUNDS && n < 0; i++)
		n = recv(f->socket, bytes + HEAD, sizeof(bytes) - HEAD, 0);
	assert_int_equal(n, udp_bytes);
	memcpy(conf.src_gid, own, sizeof(own));
	memcpy(conf.dst_gid, peer, sizeof(peer));
	assert_int_equal(uroce_template_init(&t, &conf), 0);
	memcpy(bytes, t.bytes, HEAD);
	((struct rte_ipv4_hdr *)(bytes + L3))->total_length = htons((uint16_t)(20 + 8 + udp_bytes));
	((struct rte_ipv4_hdr *)(bytes + L3))->packet_id = htons(id);
	((struct rte_udp_hdr *)(bytes + L4))->dgram_len = htons((uint16_t)(8 + udp_bytes));
	test_mbuf_init(&m, bytes, sizeof(bytes), HEAD + udp_bytes);
	assert_int_equal(uroce_icrc_error(&m, L3, L4, 20 + 8 + udp_bytes - UROCE_ICRC_BYTES), 0);
	assert_int_equal(uroce_get24(bytes + HEAD + offsetof(struct uroce_bth, psn)), psn);
	for (uint32_t i = 0; i < payload_bytes; i++)
		assert_int_equal(bytes[HEAD + sizeof(struct uroce_bth) + i], (uint8_t)(psn + 1));
}

static void
expect_none(const struct fixture *f)
{
	uint8_t byte;

	assert_int_equal(recv(f->socket, &byte, 1, 0), -1);
}

static void
send_all(const struct fixture *f, struct rte_mbuf **frames, uint16_t n)
{
	assert_int_equal(rte_eth_tx_burst(f->port->port_id, 0, frames, n), n);
}

/* Batches end where the size grows, and after a smaller frame; each begins with the identification 0. */
static void
test_send(void **state)
{
	static const struct {
		uint32_t payload_bytes;
		uint16_t id, id_alone;
	} cases[] = {
		{ 64, 0, 0 }, { 64, 1, 0 }, { 64, 2, 0 }, { 1024, 0, 0 }, { 1024, 1, 0 }, { 1024, 2, 0 }, { 8, 3, 0 },
		{ 8, 0, 0 }, { 0, 1, 0 }, { 4096, 0, 0 }, { 4096, 1, 0 }, { 4096, 2, 0 }, { 4096, 3, 0 },
	};
	struct fixture f;
	struct rte_mbuf *frames[RTE_DIM(cases)];

	for (unsigned int gso = 0; gso <= 1; gso++) {
		open_with(&f, gso != 0 ? "" : ",gso=0");
		for (unsigned int split = 0; split <= 1; split++) {
			for (unsigned int i = 0; i < RTE_DIM(cases); i++)
				frames[i] = frame_make(&f, cases[i].payload_bytes, i, i == 4 ? 0xc123 : UROCE_UDP_PORT,
						       split != 0);
			send_all(&f, frames, RTE_DIM(cases));
			for (unsigned int i = 0; i < RTE_DIM(cases); i++)
				expect(&f, cases[i].payload_bytes, i, gso != 0 ? cases[i].id : 0);
			expect_none(&f);
		}
		assert_int_equal(f.port->queues[0].counters[UROCE_PORT_TX_DROP_SOCKET], 0);
		close_all(&f);
	}
}

/* A message has at most UROCE_UDP_SEGMENTS packets and UROCE_UDP_MESSAGE_BYTES. */
static void
test_send_many(void **state)
{
	struct rte_mbuf *frames[2 * UROCE_UDP_SEGMENTS];
	struct fixture f;

	open_with(&f, "");
	for (unsigned int i = 0; i < RTE_DIM(frames); i++)
		frames[i] = frame_make(&f, 4, i, UROCE_UDP_PORT, false);
	send_all(&f, frames, RTE_DIM(frames));
	for (unsigned int i = 0; i < RTE_DIM(frames); i++)
		expect(&f, 4, i, (uint16_t)(i % UROCE_UDP_SEGMENTS));
	for (unsigned int i = 0; i < 20; i++)
		frames[i] = frame_make(&f, 4096, i, UROCE_UDP_PORT, true);
	send_all(&f, frames, 20);
	for (unsigned int i = 0; i < 20; i++)
		expect(&f, 4096, i, (uint16_t)(i % 15));
	close_all(&f);
}

/* Frames that a socket cannot send are dropped, and those around them are sent. */
static void
test_send_others(void **state)
{
	struct rte_mbuf *frames[6];
	struct fixture f;

	open_with(&f, "");
	for (unsigned int i = 0; i < RTE_DIM(frames); i++)
		frames[i] = frame_make(&f, 256, i, UROCE_UDP_PORT, false);
	rte_pktmbuf_mtod(frames[0], uint8_t *)[12] = 0x81;	/* a VLAN */
	rte_pktmbuf_mtod(frames[1], uint8_t *)[L3 + 9] = 1;	/* ICMP */
	rte_pktmbuf_mtod(frames[3], uint8_t *)[L3 + 15] ^= 1;	/* another source */
	rte_pktmbuf_mtod(frames[4], uint8_t *)[L4 + 2] ^= 1;	/* another port */
	send_all(&f, frames, RTE_DIM(frames));
	expect(&f, 256, 2, 0);
	expect(&f, 256, 5, 0);
	expect_none(&f);
	assert_int_equal(f.port->queues[0].counters[UROCE_PORT_TX_DROP_SOCKET], 4);
	close_all(&f);
}

/* @return false: this process may not have interfaces of its own */
static bool
loopback_set(int mtu)
{
	struct ifreq ifr = { .ifr_name = "lo" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool ok;

	ifr.ifr_flags = IFF_UP;
	ok = ioctl(fd, SIOCSIFFLAGS, &ifr) == 0;
	ifr.ifr_mtu = mtu;
	ok = ok && ioctl(fd, SIOCSIFMTU, &ifr) == 0;
	close(fd);
	return ok;
}

/* The kernel refuses packets that are longer than the interface's MTU, but not the shorter one in the same message, nor
 * the next messages. */
static void
test_send_too_long(void **state)
{
	static const uint32_t payload_bytes[] = { 1024, 1024, 4096, 4096, 4096, 1024, 1024, 1024 };
	struct rte_mbuf *frames[RTE_DIM(payload_bytes)];
	unsigned int done = 0;
	struct fixture f;

	if (unshare(CLONE_NEWNET) != 0 || !loopback_set(65536))
		skip();
	open_with(&f, "");
	assert_true(loopback_set(2000));
	for (unsigned int i = 0; i < RTE_DIM(frames); i++)
		frames[i] = frame_make(&f, payload_bytes[i], i, UROCE_UDP_PORT, false);
	for (unsigned int i = 0; i < ROUNDS && done < RTE_DIM(frames); i++)
		done += rte_eth_tx_burst(f.port->port_id, 0, frames + done, (uint16_t)(RTE_DIM(frames) - done));
	assert_int_equal(done, RTE_DIM(frames));
	for (unsigned int i = 0; i < 2; i++)
		expect(&f, 1024, i, (uint16_t)i);
	for (unsigned int i = 5; i < 8; i++)
		expect(&f, 1024, i, i == 7); /* the first one was the end of the message that was refused */
	assert_int_equal(f.port->queues[0].counters[UROCE_PORT_TX_DROP_SOCKET], 3);
	close_all(&f);
}

/* Receive n frames; fails if there are more or fewer. */
static void
receive(const struct fixture *f, struct rte_mbuf **frames, unsigned int n)
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < ROUNDS && got < n; i++)
		got += rte_eth_rx_burst(f->port->port_id, 0, frames + got, (uint16_t)RTE_MIN(n - got, 32u));
	assert_int_equal(got, n);
	assert_int_equal(rte_eth_rx_burst(f->port->port_id, 0, frames + got, 1), 0);
}

/* The peer sends bytes as packets of this size to an address of the port. */
static void
peer_send_to(const struct fixture *f, const uint8_t gid[16], const uint8_t *bytes, size_t n, uint16_t segment)
{
	struct sockaddr_in to = socket_address(gid);
	struct iovec iov = { .iov_base = (void *)(uintptr_t)bytes, .iov_len = n };
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(segment))];
	} control = { .header = { .cmsg_level = IPPROTO_UDP, .cmsg_type = UDP_SEGMENT,
				  .cmsg_len = CMSG_LEN(sizeof(segment)) } };
	struct msghdr h = { .msg_name = &to, .msg_namelen = sizeof(to), .msg_iov = &iov, .msg_iovlen = 1 };

	if (segment != 0) {
		memcpy(CMSG_DATA(&control.header), &segment, sizeof(segment));
		h.msg_control = &control;
		h.msg_controllen = sizeof(control);
	}
	assert_int_equal(sendmsg(f->socket, &h, 0), n);
}

static void
peer_send(const struct fixture *f, const uint8_t *bytes, size_t n, uint16_t segment)
{
	peer_send_to(f, own, bytes, n, segment);
}

/* Compare a frame with a packet that the peer sent. */
static void
frame_check(const struct fixture *f, struct rte_mbuf *m, const uint8_t *bytes, size_t n, unsigned int number)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(eth + 1);
	const struct rte_udp_hdr *udp = (const struct rte_udp_hdr *)(ip + 1);

	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(m->pkt_len, HEAD + n);
	assert_int_equal(m->data_len, HEAD + n);
	assert_int_equal(m->port, f->port->port_id);
	assert_true(rte_is_same_ether_addr(&eth->dst_addr, &f->port->mac));
	assert_int_equal(ip->src_addr, uroce_gid_to_ipv4(peer));
	assert_int_equal(ip->dst_addr, uroce_gid_to_ipv4(own));
	assert_int_equal(ntohs(ip->total_length), 20 + 8 + n);
	assert_int_equal(ntohs(ip->packet_id), number);
	assert_int_equal(ip->version_ihl, 0x45);
	assert_int_equal(rte_ipv4_cksum(ip), 0);
	assert_int_equal(ntohs(udp->src_port), UROCE_UDP_PORT);
	assert_int_equal(ntohs(udp->dst_port), UROCE_UDP_PORT);
	assert_int_equal(ntohs(udp->dgram_len), 8 + n);
	assert_memory_equal(udp + 1, bytes, n);
	rte_pktmbuf_free(m);
}

static void
exchange(const struct fixture *f, const uint8_t *bytes, size_t n, uint16_t segment)
{
	struct rte_mbuf *frames[UROCE_UDP_RX_SEGMENTS + 1];
	const size_t each = segment != 0 ? segment : n;
	const unsigned int count = n != 0 ? (unsigned int)((n + each - 1) / each) : 1;

	peer_send(f, bytes, n, segment);
	receive(f, frames, count);
	for (unsigned int i = 0; i < count; i++)
		frame_check(f, frames[i], bytes + i * each, RTE_MIN(each, n - i * each), i);
}

/* Sizes change from message to message: the room of messages follows, and packets are copied until it does. */
static void
test_receive(void **state)
{
	static uint8_t bytes[65536];
	uint64_t random = 3;
	struct fixture f;

	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)test_random(&random);
	open_with(&f, "");
	exchange(&f, bytes, 0, 0);
	exchange(&f, bytes, 1, 0);
	exchange(&f, bytes, 4200, 0);
	exchange(&f, bytes, 64, 1);
	exchange(&f, bytes, 64000, 4112);
	exchange(&f, bytes, 64000, 4112);
	exchange(&f, bytes, 4128, 0);
	exchange(&f, bytes, 8240, 4128);
	exchange(&f, bytes, 60000, 1040);
	exchange(&f, bytes, 60000, 1040);
	exchange(&f, bytes, 60000, 1024);
	exchange(&f, bytes, 999, 333);
	for (unsigned int i = 0; i < 200; i++) {
		const uint16_t segment = (uint16_t)(1 + test_random(&random) % 4200);
		const size_t most = RTE_MIN(64u * segment, 65000u);

		exchange(&f, bytes, 1 + test_random(&random) % most, segment);
	}
	assert_int_equal(f.port->queues[0].counters[UROCE_PORT_RX_DROP_SOCKET], 0);
	close_all(&f);
}

/* A flood of datagrams to one address of the port does not keep it from receiving those to another one. */
static void
test_receive_fairly(void **state)
{
	static const uint8_t bytes[64];
	struct rte_mbuf *frames[32];
	char options[64];
	struct fixture f;
	bool found = false;

	snprintf(options, sizeof(options), ",local=%s", address_text(second));
	open_with(&f, options);
	peer_send_to(&f, second, bytes, 1, 0);
	for (unsigned int i = 0; i < 10; i++) {
		uint16_t n;

		for (unsigned int j = 0; j < 2 * UROCE_UDP_RX_MESSAGES; j++)
			peer_send(&f, bytes, sizeof(bytes), 0);
		n = rte_eth_rx_burst(f.port->port_id, 0, frames, RTE_DIM(frames));
		for (uint16_t j = 0; j < n; j++)
			found |= rte_pktmbuf_pkt_len(frames[j]) == HEAD + 1;
		rte_pktmbuf_free_bulk(frames, n);
	}
	assert_true(found);
	close_all(&f);
}

/* Datagrams longer than a frame are dropped, alone and in batches; the worker survives any bytes. */
static void
test_hostile(void **state)
{
	static uint8_t bytes[65507];
	uint64_t random = 4, *dropped;
	struct rte_mbuf *frames[1];
	struct fixture f;

	open_with(&f, "");
	dropped = &f.port->queues[0].counters[UROCE_PORT_RX_DROP_SOCKET];
	peer_send(&f, bytes, sizeof(bytes), 0);
	peer_send(&f, bytes, 65000, 9000);
	for (unsigned int i = 0; i < ROUNDS && *dropped < 2; i++)
		assert_int_equal(rte_eth_rx_burst(f.port->port_id, 0, frames, 1), 0);
	assert_int_equal(*dropped, 2);
	for (unsigned int i = 0; i < 2000; i++) {
		const size_t n = test_random(&random) % 300;

		for (size_t j = 0; j < n; j++)
			bytes[j] = (uint8_t)test_random(&random);
		if (n > 0 && (i & 1) != 0)
			bytes[0] = 0x64; /* UD SEND */
		peer_send(&f, bytes, n, n > 64 ? (uint16_t)(5 + n / 20) : 0);
		uroce_worker_poll(f.worker);
	}
	while (uroce_worker_poll(f.worker) != 0)
		;
	assert_int_equal(*dropped, 2);
	close_all(&f);
}

/* An ordinary error, which names what to do, when another program has the port. */
static void
test_taken(void **state)
{
	struct uroce_worker *worker = uroce_create_worker(-1);
	uint16_t port_id;
	char args[64];
	int fd;

	snprintf(args, sizeof(args), "local=%s", address_text(own));
	port_id = device_add("net_uroce_udp_taken", args);
	fd = socket_open(own);
	errno = 0;
	assert_null(uroce_open_port(port_id, NULL, &worker, 1));
	assert_int_equal(errno, EADDRINUSE);
	close(fd);
	assert_int_equal(uroce_destroy_worker(worker), 0);
}

static void
test_arguments(void **state)
{
	static const char *const wrong[] = {
		"", "local=", "local=10.0.0.1/24", "local=203.0.113.77", "local=127.0.0.1,gso=2", "iface=eth0", "local=host",
		"local=127.0.0.1,local=127.0.0.2,local=127.0.0.3,local=127.0.0.4,local=127.0.0.5",
	};

	for (unsigned int i = 0; i < RTE_DIM(wrong); i++)
		assert_true(rte_eal_hotplug_add("vdev", "net_uroce_udp_wrong", wrong[i]) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_send_many),
		cmocka_unit_test(test_send_others),
		cmocka_unit_test(test_receive),
		cmocka_unit_test(test_receive_fairly),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_send_too_long), /* last: leaves the host's network */
	};

	test_eal_init(NULL);
	address_make(own, 1);
	address_make(peer, 2);
	address_make(second, 3);
	pool = uroce_pool_create("test", 2047, 5120, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
