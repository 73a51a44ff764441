/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests the handshake between two processes: lines are parsed to the values that were sent, and wrong lines of a hostile
 * or mistaken peer are refused.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_common.h>

#include "groups.h"
#include "peer/message.h"

/* Two ends of a socket, both with struct perf_conn. */
struct pair {
	struct perf_conn a;
	struct perf_conn b;
};

static int
setup(void **state)
{
	static struct pair p;
	int fds[2];

	memset(&p, 0, sizeof(p));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds) != 0)
		return -1;
	uroce_perf_oob_start(&p.a, fds[0]);
	uroce_perf_oob_start(&p.b, fds[1]);
	*state = &p;
	return 0;
}

static int
teardown(void **state)
{
	struct pair *p = *state;

	uroce_perf_conn_close(&p->a);
	uroce_perf_conn_close(&p->b);
	return 0;
}

static const struct perf_params params = {
	.op = PERF_CMP_SWAP,
	.mode = PERF_LAT,
	.size = 8,
	.mtu = 2048,
	.qps = 65536,
	.depth = 1,
	.buffers = 4097,
	.rd_atomic = 16,
	.verify = true,
	.fault = -1,
};

static void
test_params_come_back(void **state)
{
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	struct perf_params got;

	memset(&got, 0xff, sizeof(got));
	assert_int_equal(uroce_perf_send_params(&p->a, &params), 0);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), 0);
	assert_int_equal(uroce_perf_parse_params(line, &got), 0);
	assert_int_equal(got.op, params.op);
	assert_int_equal(got.mode, params.mode);
	assert_int_equal(got.size, params.size);
	assert_int_equal(got.mtu, params.mtu);
	assert_int_equal(got.qps, params.qps);
	assert_int_equal(got.depth, params.depth);
	assert_int_equal(got.buffers, params.buffers);
	assert_int_equal(got.rd_atomic, params.rd_atomic);
	assert_true(got.verify);
	assert_int_equal(got.fault, -1);
}

static void
test_qp_comes_back(void **state)
{
	const struct perf_qp_info info = {
		.qpn = 0xfffffe,
		.psn = 0xffffff,
		.rkey = UINT32_MAX,
		.out = UINT64_MAX,
		.in = 1,
		.credit = 0,
		.gid.raw = { 0xfd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff },
	};
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	struct perf_qp_info got;

	memset(&got, 0, sizeof(got));
	assert_int_equal(uroce_perf_send_qp(&p->a, 77, &info), 0);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), 0);
	assert_int_equal(uroce_perf_parse_qp(line, 76, &got), -EPROTO);
	assert_int_equal(uroce_perf_parse_qp(line, 77, &got), 0);
	assert_int_equal(got.qpn, info.qpn);
	assert_int_equal(got.psn, info.psn);
	assert_int_equal(got.rkey, info.rkey);
	assert_true(got.out == info.out && got.in == info.in && got.credit == info.credit);
	assert_memory_equal(got.gid.raw, info.gid.raw, 16);
}

static void
test_verdict_comes_back(void **state)
{
	struct perf_verdict v = {
		.received = UINT64_MAX, .verified_bytes = 2, .errors = 3, .retransmits = 4
	};
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES];
	struct perf_verdict got;

	memset(v.text, 'x', sizeof(v.text) - 1);
	memcpy(v.text, "byte 3 is errors=9", 18);
	assert_int_equal(uroce_perf_send_verdict(&p->a, &v), 0);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), 0);
	assert_int_equal(uroce_perf_parse_verdict(line, &got), 0);
	assert_true(got.received == UINT64_MAX);
	assert_int_equal(got.verified_bytes, 2);
	assert_int_equal(got.errors, 3);
	assert_int_equal(got.retransmits, 4);
	assert_string_equal(got.text, v.text);
}

