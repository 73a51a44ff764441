/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Look-ups of connections by each of their keys, for any keys that a peer chooses; and IDs that reveal nothing about
 * the next one.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "groups.h"
#include "pair.h"

#define COUNT 1000

static struct test_pair pair;
static struct uroce_cm_conn *conns[COUNT];
static struct uroce_cm *cm;

static int
setup(void **state)
{
	test_pair_init(&pair, 41);
	cm = pair.end[0].cm;
	for (unsigned int i = 0; i < COUNT; i++) {
		conns[i] = uroce_cm_conn_create(cm, NULL);
		assert_non_null(conns[i]);
		conns[i]->path = test_end_path(&pair.end[0]);
	}
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(&pair);
	return 0;
}

static void
local_ids_are_unlike_each_other(void **state)
{
	unsigned int close = 0, bits[32] = { 0 };

	for (unsigned int i = 0; i < COUNT; i++) {
		assert_int_not_equal(conns[i]->local_id, 0);
		assert_ptr_equal(uroce_cm_local_find(cm, conns[i]->local_id), conns[i]);
		for (unsigned int bit = 0; bit < 32; bit++)
			bits[bit] += conns[i]->local_id >> bit & 1;
		if (i > 0 && (conns[i]->local_id ^ conns[i - 1]->local_id) < 1u << 16)
			close++;
	}
	assert_true(close <= 2);
	for (unsigned int bit = 0; bit < 32; bit++)
		assert_true(bits[bit] > 400 && bits[bit] < 600);
	uroce_cm_local_remove(conns[5]);
	assert_null(uroce_cm_local_find(cm, conns[5]->local_id));
	uroce_cm_local_add(conns[5]);
}

static void
remote_ids_are_of_a_ca_and_an_address(void **state)
{
	union ibv_gid *gid = &conns[0]->path.dgid, other = { .raw = { 1 } };

	for (unsigned int i = 0; i < COUNT; i++) {
		conns[i]->state = UROCE_CM_REQ_RCVD;
		conns[i]->remote_id = i / 2;
		conns[i]->remote_ca_guid = i % 2;
		uroce_cm_remote_add(conns[i]);
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		assert_ptr_equal(uroce_cm_remote_find(cm, i / 2, i % 2, gid), conns[i]);
		assert_null(uroce_cm_remote_find(cm, i / 2, i % 2, &other));
		assert_null(uroce_cm_remote_find(cm, i / 2, 2, gid));
		/* a SIDR request is not found as a connection */
		assert_null(uroce_cm_sidr_find(cm, i / 2, gid));
	}
	for (unsigned int i = 0; i < COUNT; i += 2)
		uroce_cm_remote_remove(conns[i]);
	for (unsigned int i = 0; i < COUNT; i++)
		assert_ptr_equal(uroce_cm_remote_find(cm, i / 2, i % 2, gid),
				 i % 2 == 0 ? NULL : conns[i]);
	uroce_cm_remote_remove(conns[0]); /* a second remove does nothing */
	for (unsigned int i = 0; i < COUNT; i++)
		conns[i]->state = UROCE_CM_IDLE;
}

static void
sidr_requests_are_of_an_address(void **state)
{
	union ibv_gid *gid = &conns[0]->path.dgid, other = { .raw = { 1 } };

	for (unsigned int i = 0; i < COUNT; i++) {
		conns[i]->state = i % 2 == 0 ? UROCE_CM_SIDR_REQ_RCVD : UROCE_CM_SIDR_REP_SENT;
		conns[i]->remote_id = i;
		uroce_cm_sidr_add(conns[i]);
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		assert_ptr_equal(uroce_cm_sidr_find(cm, i, gid), conns[i]);
		assert_null(uroce_cm_sidr_find(cm, i, &other));
		assert_null(uroce_cm_remote_find(cm, i, gid->global.interface_id, gid));
		uroce_cm_remote_remove(conns[i]);
		assert_null(uroce_cm_sidr_find(cm, i, gid));
		conns[i]->state = UROCE_CM_IDLE;
	}
}

