/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Captured frames as exchanges: the requests of one queue pair and the responses to them, in the order of the capture.
 * For one thread.
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
	unsigned int number;		/* as in tcpdump */
	bool bad_icrc;
	bool lost;			/* it did not reach its destination: differences.c */
	const uint8_t *bytes;
	uint32_t len;
	struct uroce_packet packet;	/* except its mbuf */
	const uint8_t *payload;
};

struct exchange {
	const char *file;
	uint8_t transport;		/* enum uroce_transport */
	bool ipv6;
	uint32_t mtu;
	uint32_t first_psn;
	uint32_t requester_qpn;		/* destination of responses; 0: no responses */
	uint32_t responder_qpn;
	const struct captured *frames[CAPTURE_EXCHANGE_FRAMES];
	unsigned int n;
};

/** Read all captures. */
void capture_load(void);
/** Call fn for each exchange of each file, and mad for each management datagram, which belongs to no exchange. */
void capture_each(void (*fn)(const struct exchange *x), void (*mad)(const struct captured *c));

bool captured_is_request(const struct captured *c);
/** The syndrome of a response. */
uint8_t captured_syndrome(const struct captured *c);
/** Bytes of the message that begins with this request, and may have several frames. */
uint32_t capture_message_bytes(const struct exchange *x, const struct captured *first);
/** The first good request or response from `from` on with this PSN; NULL: none. */
const struct captured *capture_find(const struct exchange *x, unsigned int from, bool request, uint32_t psn);

/** "netem_loss.pcap frame 7: RC_ACKNOWLEDGE psn …" */
const char *captured_describe(const struct captured *c, char *text, size_t bytes);

#endif /* UROCE_TEST_CONFORMANCE_CAPTURE_H */
