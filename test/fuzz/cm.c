/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: two communication managers with arbitrary consumers, and a wire with an arbitrary attacker: calls in any
 * order with any parameters; random, changed, replayed and lost MADs; time steps; and peers that depart. No consumer
 * gets an event of a connection that is not its own, and at the end nothing leaks.
 */

#include <string.h>

#include "cm/ib/internal.h"
#include "fuzz.h"
#include "pair.h"
#include "uroce_config.h"

#define MAX_CONNS 48
#define MAX_OPS   256

static struct {
	struct test_pair pair;
	struct fuzz_input in;
	struct {
		struct uroce_cm_conn *conn;
		struct test_end *end;
	} held[2 * MAX_CONNS];
	unsigned int count;
} world;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_init(true);
	return 0;
}

static void
hold(struct test_end *end, struct uroce_cm_conn *conn)
{
	RTE_VERIFY(world.count < RTE_DIM(world.held));
	world.held[world.count].end = end;
	world.held[world.count++].conn = conn;
}

static void
let_go(unsigned int i)
{
	uroce_cm_conn_destroy(world.held[i].conn, world.pair.now_ns);
	world.held[i] = world.held[--world.count];
}

static struct uroce_cm_private
take_private(uint8_t *room)
{
	struct uroce_cm_private priv = { .bytes = fuzz_u8(&world.in) };

	priv.bytes = fuzz_below(&world.in, 4) == 0 ? priv.bytes : 0;
	if (priv.bytes > 0)
		priv.data = memset(room, 0x5a, UINT8_MAX);
	return priv;
}

/* ---- calls ------------------------------------------------------------------------------ */

static void
call_req(struct test_end *end, struct uroce_cm_conn *conn, const struct uroce_cm_private *priv)
{
	struct uroce_cm_req req = test_end_req(end, 2 + fuzz_below(&world.in, 8));
	uint8_t how = fuzz_u8(&world.in);

	req.priv = *priv;
	if ((how & 1) != 0) {
		req.qp_type = (uint8_t)(IBV_QPT_RC + fuzz_below(&world.in, 9));
		req.remote_cm_response_timeout = fuzz_u8(&world.in);
		req.local_cm_response_timeout = fuzz_u8(&world.in);
		req.max_cm_retries = fuzz_u8(&world.in);
		req.retry_count = fuzz_u8(&world.in);
		req.rnr_retry_count = fuzz_u8(&world.in);
	}
	if ((how & 2) != 0)
		req.service_id += fuzz_below(&world.in, 3);
	if ((how & 4) != 0) {
		req.starting_psn = fuzz_u32(&world.in);
		req.qpn = fuzz_u32(&world.in);
		req.path.mtu = fuzz_u8(&world.in);
		req.path.packet_life_time = fuzz_u8(&world.in);
		req.path.flow_label = fuzz_u32(&world.in);
	}
	if ((how & 8) != 0)
		req.alternate = req.path;
	uroce_cm_send_req(conn, &req, world.pair.now_ns);
}

static void
call_rep(struct test_end *end, struct uroce_cm_conn *conn, const struct uroce_cm_private *priv)
{
	struct uroce_cm_rep rep = test_end_rep(end, 2 + fuzz_below(&world.in, 8));
	uint8_t how = fuzz_u8(&world.in);

	rep.priv = *priv;
	if ((how & 1) != 0) {
		rep.starting_psn = fuzz_u32(&world.in);
		rep.rnr_retry_count = fuzz_u8(&world.in);
		rep.failover_accepted = fuzz_u8(&world.in);
		rep.responder_resources = fuzz_u8(&world.in);
	}
	uroce_cm_send_rep(conn, &rep, world.pair.now_ns);
}

