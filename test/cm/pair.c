/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The two ends and the wire for tests of communication management (pair.h).
 */

#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/internal.h"
#include "base/random.h"

/* ---- the wire ----------------------------------------------------------------------- */

uint32_t
test_pair_random(struct test_pair *p, uint32_t below)
{
	uint64_t x;

	p->seed += 0x9e3779b97f4a7c15ull;
	x = p->seed;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)((x ^ x >> 31) % below);
}

static bool
before(const struct test_mad *a, const struct test_mad *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->number < b->number;
}

static void
put_on_wire(struct test_pair *p, const struct test_mad *mad)
{
	unsigned int i = p->on_wire++;

	if (p->on_wire > p->room) {
		p->room = RTE_MAX(64u, p->room * 2);
		p->heap = realloc(p->heap, p->room * sizeof(*p->heap));
		assert_non_null(p->heap);
	}
	p->heap[i] = *mad;
	p->heap[i].number = p->number++;
	for (; i > 0 && before(&p->heap[i], &p->heap[(i - 1) / 2]); i = (i - 1) / 2)
		RTE_SWAP(p->heap[i], p->heap[(i - 1) / 2]);
}

static struct test_mad
take_from_wire(struct test_pair *p)
{
	struct test_mad first = p->heap[0];
	unsigned int i = 0;

	p->heap[0] = p->heap[--p->on_wire];
	for (;;) {
		unsigned int least = i;

		for (unsigned int child = 2 * i + 1; child <= 2 * i + 2 && child < p->on_wire;
		     child++)
			if (before(&p->heap[child], &p->heap[least]))
				least = child;
		if (least == i)
			return first;
		RTE_SWAP(p->heap[i], p->heap[least]);
		i = least;
	}
}

static void
send_mad(void *arg, const struct uroce_cm_path *path, const uint8_t mad[UROCE_CM_MAD_BYTES])
{
	struct test_end *end = arg;
	struct test_pair *p = end->pair;
	struct test_mad m = { .path = *path, .to = end == &p->end[0] };
	int message = uroce_cm_mad_message(mad, UROCE_CM_MAD_BYTES);

	assert_true(message >= 0);
	memcpy(m.bytes, mad, sizeof(m.bytes));
	p->last[m.to] = m;
	p->sent[message]++;
	if (p->cut[m.to] || test_pair_random(p, 1000) < p->loss)
		return;
	for (unsigned int copies = test_pair_random(p, 1000) < p->dup ? 2 : 1; copies > 0;
	     copies--) {
		m.at_ns = p->now_ns + TEST_LATENCY_NS;
		if (test_pair_random(p, 1000) < p->late)
			m.at_ns += test_pair_random(p, 20) * TEST_LATENCY_NS * 100;
		put_on_wire(p, &m);
	}
}

void
test_pair_lose(struct test_pair *p)
{
	p->on_wire = 0;
}

/* ---- consumers ---------------------------------------------------------------------- */

static int
event_of(void *arg, const struct uroce_cm_event *event)
{
	struct test_end *end = arg;

	end->log[end->events % TEST_LOG].type = event->type;
	end->log[end->events % TEST_LOG].conn = event->conn;
	end->events++;
	end->last_ns = end->pair->now_ns;
	end->by_type[event->type]++;
	end->priv_bytes = event->priv.bytes;
	if (event->priv.bytes > 0)
		memcpy(end->priv, event->priv.data, event->priv.bytes);
	if (event->type == UROCE_CM_REQ_RECEIVED || event->type == UROCE_CM_SIDR_REQ_RECEIVED)
		end->accepted = event->conn;
	else if (event->type == UROCE_CM_REJ_RECEIVED)
		end->rej_reason = event->rej.reason;
	else if (event->type == UROCE_CM_APR_RECEIVED)
		end->apr_status = event->apr_status;
	else if (event->type == UROCE_CM_SIDR_REP_RECEIVED)
		end->sidr_rep = *event->sidr_rep;
	return end->on_event(end, event);
}

