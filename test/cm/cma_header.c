/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The rdma_cm header byte by byte; malformed headers are refused.
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

#include "cm/rdma/cma_header.h"
#include "groups.h"

static const struct sockaddr_in src4 = { .sin_family = AF_INET,
					 .sin_port = 0x3412,
					 .sin_addr.s_addr = 0x0403020a };
static const struct sockaddr_in dst4 = { .sin_family = AF_INET,
					 .sin_port = 0x7856,
					 .sin_addr.s_addr = 0x0503020a };
static const struct sockaddr_in6 src6 = { .sin6_family = AF_INET6,
					  .sin6_port = 0x3412,
					  .sin6_addr.s6_addr = { 0xfd, [15] = 1 } };
static const struct sockaddr_in6 dst6 = { .sin6_family = AF_INET6,
					  .sin6_port = 0x7856,
					  .sin6_addr.s6_addr = { 0xfd, [15] = 2 } };

static void
encode4(uint8_t h[UROCE_CMA_HEADER_BYTES])
{
	uroce_cma_header_encode(h, (const struct sockaddr *)&src4, (const struct sockaddr *)&dst4);
}

static void
encode6(uint8_t h[UROCE_CMA_HEADER_BYTES])
{
	uroce_cma_header_encode(h, (const struct sockaddr *)&src6, (const struct sockaddr *)&dst6);
}

static int
decode(const uint8_t *h, uint32_t bytes)
{
	struct sockaddr_storage src, dst;

	return uroce_cma_header_decode(h, bytes, &src, &dst);
}

static void
test_ipv4(void **state)
{
	static const uint8_t expected[UROCE_CMA_HEADER_BYTES] = {
		0, 0x40, 0x12, 0x34, [16] = 10, 2, 3, 4, [32] = 10, 2, 3, 5
	};
	struct sockaddr_storage src, dst;
	struct sockaddr_in without_port = dst4;
	uint8_t h[UROCE_CMA_HEADER_BYTES];

	memset(h, 0xff, sizeof(h));
	encode4(h);
	assert_memory_equal(h, expected, sizeof(h));
	assert_int_equal(uroce_cma_header_decode(h, sizeof(h), &src, &dst), 0);
	assert_memory_equal(&src, &src4, sizeof(src4));
	without_port.sin_port = 0;
	assert_memory_equal(&dst, &without_port, sizeof(dst4));
}

static void
test_ipv6(void **state)
{
	static const uint8_t expected[UROCE_CMA_HEADER_BYTES] = { 0,    0x60,     0x12, 0x34,
								  0xfd, [19] = 1, 0xfd, [35] = 2 };
	struct sockaddr_storage src, dst;
	struct sockaddr_in6 without_port = dst6;
	uint8_t h[UROCE_CMA_HEADER_BYTES];

	memset(h, 0xff, sizeof(h));
	encode6(h);
	assert_memory_equal(h, expected, sizeof(h));
	assert_int_equal(uroce_cma_header_decode(h, sizeof(h), &src, &dst), 0);
	assert_memory_equal(&src, &src6, sizeof(src6));
	without_port.sin6_port = 0;
	assert_memory_equal(&dst, &without_port, sizeof(dst6));
}

/* The lower half of the version byte is reserved. */
static void
test_reserved(void **state)
{
	uint8_t h[UROCE_CMA_HEADER_BYTES];

	encode4(h);
	h[1] |= 0xf;
	assert_int_equal(decode(h, sizeof(h)), 0);
	memset(h + 4, 0xff, 12);
	assert_int_equal(decode(h, sizeof(h)), 0);
}

static void
test_short(void **state)
{
	uint8_t h[UROCE_CMA_HEADER_BYTES];

	encode4(h);
	for (uint32_t n = 0; n < sizeof(h); n++)
		assert_int_equal(decode(h, n), -EINVAL);
}

static void
test_versions(void **state)
{
	uint8_t h[UROCE_CMA_HEADER_BYTES];

	for (unsigned int v = 1; v < 256; v++) {
		encode4(h);
		h[0] = (uint8_t)v;
		assert_int_equal(decode(h, sizeof(h)), -EINVAL);
	}
	for (unsigned int v = 0; v < 16; v++) {
		encode4(h);
		h[1] = (uint8_t)(v << 4);
		/* as IPv6, the IPv4 address becomes ::a02:304 */
		assert_int_equal(decode(h, sizeof(h)), v == 4 || v == 6 ? 0 : -EINVAL);
	}
}

/* From one host address to another: no wildcards, no groups. */
static void
test_addresses(void **state)
{
	uint8_t h[UROCE_CMA_HEADER_BYTES];

	encode4(h);
	memset(h + 16, 0, 4);
	assert_int_equal(decode(h, sizeof(h)), -EINVAL);
	encode4(h);
	memset(h + 32, 0, 4);
	assert_int_equal(decode(h, sizeof(h)), -EINVAL);
	encode4(h);
	h[16] = 224;
	assert_int_equal(decode(h, sizeof(h)), -EINVAL);
	encode6(h);
	h[20] = 0xff;
	assert_int_equal(decode(h, sizeof(h)), -EINVAL);
	encode6(h);
	memset(h + 4, 0, 16);
	assert_int_equal(decode(h, sizeof(h)), -EINVAL);
}

UROCE_TESTS(cma_header)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ipv4),     cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_reserved), cmocka_unit_test(test_short),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
