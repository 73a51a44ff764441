/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One table has a row for every field of BTH and extension headers; reading, writing, comparing and showing them
 * all follow it. Shares nothing with the encoders of lib/transport. One thread.
 */

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "data.h"
#include "frame.h"
#include "frames.h"
#include "object.h"
#include "wire/icrc.h"
#include "wire/packet.h"

#define L3 RTE_ETHER_HDR_LEN
#define BTH -1
#define EVERY_CREDIT (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

enum as { NUMBER, ADDRESS, KEY };

/* What a field is when the script does not say. */
enum otherwise {
	ZERO,
	MUST,		/* be given in both directions */
	EXPECT,		/* be given where it is expected; 0 for the engine */
	SPECIAL,	/* by default_value() */
};

struct field {
	const char *name;
	int8_t ext;		/* BTH, or enum uroce_ext */
	uint8_t offset;		/* within that header */
	uint8_t bytes;
	uint8_t shift;
	uint8_t bits;
	uint8_t as;
	uint8_t otherwise;
};

enum {	/* rows that are named in code */
	F_OPCODE, F_SE, F_MIGREQ, F_PAD, F_TVER, F_PKEY, F_FECN, F_BECN, F_RESV6, F_DEST, F_ACKREQ, F_RESV7, F_PSN,
	F_SRCQP, F_LEN, F_COMPARE, F_SYNDROME, F_NAMED_COUNT,
};

static const struct field fields[] = {
	[F_OPCODE] = { "opcode", BTH, 0, 1, 0, 8, NUMBER, SPECIAL },
	[F_SE] = { "se", BTH, 1, 1, 7, 1, NUMBER, ZERO },
	[F_MIGREQ] = { "migreq", BTH, 1, 1, 6, 1, NUMBER, SPECIAL },
	[F_PAD] = { "pad", BTH, 1, 1, 4, 2, NUMBER, SPECIAL },
	[F_TVER] = { "tver", BTH, 1, 1, 0, 4, NUMBER, ZERO },
	[F_PKEY] = { "pkey", BTH, 2, 2, 0, 16, KEY, SPECIAL },
	[F_FECN] = { "fecn", BTH, 4, 1, 7, 1, NUMBER, ZERO },
	[F_BECN] = { "becn", BTH, 4, 1, 6, 1, NUMBER, ZERO },
	[F_RESV6] = { "resv6", BTH, 4, 1, 0, 6, NUMBER, ZERO },
	[F_DEST] = { "dest", BTH, 5, 3, 0, 24, KEY, SPECIAL },
	[F_ACKREQ] = { "ackreq", BTH, 8, 1, 7, 1, NUMBER, SPECIAL },
	[F_RESV7] = { "resv7", BTH, 8, 1, 0, 7, NUMBER, ZERO },
	[F_PSN] = { "psn", BTH, 9, 3, 0, 24, NUMBER, MUST },
	[F_SRCQP] = { "srcqp", UROCE_EXT_DETH, 5, 3, 0, 24, KEY, SPECIAL },
	[F_LEN] = { "len", UROCE_EXT_RETH, 12, 4, 0, 32, NUMBER, SPECIAL },
	[F_COMPARE] = { "compare", UROCE_EXT_ATOMICETH, 20, 8, 0, 64, NUMBER, SPECIAL },
	[F_SYNDROME] = { "syndrome", UROCE_EXT_AETH, 0, 1, 0, 8, KEY, SPECIAL },
	{ "msn", UROCE_EXT_AETH, 1, 3, 0, 24, NUMBER, EXPECT },
	{ "xrcsrq", UROCE_EXT_XRCETH, 1, 3, 0, 24, KEY, MUST },
	{ "xrcresv", UROCE_EXT_XRCETH, 0, 1, 0, 8, NUMBER, ZERO },
	{ "qkey", UROCE_EXT_DETH, 0, 4, 0, 32, KEY, MUST },
	{ "dethresv", UROCE_EXT_DETH, 4, 1, 0, 8, NUMBER, ZERO },
	{ "type", UROCE_EXT_FETH, 3, 1, 0, 4, NUMBER, MUST },
	{ "level", UROCE_EXT_FETH, 3, 1, 4, 2, NUMBER, MUST },
	{ "fethresv", UROCE_EXT_FETH, 0, 4, 6, 26, NUMBER, ZERO },
	{ "va", UROCE_EXT_RETH, 0, 8, 0, 64, ADDRESS, MUST },
	{ "rkey", UROCE_EXT_RETH, 8, 4, 0, 32, KEY, MUST },
	{ "va", UROCE_EXT_ATOMICETH, 0, 8, 0, 64, ADDRESS, MUST },
	{ "rkey", UROCE_EXT_ATOMICETH, 8, 4, 0, 32, KEY, MUST },
	{ "swap", UROCE_EXT_ATOMICETH, 12, 8, 0, 64, NUMBER, MUST },
	{ "original", UROCE_EXT_ATOMICACKETH, 0, 8, 0, 64, NUMBER, MUST },
	{ "imm", UROCE_EXT_IMMDT, 0, 4, 0, 32, KEY, MUST },
	{ "inv", UROCE_EXT_IETH, 0, 4, 0, 32, KEY, MUST },
};
static_assert(RTE_DIM(fields) <= FRAME_FIELDS, "FRAME_FIELDS");