static void
qpns_are_of_a_ca_and_an_address(void **state)
{
	union ibv_gid *gid = &conns[0]->path.dgid, other = { .raw = { 1 } };

	for (unsigned int i = 0; i < COUNT; i++) {
		conns[i]->remote_qpn = i / 2;
		conns[i]->remote_ca_guid = i % 2;
		uroce_cm_qpn_add(conns[i]);
	}
	for (unsigned int i = 0; i < COUNT; i++) {
		assert_ptr_equal(uroce_cm_qpn_find(cm, i / 2, i % 2, gid), conns[i]);
		assert_null(uroce_cm_qpn_find(cm, i / 2, i % 2, &other));
		assert_null(uroce_cm_qpn_find(cm, i / 2, 2, gid));
		uroce_cm_qpn_remove(conns[i]);
		uroce_cm_qpn_remove(conns[i]);
		assert_null(uroce_cm_qpn_find(cm, i / 2, i % 2, gid));
	}
}

static void
listeners_are_of_one_service_or_of_many(void **state)
{
	struct uroce_cm_conn *found = NULL;
	unsigned int n = 0;

	for (unsigned int i = 0; i < 100; i++)
		assert_int_equal(uroce_cm_listen(conns[i], i / 10, UINT64_MAX), 0);
	assert_int_equal(uroce_cm_listen(conns[100], 0x5, 0xfffffffffffffff0ull), 0); /* 0 to 15 */
	assert_int_equal(uroce_cm_listen(conns[101], 0x1234, 0xff00),
			 0); /* 0x12 in the second byte */
	for (uint64_t id = 0; id < 10; id++) {
		for (n = 0, found = NULL; (found = uroce_cm_listen_next(cm, id, found)) != NULL;
		     n++)
			assert_true(found == conns[100] || found->service_id == id);
		assert_int_equal(n, 11);
	}
	assert_ptr_equal(uroce_cm_listen_next(cm, 15, NULL), conns[100]);
	assert_null(uroce_cm_listen_next(cm, 16, NULL));
	assert_ptr_equal(uroce_cm_listen_next(cm, 0xabcd12ef, NULL), conns[101]);
	assert_null(uroce_cm_listen_next(cm, 0xabcd12ef, conns[101]));
	/* a listener that stops is skipped at once, and the search may continue from it */
	found = uroce_cm_listen_next(cm, 3, NULL);
	found->state = UROCE_CM_IDLE;
	assert_non_null(uroce_cm_listen_next(cm, 3, found));
	assert_ptr_not_equal(uroce_cm_listen_next(cm, 3, NULL), found);
	uroce_cm_listen_remove(found);
	uroce_cm_listen_remove(found);
}

/* A peer that knows the table's size, but not its key, cannot choose IDs that collide by their low bits. */
static void
peers_cannot_choose_what_collides(void **state)
{
	unsigned int used = 0;

	for (unsigned int i = 0; i < COUNT; i++) {
		conns[i]->state = UROCE_CM_REQ_RCVD;
		conns[i]->remote_id = i << 16;
		conns[i]->remote_ca_guid = 0;
		uroce_cm_remote_add(conns[i]);
	}
	for (uint32_t i = 0; i <= cm->remote.mask; i++)
		used += !LIST_EMPTY(&cm->remote.buckets[i]);
	assert_true(used > COUNT / 2);
	for (unsigned int i = 0; i < COUNT; i++) {
		uroce_cm_remote_remove(conns[i]);
		conns[i]->state = UROCE_CM_IDLE;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UROCE_TESTS(cm_lookup)
{
	const struct CMUnitTest tests[] = {
		TEST(local_ids_are_unlike_each_other),
		TEST(remote_ids_are_of_a_ca_and_an_address),
		TEST(sidr_requests_are_of_an_address),
		TEST(qpns_are_of_a_ca_and_an_address),
		TEST(listeners_are_of_one_service_or_of_many),
		TEST(peers_cannot_choose_what_collides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
