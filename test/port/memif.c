/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames over memif's rings, in place of net_memif, byte for byte, as server and as client. A peer that writes nonsense
 * into the memory loses its ring, and no byte of this process changes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "port/memif/memif.h"
#include "tap.h"
#include "verbs/qp/qp.h"
#include "wire/icrc.h"

#define LOG2  3
#define SLOTS (1u << LOG2)
#define ROOM  2048u
#define RING  ((uint32_t)(sizeof(struct memif_ring) + SLOTS * sizeof(struct memif_desc)))
#define BYTES (2 * (RING + SLOTS * ROOM))
#define L3    14
#define UDP   34

/* An ACK and a WRITE of 256 bytes for QP 0x123456, which does not exist. */
#define ACK \
	"M P 0800 45 02 0030 0000 4000 40 11 0000 0a000002 0a000001 c000 12b7 001c 0000" \
	"11 40 ffff 00 123456 00 000001 1f 000000 00000000"
#define WRITE \
	"M P 0800 45 02 0140 0000 4000 40 11 0000 0a000002 0a000001 c000 12b7 012c 0000" \
	"0a 40 ffff 00 123456 00 000001 0000000000001000 00000001 00000100"
#define WRITE_BYTES (L3 + 0x140)

static const char *const cidrs[] = { "10.0.0.1/24", NULL };
static struct tap tap;
static uint8_t frame[TAP_BYTES], reply[TAP_BYTES];
static uint64_t references;

/* The other end of a connection, in the same process. */
static struct peer {
	bool is_server; /* the device is the server */
	int wake; /* eventfd of both rings; -1: none */
	int memory;
	uint8_t *at;
	struct memif_ring *to, *from; /* to the device, from the device */
	uint16_t sent, read;
} peer;

static struct memif_add_ring
ring_of(unsigned int number)
{
	struct memif_ring *ring = (struct memif_ring *)(peer.at + number * RING);

	ring->cookie = MEMIF_COOKIE;
	for (uint32_t i = 0; i < SLOTS; i++)
		ring->slots[i] = (struct memif_desc){ .length = ROOM, .offset = 2 * RING + (number * SLOTS + i) * ROOM };
	return (struct memif_add_ring){ .flags = number, .offset = number * RING, .log2_slots = LOG2 };
}

static uint16_t *
index_to(void)
{
	return peer.is_server ? &peer.to->head : &peer.to->tail;
}

static uint16_t *
index_from(void)
{
	return peer.is_server ? &peer.from->head : &peer.from->tail;
}

/* Connect the device. @param seals	of the memory. @param wake	eventfd, or -1 */
static void
connect_with(bool is_server, int seals, int wake)
{
	struct memif_message region = { .type = MEMIF_ADD_REGION, .region = { .bytes = BYTES } };
	struct uroce_memif_offer offer = { .is_server = is_server };

	peer = (struct peer){ .is_server = is_server, .wake = wake, .memory = memfd_create("peer", MFD_ALLOW_SEALING) };
	assert_int_equal(ftruncate(peer.memory, BYTES), 0);
	assert_int_equal(fcntl(peer.memory, F_ADD_SEALS, seals), 0);
	peer.at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, peer.memory, 0);
	assert_ptr_not_equal(peer.at, MAP_FAILED);
	uroce_memif_offer_add(&offer, &region, peer.memory);
	for (unsigned int i = 0; i < 2; i++) {
		struct memif_message ring = { .type = MEMIF_ADD_RING, .ring = ring_of(i) };

		uroce_memif_offer_add(&offer, &ring, wake);
	}
	peer.to = (struct memif_ring *)(peer.at + (is_server ? RING : 0));
	peer.from = (struct memif_ring *)(peer.at + (is_server ? 0 : RING));
	if (is_server)
		*index_from() = SLOTS; /* all slots are free */
	uroce_memif_connect(tap.port->port_id, &offer);
	test_poll(&tap.worker, 1, 2);
}

