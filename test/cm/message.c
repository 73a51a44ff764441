/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Messages as values. The messages of test/pcap, none of which uroce produced, decode to the values that their programs
 * used, and encoding the decoded values gives the same bytes, also field by field. Then values that encode refuses.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/mad.h"
#include "cm/ib/message.h"
#include "frames.h"
#include "groups.h"
#include "wire/icrc.h"

#define QP1_HEADERS (12 + 8) /* BTH, DETH */

/* The number of each message in all captures. */
static const unsigned int captured[UROCE_CM_MESSAGE_COUNT] = {
	[UROCE_CM_REQ] = 7,  [UROCE_CM_REJ] = 1,  [UROCE_CM_REP] = 6,      [UROCE_CM_RTU] = 6,
	[UROCE_CM_DREQ] = 6, [UROCE_CM_DREP] = 6, [UROCE_CM_SIDR_REQ] = 1, [UROCE_CM_SIDR_REP] = 1,
};

/* ---- captures ----------------------------------------------------------------------- */

/* The MAD in a frame, or NULL if the frame is for another QP. */
static const uint8_t *
mad_of(const struct test_frame *f)
{
	bool v6 = f->bytes[12] == 0x86;
	const uint8_t *bth = f->bytes + 14 + (v6 ? 40 : 20) + 8;

	if (bth[0] != 0x64 || bth[5] != 0 || bth[6] != 0 || bth[7] != 1)
		return NULL;
	assert_true(bth + QP1_HEADERS + UROCE_CM_MAD_BYTES + 4 <= f->bytes + f->len);
	return bth + QP1_HEADERS;
}

static void
encode_like(const uint8_t *mad, enum uroce_cm_message m, uint8_t *out)
{
	const struct uroce_cm_mad_header *h = uroce_cm_header_const(mad);
	struct uroce_cm_private priv = uroce_cm_private_get(mad, m);

	uroce_cm_mad_init(out, m, rte_be_to_cpu_64(h->tid));
	for (unsigned int field = 0; field < UROCE_CM_FIELD_COUNT; field++) {
		const struct uroce_cm_field_info *f = &uroce_cm_fields[field];

		if (f->message != m)
			continue;
		if (f->bits <= 64)
			uroce_cm_field_put(out, field, uroce_cm_field_get(mad, field));
		else
			memcpy(out + f->byte, mad + f->byte, f->bits / 8u);
	}
	uroce_cm_private_put(out, m, &priv);
}

static void
each_field(const struct test_frame *f, void *arg)
{
	const uint8_t *mad = mad_of(f);
	uint8_t out[UROCE_CM_MAD_BYTES];
	unsigned int *count = arg;
	int m;

	if (mad == NULL)
		return;
	m = uroce_cm_mad_message(mad, UROCE_CM_MAD_BYTES);
	if (m < 0)
		fail_msg("%s frame %u: no message", f->file, f->number);
	count[m]++;
	encode_like(mad, (enum uroce_cm_message)m, out);
	if (memcmp(mad, out, sizeof(out)) != 0)
		fail_msg("%s frame %u: %s", f->file, f->number, uroce_cm_messages[m].name);
}

static void
fields_of_captures_make_the_same_bytes(void **state)
{
	unsigned int count[UROCE_CM_MESSAGE_COUNT] = { 0 };

	test_frames_each(each_field, count);
	for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++)
		assert_int_equal(count[m], captured[m]);
}

/* Turn the receiver's view of a REQ into the sender's. */
static void
mirror_req(struct uroce_cm_req *req)
{
	RTE_SWAP(req->path.sgid, req->path.dgid);
	RTE_SWAP(req->alternate.sgid, req->alternate.dgid);
	RTE_SWAP(req->responder_resources, req->initiator_depth);
	RTE_SWAP(req->local_cm_response_timeout, req->remote_cm_response_timeout);
	if (req->qp_type == IBV_QPT_XRC_RECV)
		req->qp_type = IBV_QPT_XRC_SEND;
}