static void
call_sidr(struct test_end *end, struct uroce_cm_conn *conn, const struct uroce_cm_private *priv)
{
	struct uroce_cm_path path = test_end_path(end);
	struct uroce_cm_sidr_rep rep = {
		.qpn = 7, .qkey = 8, .status = fuzz_u8(&world.in), .priv = *priv
	};
	uint8_t retries = fuzz_u8(&world.in);

	if (fuzz_below(&world.in, 2) == 0)
		uroce_cm_send_sidr_rep(conn, &rep, world.pair.now_ns);
	else
		uroce_cm_send_sidr_req(conn, TEST_SERVICE_ID, &path, fuzz_u16(&world.in), retries,
				       priv, world.pair.now_ns);
}

static void
call_attr(struct uroce_cm_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = fuzz_below(&world.in, 9) };
	int mask;

	if (uroce_cm_qp_attr(conn, &attr, &mask) != 0)
		return;
	RTE_VERIFY(attr.timeout <= 31 && attr.retry_cnt <= 7 && attr.rnr_retry <= 7);
	RTE_VERIFY(attr.rq_psn <= 0xffffff && attr.sq_psn <= 0xffffff &&
		   attr.dest_qp_num <= 0xffffff);
}

/* Make any call on a connection in any state. */
static void
call(struct test_end *end, struct uroce_cm_conn *conn)
{
	static const uint8_t info[UINT8_MAX];
	uint8_t room[UINT8_MAX], what = fuzz_u8(&world.in), n = fuzz_u8(&world.in);
	struct uroce_cm_private priv = take_private(room);
	struct uroce_cm_path path = test_end_path(end);
	uint64_t now_ns = world.pair.now_ns;

	switch (what % 16) {
	case 0:
	case 1: call_req(end, conn, &priv); break;
	case 2:
	case 3: call_rep(end, conn, &priv); break;
	case 4:
	case 5: uroce_cm_send_rtu(conn, &priv, now_ns); break;
	case 6: uroce_cm_send_rej(conn, n, info, fuzz_u8(&world.in), &priv, now_ns); break;
	case 7: uroce_cm_send_mra(conn, n, &priv, now_ns); break;
	case 8: uroce_cm_send_dreq(conn, &priv, now_ns); break;
	case 9: uroce_cm_send_drep(conn, &priv, now_ns); break;
	case 10: uroce_cm_send_lap(conn, &path, &priv, now_ns); break;
	case 11: uroce_cm_send_apr(conn, n, info, fuzz_u8(&world.in), &priv, now_ns); break;
	case 12: call_sidr(end, conn, &priv); break;
	case 13: uroce_cm_established(conn, now_ns); break;
	case 14:
		uroce_cm_listen(conn, TEST_SERVICE_ID + n % 2,
				n % 4 == 0 ? UINT64_MAX << 4 : UINT64_MAX);
		break;
	default: call_attr(conn); break;
	}
}

static void
create(struct test_end *end)
{
	struct uroce_cm_conn *conn = uroce_cm_conn_create(end->cm, NULL);

	if (conn != NULL)
		hold(end, conn);
}

/* ---- the consumers ----------------------------------------------------------------------- */

static bool
is_held(const struct test_end *end, const struct uroce_cm_conn *conn)
{
	for (unsigned int i = 0; i < world.count; i++)
		if (world.held[i].conn == conn && world.held[i].end == end)
			return true;
	return false;
}

/* Answer as a correct consumer would. */
static void
answer(struct test_end *end, const struct uroce_cm_event *event)
{
	static const struct uroce_cm_sidr_rep sidr_rep = { .qpn = 77, .qkey = 0x01234567 };
	struct uroce_cm_rep rep = test_end_rep(end, 2 + world.count);
	uint64_t now_ns = world.pair.now_ns;

	switch (event->type) {
	case UROCE_CM_REQ_RECEIVED:
		RTE_VERIFY(uroce_cm_send_rep(event->conn, &rep, now_ns) == 0);
		break;
	case UROCE_CM_REP_RECEIVED:
		RTE_VERIFY(uroce_cm_send_rtu(event->conn, NULL, now_ns) == 0);
		break;
	case UROCE_CM_DREQ_RECEIVED:
		/* after the peer's departure, the DREP has no receiver */
		RTE_VERIFY(uroce_cm_send_drep(event->conn, NULL, now_ns) == 0 ||
			   test_state(event->conn) == UROCE_CM_TIMEWAIT);
		break;
	case UROCE_CM_SIDR_REQ_RECEIVED:
		RTE_VERIFY(uroce_cm_send_sidr_rep(event->conn, &sidr_rep, now_ns) == 0);
		break;
	default: break;
	}
}