static void
open_device_with(bool is_server, int wake)
{
	tap_open(&tap, 0, cidrs);
	tap.port->at_process = true;
	uroce_memif_attach(tap.port);
	connect_with(is_server, F_SEAL_SHRINK, wake);
	assert_non_null(tap.port->memif);
}

static void
open_device(bool is_server)
{
	open_device_with(is_server, -1);
}

static void
close_device(void)
{
	munmap(peer.at, BYTES);
	close(peer.memory);
	if (peer.wake >= 0)
		close(peer.wake);
	tap_close(&tap);
}

static struct memif_desc *
slot_to(unsigned int i)
{
	return &peer.to->slots[(peer.sent + i) % SLOTS];
}

/* Fill the next slots with the frame, `each` bytes in one. */
static void
put(const uint8_t *bytes, uint32_t n, uint32_t each, uint16_t flags)
{
	unsigned int used = 0;

	for (uint32_t done = 0; done < n; done += each, used++) {
		struct memif_desc *d = slot_to(used);

		d->length = RTE_MIN(n - done, each);
		memcpy(peer.at + d->offset, bytes + done, d->length);
		d->flags = (uint16_t)(flags | (n - done > each ? MEMIF_DESC_NEXT : 0));
		flags = 0;
	}
	peer.sent += (uint16_t)used;
	__atomic_store_n(index_to(), peer.sent, __ATOMIC_RELEASE);
}

/* The device's next frame is this one. */
static void
expect(const uint8_t *bytes, uint32_t n)
{
	const struct memif_desc *d = &peer.from->slots[peer.read % SLOTS];

	test_poll(&tap.worker, 1, 2);
	assert_int_equal((uint16_t)(peer.is_server ? peer.from->tail : peer.from->head), (uint16_t)(peer.read + 1));
	assert_int_equal(d->length, n);
	assert_int_equal(d->flags, 0);
	assert_memory_equal(peer.at + d->offset, bytes, n);
	peer.read++;
	peer.from->slots[(peer.read - 1) % SLOTS].length = ROOM;
	__atomic_store_n(index_from(), (uint16_t)(peer.read + (peer.is_server ? SLOTS : 0)), __ATOMIC_RELEASE);
}

static uint32_t
frame_of(const char *text)
{
	uint32_t bytes = (uint32_t)tap_frame(&tap, frame, text);

	tap_checksum_ipv4(frame, L3);
	return bytes;
}

/* The device drops the frame, and this counter rises. */
static void
expect_counter(const char *name, uint32_t bytes, uint32_t each, uint16_t flags)
{
	uint64_t before = tap_counter(&tap, name);

	put(frame, bytes, each, flags);
	test_poll(&tap.worker, 1, 2);
	assert_int_equal(tap_counter(&tap, name), before + 1);
	/* its slots are free again */
	assert_int_equal((uint16_t)(peer.is_server ? peer.to->tail : peer.to->head - SLOTS), peer.sent);
}

static void
check_frames(bool is_server)
{
	uint32_t bytes;

	open_device(is_server);
	for (unsigned int i = 0; i < 3 * SLOTS; i++) {
		bytes = frame_of(ACK);
		expect_counter("drop_icrc", bytes, bytes, 0);
		tap_put_icrc(&tap, frame, bytes, L3, UDP);
		expect_counter("drop_qpn", bytes, bytes, 0);
		frame_of(WRITE);
		memset(frame + WRITE_BYTES - 256 - 4, (int)i, 256);
		tap_put_icrc(&tap, frame, WRITE_BYTES, L3, UDP);
		expect_counter("drop_qpn", WRITE_BYTES, WRITE_BYTES, 0);
		expect_counter("drop_qpn", WRITE_BYTES, 100, 0); /* in several slots */
		frame[WRITE_BYTES - 5] ^= 1;
		expect_counter("drop_icrc", WRITE_BYTES, WRITE_BYTES, 0);
		expect_counter("drop_qpn", WRITE_BYTES, WRITE_BYTES, MEMIF_DESC_NO_ICRC);
		expect_counter("drop_qpn", WRITE_BYTES, 100, MEMIF_DESC_NO_ICRC);
	}
	close_device();
}

