/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device whose wire ends in the test: frames in, frames out, byte for byte.
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
	struct rte_mempool *pool; /* of what the test sends */
};

/** Open a device with these addresses, NULL-terminated; what it announces is taken away. */
void tap_open(struct tap *t, uint16_t vlan, const char *const *cidrs);
/** Close it; every mbuf has to be back in its pool. */
void tap_close(struct tap *t);

/**
 * Make a frame of text: hex digits; blanks do not matter; M is the device's MAC, P the peer's, L
 * the device's link-local address, Z a zero byte for each digit that follows ("Z18").
 * @return its bytes
 */
size_t tap_frame(const struct tap *t, uint8_t *frame, const char *text);
/** Fill in the checksum, zero until now, of the IPv4 header at this offset; of ICMP, too. */
void tap_checksum_ipv4(uint8_t *frame, size_t l3);
void tap_checksum_icmp(uint8_t *frame, size_t l3);
void tap_checksum_icmp6(uint8_t *frame, size_t l3);
/** The last four bytes become the ICRC of a frame with these offsets of its IP and UDP headers. */
void tap_put_icrc(struct tap *t, uint8_t *frame, size_t bytes, size_t l3, size_t l4);
/** Of anything else: add up, from 0 or a sum of what goes before; and write what a sum comes to. */
uint32_t tap_sum(uint32_t start, const uint8_t *p, size_t bytes);
void tap_put_checksum(uint8_t *at, uint32_t total);

struct rte_mbuf *tap_mbuf(struct tap *t, const uint8_t *frame, size_t bytes);
/** Let the device receive a frame, and do all it does. */
void tap_send_mbuf(struct tap *t, struct rte_mbuf *m);
void tap_send(struct tap *t, const uint8_t *frame, size_t bytes);
/** The device must have sent exactly this, next. */
void tap_expect(struct tap *t, const uint8_t *frame, size_t bytes);
void tap_expect_text(struct tap *t, const char *text);
void tap_expect_nothing(struct tap *t);
/** Poll until the device has sent something; fails after a while. The caller frees it. */
struct rte_mbuf *tap_receive(struct tap *t);

/** Have the device do what is due by then. */
void tap_upkeep(struct tap *t, uint64_t now_ns);

uint64_t tap_counter(struct tap *t, const char *name);
/** Send the frame; the counter of this name must be one higher, and nothing must be sent. */
void tap_expect_drop(struct tap *t, const uint8_t *frame, size_t bytes, const char *counter);

#endif /* UROCE_TEST_PORT_TAP_H */
