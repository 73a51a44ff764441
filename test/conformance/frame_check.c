/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Frames from the engine: compared with the expected ones, and printed. For one thread.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "field.h"
#include "frame.h"
#include "frames.h"
#include "object.h"
#include "wire/packet.h"

#define L3 RTE_ETHER_HDR_LEN

static bool
decode(const struct device_frame *f, struct uroce_packet *p, struct rte_mbuf *m, enum uroce_verdict *verdict)
{
	test_mbuf_init(m, (uint8_t *)(uintptr_t)f->bytes, sizeof(f->bytes), f->len);
	*verdict = uroce_packet_decode(m, L3, p);
	return *verdict == UROCE_OK;
}

static const char *
describe_field(const struct field *f, uint64_t value, char *text, size_t bytes)
{
	if (f->as == FIELD_ADDRESS)
		return object_describe_address(value, text, bytes);
	if (f->as == FIELD_KEY && strstr(f->name, "key") != NULL)
		return object_describe_key((uint32_t)value, text, bytes);
	snprintf(text, bytes, f->as == FIELD_KEY ? "0x%" PRIx64 : "%" PRIu64, value);
	return text;
}

const char *
frame_describe(const struct device_frame *f, char *text, size_t bytes)
{
	enum uroce_verdict verdict;
	struct uroce_packet p;
	struct rte_mbuf m;
	size_t at;

	if (!decode(f, &p, &m, &verdict)) {
		snprintf(text, bytes, "%u bytes: %s", f->len, uroce_verdicts[verdict].name);
		return text;
	}
	at = (size_t)snprintf(text, bytes, "%s", p.info->name);
	for (unsigned int i = 1; i < FIELD_COUNT && at < bytes; i++) {
		const uint8_t *place = field_place(&fields[i], p.opcode, (const uint8_t *)p.bth);
		char value[64];

		if (place == NULL || (fields[i].otherwise == FIELD_ZERO && field_get(&fields[i], place) == 0))
			continue;
		at += (size_t)snprintf(text + at, bytes - at, " %s %s", fields[i].name,
				       describe_field(&fields[i], field_get(&fields[i], place), value,
						      sizeof(value)));
	}
	if (at < bytes)
		snprintf(text + at, bytes - at, " payload %u", p.payload_bytes);
	return text;
}

static void
check_fields(struct lexer *l, const struct frame *expected, const struct uroce_packet *p, const char *all)
{
	for (unsigned int i = 0; i < FIELD_COUNT; i++) {
		const uint8_t *place = field_place(&fields[i], p->opcode, (const uint8_t *)p->bth);
		char e[64], g[64];
		uint64_t got;

		if (place == NULL || (expected->any >> i & 1) != 0)
			continue;
		got = field_get(&fields[i], place);
		if (i == F_SYNDROME && expected->any_credits)
			got |= UROCE_AETH_VALUE_MASK;
		if (i == F_PAD && expected->any_payload)
			continue;
		if (got != expected->value[i])
			lexer_fail(l, "%s: expected %s, got %s in %s", fields[i].name,
				   describe_field(&fields[i], expected->value[i], e, sizeof(e)),
				   describe_field(&fields[i], got, g, sizeof(g)), all);
	}
}

/* The frame must go from the device's address to the peer's. */
static void
check_addresses(struct lexer *l, const struct frame *expected, const struct uroce_packet *p)
{
	const uint8_t *ours = device_conf_get()->our_gid.raw;
	const uint8_t *theirs = expected->has_address ? expected->address : device_conf_get()->peer_gid.raw;
	unsigned int skip = p->ip_version == 4 ? 12 : 0;

	if (memcmp(p->src_ip, ours + skip, 16 - skip) != 0)
		lexer_fail(l, "the frame comes from another address than the device's");
	if (memcmp(p->dst_ip, theirs + skip, 16 - skip) != 0)
		lexer_fail(l, "the frame goes to another address than expected");
}

void
frame_check(struct lexer *l, const struct frame *expected, const struct device_frame *got)
{
	uint8_t payload[DEVICE_FRAME_BYTES];
	enum uroce_verdict verdict;
	struct uroce_packet p;
	struct rte_mbuf m;
	char all[512];

	frame_describe(got, all, sizeof(all));
	if (!decode(got, &p, &m, &verdict))
		lexer_fail(l, "expected a good frame, got %s", all);
	if (p.opcode != expected->opcode)
		lexer_fail(l, "expected %s, got %s", uroce_opcodes[expected->opcode].name, all);
	check_fields(l, expected, &p, all);
	check_addresses(l, expected, &p);
	if (expected->any_payload)
		return;
	if (p.payload_bytes != expected->payload_bytes)
		lexer_fail(l, "payload: expected %u bytes, got %s", expected->payload_bytes, all);
	uroce_packet_copy(&p, 0, payload, p.payload_bytes);
	data_check(l, "payload", expected->payload, payload, p.payload_bytes);
}