/* Rows that uroce-perf never sends. */
static const char *const wrong_params[] = {
	"",
	"row",
	"rows op=0 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=2 transport=1 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=2 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=3 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=7 transport=0 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=3 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=1073741825 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=-8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=300 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=8192 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=0 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=65537 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=0 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=32769 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=67108865 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=1 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=0 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=129 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=8 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=2 fault=0",
	"row op=0 transport=0 mode=0 size=8x mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=0 transport=0 mode=0 size=99999999999999999999 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
	"row op=5 transport=0 mode=0 size=16 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0", /* an atomic
										       */
	"row op=0 transport=0 mode=0 mtu=256 qps=1 depth=1 buffers=0 rd_atomic=1 verify=0 fault=0",
};

static const char *const wrong_qps[] = {
	"qp index=0",
	"qp index=0 qpn=1 psn=0 gid=00000000000000000000ffff0a000001 rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=16777215 psn=0 gid=00000000000000000000ffff0a000001 rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=2 psn=16777216 gid=00000000000000000000ffff0a000001 rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=2 psn=0 gid=00000000000000000000ffff0a00000 rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=2 psn=0 gid=00000000000000000000ffff0a00000111 rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=2 psn=0 gid=zz000000000000000000ffff0a000001 rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=2 psn=0 gid= rkey=1 out=0 in=0 credit=0",
	"qp index=0 qpn=2 psn=0 gid=00000000000000000000ffff0a000001 rkey=4294967296 out=0 in=0 credit=0",
};

static void
test_wrong_lines(void **state)
{
	struct perf_params got;
	struct perf_qp_info info;
	struct perf_verdict v;

	for (unsigned int i = 0; i < RTE_DIM(wrong_params); i++) {
		if (uroce_perf_parse_params(wrong_params[i], &got) != -EPROTO)
			fail_msg("taken: %s", wrong_params[i]);
	}
	for (unsigned int i = 0; i < RTE_DIM(wrong_qps); i++) {
		if (uroce_perf_parse_qp(wrong_qps[i], 0, &info) != -EPROTO)
			fail_msg("taken: %s", wrong_qps[i]);
	}
	assert_int_equal(uroce_perf_parse_verdict("result received=1", &v), -EPROTO);
	assert_int_equal(uroce_perf_parse_verdict("done", &v), -EPROTO);
}

static void
test_greetings(void **state)
{
	char error[256];

	assert_int_equal(
		uroce_perf_message_greeting("uroce-perf 3 hello to=0", "hello", error, 256), 0);
	assert_int_equal(uroce_perf_message_greeting("uroce-perf 1 hello", "hello", error, 256),
			 -1);
	assert_non_null(strstr(error, "version 1"));
	assert_int_equal(uroce_perf_message_greeting("uroce-perf 3 welcome", "hello", error, 256),
			 -1);
	assert_non_null(strstr(error, "--server"));
	assert_int_equal(uroce_perf_message_greeting("SSH-2.0-OpenSSH", "hello", error, 256), -1);
	assert_non_null(strstr(error, "not uroce-perf"));
	assert_int_equal(uroce_perf_message_greeting("uroce-perf", "hello", error, 256), -1);
	assert_int_equal(uroce_perf_message_greeting("", "hello", error, 256), -1);
}

static void
test_lines_in_pieces(void **state)
{
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES];

	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 0), -EAGAIN);
	assert_int_equal(write(p->a.fd, "one\ntw", 6), 6);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 0), 0);
	assert_string_equal(line, "one");
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 0), -EAGAIN);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 20), -ETIMEDOUT);
	assert_int_equal(write(p->a.fd, "o\n\n", 3), 3);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 0), 0);
	assert_string_equal(line, "two");
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 0), 0);
	assert_string_equal(line, "");
}

static void
test_peer_goes_away(void **state)
{
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES];

	assert_int_equal(uroce_perf_conn_send(&p->a, "last"), 0);
	uroce_perf_conn_close(&p->a);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), 0);
	assert_string_equal(line, "last");
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), -ECONNRESET);
	assert_int_equal(uroce_perf_conn_send(&p->b, "anyone?"), -ECONNRESET);
}