static uint64_t
mask_of(const struct field *f)
{
	return f->bits == 64 ? UINT64_MAX : (UINT64_C(1) << f->bits) - 1;
}

/* Where the field is in a packet of this opcode; NULL: nowhere. An unknown opcode has a BTH only. */
static const uint8_t *
place_of(const struct field *f, uint8_t opcode, const uint8_t *bth)
{
	if (f->ext == BTH)
		return bth + f->offset;
	if (uroce_opcodes[opcode].ext[f->ext] == 0)
		return NULL;
	return bth + uroce_opcodes[opcode].ext[f->ext] + f->offset;
}

static uint64_t
get_bytes(const uint8_t *at, unsigned int n)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < n; i++)
		value = value << 8 | at[i];
	return value;
}

static uint64_t
get_field(const struct field *f, const uint8_t *at)
{
	return get_bytes(at, f->bytes) >> f->shift & mask_of(f);
}

static void
put_field(const struct field *f, uint8_t *at, uint64_t value)
{
	uint64_t all = get_bytes(at, f->bytes);

	all = (all & ~(mask_of(f) << f->shift)) | (value & mask_of(f)) << f->shift;
	for (unsigned int i = f->bytes; i > 0; i--, all >>= 8)
		at[i - 1] = (uint8_t)all;
}

static uint32_t
header_bytes(const struct frame *f)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[f->opcode];

	return info->name == NULL ? sizeof(struct uroce_bth) : info->header_bytes;
}

/* ---- reading ------------------------------------------------------------------------ */

static void
set(struct frame *f, unsigned int row, uint64_t value)
{
	f->value[row] = value;
	f->given |= UINT64_C(1) << row;
}

/* "ACK", "NAK 1", "RNR 12" */
static bool
parse_acknowledgement(struct lexer *l, const char *name, struct frame *f)
{
	f->opcode = UROCE_RC_ACKNOWLEDGE;
	if (strcmp(name, "ACK") == 0)
		return true;
	if (strcmp(name, "NAK") == 0)
		set(f, F_SYNDROME, UROCE_AETH_NAK | object_value(l));
	else if (strcmp(name, "RNR") == 0)
		set(f, F_SYNDROME, UROCE_AETH_RNR_NAK | object_value(l));
	else
		return false;
	return true;
}

/* An opcode by its name in the table, of which RC's need no prefix, or "opcode 0x15". */
static void
parse_opcode(struct lexer *l, struct frame *f)
{
	const char *name = lexer_need_word(l, "an opcode");

	if (strcmp(name, "opcode") == 0) {
		f->opcode = (uint8_t)object_value(l);
		return;
	}
	if (strcmp(name, "raw") == 0) {
		f->raw = true;
		f->payload_bytes = lexer_hex(l, f->payload, sizeof(f->payload) - 128);
		return;
	}
	if (parse_acknowledgement(l, name, f))
		return;
	for (unsigned int i = 0; i < RTE_DIM(uroce_opcodes); i++) {
		const char *known = uroce_opcodes[i].name;

		if (known == NULL || (strcmp(known, name) != 0 &&
				      (strncmp(known, "RC_", 3) != 0 || strcmp(known + 3, name) != 0)))
			continue;
		f->opcode = (uint8_t)i;
		return;
	}
	lexer_fail(l, "'%s': no such opcode", name);
}