/* React as the input says, or correctly. */
static int
consume(struct test_end *end, const struct uroce_cm_event *event)
{
	bool comes = event->type == UROCE_CM_REQ_RECEIVED ||
		     event->type == UROCE_CM_SIDR_REQ_RECEIVED;
	uint8_t how = fuzz_u8(&world.in);

	RTE_VERIFY(is_held(end, event->conn) != comes);
	if (comes && how % 8 == 7)
		return fuzz_u8(&world.in) % 36 + 1;
	if (comes)
		hold(end, event->conn);
	if (how % 8 < 4)
		answer(end, event);
	if (how % 8 == 4)
		call(end, event->conn);
	if (how % 8 == 5) {
		for (unsigned int i = 0; i < world.count; i++)
			if (world.held[i].conn == event->conn) {
				let_go(i);
				break;
			}
	}
	return comes ? 0 : how % 2;
}

/* ---- the wire ------------------------------------------------------------------------------ */

/* Change some fields of a message to any value that fits. */
static void
fields_change(uint8_t *mad, enum uroce_cm_message m)
{
	for (unsigned int n = fuzz_below(&world.in, 4); n > 0; n--) {
		unsigned int field = fuzz_u8(&world.in) % UROCE_CM_FIELD_COUNT;
		const struct uroce_cm_field_info *f = &uroce_cm_fields[field];

		if (f->message == m && f->bits <= 64)
			uroce_cm_field_put(mad, field,
					   fuzz_u64(&world.in) & UINT64_MAX >> (64 - f->bits));
		else
			fuzz_poke(&world.in, mad + 24, UROCE_CM_MAD_BYTES - 24);
	}
}

/* Write a message for an existing connection, or one that begins a connection. */
static void
message_write(struct test_end *end, uint8_t *mad)
{
	const struct test_end *other = &world.pair.end[end == &world.pair.end[0]];
	enum uroce_cm_message m = fuzz_below(&world.in, UROCE_CM_MESSAGE_COUNT);
	uint8_t pick = fuzz_u8(&world.in);
	const struct uroce_cm_conn *conn = world.count > 0 ? world.held[pick % world.count].conn
							   : NULL;

	uroce_cm_mad_init(mad, m, pick);
	if (m == UROCE_CM_REQ) {
		uroce_cm_put(mad, REQ, LOCAL_COMM_ID, pick);
		uroce_cm_put(mad, REQ, SERVICE_ID, TEST_SERVICE_ID);
		uroce_cm_put(mad, REQ, QPN, 2 + pick % 4);
		uroce_cm_put(mad, REQ, MTU, 3);
		memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), other->gid.raw, 16);
		memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), end->gid.raw, 16);
	} else if (m == UROCE_CM_SIDR_REQ) {
		uroce_cm_put(mad, SIDR_REQ, REQUEST_ID, pick);
		uroce_cm_put(mad, SIDR_REQ, SERVICE_ID, TEST_SERVICE_ID);
	} else if (conn != NULL) {
		uroce_cm_put(mad, RTU, LOCAL_COMM_ID,
			     m == UROCE_CM_SIDR_REP ? conn->local_id : conn->remote_id);
		if (m != UROCE_CM_SIDR_REP)
			uroce_cm_put(mad, RTU, REMOTE_COMM_ID, conn->local_id);
		if (m == UROCE_CM_DREQ)
			uroce_cm_put(mad, DREQ, REMOTE_QPN, conn->local_qpn);
		if (m == UROCE_CM_LAP)
			uroce_cm_put(mad, LAP, REMOTE_QPN, conn->local_qpn);
		if (m == UROCE_CM_REP)
			uroce_cm_put(mad, REP, QPN, 2 + pick % 4);
		uroce_cm_header(mad)->tid = rte_cpu_to_be_64(conn->tid);
	}
	fields_change(mad, m);
}

