/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Captured frames as exchanges: the requests of one queue pair, and the responses to them, in the order in
 * which they were captured. One thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_CAPTURE_H
#define UROCE_TEST_CONFORMANCE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "device.h"
#include "wire/packet.h"

#define CAPTURE_EXCHANGE_FRAMES 256

struct captured {
	const char *file;		/* "rping.pcap" */
	unsigned int number;		/* as tcpdump counts */
	bool bad_icrc;
	bool lost;			/* its addressee did not get it: lost.c */
	const uint8_t *bytes;
	uint32_t len;
	struct uroce_packet packet;	/* but for its mbuf */
	const uint8_t *payload;
};

struct exchange {
	const char *file;
	uint8_t transport;		/* enum uroce_transport */
	bool ipv6;
	uint32_t mtu;
	uint32_t first_psn;
	uint32_t requester_qpn;		/* where responses go; 0: there are none */
	uint32_t responder_qpn;
	const struct captured *frames[CAPTURE_EXCHANGE_FRAMES];
	unsigned int n;
};

/** Read all captures. */
void capture_load(void);
/** Call fn for every exchange of every file, and mad for every management datagram, which belong to none. */
void capture_each(void (*fn)(const struct exchange *x), void (*mad)(const struct captured *c));

bool captured_is_request(const struct captured *c);
/** Of the response: its syndrome. */
uint8_t captured_syndrome(const struct captured *c);
/** Bytes of the message that begins with this request, which may be spread over several frames. */
uint32_t capture_message_bytes(const struct exchange *x, const struct captured *first);
/** The first good frame from `from` on with this PSN, request or response; NULL: none. */
const struct captured *capture_find(const struct exchange *x, unsigned int from, bool request, uint32_t psn);

/** "netem_loss.pcap frame 7: RC_ACKNOWLEDGE psn …" */
const char *captured_describe(const struct captured *c, char *text, size_t bytes);

#endif /* UROCE_TEST_CONFORMANCE_CAPTURE_H */