int
test_silent(struct test_end *end, const struct uroce_cm_event *event)
{
	return event->type == UROCE_CM_LAP_RECEIVED;
}

int
test_friendly(struct test_end *end, const struct uroce_cm_event *event)
{
	static const struct uroce_cm_sidr_rep sidr_rep = { .qpn = 77, .qkey = 0x01234567 };
	uint64_t now_ns = end->pair->now_ns;

	switch (event->type) {
	case UROCE_CM_REQ_RECEIVED: {
		struct uroce_cm_rep rep = test_end_rep(end, event->req->qpn + 1000000);

		assert_int_equal(uroce_cm_send_rep(event->conn, &rep, now_ns), 0);
		break;
	}
	case UROCE_CM_REP_RECEIVED:
		assert_int_equal(uroce_cm_send_rtu(event->conn, NULL, now_ns), 0);
		break;
	case UROCE_CM_DREQ_RECEIVED:
		assert_int_equal(uroce_cm_send_drep(event->conn, NULL, now_ns), 0);
		break;
	case UROCE_CM_SIDR_REQ_RECEIVED:
		assert_int_equal(uroce_cm_send_sidr_rep(event->conn, &sidr_rep, now_ns), 0);
		break;
	default: break;
	}
	return 0;
}

/* ---- ends --------------------------------------------------------------------------- */

void
test_pair_init_max(struct test_pair *p, uint64_t seed, uint32_t max_conns)
{
	static const struct uroce_cm_ops ops = { .send = send_mad, .event = event_of };

	memset(p, 0, sizeof(*p));
	p->seed = seed;
	p->now_ns = 1000000000;
	uroce_random_seed(seed);
	for (unsigned int i = 0; i < 2; i++) {
		struct test_end *end = &p->end[i];

		end->pair = p;
		end->gid = (union ibv_gid){
			.raw = { [10] = 0xff, 0xff, 10, 77, 0, (uint8_t)(i + 1) }
		};
		end->guid = 0x1122334455667700ull + i;
		end->on_event = test_friendly;
		end->cm = uroce_cm_create(&(struct uroce_cm_conf){
			.ops = &ops,
			.arg = end,
			.ca_guid = end->guid,
			.ca_ack_delay = 15,
			.max_conns = max_conns,
		});
		assert_non_null(end->cm);
	}
}

void
test_pair_init(struct test_pair *p, uint64_t seed)
{
	test_pair_init_max(p, seed, 1024);
}

void
test_pair_fini(struct test_pair *p)
{
	for (unsigned int i = 0; i < 2; i++)
		uroce_cm_destroy(p->end[i].cm);
	free(p->heap);
	uroce_random_seed(0);
}

struct uroce_cm_path
test_end_path(const struct test_end *end)
{
	return (struct uroce_cm_path){
		.sgid = end->gid,
		.dgid = end->pair->end[end == &end->pair->end[0]].gid,
		.sgid_index = 3,
		.traffic_class = 0x20,
		.hop_limit = 64,
		.sl = 5,
		.flow_label = 0xabcde,
		.pkey = 0xffff,
		.mtu = IBV_MTU_1024,
		.packet_life_time = 14,
	};
}

void
test_end_receive(struct test_end *end, const uint8_t *mad)
{
	struct uroce_cm_path path = test_end_path(end);

	uroce_cm_receive(end->cm, mad, UROCE_CM_MAD_BYTES, &path, end->pair->now_ns);
}

static void
step(struct test_pair *p, uint64_t next_ns)
{
	p->now_ns = RTE_MAX(p->now_ns, next_ns);
	while (p->on_wire > 0 && p->heap[0].at_ns <= p->now_ns) {
		struct test_mad m = take_from_wire(p);

		test_end_receive(&p->end[m.to], m.bytes);
	}
}

void
test_pair_deliver(struct test_pair *p)
{
	while (p->on_wire > 0)
		step(p, p->heap[0].at_ns);
}