static void
test_frames_of_server(void **state)
{
	check_frames(true);
}

static void
test_frames_of_client(void **state)
{
	check_frames(false);
}

/* Frames that are not RoCEv2, of all lengths: short ones are copied with their headers, long ones as a whole. */
static void
check_echo(bool is_server)
{
	open_device(is_server);
	for (uint32_t n = 28; n < 1500; n += n < 160 ? 1 : 67) {
		const uint32_t bytes = L3 + n;

		tap_frame(&tap, frame, "M P 0800 45 00 0000 1234 0000 40 01 0000 0a000002 0a000001 08 00 0000 beef 0007");
		tap_frame(&tap, reply, "P M 0800 45 00 0000 0000 4000 40 01 0000 0a000001 0a000002 00 00 0000 beef 0007");
		frame[L3 + 2] = reply[L3 + 2] = (uint8_t)(n >> 8);
		frame[L3 + 3] = reply[L3 + 3] = (uint8_t)n;
		memset(reply + L3 + 28, 0, 64);	/* the padding of short frames */
		for (uint32_t i = L3 + 28; i < bytes; i++)
			frame[i] = reply[i] = (uint8_t)(i * n);
		tap_checksum_icmp(frame, L3);
		tap_checksum_icmp(reply, L3);
		put(frame, bytes, bytes, 0);
		expect(reply, RTE_MAX(bytes, 60u));
	}
	close_device();
}

static void
test_echo_of_server(void **state)
{
	check_echo(true);
}

static void
test_echo_of_client(void **state)
{
	check_echo(false);
}

static void
exchange_echo(void)
{
	uint32_t bytes = (uint32_t)tap_frame(&tap, frame, "M P 0800 45 00 001c 1234 0000 40 01 0000 0a000002 0a000001 08 00 0000 beef 0007");

	tap_frame(&tap, reply, "P M 0800 45 00 001c 0000 4000 40 01 0000 0a000001 0a000002 00 00 0000 beef 0007");
	tap_checksum_icmp(frame, L3);
	tap_checksum_icmp(reply, L3);
	memset(reply + bytes, 0, 60 - bytes);
	put(frame, bytes, bytes, 0);
	expect(reply, 60);
}

/* The device wakes its peer, and does not wait for one whose eventfd has no room. */
static void
check_wake(bool is_server)
{
	const uint64_t full = UINT64_MAX - 1;
	uint64_t value;

	open_device_with(is_server, eventfd(0, 0));
	exchange_echo();
	assert_int_equal(read(peer.wake, &value, sizeof(value)), sizeof(value));
	assert_int_equal(value, 1);
	assert_int_equal(write(peer.wake, &full, sizeof(full)), sizeof(full));
	for (unsigned int i = 0; i < 100; i++)
		exchange_echo();
	assert_int_equal(read(peer.wake, &value, sizeof(value)), sizeof(value));
	assert_true(value >= full);
	__atomic_store_n(&peer.from->flags, MEMIF_RING_NO_WAKING, __ATOMIC_RELAXED);
	exchange_echo();
	__atomic_store_n(&peer.from->flags, 0, __ATOMIC_RELAXED);
	exchange_echo();
	assert_int_equal(read(peer.wake, &value, sizeof(value)), sizeof(value));
	assert_int_equal(value, 1);
	close_device();
}

static void
test_wake(void **state)
{
	check_wake(true);
	check_wake(false);
}

#define LONG (UROCE_MEMIF_STEP + 1) /* frames of a burst: the last one's page is unreadable until a SIGSEGV */

static struct {
	uint8_t *bytes;
	size_t page; /* bytes */
	uint16_t published; /* the index that the device had published when it first read that page */
} late;

