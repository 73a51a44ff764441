/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The verdict table: it is complete, its names can serve as counters, and each NAK has the right syndrome.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <infiniband/verbs.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "wire/headers.h"
#include "wire/verdict.h"

static void
test_names_are_unique(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++) {
		const struct uroce_verdict_info *info = &uroce_verdicts[i];

		assert_non_null(info->name);
		assert_true(strlen(info->name) > 0);
		assert_int_equal(strspn(info->name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(info->name));
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(info->name, uroce_verdicts[j].name);
	}
}

static void
test_rules_exist(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++) {
		const char *rule = uroce_verdicts[i].rule;

		assert_non_null(rule);
		if (rule[0] == '\0')
			continue;
		assert_int_equal(rule[0], 'R');
		assert_uint_in_range(strtoul(rule + 1, NULL, 10), 1, 49);
	}
}

/* The name of a NAK begins with nak_; a NAK has a syndrome, and its place is between the duplicates and the
 * requester's verdicts. */
static void
test_naks_and_only_naks_have_a_syndrome(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++) {
		const struct uroce_verdict_info *info = &uroce_verdicts[i];
		bool is_nak = strncmp(info->name, "nak_", 4) == 0;
		uint8_t class = info->syndrome & UROCE_AETH_CLASS_MASK;

		assert_int_equal(is_nak,
				 i >= UROCE_NAK_SEQUENCE && i <= UROCE_NAK_LOCAL_PROTECTION);
		assert_int_equal(info->syndrome != 0, is_nak);
		if (!is_nak)
			assert_int_equal(info->wc_status, 0);
		else if (i == UROCE_NAK_RNR)
			assert_int_equal(class, UROCE_AETH_RNR_NAK);
		else
			assert_int_equal(class, UROCE_AETH_NAK);
	}
}

static void
test_nak_rows(void **state)
{
	static const struct {
		enum uroce_verdict verdict;
		uint8_t syndrome;
		enum ibv_wc_status wc_status;
	} rows[] = {
		{ UROCE_NAK_SEQUENCE, 0x60, 0 },
		{ UROCE_NAK_OPCODE_SEQUENCE, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_PAYLOAD, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_DMA_LEN, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_RECV_LENGTH, 0x61, IBV_WC_LOC_LEN_ERR },
		{ UROCE_NAK_ACCESS, 0x62, IBV_WC_LOC_ACCESS_ERR },
		{ UROCE_NAK_NOT_ALLOWED, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_RD_ATOMIC, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_ATOMIC_ALIGNMENT, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_ATOMIC_WRITE, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_FLUSH, 0x61, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_FLUSH_RESOURCES, 0x60, 0 },
		{ UROCE_NAK_FLUSH_PENDING, 0x60, 0 },
		{ UROCE_NAK_INVALIDATE, 0x62, IBV_WC_REM_INV_REQ_ERR },
		{ UROCE_NAK_RNR, 0x20, 0 },
		{ UROCE_NAK_XRC_SRQ, 0x62, IBV_WC_LOC_ACCESS_ERR },
		{ UROCE_NAK_LOCAL_PROTECTION, 0x63, IBV_WC_LOC_PROT_ERR },
	};

	(void)state;
	assert_int_equal(RTE_DIM(rows), UROCE_NAK_LOCAL_PROTECTION - UROCE_NAK_SEQUENCE + 1);
	for (unsigned int i = 0; i < RTE_DIM(rows); i++) {
		assert_int_equal(uroce_verdicts[rows[i].verdict].syndrome, rows[i].syndrome);
		assert_int_equal(uroce_verdicts[rows[i].verdict].wc_status, rows[i].wc_status);
	}
}

static void
test_names_match(void **state)
{
	(void)state;
	assert_string_equal(uroce_verdicts[UROCE_OK].name, "ok");
	assert_string_equal(uroce_verdicts[UROCE_DROP_ICRC].name, "drop_icrc");
	assert_string_equal(uroce_verdicts[UROCE_DROP_ICRC].rule, "R5");
	assert_string_equal(uroce_verdicts[UROCE_NAK_RNR].name, "nak_rnr");
	assert_string_equal(uroce_verdicts[UROCE_BAD_RESPONSE].name, "bad_response");
}

UROCE_TESTS(wire_verdict)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_rules_exist),
		cmocka_unit_test(test_naks_and_only_naks_have_a_syndrome),
		cmocka_unit_test(test_nak_rows),
		cmocka_unit_test(test_names_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
