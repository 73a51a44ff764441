/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * rdma_getaddrinfo(3): numeric addresses and ports, passive and active, hints, and invalid names. The test needs no
 * name server.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>
#include <netinet/in.h>

#include <cmocka.h>

#include "groups.h"
#include "uroce_cma.h"

static struct rdma_addrinfo *
look_up(const char *node, const char *service, const struct rdma_addrinfo *hints)
{
	struct rdma_addrinfo *res = NULL;

	assert_int_equal(uroce_rdma_getaddrinfo(node, service, hints, &res), 0);
	assert_non_null(res);
	assert_null(res->ai_next);
	return res;
}

static void
fails(const char *node, const char *service, const struct rdma_addrinfo *hints, int error)
{
	struct rdma_addrinfo *res = NULL;

	errno = 0;
	assert_int_equal(uroce_rdma_getaddrinfo(node, service, hints, &res), -1);
	assert_int_equal(errno, error);
	assert_null(res);
}

static void
test_active(void **state)
{
	const struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST,
					     .ai_port_space = RDMA_PS_TCP };
	struct rdma_addrinfo *res = look_up("10.0.0.9", "7174", &hints);
	const struct sockaddr_in *sin = (const struct sockaddr_in *)res->ai_dst_addr;

	assert_int_equal(res->ai_flags & RAI_PASSIVE, 0);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	assert_null(res->ai_src_addr);
	assert_int_equal(res->ai_src_len, 0);
	assert_int_equal(res->ai_dst_len, sizeof(*sin));
	assert_int_equal(sin->sin_port, htons(7174));
	assert_int_equal(sin->sin_addr.s_addr, htonl(0x0a000009));
	uroce_rdma_freeaddrinfo(res);
}

static void
test_passive(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_PASSIVE, .ai_port_space = RDMA_PS_UDP };
	struct rdma_addrinfo *res = look_up("fd00::3", "9", &hints);
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)res->ai_src_addr;

	assert_int_equal(res->ai_flags, RAI_PASSIVE);
	assert_int_equal(res->ai_family, AF_INET6);
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UD);
	assert_null(res->ai_dst_addr);
	assert_int_equal(res->ai_src_len, sizeof(*sin6));
	assert_int_equal(sin6->sin6_port, htons(9));
	uroce_rdma_freeaddrinfo(res);

	/* without a node: the wildcard */
	hints.ai_family = AF_INET;
	res = look_up(NULL, "10", &hints);
	assert_int_equal(((struct sockaddr_in *)res->ai_src_addr)->sin_addr.s_addr, 0);
	assert_int_equal(((struct sockaddr_in *)res->ai_src_addr)->sin_port, htons(10));
	uroce_rdma_freeaddrinfo(res);
}

/* An explicit QP type or port space overrides the defaults of the other hints. */
static void
test_types(void **state)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST, .ai_qp_type = IBV_QPT_UD };
	struct rdma_addrinfo *res = look_up("10.0.0.9", "1", &hints);

	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	uroce_rdma_freeaddrinfo(res);
	hints.ai_qp_type = IBV_QPT_UC;
	hints.ai_port_space = RDMA_PS_IB;
	res = look_up("10.0.0.9", "1", &hints);
	assert_int_equal(res->ai_qp_type, IBV_QPT_UC);
	assert_int_equal(res->ai_port_space, RDMA_PS_IB);
	uroce_rdma_freeaddrinfo(res);
	res = look_up("10.0.0.9", "1", NULL);
	assert_int_equal(res->ai_port_space, RDMA_PS_TCP);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	uroce_rdma_freeaddrinfo(res);
}

/* Addresses in the hints are copied. */
static void
test_hinted_addresses(void **state)
{
	struct sockaddr_in src = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000001) };
	struct sockaddr_in dst = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x0a000002) };
	struct rdma_addrinfo hints = {
		.ai_flags = RAI_NUMERICHOST,
		.ai_port_space = RDMA_PS_TCP,
		.ai_src_addr = (struct sockaddr *)&src,
		.ai_src_len = sizeof(src),
		.ai_dst_addr = (struct sockaddr *)&dst,
		.ai_dst_len = sizeof(dst),
	};
	struct rdma_addrinfo *res = look_up(NULL, NULL, &hints);

	assert_ptr_not_equal(res->ai_src_addr, &src);
	assert_memory_equal(res->ai_src_addr, &src, sizeof(src));
	assert_memory_equal(res->ai_dst_addr, &dst, sizeof(dst));
	uroce_rdma_freeaddrinfo(res);
	res = look_up("10.0.0.3", "1", &hints);
	assert_memory_equal(res->ai_src_addr, &src, sizeof(src));
	assert_memory_not_equal(res->ai_dst_addr, &dst, sizeof(dst));
	uroce_rdma_freeaddrinfo(res);
}

static void
test_errors(void **state)
{
	const struct rdma_addrinfo numeric = { .ai_flags = RAI_NUMERICHOST };
	const struct rdma_addrinfo six = { .ai_flags = RAI_NUMERICHOST | RAI_FAMILY,
					   .ai_family = AF_INET6 };
	const struct rdma_addrinfo unknown = { .ai_flags = RAI_FAMILY, .ai_family = AF_UNIX };

	fails(NULL, NULL, NULL, EINVAL);
	fails("a.name.is.no.number", "1", &numeric, ENXIO);
	fails("300.0.0.1", "1", &numeric, ENXIO);
	fails("10.0.0.1", "1", &unknown, EAFNOSUPPORT);
	errno = 0;
	assert_int_equal(
		uroce_rdma_getaddrinfo("10.0.0.1", "1", &six, &(struct rdma_addrinfo *){ NULL }),
		-1);
	assert_int_not_equal(errno, 0);
	uroce_rdma_freeaddrinfo(NULL);
}

UROCE_TESTS(cma_addrinfo)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_active), cmocka_unit_test(test_passive),
		cmocka_unit_test(test_types),  cmocka_unit_test(test_hinted_addresses),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