static void
note_published(int number)
{
	late.published = __atomic_load_n(&peer.from->tail, __ATOMIC_ACQUIRE);
	mprotect(late.bytes + UROCE_MEMIF_STEP * late.page, late.page, PROT_READ);
}

static void
leave_memory(void *bytes, void *arg)
{
}

/* Send frames of n bytes. @return the number of frames that the peer could receive before the last one was copied */
static uint16_t
publish(uint16_t n)
{
	struct rte_mbuf_ext_shared_info shared = { .free_cb = leave_memory, .refcnt = LONG };
	const struct sigaction once = { .sa_handler = note_published, .sa_flags = SA_RESETHAND };
	struct rte_mbuf *frames[LONG];
	struct sigaction before;

	open_device(true);
	late.page = (size_t)sysconf(_SC_PAGESIZE);
	late.bytes = mmap(NULL, LONG * late.page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(late.bytes, MAP_FAILED);
	assert_int_equal(mprotect(late.bytes + UROCE_MEMIF_STEP * late.page, late.page, PROT_NONE), 0);
	for (unsigned int i = 0; i < LONG; i++) {
		frames[i] = rte_pktmbuf_alloc(tap.port->queues[0].pool);
		assert_non_null(frames[i]);
		rte_pktmbuf_attach_extbuf(frames[i], late.bytes + i * late.page, RTE_BAD_IOVA, n, &shared);
		assert_non_null(rte_pktmbuf_append(frames[i], n));
	}
	assert_int_equal(sigaction(SIGSEGV, &once, &before), 0);
	assert_int_equal(uroce_memif_send(tap.port->memif, 0, frames, LONG, &references), LONG);
	assert_int_equal(sigaction(SIGSEGV, &before, NULL), 0);
	assert_int_equal(peer.from->tail, LONG);
	munmap(late.bytes, LONG * late.page);
	close_device();
	return late.published;
}

/* The peer can receive the first frames of a burst of long frames while the device copies the others. */
static void
test_publish(void **state)
{
	assert_int_equal(publish(UROCE_MEMIF_LONG_BYTES / 2), UROCE_MEMIF_STEP);
	assert_int_equal(publish(UROCE_MEMIF_LONG_BYTES / 2 - 1), 0);
}

/* Long frames fill the ring in the middle of a step: the device takes those, and the others stay with the caller. */
static void
test_publish_until_full(void **state)
{
	struct rte_mbuf_ext_shared_info shared = { .free_cb = leave_memory, .refcnt = 2 * SLOTS };
	static uint8_t bytes[UROCE_MEMIF_LONG_BYTES / 2];
	struct rte_mbuf *frames[2 * SLOTS];

	open_device(true);
	for (unsigned int i = 0; i < RTE_DIM(frames); i++) {
		frames[i] = rte_pktmbuf_alloc(tap.port->queues[0].pool);
		assert_non_null(frames[i]);
		rte_pktmbuf_attach_extbuf(frames[i], bytes, RTE_BAD_IOVA, sizeof(bytes), &shared);
		assert_non_null(rte_pktmbuf_append(frames[i], sizeof(bytes)));
	}
	/* UROCE_MEMIF_STEP does not divide the slots that are left */
	assert_int_equal(uroce_memif_send(tap.port->memif, 0, frames, 1, &references), 1);
	assert_int_equal(uroce_memif_send(tap.port->memif, 0, &frames[1], SLOTS + 2, &references), SLOTS - 1);
	assert_int_equal(peer.from->tail, SLOTS);
	assert_int_equal(rte_mbuf_ext_refcnt_read(&shared), SLOTS);
	assert_int_equal(uroce_memif_send(tap.port->memif, 0, &frames[SLOTS], SLOTS, &references), 0);
	rte_pktmbuf_free_bulk(&frames[SLOTS], SLOTS);
	close_device();
}

enum corruption { INDEX, REGION, OFFSET, LENGTH, CORRUPTIONS };

/* After a corruption the device receives no more frames from the ring, and does not crash. */
static void
check_corrupt(bool is_server, enum corruption what)
{
	uint32_t bytes;

	open_device(is_server);
	bytes = frame_of(ACK);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	expect_counter("drop_qpn", bytes, bytes, 0);
	switch (what) {
	case INDEX: peer.sent += SLOTS; break;
	case REGION: slot_to(0)->region = 1; break;
	case OFFSET: slot_to(0)->offset = UINT32_MAX; break;
	default: slot_to(0)->length = UINT32_MAX;
	}
	__atomic_store_n(index_to(), ++peer.sent, __ATOMIC_RELEASE);
	test_poll(&tap.worker, 1, 2);
	put(frame, bytes, bytes, 0);
	test_poll(&tap.worker, 1, 2);
	assert_int_equal(tap_counter(&tap, "drop_qpn"), 1);
	close_device();
}

static void
test_corrupt(void **state)
{
	for (unsigned int i = 0; i < 2 * CORRUPTIONS; i++)
		check_corrupt(i % 2 == 0, i / 2);
}

/* A frame without an end, and one that is longer than any mbuf, are dropped. */
static void
test_malformed(void **state)
{
	uint32_t bytes;

	open_device(true);
	memset(frame, 0, sizeof(frame));
	put(frame, SLOTS, 1, 0);
	slot_to(SLOTS - 1)->flags = MEMIF_DESC_NEXT;
	test_poll(&tap.worker, 1, 2);
	for (unsigned int i = 0; i < SLOTS; i++) {
		slot_to(i)->length = BYTES - slot_to(i)->offset;
		slot_to(i)->flags = i < SLOTS - 1 ? MEMIF_DESC_NEXT : 0;
	}
	peer.sent += SLOTS;
	__atomic_store_n(index_to(), peer.sent, __ATOMIC_RELEASE);
	test_poll(&tap.worker, 1, 2);
	assert_int_equal(tap_counter(&tap, "drop_l2_short"), 2);
	bytes = frame_of(ACK);
	tap_put_icrc(&tap, frame, bytes, L3, UDP);
	expect_counter("drop_qpn", bytes, bytes, 0);
	close_device();
}

/* A peer that reads no frames keeps the device from sending, not from running. */
static void
test_full(void **state)
{
	open_device(true);
	tap_frame(&tap, frame, "M P 0800 45 00 001c 1234 0000 40 01 0000 0a000002 0a000001 08 00 0000 beef 0007");
	tap_checksum_icmp(frame, L3);
	for (unsigned int i = 0; i < 4 * SLOTS; i++) {
		put(frame, L3 + 28, L3 + 28, 0);
		test_poll(&tap.worker, 1, 2);
	}
	assert_int_equal(peer.from->tail, SLOTS);
	close_device();
}

/* Memory that may shrink is left to the driver; so are the frames after a connection has ended. */
static void
test_refused(void **state)
{
	open_device(false);
	munmap(peer.at, BYTES);
	close(peer.memory);
	connect_with(false, 0, -1);
	assert_null(tap.port->memif);
	assert_false(tap.port->dev.no_icrc);
	close_device();
}

static void
test_detached(void **state)
{
	open_device(true);
	assert_true(uroce_memif_is_moved(tap.port->port_id));
	uroce_memif_disconnect(); /* the link is up */
	assert_non_null(tap.port->memif);
	uroce_memif_detach(tap.port);
	assert_null(tap.port->memif);
	assert_false(tap.port->dev.no_icrc);
	uroce_memif_attach(tap.port);
	assert_null(tap.port->memif);
	close_device();
}

UROCE_TESTS(port_memif)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_of_server), cmocka_unit_test(test_frames_of_client),
		cmocka_unit_test(test_echo_of_server),   cmocka_unit_test(test_echo_of_client),
		cmocka_unit_test(test_corrupt),		 cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_full),		 cmocka_unit_test(test_refused),
		cmocka_unit_test(test_detached),	 cmocka_unit_test(test_wake),
		cmocka_unit_test(test_publish),		 cmocka_unit_test(test_publish_until_full),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
