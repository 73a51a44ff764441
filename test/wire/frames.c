/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_udp.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(addr, len)   ((void)(addr), (void)(len))
#define ASAN_UNPOISON_MEMORY_REGION(addr, len) ((void)(addr), (void)(len))
#endif

#include "frames.h"
#include "wire/headers.h"

#define SEG_ROOM      16384u
#define PCAP_MAGIC    0xa1b2c3d4u /* microseconds, native byte order */
#define PCAP_ETHERNET 1

struct pcap_file_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snap_bytes, link_type;
};

struct pcap_frame_header {
	uint32_t seconds, microseconds, captured_bytes, frame_bytes;
};

static __rte_noreturn void
fail(const char *path, const char *why)
{
	fprintf(stderr, "%s: %s\n", path, why);
	exit(1);
}

static uint8_t *
file_read(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0)
		fail(path, "cannot be opened");
	rewind(f);
	bytes = malloc((size_t)size);
	if (bytes == NULL || fread(bytes, 1, (size_t)size, f) != (size_t)size)
		fail(path, "cannot be read");
	fclose(f);
	*len = (size_t)size;
	return bytes;
}

/* The captures have no VLAN tags, IP options or fragments. */
static bool
is_roce(const uint8_t *bytes, uint32_t len)
{
	const struct rte_ether_hdr *eth = (const void *)bytes;
	const struct rte_ipv4_hdr *ip4 = (const void *)(eth + 1);
	const struct rte_ipv6_hdr *ip6 = (const void *)(eth + 1);
	const struct rte_udp_hdr *udp;

	if (len < sizeof(*eth) + sizeof(*ip6) + sizeof(*udp))
		return false;
	if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV4) && ip4->next_proto_id == IPPROTO_UDP)
		udp = (const void *)(ip4 + 1);
	else if (eth->ether_type == RTE_BE16(RTE_ETHER_TYPE_IPV6) && ip6->proto == IPPROTO_UDP)
		udp = (const void *)(ip6 + 1);
	else
		return false;
	return udp->dst_port == RTE_BE16(UROCE_UDP_PORT);
}

static void
capture_each(const char *name, test_frame_fn fn, void *arg)
{
	struct test_frame frame = { .file = name };
	struct pcap_file_header file;
	struct pcap_frame_header h;
	char path[1024];
	uint8_t *bytes;
	size_t len, at;

	snprintf(path, sizeof(path), "%s/%s", TEST_PCAP_DIR, name);
	bytes = file_read(path, &len);
	if (len < sizeof(file))
		fail(path, "is not a capture");
	memcpy(&file, bytes, sizeof(file));
	if (file.magic != PCAP_MAGIC || file.link_type != PCAP_ETHERNET)
		fail(path, "is not a little-endian capture of Ethernet frames");
	for (at = sizeof(file); at < len; at += h.captured_bytes) {
		if (len - at < sizeof(h))
			fail(path, "ends in a frame's header");
		memcpy(&h, bytes + at, sizeof(h));
		at += sizeof(h);
		if (h.captured_bytes > len - at || h.captured_bytes != h.frame_bytes)
			fail(path, "has a frame cut short");
		frame.number++;
		frame.bytes = bytes + at;
		frame.len = h.captured_bytes;
		if (is_roce(frame.bytes, frame.len))
			fn(&frame, arg);
	}
	free(bytes);
}

static int
is_capture(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return dot != NULL && strcmp(dot, ".pcap") == 0;
}

unsigned int
test_frames_each(test_frame_fn fn, void *arg)
{
	struct dirent **names;
	int n = scandir(TEST_PCAP_DIR, &names, is_capture, alphasort);

	if (n < 0)
		fail(TEST_PCAP_DIR, "cannot be listed");
	for (int i = 0; i < n; i++) {
		capture_each(names[i]->d_name, fn, arg);
		free(names[i]);
	}
	free(names);
	return (unsigned int)n;
}

void
test_chain_init(struct test_chain *c)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	memset(c, 0, sizeof(*c));
	for (unsigned int i = 0; i < TEST_CHAIN_SEGS; i++) {
		uint8_t *area = mmap(NULL, SEG_ROOM + page, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (area == MAP_FAILED || mprotect(area + SEG_ROOM, page, PROT_NONE) != 0)
			fail("mmap", "no memory for a chain of mbufs");
		c->ends[i] = area + SEG_ROOM;
	}
}

void
test_chain_fini(struct test_chain *c)
{
	for (unsigned int i = 0; i < TEST_CHAIN_SEGS; i++) {
		ASAN_UNPOISON_MEMORY_REGION(c->ends[i] - SEG_ROOM, SEG_ROOM);
		munmap(c->ends[i] - SEG_ROOM, SEG_ROOM + (size_t)sysconf(_SC_PAGESIZE));
	}
}

void
test_mbuf_init(struct rte_mbuf *m, uint8_t *buf, uint32_t room, uint32_t len)
{
	memset(m, 0, sizeof(*m));
	m->buf_addr = buf;
	m->buf_len = (uint16_t)room;
	m->data_len = (uint16_t)len;
	m->pkt_len = len;
	m->nb_segs = 1;
	rte_mbuf_refcnt_set(m, 1);
}

struct rte_mbuf *
test_chain_set(struct test_chain *c, const uint8_t *bytes, uint32_t len, const uint32_t *cuts,
	       unsigned int nb_cuts)
{
	struct rte_mbuf *head = &c->segs[0];
	uint32_t from = 0;

	for (unsigned int i = 0; i <= nb_cuts; i++) {
		uint32_t n = (i < nb_cuts ? cuts[i] : len) - from;
		/* The address of an Ethernet header is even. */
		uint8_t *buf = c->ends[i] - (i == 0 ? RTE_ALIGN_CEIL(n, sizeof(uint16_t)) : n);

		ASAN_POISON_MEMORY_REGION(c->ends[i] - SEG_ROOM, SEG_ROOM);
		ASAN_UNPOISON_MEMORY_REGION(buf, n);
		memcpy(buf, bytes + from, n);
		test_mbuf_init(&c->segs[i], buf, n, n);
		if (i > 0)
			c->segs[i - 1].next = &c->segs[i];
		from += n;
	}
	head->pkt_len = len;
	head->nb_segs = (uint16_t)(nb_cuts + 1);
	return head;
}

uint32_t
test_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(*state >> 32);
}
