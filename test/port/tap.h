/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device whose wire ends in the test: frames in and out, byte for byte.
 */

#ifndef UROCE_TEST_PORT_TAP_H
#define UROCE_TEST_PORT_TAP_H

#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "port/port.h"
#include "rings.h"
#include "uroce.h"

#define TAP_BYTES 2048
#define TAP_PEER  "02:00:00:00:00:99"

struct tap {
	struct test_rings wire;
	struct uroce_worker *worker;
	struct ibv_context *context;
	struct uroce_port *port;
	struct rte_mempool *pool; /* for the test's frames */
};

/** Open a device with these addresses, a NULL-terminated list; drain its announcements. */
void tap_open(struct tap *t, uint16_t vlan, const char *const *cidrs);
/** Close the device; fails if an mbuf leaks. */
void tap_close(struct tap *t);

/**
 * Make a frame from text: hex digits, with any blanks; M is the device's MAC address, P the peer's, L the device's
 * link-local address, and Z a number of zero digits ("Z18"). @return its bytes
 */
size_t tap_frame(const struct tap *t, uint8_t *frame, const char *text);
/** Fill in the checksum, zero so far, of the IPv4 header at this offset; or of ICMP. */
void tap_checksum_ipv4(uint8_t *frame, size_t l3);
void tap_checksum_icmp(uint8_t *frame, size_t l3);
void tap_checksum_icmp6(uint8_t *frame, size_t l3);
/** Write the ICRC into the last four bytes, for IP and UDP headers at these offsets. */
void tap_put_icrc(struct tap *t, uint8_t *frame, size_t bytes, size_t l3, size_t l4);
/** For other checksums: add bytes to a sum, which starts at 0; and write the checksum of a sum. */
uint32_t tap_sum(uint32_t start, const uint8_t *p, size_t bytes);
void tap_put_checksum(uint8_t *at, uint32_t total);

struct rte_mbuf *tap_mbuf(struct tap *t, const uint8_t *frame, size_t bytes);
/** Let the device receive a frame, and do all work that follows. */
void tap_send_mbuf(struct tap *t, struct rte_mbuf *m);
void tap_send(struct tap *t, const uint8_t *frame, size_t bytes);
/** The next frame that the device sent must be exactly this one. */
void tap_expect(struct tap *t, const uint8_t *frame, size_t bytes);
void tap_expect_text(struct tap *t, const char *text);
void tap_expect_nothing(struct tap *t);
/** Poll until the device has sent a frame; fails after a while. The caller frees the frame. */
struct rte_mbuf *tap_receive(struct tap *t);

/** Let the device do its periodic work up to this time. */
void tap_upkeep(struct tap *t, uint64_t now_ns);

uint64_t tap_counter(struct tap *t, const char *name);
/** Send a frame: exactly this counter rises by one, and the device sends nothing. */
void tap_expect_drop(struct tap *t, const uint8_t *frame, size_t bytes, const char *counter);

#endif /* UROCE_TEST_PORT_TAP_H */
