/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reads the captures and sorts their frames: a connection has one UDP source port, the same in both directions; the
 * host that sends a request is its requester. For one thread.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "differences.h"
#include "frame.h"
#include "frames.h"
#include "wire/icrc.h"
#include "wire/psn.h"

#define L3 RTE_ETHER_HDR_LEN

static struct captured all[TEST_CAPTURE_FRAMES];
static unsigned int count;

static uint8_t
sender_of(const struct captured *c)
{
	return c->packet.src_ip[c->packet.ip_version == 4 ? 3 : 15];
}

bool
captured_is_request(const struct captured *c)
{
	return c->packet.info->flags & UROCE_OPF_REQUEST;
}

uint8_t
captured_syndrome(const struct captured *c)
{
	return c->packet.info->ext[UROCE_EXT_AETH] == 0 ? 0
		: ((const struct uroce_aeth *)uroce_packet_ext(&c->packet, UROCE_EXT_AETH))->syndrome;
}

/* The corrupted frame is decoded as if it were good, and marked as bad. */
static void
add(const struct test_frame *f, void *arg)
{
	struct captured *c = &all[count++];
	uint8_t *bytes = malloc(f->len);
	enum uroce_verdict verdict;
	struct rte_mbuf m;

	(void)arg;
	RTE_VERIFY(count <= RTE_DIM(all) && bytes != NULL);
	memcpy(bytes, f->bytes, f->len);
	test_mbuf_init(&m, bytes, f->len, f->len);
	verdict = uroce_packet_decode(&m, L3, &c->packet);
	if (verdict == UROCE_DROP_ICRC) {
		c->bad_icrc = true;
		m.data_len = (uint16_t)(f->len - UROCE_ICRC_BYTES);
		m.pkt_len = m.data_len;
		uroce_icrc_append(&m, &m, L3, L3 + (bytes[L3] >> 4 == 4 ? 20 : 40), 0);
		verdict = uroce_packet_decode(&m, L3, &c->packet);
	}
	RTE_VERIFY(verdict == UROCE_OK);
	c->file = strdup(f->file);
	c->number = f->number;
	c->bytes = bytes;
	c->len = f->len;
	c->payload = bytes + c->packet.payload_offset;
	c->packet.mbuf = NULL;
	c->lost = difference_lost(c->file, c->number);
}

void
capture_load(void)
{
	test_frames_each(add, NULL);
}

/* True for frames of the same connection, with the requests in the same direction. */
static bool
belongs(const struct captured *c, const struct captured *request)
{
	if (strcmp(c->file, request->file) != 0 || c->packet.info->transport != request->packet.info->transport)
		return false;
	if (c->packet.udp_src_port != request->packet.udp_src_port)
		return false;
	return captured_is_request(c) == (sender_of(c) == sender_of(request));
}

static uint32_t
mtu_of(const struct exchange *x)
{
	uint32_t mtu = 0;

	for (unsigned int i = 0; i < x->n; i++)
		if (!(x->frames[i]->packet.info->flags & UROCE_OPF_LAST))
			mtu = x->frames[i]->packet.payload_bytes;
	return mtu != 0 ? mtu : strncmp(x->file, "mtu4096", 7) == 0 ? 4096 : 1024;
}

static void
gather(struct exchange *x, unsigned int from, bool *taken)
{
	const struct captured *request = &all[from];

	*x = (struct exchange){
		.file = request->file, .transport = request->packet.info->transport,
		.ipv6 = request->packet.ip_version == 6, .first_psn = request->packet.psn,
		.responder_qpn = request->packet.dest_qpn,
	};
	for (unsigned int i = from; i < count; i++) {
		if (taken[i] || !belongs(&all[i], request))
			continue;
		RTE_VERIFY(x->n < RTE_DIM(x->frames));
		x->frames[x->n++] = &all[i];
		taken[i] = true;
		if (!captured_is_request(&all[i]))
			x->requester_qpn = all[i].packet.dest_qpn;
	}
	x->mtu = mtu_of(x);
}

void
capture_each(void (*fn)(const struct exchange *x), void (*mad)(const struct captured *c))
{
	static bool taken[RTE_DIM(all)];
	static struct exchange x;

	for (unsigned int i = 0; i < count; i++) {
		if (taken[i] || !captured_is_request(&all[i]))
			continue;
		if (all[i].packet.dest_qpn == 1) {
			mad(&all[i]);
			continue;
		}
		gather(&x, i, taken);
		fn(&x);
	}
}

const struct captured *
capture_find(const struct exchange *x, unsigned int from, bool request, uint32_t psn)
{
	for (unsigned int i = from; i < x->n; i++)
		if (captured_is_request(x->frames[i]) == request && x->frames[i]->packet.psn == psn &&
		    !x->frames[i]->bad_icrc)
			return x->frames[i];
	return NULL;
}

uint32_t
capture_message_bytes(const struct exchange *x, const struct captured *first)
{
	const struct captured *c = first;
	uint32_t bytes = 0;

	if (c->packet.info->ext[UROCE_EXT_RETH] != 0)
		return rte_be_to_cpu_32(
			((const struct uroce_reth *)uroce_packet_ext(&c->packet, UROCE_EXT_RETH))->dma_len);
	for (uint32_t i = 0;; i++) {
		c = capture_find(x, 0, true, uroce_psn_add(first->packet.psn, i));
		RTE_VERIFY(c != NULL);
		bytes += c->packet.payload_bytes;
		if (c->packet.info->flags & UROCE_OPF_LAST)
			return bytes;
	}
}

const char *
captured_describe(const struct captured *c, char *text, size_t bytes)
{
	static struct device_frame f;
	int n = snprintf(text, bytes, "%s frame %u: ", c->file, c->number);

	f.len = c->len;
	memcpy(f.bytes, c->bytes, c->len);
	frame_describe(&f, text + n, bytes - (size_t)n);
	return text;
}