static void
each_value(const struct test_frame *f, void *arg)
{
	const uint8_t *mad = mad_of(f);
	uint8_t out[UROCE_CM_MAD_BYTES];
	int m = mad == NULL ? -1 : uroce_cm_mad_message(mad, UROCE_CM_MAD_BYTES);
	unsigned int *count = arg;

	if (m == UROCE_CM_REQ) {
		struct uroce_cm_req req;

		uroce_cm_req_decode(mad, &req);
		mirror_req(&req);
		assert_int_equal(uroce_cm_req_check(&req), 0);
		uroce_cm_mad_init(out, m, rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid));
		uroce_cm_put(out, REQ, LOCAL_COMM_ID, uroce_cm_get(mad, REQ, LOCAL_COMM_ID));
		uroce_cm_req_encode(out, &req);
	} else if (m == UROCE_CM_REP) {
		struct uroce_cm_rep rep;

		uroce_cm_rep_decode(mad, &rep, IBV_QPT_RC);
		RTE_SWAP(rep.responder_resources, rep.initiator_depth);
		assert_int_equal(uroce_cm_rep_check(&rep), 0);
		uroce_cm_mad_init(out, m, rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid));
		uroce_cm_put(out, REP, LOCAL_COMM_ID, uroce_cm_get(mad, REP, LOCAL_COMM_ID));
		uroce_cm_put(out, REP, REMOTE_COMM_ID, uroce_cm_get(mad, REP, REMOTE_COMM_ID));
		uroce_cm_rep_encode(out, &rep, IBV_QPT_RC);
	} else if (m == UROCE_CM_SIDR_REP) {
		struct uroce_cm_sidr_rep rep;

		uroce_cm_sidr_rep_decode(mad, &rep);
		uroce_cm_mad_init(out, m, rte_be_to_cpu_64(uroce_cm_header_const(mad)->tid));
		uroce_cm_put(out, SIDR_REP, REQUEST_ID, uroce_cm_get(mad, SIDR_REP, REQUEST_ID));
		uroce_cm_put(out, SIDR_REP, SERVICE_ID, uroce_cm_get(mad, SIDR_REP, SERVICE_ID));
		uroce_cm_sidr_rep_encode(out, &rep);
	} else {
		return;
	}
	++*count;
	if (memcmp(mad, out, sizeof(out)) != 0)
		fail_msg("%s frame %u: %s", f->file, f->number, uroce_cm_messages[m].name);
}

static void
values_of_captures_make_the_same_bytes(void **state)
{
	unsigned int count = 0;

	test_frames_each(each_value, &count);
	assert_int_equal(count, captured[UROCE_CM_REQ] + captured[UROCE_CM_REP] +
					captured[UROCE_CM_SIDR_REP]);
}

/* ---- the values of rping's REQ -------------------------------------------------------- */

static void
rping(const struct test_frame *f, void *arg)
{
	static const uint8_t a[16] = { [10] = 0xff, 0xff, 10, 77, 0, 1 },
			     b[16] = { [10] = 0xff, 0xff, 10, 77, 0, 2 };
	const uint8_t *mad = mad_of(f);
	unsigned int *seen = arg;

	if (strcmp(f->file, "rping.pcap") != 0 || mad == NULL)
		return;
	if (f->number == 1) {
		struct uroce_cm_req req;

		uroce_cm_req_decode(mad, &req);
		assert_true(req.service_id == 0x0000000001061c06); /* RDMA_PS_TCP, port 7174 */
		assert_int_equal(req.qpn, 0x36);
		assert_int_equal(req.qp_type, IBV_QPT_RC);
		assert_int_equal(req.responder_resources, 1);
		assert_int_equal(req.initiator_depth, 1);
		assert_int_equal(req.remote_cm_response_timeout, 20);
		assert_int_equal(req.local_cm_response_timeout, 20);
		assert_int_equal(req.max_cm_retries, 15);
		assert_int_equal(req.retry_count, 7);
		assert_int_equal(req.rnr_retry_count, 7);
		assert_int_equal(req.path.mtu, IBV_MTU_1024);
		assert_int_equal(req.path.packet_life_time, 18);
		assert_int_equal(req.path.pkey, 0xffff);
		assert_int_equal(req.path.hop_limit, 64);
		assert_int_equal(req.path.flow_label, 0x36849);
		assert_memory_equal(req.path.sgid.raw, a, 16); /* as the server sees them */
		assert_memory_equal(req.path.dgid.raw, b, 16);
		assert_int_equal(req.priv.bytes, 92);
		assert_int_equal(((const uint8_t *)req.priv.data)[1],
				 0x40); /* rdma_cm's header: IPv4 */
	} else if (f->number == 2) {
		struct uroce_cm_rep rep;

		uroce_cm_rep_decode(mad, &rep, IBV_QPT_RC);
		assert_int_equal(rep.qpn, 0x36);
		assert_int_equal(rep.starting_psn, 0x1fe141);
		assert_int_equal(rep.target_ack_delay, 15);
		assert_int_equal(rep.rnr_retry_count, 7);
		assert_int_equal(rep.responder_resources, 1);
		assert_int_equal(rep.initiator_depth, 1);
	} else {
		return;
	}
	++*seen;
}