static void
receive(struct test_end *end)
{
	struct uroce_cm_path path = test_end_path(end);
	uint8_t mad[UROCE_CM_MAD_BYTES] = { 0 };
	uint32_t bytes = sizeof(mad);
	int message;

	switch (fuzz_below(&world.in, 4)) {
	case 0:
		bytes = fuzz_u16(&world.in) % (sizeof(mad) + 1);
		fuzz_bytes(&world.in, mad, bytes);
		break;
	case 1: /* the last MAD of either end */
		memcpy(mad, world.pair.last[fuzz_below(&world.in, 2)].bytes, sizeof(mad));
		message = uroce_cm_mad_message(mad, sizeof(mad));
		if (message >= 0)
			fields_change(mad, message);
		break;
	default: message_write(end, mad); break;
	}
	if (fuzz_below(&world.in, 16) == 15)
		path.dgid.raw[15]++;
	uroce_cm_receive(end->cm, mad, bytes, &path, world.pair.now_ns);
}

/* ---- the target ------------------------------------------------------------------------------ */

static bool
is_gone(void *arg, const struct uroce_cm_path *path)
{
	return fuzz_u8(&world.in) % 2 != 0;
}

static void
step(void)
{
	struct test_pair *p = &world.pair;
	uint8_t what = fuzz_u8(&world.in);
	struct test_end *end = &p->end[what >> 7];
	unsigned int i = world.count > 0 ? fuzz_u8(&world.in) % world.count : 0;

	switch (what % 16) {
	case 0:
	case 1: create(end); break;
	case 2:
	case 3:
	case 4:
		if (world.count > 0)
			call(world.held[i].end, world.held[i].conn);
		break;
	case 5:
		if (world.count > 0)
			let_go(i);
		break;
	case 6:
	case 7: test_pair_deliver(p); break;
	case 8: test_pair_run(p, p->now_ns + (TEST_LATENCY_NS << fuzz_below(&world.in, 16))); break;
	case 9: test_pair_lose(p); break;
	case 10:
		p->loss = fuzz_below(&world.in, 3) * 200;
		p->dup = fuzz_below(&world.in, 3) * 300;
		p->late = fuzz_below(&world.in, 3) * 300;
		break;
	case 11: uroce_cm_depart(end->cm, is_gone, NULL, p->now_ns); break;
	default: receive(end); break;
	}
}

static void
check_bounds(void)
{
	for (unsigned int i = 0; i < 2; i++) {
		RTE_VERIFY(test_end_conns(&world.pair.end[i]) <= MAX_CONNS);
		RTE_VERIFY(world.pair.end[i].cm->half_open <= UROCE_CM_MAX_HALF_OPEN);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_pair *p = &world.pair;

	world.in = (struct fuzz_input){ data, size };
	world.count = 0;
	test_pair_init_max(p, 1 + fuzz_u8(&world.in), MAX_CONNS);
	for (unsigned int i = 0; i < 2; i++) {
		p->end[i].on_event = consume;
		hold(&p->end[i], test_end_listen(&p->end[i], TEST_SERVICE_ID));
	}
	for (unsigned int i = 0; i < MAX_OPS && fuzz_more(&world.in); i++) {
		step();
		check_bounds();
	}
	world.in.left = 0;
	while (world.count > 0)
		let_go(world.count - 1);
	test_pair_run(p, UINT64_MAX);
	for (unsigned int i = 0; i < 2; i++) {
		/* late messages were for a listener that no longer exists */
		RTE_VERIFY(test_end_conns(&p->end[i]) == 0);
		RTE_VERIFY(p->end[i].cm->half_open == 0 && p->end[i].cm->lingering == 0);
	}
	test_pair_fini(p);
	return 0;
}
