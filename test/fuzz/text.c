/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: the parsers of text from users and peers: addresses, impairments, and the lines between two uroce-perfs. An
 * accepted value is within its limits, and stays the same when it is written and parsed again; a refused one has a
 * reason. The input: which parser, and the text.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "peer/message.h"
#include "port/net/address.h"
#include "uroce_config.h"
#include "uroce_netem.h"

#define TEXT_BYTES  1024
#define ERROR_BYTES 64 /* shorter than some of the reasons */

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_init(false);
	return 0;
}

static void
check_error(const char *error)
{
	size_t n = strnlen(error, ERROR_BYTES);

	RTE_VERIFY(n > 0 && n < ERROR_BYTES);
}

static void
impairment(const char *text)
{
	char error[ERROR_BYTES] = "";
	int ret = uroce_netem_check(text, error, sizeof(error));

	RTE_VERIFY(ret == 0 || ret == EINVAL);
	if (ret != 0)
		check_error(error);
}

static void
address(const char *text)
{
	struct uroce_subnet subnet;
	uint8_t gid[16], again[16];
	char written[64];

	if (uroce_subnet_parse(&subnet, text) == 0) {
		RTE_VERIFY(subnet.prefix_bits <= 128 && uroce_gid_is_host(subnet.gid));
		RTE_VERIFY(strchr(text, '/') != NULL);
	}
	if (uroce_gid_parse(gid, text) != 0)
		return;
	RTE_VERIFY(uroce_gid_is_host(gid));
	RTE_VERIFY(uroce_gid_parse(again, uroce_gid_format(gid, written, sizeof(written))) == 0);
	RTE_VERIFY(memcmp(gid, again, sizeof(gid)) == 0);
}

static void
params(const char *line)
{
	struct perf_params p;

	if (uroce_perf_parse_params(line, &p) != 0)
		return;
	RTE_VERIFY(p.op < PERF_OP_COUNT && p.transport < PERF_TRANSPORT_COUNT && p.mode < PERF_MODE_COUNT);
	RTE_VERIFY(p.size <= UROCE_PERF_MAX_SIZE && p.mtu >= 256 && p.mtu <= 4096 && (p.mtu & (p.mtu - 1)) == 0);
	RTE_VERIFY(p.qps >= 1 && p.qps <= UROCE_PERF_MAX_QPS && p.depth >= 1 && p.depth <= UROCE_MAX_QP_WR);
	RTE_VERIFY(p.rd_atomic >= 1 && p.rd_atomic <= UROCE_MAX_RD_ATOMIC && p.fault >= -1);
}

static void
queue_pair(const char *line)
{
	struct perf_qp_info info;
	struct perf_verdict verdict = { .text = "" };
	char error[ERROR_BYTES] = "";

	if (uroce_perf_parse_qp(line, 1, &info) == 0)
		RTE_VERIFY(info.qpn <= 0xffffff && info.psn <= 0xffffff);
	if (uroce_perf_parse_verdict(line, &verdict) == 0)
		RTE_VERIFY(strnlen(verdict.text, sizeof(verdict.text)) < sizeof(verdict.text));
	if (uroce_perf_message_greeting(line, "hello", error, sizeof(error)) != 0)
		check_error(error);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const char *) = { impairment, address, params, queue_pair };
	struct fuzz_input in = { data, size };
	uint32_t reader = fuzz_below(&in, RTE_DIM(readers));
	size_t bytes = RTE_MIN(in.left, (size_t)TEXT_BYTES - 1);
	/* an exact allocation, so that a sanitizer detects a read behind the end */
	char *text = malloc(bytes + 1);

	RTE_VERIFY(text != NULL);
	fuzz_bytes(&in, text, bytes);
	text[bytes] = '\0';
	readers[reader](text);
	free(text);
	return 0;
}
