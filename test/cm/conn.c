/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The life of a connection: establishing, disconnecting from either end, destroying it in each state, and freeing its
 * memory.
 */

#include <errno.h>
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

static int
setup(void **state)
{
	static struct test_pair pair;

	test_pair_init(&pair, 1);
	*state = &pair;
	return 0;
}

static int
teardown(void **state)
{
	test_pair_fini(*state);
	return 0;
}

/* No timer runs, and no connection is left. */
static void
check_nothing_left(struct test_pair *p)
{
	test_pair_run(p, UINT64_MAX);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(test_end_conns(&p->end[i]), 0);
		assert_int_equal(p->end[i].cm->half_open, 0);
		assert_int_equal(p->end[i].cm->lingering, 0);
		assert_true(uroce_cm_deadline(p->end[i].cm) == UINT64_MAX);
	}
}

/* ---- connect, disconnect ------------------------------------------------------------ */

static void
connects_and_disconnects(void **state)
{
	struct test_pair *p = *state;
	struct test_end *client = &p->end[TEST_CLIENT], *server = &p->end[TEST_SERVER];
	struct uroce_cm_conn *conns[2];

	test_pair_connect(p, conns);
	assert_int_equal(client->events, 1);
	assert_int_equal(client->by_type[UROCE_CM_REP_RECEIVED], 1);
	assert_int_equal(server->events, 2);
	assert_int_equal(server->by_type[UROCE_CM_REQ_RECEIVED], 1);
	assert_int_equal(server->by_type[UROCE_CM_RTU_RECEIVED], 1);

	assert_int_equal(uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, p->now_ns), 0);
	test_pair_deliver(p);
	assert_int_equal(test_state(conns[TEST_CLIENT]), UROCE_CM_TIMEWAIT);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_TIMEWAIT);
	assert_int_equal(server->by_type[UROCE_CM_DREQ_RECEIVED], 1);
	assert_int_equal(client->by_type[UROCE_CM_DREP_RECEIVED], 1);

	test_pair_run(p, UINT64_MAX);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(test_state(conns[i]), UROCE_CM_IDLE);
		assert_int_equal(p->end[i].by_type[UROCE_CM_TIMEWAIT_EXIT], 1);
		uroce_cm_conn_destroy(conns[i], p->now_ns);
	}
	check_nothing_left(p);
}

static void
timewait_is_twice_a_packets_life_and_the_acks_delay(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *conns[2];
	uint64_t from_ns, waited_ns;

	test_pair_connect(p, conns);
	uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, p->now_ns);
	test_pair_deliver(p);
	from_ns = p->now_ns;
	test_pair_run(p, UINT64_MAX);
	/* 4.096 us << 14, twice, and << 15, rounded to a tick; the server knows only the REQ's acknowledgement
	 * timeout, and waits longer */
	waited_ns = p->end[TEST_CLIENT].last_ns - from_ns;
	assert_true(waited_ns >= 2 * (4096ull << 14) + (4096ull << 15));
	assert_true(waited_ns <= 2 * (4096ull << 14) + (4096ull << 15) + 4096);
	for (unsigned int i = 0; i < 2; i++)
		uroce_cm_conn_destroy(conns[i], p->now_ns);
}

