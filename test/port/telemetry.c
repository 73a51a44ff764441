/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry as a client of EAL's socket sees it.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>
#include <rte_eal.h>

#include "port/mcast.h"
#include "tap.h"
#include "uroce_cma.h"

static const char *const cidrs[] = { "10.0.0.1/24", NULL };
static char answer[65536];

static int
client_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

	assert_true(fd >= 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk_telemetry.v2",
		 rte_eal_get_runtime_dir());
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_true(recv(fd, answer, sizeof(answer), 0) > 0); /* a greeting */
	return fd;
}

static const char *
ask(int fd, const char *command)
{
	ssize_t n;

	assert_int_equal(send(fd, command, strlen(command), 0), strlen(command));
	n = recv(fd, answer, sizeof(answer) - 1, 0);
	assert_true(n > 0);
	answer[n] = '\0';
	return answer;
}

static void
expect(int fd, const char *command, const char *part)
{
	const char *got = ask(fd, command);

	if (strstr(got, part) == NULL)
		fail_msg("%s: %s does not contain %s", command, got, part);
}

static void
test_commands(void **state)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 }
	};
	const union ibv_gid group = { .raw = { 0xff, 0x15, [13] = 1, 2, 3 } };
	struct rdma_event_channel *channel;
	uint8_t frame[TAP_BYTES];
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	char text[64];
	struct tap t;
	int fd;

	tap_open(&t, 9, cidrs);
	fd = client_open();
	tap_send(&t, frame, tap_frame(&t, frame, "ffffffffffff P 9999 Z46")); /* on no VLAN */
	expect(fd, "/uroce/list", "[\"uroce0\"]");
	expect(fd, "/uroce/info,uroce0", "\"vlan\":9");
	expect(fd, "/uroce/info,uroce0", "10.0.0.1");
	expect(fd, "/uroce/info,uroce0", "\"groups\":[]");
	assert_int_equal(uroce_port_mcast_join(&t.port->dev, &group), 0);
	expect(fd, "/uroce/info,uroce0", "\"groups\":[\"ff15::1:203\"]");
	uroce_port_mcast_leave(&t.port->dev, &group);
	expect(fd, "/uroce/cm,uroce0", "null");
	channel = uroce_rdma_create_event_channel();
	assert_non_null(channel);
	expect(fd, "/uroce/cm,uroce0", "\"mads_received\":0");
	uroce_rdma_destroy_event_channel(channel);
	expect(fd, "/uroce/cm,uroce0", "null");
	expect(fd, "/uroce/stats,uroce0", "\"drop_vlan\":1");
	expect(fd, "/uroce/stats,uroce0", "\"bad_response\":0"); /* the last there is */
	expect(fd, "/uroce/stats,uroce1", "null");
	expect(fd, "/uroce/stats", "null");
	expect(fd, "/uroce/qp,uroce0", "[]");

	pd = uroce_alloc_pd(t.context);
	cq = uroce_create_cq(t.context, 4, NULL, NULL, 0);
	attr.send_cq = cq;
	attr.recv_cq = cq;
	qp = uroce_create_qp(pd, &attr);
	assert_non_null(qp);
	snprintf(text, sizeof(text), "[%u]", qp->qp_num);
	expect(fd, "/uroce/qp,uroce0", text);
	snprintf(text, sizeof(text), "/uroce/qp,uroce0,%u", qp->qp_num);
	expect(fd, text, "\"state\":\"RESET\"");
	snprintf(text, sizeof(text), "/uroce/qp,uroce0,%u", qp->qp_num ^ 1);
	expect(fd, text, "null");
	expect(fd, "/uroce/qp,uroce0,99999999999", "null");
	expect(fd, "/uroce/qp,uroce0,nonsense", "null");
	assert_int_equal(uroce_destroy_qp(qp), 0);
	assert_int_equal(uroce_destroy_cq(cq), 0);
	assert_int_equal(uroce_dealloc_pd(pd), 0);
	tap_close(&t);
	expect(fd, "/uroce/list", "[]");
	expect(fd, "/uroce/info,uroce0", "null");
	close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
	};
	char args[7][40] = { "telemetry",  "--no-huge", "-m256",
			     "--no-pci",   "",          "--log-level=lib.eal:warning",
			     "--no-shconf" };
	char *argv[RTE_DIM(args) + 1] = { NULL };
	char directory[64], socket_path[96];
	int ret;

	snprintf(args[4], sizeof(args[4]), "--file-prefix=uroce_test_%d", (int)getpid());
	for (unsigned int i = 0; i < RTE_DIM(args); i++)
		argv[i] = args[i];
	if (rte_eal_init((int)RTE_DIM(args), argv) < 0)
		return 1;
	snprintf(directory, sizeof(directory), "%s", rte_eal_get_runtime_dir());
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	rte_eal_cleanup();
	/* EAL leaves the directory, and the socket until exit() */
	snprintf(socket_path, sizeof(socket_path), "%s/dpdk_telemetry.v2", directory);
	unlink(socket_path);
	rmdir(directory);
	return ret;
}