static void
rping_is_understood(void **state)
{
	unsigned int seen = 0;

	test_frames_each(rping, &seen);
	assert_int_equal(seen, 2);
}

/* ---- transports --------------------------------------------------------------------- */

static const struct uroce_cm_req plain = {
	.qp_type = IBV_QPT_RC,
	.path = { .mtu = IBV_MTU_4096, .hop_limit = 64 },
	.responder_resources = 3,
	.initiator_depth = 4,
	.retry_count = 5,
	.rnr_retry_count = 6,
	.srq = true,
};

static void
transports_have_their_fields(void **state)
{
	static const struct {
		enum ibv_qp_type sent, received;
	} types[] = {
		{ IBV_QPT_RC, IBV_QPT_RC },
		{ IBV_QPT_UC, IBV_QPT_UC },
		{ IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV },
	};

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		struct uroce_cm_req req = plain, got;
		bool xrc = types[i].sent == IBV_QPT_XRC_SEND;
		uint8_t mad[UROCE_CM_MAD_BYTES];

		req.qp_type = types[i].sent;
		assert_int_equal(uroce_cm_req_check(&req), 0);
		uroce_cm_mad_init(mad, UROCE_CM_REQ, 0);
		uroce_cm_req_encode(mad, &req);
		uroce_cm_req_decode(mad, &got);
		assert_int_equal(got.qp_type, types[i].received);
		assert_int_equal(got.responder_resources, 4);
		/* an XRC initiator has no responder */
		assert_int_equal(got.initiator_depth, xrc ? 0 : 3);
		assert_int_equal(got.retry_count, xrc ? 0 : 5);
		assert_int_equal(got.rnr_retry_count, xrc ? 0 : 6);
		assert_int_equal(got.srq, !xrc);
	}
}

static void
unknown_transports_have_no_qp_type(void **state)
{
	uint8_t mad[UROCE_CM_MAD_BYTES];
	struct uroce_cm_req req;

	uroce_cm_mad_init(mad, UROCE_CM_REQ, 0);
	uroce_cm_put(mad, REQ, TRANSPORT_SERVICE, 2); /* reliable datagram */
	uroce_cm_req_decode(mad, &req);
	assert_int_equal(req.qp_type, 0);
	uroce_cm_put(mad, REQ, TRANSPORT_SERVICE, 3);
	for (unsigned int extended = 0; extended < 8; extended++) {
		uroce_cm_put(mad, REQ, EXTENDED_TRANSPORT, extended);
		uroce_cm_req_decode(mad, &req);
		assert_int_equal(req.qp_type, extended == 1 ? IBV_QPT_XRC_RECV : 0);
	}
}

static void
rep_of_xrc_names_its_qp_elsewhere(void **state)
{
	struct uroce_cm_rep rep = { .qpn = 0xabcdef,
				    .initiator_depth = 7,
				    .ece_vendor_id = 0x123456 },
			    got;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	uroce_cm_mad_init(mad, UROCE_CM_REP, 0);
	uroce_cm_rep_encode(mad, &rep, IBV_QPT_XRC_RECV);
	assert_int_equal(uroce_cm_get(mad, REP, QPN), 0);
	assert_int_equal(uroce_cm_get(mad, REP, EECN), 0xabcdef);
	uroce_cm_rep_decode(mad, &got, IBV_QPT_XRC_SEND);
	assert_int_equal(got.qpn, 0xabcdef);
	assert_int_equal(got.ece_vendor_id, 0x123456);
	assert_true(got.srq);
	assert_int_equal(got.responder_resources, 0);
}

/* ---- paths: each end sees the other as remote ----------------------------------------- */

static void
paths_are_seen_from_the_other_end(void **state)
{
	struct uroce_cm_path path = {
		.sgid.raw = { 1 }, .dgid.raw = { 2 }, .flow_label = 0xfffff, .traffic_class = 0xa5, .hop_limit = 255,
		.sl = 15,
	}, got;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	uroce_cm_mad_init(mad, UROCE_CM_LAP, 0);
	uroce_cm_lap_path_encode(mad, &path, 31);
	uroce_cm_lap_path_decode(mad, &got);
	assert_memory_equal(got.dgid.raw, path.sgid.raw, 16);
	assert_memory_equal(got.sgid.raw, path.dgid.raw, 16);
	assert_int_equal(got.flow_label, 0xfffff);
	assert_int_equal(got.traffic_class, 0xa5);
	assert_int_equal(got.hop_limit, 255);
	assert_int_equal(got.sl, 15);
	assert_int_equal(got.packet_life_time, 30);
	uroce_cm_lap_path_encode(mad, &path, 0);
	uroce_cm_lap_path_decode(mad, &got);
	assert_int_equal(got.packet_life_time, 0);
}