static void
private_data_travels_with_every_message(void **state)
{
	struct test_pair *p = *state;
	struct test_end *client = &p->end[TEST_CLIENT], *server = &p->end[TEST_SERVER];
	struct uroce_cm_conn *conn = uroce_cm_conn_create(client->cm, NULL), *listener;
	struct uroce_cm_req req = test_end_req(client, 50);
	struct uroce_cm_rep rep = test_end_rep(server, 60);
	uint8_t data[UROCE_CM_MAX_PRIVATE_BYTES];
	struct uroce_cm_private priv = { data, UROCE_CM_REQ_PRIVATE_BYTES };

	for (unsigned int i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + 1);
	client->on_event = server->on_event = test_silent;
	listener = test_end_listen(server, TEST_SERVICE_ID);
	req.priv = priv;
	assert_int_equal(uroce_cm_send_req(conn, &req, p->now_ns), 0);
	test_pair_deliver(p);
	assert_int_equal(server->priv_bytes, UROCE_CM_REQ_PRIVATE_BYTES);
	assert_memory_equal(server->priv, data, UROCE_CM_REQ_PRIVATE_BYTES);
	rep.priv = (struct uroce_cm_private){ data, UROCE_CM_REP_PRIVATE_BYTES };
	assert_int_equal(uroce_cm_send_rep(server->accepted, &rep, p->now_ns), 0);
	test_pair_deliver(p);
	assert_memory_equal(client->priv, data, UROCE_CM_REP_PRIVATE_BYTES);
	priv.bytes = UROCE_CM_RTU_PRIVATE_BYTES;
	assert_int_equal(uroce_cm_send_rtu(conn, &priv, p->now_ns), 0);
	test_pair_deliver(p);
	assert_memory_equal(server->priv, data, UROCE_CM_RTU_PRIVATE_BYTES);
	priv.bytes = UROCE_CM_DREQ_PRIVATE_BYTES;
	assert_int_equal(uroce_cm_send_dreq(server->accepted, &priv, p->now_ns), 0);
	test_pair_deliver(p);
	assert_memory_equal(client->priv, data, UROCE_CM_DREQ_PRIVATE_BYTES);
	priv.bytes = UROCE_CM_DREP_PRIVATE_BYTES;
	assert_int_equal(uroce_cm_send_drep(conn, &priv, p->now_ns), 0);
	test_pair_deliver(p);
	assert_memory_equal(server->priv, data, UROCE_CM_DREP_PRIVATE_BYTES);
	uroce_cm_conn_destroy(listener, p->now_ns);
	uroce_cm_conn_destroy(conn, p->now_ns);
	uroce_cm_conn_destroy(server->accepted, p->now_ns);
	check_nothing_left(p);
}

static void
both_may_disconnect_at_once(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *conns[2];

	test_pair_connect(p, conns);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_cm_send_dreq(conns[i], NULL, p->now_ns), 0);
	test_pair_deliver(p);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(test_state(conns[i]), UROCE_CM_TIMEWAIT);
		assert_int_equal(p->end[i].by_type[UROCE_CM_DREQ_RECEIVED], 1);
		assert_int_equal(p->end[i].by_type[UROCE_CM_DREP_RECEIVED], 0);
		uroce_cm_conn_destroy(conns[i], p->now_ns);
	}
	check_nothing_left(p);
}

/* ---- destroying connections ----------------------------------------------------------- */

/* The server's connection, if it exists. */
static struct uroce_cm_conn *
bring_to(struct test_pair *p, enum uroce_cm_state wanted, struct uroce_cm_conn **client_conn)
{
	struct test_end *client = &p->end[TEST_CLIENT], *server = &p->end[TEST_SERVER];
	struct uroce_cm_rep rep = test_end_rep(server, 60);

	client->on_event = server->on_event = test_silent;
	*client_conn = test_end_connect(client, 50);
	if (wanted == UROCE_CM_REQ_SENT)
		return NULL;
	test_pair_deliver(p);
	if (wanted == UROCE_CM_REQ_RCVD)
		return server->accepted;
	if (wanted == UROCE_CM_MRA_REQ_SENT || wanted == UROCE_CM_MRA_REQ_RCVD) {
		uroce_cm_send_mra(server->accepted, 20, NULL, p->now_ns);
		test_pair_deliver(p);
		return server->accepted;
	}
	uroce_cm_send_rep(server->accepted, &rep, p->now_ns);
	if (wanted == UROCE_CM_REP_SENT)
		return server->accepted;
	test_pair_deliver(p);
	if (wanted == UROCE_CM_REP_RCVD)
		return server->accepted;
	uroce_cm_send_mra(*client_conn, 20, NULL, p->now_ns);
	test_pair_deliver(p);
	return server->accepted;
}

static void
let_go_in(struct test_pair *p, enum uroce_cm_state wanted, bool of_client)
{
	struct uroce_cm_conn *listener = test_end_listen(&p->end[TEST_SERVER], TEST_SERVICE_ID);
	struct uroce_cm_conn *client_conn, *server_conn = bring_to(p, wanted, &client_conn);
	struct uroce_cm_conn *own = of_client ? client_conn : server_conn;
	struct test_end *other = &p->end[of_client ? TEST_SERVER : TEST_CLIENT];
	unsigned int rejected = other->by_type[UROCE_CM_REJ_RECEIVED];
	unsigned int told = p->end[of_client ? TEST_CLIENT : TEST_SERVER].events;

	assert_int_equal(test_state(own), wanted);
	uroce_cm_conn_destroy(own, p->now_ns);
	test_pair_run(p, UINT64_MAX);
	/* the peer gets a message, and the destroyed end no more events */
	if (wanted != UROCE_CM_REQ_SENT)
		assert_int_equal(other->by_type[UROCE_CM_REJ_RECEIVED], rejected + 1);
	assert_int_equal(p->end[of_client ? TEST_CLIENT : TEST_SERVER].events, told);
	uroce_cm_conn_destroy(listener, p->now_ns);
	if (of_client && other->accepted != NULL)
		uroce_cm_conn_destroy(other->accepted, p->now_ns);
	if (!of_client)
		uroce_cm_conn_destroy(client_conn, p->now_ns);
	other->accepted = NULL;
	check_nothing_left(p);
}

