/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The change of a CRC with each bit of a word, at many distances from the end of the bytes, compared with the CRCs of the
 * bytes before and after; and the way back from the change of the CRC to the word.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <isa-l/crc.h>
#include <rte_byteorder.h>
#include <rte_common.h>

#include "frames.h"
#include "groups.h"
#include "wire/crc_power.h"

#define ONE 0x80000000u

static void
test_words(void **state)
{
	static uint8_t data[4200];
	uint64_t random = 1;

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)test_random(&random);
	for (uint32_t bytes = 4; bytes <= sizeof(data); bytes += 1 + bytes / 3)
		for (unsigned int bit = 0; bit < 32; bit++) {
			uint8_t *at = data + sizeof(data) - bytes + bit / 8;
			const uint32_t before = crc32_gzip_refl(0, data, sizeof(data)), word = 1u << bit;
			uint32_t change;

			*at ^= (uint8_t)(1u << bit % 8);
			change = before ^ crc32_gzip_refl(0, data, sizeof(data));
			assert_int_equal(uroce_crc_multiply(word, uroce_crc_power((int32_t)bytes)), change);
			assert_int_equal(uroce_crc_multiply(change, uroce_crc_power(-(int32_t)bytes)), word);
		}
}

static void
test_algebra(void **state)
{
	uint64_t random = 2;

	assert_int_equal(uroce_crc_power(0), ONE);
	for (unsigned int i = 0; i < 1000; i++) {
		const uint32_t a = test_random(&random), b = test_random(&random), c = test_random(&random);
		const int32_t n = (int32_t)(a % 65536), m = (int32_t)(b % 65536);

		assert_int_equal(uroce_crc_multiply(a, ONE), a);
		assert_int_equal(uroce_crc_multiply(a, 0), 0);
		assert_int_equal(uroce_crc_multiply(a, b), uroce_crc_multiply(b, a));
		assert_int_equal(uroce_crc_multiply(a ^ b, c), uroce_crc_multiply(a, c) ^ uroce_crc_multiply(b, c));
		assert_int_equal(uroce_crc_multiply(uroce_crc_power(n), uroce_crc_power(m)), uroce_crc_power(n + m));
		assert_int_equal(uroce_crc_multiply(uroce_crc_power(n), uroce_crc_power(-m)), uroce_crc_power(n - m));
	}
}

UROCE_TESTS(wire_crc_power)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_algebra),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