static void
an_alternate_path_is_sent_if_there_is_one(void **state)
{
	struct uroce_cm_req req = plain, got;
	uint8_t mad[UROCE_CM_MAD_BYTES];

	uroce_cm_mad_init(mad, UROCE_CM_REQ, 0);
	uroce_cm_req_encode(mad, &req);
	assert_int_equal(uroce_cm_get(mad, REQ, ALTERNATE_LOCAL_LID), 0);
	req.alternate =
		(struct uroce_cm_path){ .sgid.raw = { 3 }, .dgid.raw = { 4 }, .hop_limit = 64 };
	uroce_cm_req_encode(mad, &req);
	assert_int_equal(uroce_cm_get(mad, REQ, ALTERNATE_LOCAL_LID), 0xffff);
	uroce_cm_req_decode(mad, &got);
	assert_memory_equal(got.alternate.dgid.raw, req.alternate.sgid.raw, 16);
	assert_memory_equal(got.alternate.sgid.raw, req.alternate.dgid.raw, 16);
}

/* ---- what is refused ---------------------------------------------------------------- */

#define REFUSED_REQ(change)                                        \
	do {                                                       \
		struct uroce_cm_req r = plain;                     \
		r.change;                                          \
		assert_int_equal(uroce_cm_req_check(&r), -EINVAL); \
	} while (0)

#define REFUSED_REP(change)                                        \
	do {                                                       \
		struct uroce_cm_rep r = { .qpn = 2 };              \
		r.change;                                          \
		assert_int_equal(uroce_cm_rep_check(&r), -EINVAL); \
	} while (0)

static void
values_beyond_their_fields_are_refused(void **state)
{
	struct uroce_cm_req req = plain;
	uint8_t data[93] = { 0 };

	assert_int_equal(uroce_cm_req_check(&plain), 0);
	REFUSED_REQ(qp_type = IBV_QPT_UD);
	REFUSED_REQ(qp_type = 0);
	REFUSED_REQ(qpn = 1 << 24);
	REFUSED_REQ(starting_psn = 1 << 24);
	REFUSED_REQ(path.mtu = 0);
	REFUSED_REQ(path.mtu = 6);
	REFUSED_REQ(path.flow_label = 1 << 20);
	REFUSED_REQ(path.sl = 16);
	REFUSED_REQ(path.packet_life_time = 32);
	REFUSED_REQ(alternate.flow_label = 1 << 20);
	REFUSED_REQ(remote_cm_response_timeout = 32);
	REFUSED_REQ(local_cm_response_timeout = 32);
	REFUSED_REQ(local_ack_timeout = 32);
	REFUSED_REQ(retry_count = 8);
	REFUSED_REQ(rnr_retry_count = 8);
	REFUSED_REQ(max_cm_retries = 16);
	REFUSED_REQ(ece_vendor_id = 1 << 24);
	req.priv = (struct uroce_cm_private){ data, 93 };
	assert_int_equal(uroce_cm_req_check(&req), -EMSGSIZE);

	REFUSED_REP(qpn = 1 << 24);
	REFUSED_REP(starting_psn = 1 << 24);
	REFUSED_REP(target_ack_delay = 32);
	REFUSED_REP(failover_accepted = 4);
	REFUSED_REP(rnr_retry_count = 8);
	REFUSED_REP(ece_vendor_id = 1 << 24);
}

UROCE_TESTS(cm_message)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_of_captures_make_the_same_bytes),
		cmocka_unit_test(values_of_captures_make_the_same_bytes),
		cmocka_unit_test(rping_is_understood),
		cmocka_unit_test(transports_have_their_fields),
		cmocka_unit_test(unknown_transports_have_no_qp_type),
		cmocka_unit_test(rep_of_xrc_names_its_qp_elsewhere),
		cmocka_unit_test(paths_are_seen_from_the_other_end),
		cmocka_unit_test(an_alternate_path_is_sent_if_there_is_one),
		cmocka_unit_test(values_beyond_their_fields_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