static void
letting_go_before_it_is_established_rejects(void **state)
{
	static const struct {
		enum uroce_cm_state wanted;
		bool of_client;
	} cases[] = {
		{ UROCE_CM_REQ_SENT, true },  { UROCE_CM_MRA_REQ_RCVD, true },
		{ UROCE_CM_REP_RCVD, true },  { UROCE_CM_MRA_REP_SENT, true },
		{ UROCE_CM_REQ_RCVD, false }, { UROCE_CM_MRA_REQ_SENT, false },
		{ UROCE_CM_REP_SENT, false }, { UROCE_CM_MRA_REP_RCVD, false },
	};

	for (unsigned int i = 0; i < RTE_DIM(cases); i++)
		let_go_in(*state, cases[i].wanted, cases[i].of_client);
}

static void
letting_go_of_what_is_established_disconnects(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *conns[2];

	for (unsigned int i = 0; i < 2; i++) {
		test_pair_connect(p, conns);
		uroce_cm_conn_destroy(conns[i], p->now_ns);
		test_pair_deliver(p);
		assert_int_equal(p->end[!i].by_type[UROCE_CM_DREQ_RECEIVED], 1);
		assert_int_equal(p->end[i].by_type[UROCE_CM_DREP_RECEIVED], 0);
		uroce_cm_conn_destroy(conns[!i], p->now_ns);
		check_nothing_left(p);
	}
}

static void
letting_go_in_disconnection_ends_it(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *conns[2];

	p->end[TEST_SERVER].on_event = test_silent;
	test_pair_connect(p, conns);
	uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, p->now_ns);
	uroce_cm_conn_destroy(conns[TEST_CLIENT], p->now_ns); /* DREQ_SENT */
	test_pair_deliver(p);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_DREQ_RCVD);
	uroce_cm_conn_destroy(conns[TEST_SERVER], p->now_ns);
	test_pair_deliver(p);
	assert_int_equal(p->sent[UROCE_CM_DREP], 1);
	check_nothing_left(p);
	assert_int_equal(p->sent[UROCE_CM_DREQ], 1);
}

static void
who_has_let_go_answers_a_dreq_that_crosses(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *conns[2];

	test_pair_connect(p, conns);
	uroce_cm_conn_destroy(conns[0], p->now_ns);
	uroce_cm_conn_destroy(conns[1], p->now_ns);
	check_nothing_left(p);
	assert_int_equal(p->sent[UROCE_CM_DREQ], 2);
	assert_int_equal(p->sent[UROCE_CM_DREP], 2);
}

/* ---- from within events -------------------------------------------------------------- */

static int
destroy_it(struct test_end *end, const struct uroce_cm_event *event)
{
	uroce_cm_conn_destroy(event->conn, end->pair->now_ns);
	return 0;
}

static void
the_consumer_may_let_go_while_it_is_told(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *listener = test_end_listen(&p->end[TEST_SERVER], TEST_SERVICE_ID),
			     *conns[2];

	/* REQ_RECEIVED, REJ_RECEIVED */
	p->end[0].on_event = p->end[1].on_event = destroy_it;
	test_end_connect(&p->end[TEST_CLIENT], 9);
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(p->end[TEST_CLIENT].by_type[UROCE_CM_REJ_RECEIVED], 1);
	/* REP_RECEIVED */
	p->end[TEST_SERVER].on_event = test_friendly;
	test_end_connect(&p->end[TEST_CLIENT], 10);
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(p->end[TEST_SERVER].by_type[UROCE_CM_REJ_RECEIVED], 1);
	uroce_cm_conn_destroy(p->end[TEST_SERVER].accepted, p->now_ns);
	uroce_cm_conn_destroy(listener, p->now_ns);
	/* DREQ_RECEIVED, DREP_RECEIVED */
	test_pair_connect(p, conns);
	p->end[TEST_SERVER].on_event = destroy_it;
	uroce_cm_send_dreq(conns[TEST_CLIENT], NULL, p->now_ns);
	check_nothing_left(p);
	/* REQ_ERROR */
	p->cut[TEST_SERVER] = true;
	test_end_connect(&p->end[TEST_CLIENT], 11);
	check_nothing_left(p);
	assert_int_equal(p->end[TEST_CLIENT].by_type[UROCE_CM_REQ_ERROR], 1);
}