/* A field by its name: all rows of that name which the opcode has. */
static bool
parse_field(struct lexer *l, const char *name, struct frame *f)
{
	static const uint8_t nothing[256];
	uint64_t value = 0;
	bool found = false, any = false;

	for (unsigned int i = 0; i < RTE_DIM(fields); i++) {
		if (strcmp(fields[i].name, name) != 0 || place_of(&fields[i], f->opcode, nothing) == NULL)
			continue;
		if (!found) {
			any = lexer_take(l, "*");
			value = any ? 0 : object_value(l);
		}
		found = true;
		if (fields[i].bits < 64 && value > mask_of(&fields[i]) && fields[i].bits != 24)
			lexer_fail(l, "%s: 0x%" PRIx64 " has more than %u bits", name, value, fields[i].bits);
		set(f, i, value & mask_of(&fields[i]));
		if (any)
			f->any |= UINT64_C(1) << i;
	}
	return found;
}

void
frame_parse_address(struct lexer *l, uint8_t gid[16])
{
	const char *text = lexer_text(l);

	memset(gid, 0, 16);
	if (inet_pton(AF_INET6, text, gid) == 1)
		return;
	if (inet_pton(AF_INET, text, gid + 12) != 1)
		lexer_fail(l, "'%s' is no address", text);
	gid[10] = gid[11] = 0xff;
}

static void
parse_payload(struct lexer *l, struct frame *f)
{
	uint64_t n;

	f->any_payload = lexer_take(l, "*");
	if (f->any_payload)
		return;
	n = object_value(l);
	if (n > sizeof(f->payload) - 256)
		lexer_fail(l, "no frame has %" PRIu64 " bytes", n);
	f->payload_bytes = (uint32_t)n;
	data_parse(l, f->payload, f->payload_bytes, true);
	f->pad_bytes = -f->payload_bytes & 3;
}

/* Words that are no fields. */
static bool
parse_other(struct lexer *l, const char *name, struct frame *f)
{
	if (strcmp(name, "payload") == 0) {
		parse_payload(l, f);
	} else if (strcmp(name, "to") == 0) {	/* va and rkey */
		const struct object *o;
		uint64_t va = object_value(l);

		o = object_of_address(va);
		for (unsigned int i = 0; i < RTE_DIM(fields); i++) {
			if (strcmp(fields[i].name, "va") == 0)
				set(f, i, va);
			if (strcmp(fields[i].name, "rkey") == 0 && o != NULL)
				set(f, i, o->rkey);
		}
	} else if (strcmp(name, "add") == 0) {
		parse_field(l, "swap", f);
	} else if (strcmp(name, "address") == 0) {
		f->has_address = true;
		frame_parse_address(l, f->address);
	} else if (strcmp(name, "group") == 0) {
		f->has_group = true;
		frame_parse_address(l, f->group);
	} else if (strcmp(name, "tos") == 0) {
		f->traffic_class = (uint8_t)object_value(l);
	} else if (strcmp(name, "icrc") == 0) {
		lexer_need(l, "bad");
		f->icrc_bad = true;
	} else if (strcmp(name, "padbytes") == 0) {
		f->pad_bytes = (uint32_t)object_value(l);
	} else if (strcmp(name, "cut") == 0) {
		f->cut_bytes = (uint32_t)object_value(l);
	} else if (strcmp(name, "udplen") == 0) {
		f->udp_len = (uint32_t)object_value(l);
	} else if (strcmp(name, "iplen") == 0) {
		f->ip_len = (uint32_t)object_value(l);
	} else {
		return false;
	}
	return true;
}