uint64_t
test_pair_next_ns(const struct test_pair *p)
{
	uint64_t next_ns = p->on_wire > 0 ? p->heap[0].at_ns : UINT64_MAX;

	next_ns = RTE_MIN(next_ns, uroce_cm_deadline(p->end[0].cm));
	return RTE_MIN(next_ns, uroce_cm_deadline(p->end[1].cm));
}

void
test_pair_run(struct test_pair *p, uint64_t until_ns)
{
	for (;;) {
		uint64_t next_ns = test_pair_next_ns(p);

		if (next_ns == UINT64_MAX || next_ns > until_ns)
			break;
		step(p, next_ns);
		for (unsigned int i = 0; i < 2; i++)
			if (uroce_cm_deadline(p->end[i].cm) <= p->now_ns)
				uroce_cm_expire(p->end[i].cm, p->now_ns);
	}
	if (until_ns != UINT64_MAX)
		p->now_ns = RTE_MAX(p->now_ns, until_ns);
}

struct uroce_cm_conn *
test_end_listen(struct test_end *end, uint64_t service_id)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);

	assert_non_null(conn);
	assert_int_equal(uroce_cm_listen(conn, service_id, UINT64_MAX), 0);
	return conn;
}

struct uroce_cm_req
test_end_req(const struct test_end *end, uint32_t qpn)
{
	return (struct uroce_cm_req){
		.service_id = TEST_SERVICE_ID,
		.path = test_end_path(end),
		.qpn = qpn,
		.starting_psn = 0x111111,
		.qp_type = IBV_QPT_RC,
		.responder_resources = 5,
		.initiator_depth = 6,
		.remote_cm_response_timeout = 18,
		.local_cm_response_timeout = 18,
		.retry_count = 7,
		.rnr_retry_count = 4,
		.max_cm_retries = 15,
		.flow_control = true,
	};
}

struct uroce_cm_rep
test_end_rep(const struct test_end *end, uint32_t qpn)
{
	return (struct uroce_cm_rep){
		.qpn = qpn,
		.starting_psn = 0x222222,
		.responder_resources = 3,
		.initiator_depth = 2,
		.rnr_retry_count = 6,
		.flow_control = true,
	};
}

struct uroce_cm_conn *
test_end_connect(struct test_end *end, uint32_t qpn)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);
	struct uroce_cm_req req = test_end_req(end, qpn);

	assert_non_null(conn);
	assert_int_equal(uroce_cm_send_req(conn, &req, end->pair->now_ns), 0);
	return conn;
}

void
test_pair_connect(struct test_pair *p, struct uroce_cm_conn *conns[2])
{
	struct test_end *server = &p->end[TEST_SERVER];
	struct uroce_cm_conn *listener = test_end_listen(server, TEST_SERVICE_ID);
	test_event_fn on_event[2] = { p->end[0].on_event, p->end[1].on_event };

	p->end[0].on_event = p->end[1].on_event = test_friendly;
	conns[TEST_CLIENT] = test_end_connect(&p->end[TEST_CLIENT], 100);
	test_pair_deliver(p);
	conns[TEST_SERVER] = server->accepted;
	assert_int_equal(test_state(conns[TEST_CLIENT]), UROCE_CM_ESTABLISHED);
	assert_int_equal(test_state(conns[TEST_SERVER]), UROCE_CM_ESTABLISHED);
	uroce_cm_conn_destroy(listener, p->now_ns);
	for (unsigned int i = 0; i < 2; i++)
		p->end[i].on_event = on_event[i];
}

uint64_t
test_end_counter(const struct test_end *end, const char *name)
{
	const char *names[64];
	uint64_t values[64];
	unsigned int n = uroce_cm_query_counters(end->cm, names, values, RTE_DIM(names));

	assert_true(n <= RTE_DIM(names));
	for (unsigned int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return values[i];
	fail_msg("no counter is named %s", name);
	return 0;
}

enum uroce_cm_state
test_state(const struct uroce_cm_conn *conn)
{
	return (enum uroce_cm_state)conn->state;
}

uint32_t
test_end_conns(const struct test_end *end)
{
	return end->cm->conns;
}