/* ---- limits, listeners --------------------------------------------------------------- */

static void
max_conns_is_kept_to(void **state)
{
	struct test_pair p;
	struct uroce_cm_conn *conns[8];

	test_pair_init_max(&p, 3, 8);
	for (unsigned int i = 0; i < 8; i++) {
		conns[i] = uroce_cm_conn_create(p.end[0].cm, &conns[i]);
		assert_non_null(conns[i]);
		assert_ptr_equal(uroce_cm_conn_user(conns[i]), &conns[i]);
	}
	errno = 0;
	assert_null(uroce_cm_conn_create(p.end[0].cm, NULL));
	assert_int_equal(errno, ENOMEM);
	uroce_cm_conn_destroy(conns[3], p.now_ns);
	conns[3] = uroce_cm_conn_create(p.end[0].cm, NULL);
	assert_non_null(conns[3]);
	uroce_cm_conn_set_user(conns[3], &p);
	assert_ptr_equal(uroce_cm_conn_user(conns[3]), &p);
	test_pair_fini(&p); /* the manager frees the rest */
}

static void
only_what_is_idle_can_listen(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *listener = test_end_listen(&p->end[TEST_SERVER], 1), *conns[2];

	assert_int_equal(uroce_cm_listen(listener, 2, UINT64_MAX), -EBUSY);
	test_pair_connect(p, conns);
	assert_int_equal(uroce_cm_listen(conns[0], 2, UINT64_MAX), -EBUSY);
	uroce_cm_conn_destroy(listener, p->now_ns);
	uroce_cm_conn_destroy(conns[0], p->now_ns);
	uroce_cm_conn_destroy(conns[1], p->now_ns);
	check_nothing_left(p);
}

static void
an_idle_connection_connects_again_under_another_id(void **state)
{
	struct test_pair *p = *state;
	struct uroce_cm_conn *listener = test_end_listen(&p->end[TEST_SERVER], TEST_SERVICE_ID),
			     *conn;
	struct uroce_cm_req req = test_end_req(&p->end[TEST_CLIENT], 5);
	uint32_t id;

	p->end[TEST_SERVER].on_event = destroy_it;
	conn = test_end_connect(&p->end[TEST_CLIENT], 5);
	id = conn->local_id;
	test_pair_run(p, UINT64_MAX);
	assert_int_equal(test_state(conn), UROCE_CM_IDLE);
	p->end[TEST_SERVER].on_event = test_friendly;
	assert_int_equal(uroce_cm_send_req(conn, &req, p->now_ns), 0);
	assert_int_not_equal(conn->local_id, id);
	test_pair_deliver(p);
	assert_int_equal(test_state(conn), UROCE_CM_ESTABLISHED);
	uroce_cm_conn_destroy(listener, p->now_ns);
	uroce_cm_conn_destroy(conn, p->now_ns);
	uroce_cm_conn_destroy(p->end[TEST_SERVER].accepted, p->now_ns);
	check_nothing_left(p);
}

UROCE_TESTS(cm_conn)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(connects_and_disconnects, setup, teardown),
		cmocka_unit_test_setup_teardown(timewait_is_twice_a_packets_life_and_the_acks_delay,
						setup, teardown),
		cmocka_unit_test_setup_teardown(private_data_travels_with_every_message, setup,
						teardown),
		cmocka_unit_test_setup_teardown(both_may_disconnect_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(letting_go_before_it_is_established_rejects, setup,
						teardown),
		cmocka_unit_test_setup_teardown(letting_go_of_what_is_established_disconnects,
						setup, teardown),
		cmocka_unit_test_setup_teardown(letting_go_in_disconnection_ends_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(who_has_let_go_answers_a_dreq_that_crosses, setup,
						teardown),
		cmocka_unit_test_setup_teardown(the_consumer_may_let_go_while_it_is_told, setup,
						teardown),
		cmocka_unit_test(max_conns_is_kept_to),
		cmocka_unit_test_setup_teardown(only_what_is_idle_can_listen, setup, teardown),
		cmocka_unit_test_setup_teardown(an_idle_connection_connects_again_under_another_id,
						setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