static uint64_t
default_value(unsigned int row, const struct frame *f, bool expected, uint32_t qpn)
{
	const struct uroce_opcode_info *info = &uroce_opcodes[f->opcode];

	switch (row) {
	case F_OPCODE: return f->opcode;
	case F_MIGREQ: return 1;
	case F_PAD: return -f->payload_bytes & 3;
	case F_PKEY: return UROCE_DEFAULT_PKEY;
	case F_DEST: return expected ? OBJECT_PEER_QPN : qpn;
	case F_SRCQP: return expected ? qpn : OBJECT_PEER_QPN;
	case F_ACKREQ:
		return info->transport == UROCE_TRANSPORT_RC && (info->flags & UROCE_OPF_REQUEST) &&
		       (info->flags & UROCE_OPF_LAST);
	case F_LEN: return f->payload_bytes;
	case F_SYNDROME: return EVERY_CREDIT;
	default: return 0;
	}
}

static void
fill_defaults(struct lexer *l, struct frame *f, bool expected, uint32_t qpn)
{
	static const uint8_t nothing[256];
	uint8_t op = uroce_opcodes[f->opcode].op;
	bool whole = (uroce_opcodes[f->opcode].flags & UROCE_OPF_ONLY) == UROCE_OPF_ONLY &&
		     op != UROCE_OP_READ_REQUEST;

	for (unsigned int i = 0; i < RTE_DIM(fields); i++) {
		if ((f->given >> i & 1) != 0 || place_of(&fields[i], f->opcode, nothing) == NULL)
			continue;
		if (fields[i].otherwise == MUST || (fields[i].otherwise == EXPECT && expected) ||
		    (i == F_LEN && !whole) || (i == F_COMPARE && op == UROCE_OP_CMP_SWAP))
			lexer_fail(l, "%s must be given", fields[i].name);
		f->value[i] = default_value(i, f, expected, qpn);
		if (i == F_SYNDROME)
			f->any_credits = expected;
	}
}

void
frame_parse(struct lexer *l, bool expected, uint32_t qpn, struct frame *f)
{
	const char *name;

	memset(f, 0, sizeof(*f));
	f->udp_len = f->ip_len = FRAME_NO_LENGTH;
	parse_opcode(l, f);
	while ((name = lexer_word(l)) != NULL) {
		char copy[LEXER_WORD_BYTES];

		snprintf(copy, sizeof(copy), "%s", name);
		if (!parse_field(l, copy, f) && !parse_other(l, copy, f))
			lexer_fail(l, "'%s': no field of this packet", copy);
	}
	if (!lexer_done(l))
		lexer_fail(l, "expected a field before '%s'", l->at);
	if (!f->raw)
		fill_defaults(l, f, expected, qpn);
}

/* ---- building ----------------------------------------------------------------------- */

/* Everything from the BTH up to the ICRC. @return bytes */
static uint32_t
build_packet(const struct frame *f, uint8_t *bth)
{
	uint32_t n = f->raw ? 0 : header_bytes(f);

	memset(bth, 0, n);
	for (unsigned int i = 0; i < RTE_DIM(fields) && !f->raw; i++) {
		const uint8_t *at = place_of(&fields[i], f->opcode, bth);

		if (at != NULL)
			put_field(&fields[i], bth + (at - bth), f->value[i]);
	}
	memcpy(bth + n, f->payload, f->payload_bytes);
	n += f->payload_bytes;
	memset(bth + n, 0, f->pad_bytes);
	return n + f->pad_bytes;
}

