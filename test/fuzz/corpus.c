/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Writes initial inputs for the targets, from the frames of test/pcap and some that no capture has. "corpus DIR" writes
 * DIR/<target>/<name> for each of the targets.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <rte_common.h>

#include "cm/ib/mad.h"
#include "frames.h"
#include "wire/packet.h"

#define L3    14u
#define MACS  12u
#define EVERY 7 /* of a capture's frames, one in this many; the others are much like it */

static const char *top;

static void
put(const char *target, const char *name, const void *head, size_t head_bytes, const void *bytes,
    size_t n)
{
	char path[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", top, target);
	if (mkdir(path, 0777) != 0 && errno != EEXIST) {
		perror(path);
		exit(1);
	}
	snprintf(path, sizeof(path), "%s/%s/%s", top, target, name);
	f = fopen(path, "wb");
	if (f == NULL || fwrite(head, 1, head_bytes, f) != head_bytes ||
	    fwrite(bytes, 1, n, f) != n || fclose(f) != 0) {
		perror(path);
		exit(1);
	}
}

/* A decoded packet as a packet of the peer in target engine: see engine.c. */
static void
put_engine(const char *name, const struct uroce_packet *p)
{
	static const uint8_t qp_of[] = {
		[UROCE_TRANSPORT_RC] = 0,  [UROCE_TRANSPORT_UC] = 2,  [UROCE_TRANSPORT_UD] = 3,
		[UROCE_TRANSPORT_XRC] = 5, [UROCE_TRANSPORT_CNP] = 0,
	};
	/* clang-format off */
	const uint8_t input[] = {
		0,
		8, qp_of[p->info->transport], 1, 0, 0, 0, 0xff, 1,	/* post a receive */
		0, qp_of[p->info->transport], 0x01 | (p->ack_req ? 0x20 : 0), p->opcode,
		(uint8_t)p->payload_bytes, (uint8_t)(p->payload_bytes >> 8), 0, 0, 0, 0, 0, 0,
		11, 10,	/* send, poll */
	};
	/* clang-format on */

	put("engine", name, NULL, 0, input, sizeof(input));
}

static void
frame(const struct test_frame *f, void *arg)
{
	static struct test_chain chain;
	uint8_t port[3] = { 0x80 | 0x04, (uint8_t)(f->len - MACS),
			    (uint8_t)((f->len - MACS) >> 8) };
	struct uroce_packet p;
	/* target cm: seed, receive, which end, unchanged, 256 bytes */
	static const uint8_t cm[] = { 0, 11, 0, 0, 0, 1 };
	uint8_t payload[UROCE_CM_MAD_BYTES];
	char name[96];

	(void)arg;
	if (chain.ends[0] == NULL)
		test_chain_init(&chain);
	snprintf(name, sizeof(name), "%s-%u", f->file, f->number);
	if (uroce_packet_decode(test_chain_set(&chain, f->bytes, f->len, NULL, 0), L3, &p) !=
	    UROCE_OK)
		return;
	if (p.dest_qpn == UROCE_GSI_QPN && p.payload_bytes == sizeof(payload)) {
		uroce_packet_copy(&p, 0, payload, sizeof(payload));
		put("cm", name, cm, sizeof(cm), payload, sizeof(payload));
	} else if (f->number % EVERY != 1) {
		return;
	}
	put("packet", name, "\0\0", 2, f->bytes + L3, f->len - L3);
	if (f->len < 600)
		put("port", name, port, sizeof(port), f->bytes + MACS, f->len - MACS);
	put_engine(name, &p);
}

/* clang-format off */

/* Frames for a port other than RoCEv2, behind the MAC addresses, and the parts that the target repairs: see port.c. */
static const struct {
	const char *name;
	uint8_t mend;
	const char *hex;
} extra[] = {
	{ "arp-request", 0x10, "0806000108000604000102000000009900000a000002" "0000000000000a000001" },
	{ "arp-reply", 0x00, "0806000108000604000202000000009900000a000002" "0200000000010a000001" },
	{ "echo", 0x41, "08004500002400010000400100000a0000020a00000108000000000100010102030405060708" },
	{ "igmp-query", 0x49, "08004600002000010000010200000a000002e0000001940400001164000000000000" },
	{ "igmp-query-3", 0x49,
	  "08004600002400010000010200000a000002e00000019404000011640000ef00000702140000" },
	{ "echo6", 0x42, "86dd6000000000103a40fd000000000000000000000000000002fd000000000000000000000000000001"
			 "80000000000100010102030405060708" },
	{ "solicit", 0x42, "86dd6000000000203afffd000000000000000000000000000002fd000000000000000000000000000001"
			   "8700000000000000fd0000000000000000000000000000010101020000000099" },
	{ "advertise", 0x42, "86dd6000000000203afffd000000000000000000000000000002fd000000000000000000000000000001"
			     "8800000060000000fd0000000000000000000000000000020201020000000099" },
	{ "mld-query", 0x48, "86dd6000000000240001fe800000000000000000000000000002ff020000000000000000000000000001"
			     "3a000502000001008200000003e8000000000000000000000000000000000000027d0000" },
};

/* Calls that lead to interesting states, for the targets verbs and cma: see objects.c, verbs.c, cma.c. */
#define A_PD "0000" "000000"
#define A_CQ "0000" "020000" "00000000"
#define AN_MR "0000" "040000" "0030" "0000" "ff0f" "0f"
#define A_QP(type) "0000" "0a0000" "40" type "000000" "ff07"
#define TO_RTS "0a00" "01"
#define A_RECV "0d00" "0000000001" "0100"
#define A_SEND(opcode) "0c00" "0000000001" "0000000001" opcode "0201" "00" "0000000000000000" "00000000"
#define AND_POLL "08001e" "090000"
#define LISTENER "000000" "0b00" "000601" "0b00" "0203"
#define CLIENT "000000" "0b01" "0401060164" "05" "0b01" "0664" "05" "0b01" "0700"
#define CONNECT "0b01" "090001" "03" "05" "0b02" "0700" "0b02" "0b0001" "03" "05"

static const struct {
	const char *target;
	const char *name;
	const char *hex;
} calls[] = {
	{ "verbs", "rc-send", A_PD A_CQ AN_MR A_QP("00") TO_RTS A_RECV A_SEND("02") AND_POLL },
	{ "verbs", "rc-read", A_PD A_CQ AN_MR A_QP("00") TO_RTS A_SEND("04") AND_POLL },
	{ "verbs", "uc-write", A_PD A_CQ AN_MR A_QP("01") TO_RTS A_SEND("00") AND_POLL },
	{ "verbs", "ud", A_PD A_CQ AN_MR A_QP("02") TO_RTS A_RECV "0000" "070000" "0000" AND_POLL },
	{ "cma", "connected", LISTENER CLIENT CONNECT "0b02" "0e" "03" "05" },
	{ "cma", "rejected", LISTENER CLIENT "0b01" "090001" "03" "05" "0b02" "0d05" "03" "05" },
};

/* For target text: the first byte selects the parser. */
static const char *const texts[] = {
	"\1" "loss=0.01,burst=3,reorder=0.5,dup=1,corrupt=0,delay=1.5ms,jitter=10us,limit=7,seed=3,ecn=0.2,late=300ns",
	"\2" "10.0.0.1/24", "\2" "fd00::1/64", "\2" "fe80::1", "\2" "::ffff:1.2.3.4/97",
	"\3" "row op=0 transport=0 mode=0 size=65536 mtu=1024 qps=1 depth=8 rd_atomic=1 verify=0 fault=0",
	"\4" "qp index=1 qpn=17 psn=0 gid=00000000000000000000ffff0a000002 rkey=1 out=0 in=0 credit=0",
	"\4" "result received=1 verified=2 errors=0 retransmits=3 what it is",
	"\4" "uroce-perf 2 hello to=00000000000000000000ffff0a000001",
};

/* clang-format on */

static uint8_t
unhex(const char *hex, uint8_t *bytes)
{
	uint8_t n = (uint8_t)(strlen(hex) / 2);

	for (unsigned int i = 0; i < n; i++) {
		unsigned int byte;

		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			rte_panic("%s is not hexadecimal\n", hex);
		bytes[i] = (uint8_t)byte;
	}
	return n;
}

static void
put_extra(void)
{
	for (unsigned int i = 0; i < RTE_DIM(extra); i++) {
		uint8_t bytes[256], n = unhex(extra[i].hex, bytes);
		const uint8_t head[] = { extra[i].mend, n, 0 };

		put("port", extra[i].name, head, sizeof(head), bytes, n);
	}
	for (unsigned int i = 0; i < RTE_DIM(calls); i++) {
		uint8_t bytes[256], n = unhex(calls[i].hex, bytes);

		put(calls[i].target, calls[i].name, NULL, 0, bytes, n);
	}
	for (unsigned int i = 0; i < RTE_DIM(texts); i++) {
		const uint8_t reader = (uint8_t)(texts[i][0] - 1);
		char name[16];

		snprintf(name, sizeof(name), "text-%u", i);
		put("text", name, &reader, 1, (const uint8_t *)texts[i] + 1, strlen(texts[i] + 1));
	}
}

int
main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: corpus DIR\n");
		return 2;
	}
	top = argv[1];
	printf("%u captures\n", test_frames_each(frame, NULL));
	put_extra();
	return 0;
}