static void
test_line_without_end(void **state)
{
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES], flood[4 * UROCE_PERF_OOB_LINE_BYTES];

	memset(flood, 'x', sizeof(flood));
	assert_int_equal(write(p->a.fd, flood, sizeof(flood)), sizeof(flood));
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), -EPROTO);
}

static void
test_line_of_control_characters(void **state)
{
	struct pair *p = *state;
	char line[UROCE_PERF_OOB_LINE_BYTES];

	assert_int_equal(write(p->a.fd, "\033[2Jerror\n", 10), 10);
	assert_int_equal(uroce_perf_conn_recv(&p->b, line, sizeof(line), 1000), -EPROTO);
}

static void
test_oob_addresses(void **state)
{
	static const char *const wrong[] = {
		"",         "tcp:",      "tcp:0",        "tcp:65536",
		"tcp:host", "tcp::5000", "tcp:::1:5000", "tcp:5000x",
		"unix:",    "udp:5000",  "5000",
	};
	struct perf_oob_addr a;
	char path[256] = "unix:";

	assert_int_equal(uroce_perf_oob_parse(&a, "tcp:5000"), 0);
	assert_string_equal(a.host, "");
	assert_string_equal(a.port, "5000");
	assert_int_equal(uroce_perf_oob_parse(&a, "tcp:example.org:5000"), 0);
	assert_string_equal(a.host, "example.org");
	assert_int_equal(uroce_perf_oob_parse(&a, "tcp:[::1]:5000"), 0);
	assert_string_equal(a.host, "::1");
	assert_int_equal(uroce_perf_oob_parse(&a, "unix:/a/b"), 0);
	assert_string_equal(a.path, "/a/b");
	for (unsigned int i = 0; i < RTE_DIM(wrong); i++) {
		if (uroce_perf_oob_parse(&a, wrong[i]) != -EINVAL)
			fail_msg("taken: %s", wrong[i]);
	}
	memset(path + 5, 'p', 108);
	assert_int_equal(uroce_perf_oob_parse(&a, path), -EINVAL);
	path[5 + 107] = '\0';
	assert_int_equal(uroce_perf_oob_parse(&a, path), 0);
}

/* A server takes over the socket file of a killed server, but not that of a running one. */
static void
test_listen_unix(void **state)
{
	struct perf_oob_addr a;
	struct perf_conn conn = { .fd = -1 };
	char text[64];
	int first, second;

	snprintf(text, sizeof(text), "unix:perf_message_%d.sock", (int)getpid());
	assert_int_equal(uroce_perf_oob_parse(&a, text), 0);
	assert_int_equal(uroce_perf_oob_connect(&conn, &a), -ENOENT);
	first = uroce_perf_oob_listen(&a);
	assert_true(first >= 0);
	assert_int_equal(uroce_perf_oob_listen(&a), -EADDRINUSE);
	close(first);
	assert_int_equal(uroce_perf_oob_connect(&conn, &a), -ECONNREFUSED);
	second = uroce_perf_oob_listen(&a);
	assert_true(second >= 0);
	assert_int_equal(uroce_perf_oob_connect(&conn, &a), 0);
	uroce_perf_conn_close(&conn);
	uroce_perf_oob_unlisten(&a, second);
	assert_int_equal(access(a.path, F_OK), -1);
}

UROCE_TESTS(perf_message)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_params_come_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_qp_comes_back, setup, teardown),
		cmocka_unit_test_setup_teardown(test_verdict_comes_back, setup, teardown),
		cmocka_unit_test(test_wrong_lines),
		cmocka_unit_test(test_greetings),
		cmocka_unit_test_setup_teardown(test_lines_in_pieces, setup, teardown),
		cmocka_unit_test_setup_teardown(test_peer_goes_away, setup, teardown),
		cmocka_unit_test_setup_teardown(test_line_without_end, setup, teardown),
		cmocka_unit_test_setup_teardown(test_line_of_control_characters, setup, teardown),
		cmocka_unit_test(test_oob_addresses),
		cmocka_unit_test(test_listen_unix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