/* Addresses and lengths that are not the peer's usual ones. */
static void
change_ip(const struct frame *f, uint8_t *frame)
{
	struct rte_ipv4_hdr *ip4 = (struct rte_ipv4_hdr *)(frame + L3);
	struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)(frame + L3);
	bool v4 = frame[L3] >> 4 == 4;
	struct rte_udp_hdr *udp = v4 ? (struct rte_udp_hdr *)(ip4 + 1) : (struct rte_udp_hdr *)(ip6 + 1);

	if (f->udp_len != FRAME_NO_LENGTH)
		udp->dgram_len = rte_cpu_to_be_16((uint16_t)f->udp_len);
	if (!v4) {
		if (f->has_address)
			memcpy(ip6->src_addr, f->address, 16);
		if (f->has_group)
			memcpy(ip6->dst_addr, f->group, 16);
		ip6->vtc_flow |= rte_cpu_to_be_32((uint32_t)f->traffic_class << 20);
		if (f->ip_len != FRAME_NO_LENGTH)
			ip6->payload_len = rte_cpu_to_be_16((uint16_t)f->ip_len);
		return;
	}
	if (f->has_address)
		memcpy(&ip4->src_addr, f->address + 12, 4);
	if (f->has_group)
		memcpy(&ip4->dst_addr, f->group + 12, 4);
	ip4->type_of_service = f->traffic_class;
	if (f->ip_len != FRAME_NO_LENGTH)
		ip4->total_length = rte_cpu_to_be_16((uint16_t)f->ip_len);
	ip4->hdr_checksum = 0;
	ip4->hdr_checksum = rte_ipv4_cksum(ip4);
}

void
frame_build(struct lexer *l, const struct frame *f, struct device_frame *out)
{
	uint8_t packet[DEVICE_FRAME_BYTES + 256] = { 0 };
	uint32_t n = build_packet(f, packet), l4;
	struct rte_mbuf m;

	if (f->cut_bytes > n + UROCE_ICRC_BYTES)
		lexer_fail(l, "there are only %u bytes to cut", n + UROCE_ICRC_BYTES);
	n += UROCE_ICRC_BYTES - f->cut_bytes;
	out->len = device_headers_write(out->bytes, n);
	l4 = out->len - (uint32_t)sizeof(struct rte_udp_hdr);
	change_ip(f, out->bytes);
	if (n < sizeof(struct uroce_bth) + UROCE_ICRC_BYTES) {	/* no room for an ICRC over a BTH */
		memcpy(out->bytes + out->len, packet, n);
		out->len += n;
		return;
	}
	memcpy(out->bytes + out->len, packet, n - UROCE_ICRC_BYTES);
	test_mbuf_init(&m, out->bytes, sizeof(out->bytes), out->len + n - UROCE_ICRC_BYTES);
	uroce_icrc_append(&m, &m, L3, l4, 0);
	out->len = m.pkt_len;
	if (f->icrc_bad)
		out->bytes[out->len - 1] ^= 0x40;
}

/* ---- comparing ---------------------------------------------------------------------- */

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
	if (f->as == ADDRESS)
		return object_describe_address(value, text, bytes);
	if (f->as == KEY && strstr(f->name, "key") != NULL)
		return object_describe_key((uint32_t)value, text, bytes);
	snprintf(text, bytes, f->as == KEY ? "0x%" PRIx64 : "%" PRIu64, value);
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
	for (unsigned int i = 1; i < RTE_DIM(fields) && at < bytes; i++) {
		const uint8_t *place = place_of(&fields[i], p.opcode, (const uint8_t *)p.bth);
		char value[64];

		if (place == NULL || (fields[i].otherwise == ZERO && get_field(&fields[i], place) == 0))
			continue;
		at += (size_t)snprintf(text + at, bytes - at, " %s %s", fields[i].name,
				       describe_field(&fields[i], get_field(&fields[i], place), value,
						      sizeof(value)));
	}
	if (at < bytes)
		snprintf(text + at, bytes - at, " payload %u", p.payload_bytes);
	return text;
}

static void
check_fields(struct lexer *l, const struct frame *expected, const struct uroce_packet *p, const char *all)
{
	for (unsigned int i = 0; i < RTE_DIM(fields); i++) {
		const uint8_t *place = place_of(&fields[i], p->opcode, (const uint8_t *)p->bth);
		char e[64], g[64];
		uint64_t got;

		if (place == NULL || (expected->any >> i & 1) != 0)
			continue;
		got = get_field(&fields[i], place);
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

/* From our address to the peer's. */
static void
check_addresses(struct lexer *l, const struct frame *expected, const struct uroce_packet *p)
{
	const uint8_t *ours = device_conf_get()->our_gid;
	const uint8_t *theirs = expected->has_address ? expected->address : device_conf_get()->peer_gid;
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
