/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Datagrams to groups, end to end: device a has two workers and receives on its first queue only, device b is at the
 * other end of the wire. Each attached QP gets each message once, on its own worker. Other QPs get none, nor does the
 * sender if it is not attached. And drops of similar packets.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "eal.h"
#include "groups.h"
#include "port/mcast.h"
#include "port/worker/pool.h"
#include "tap.h"
#include "wire/headers.h"
#include "wire/icrc.h"

#define QKEY    0x11223344
#define BYTES   1000
#define ROOM    (40 + BYTES)
#define ROUNDS  200
#define MEMBERS 5

/* A UD QP, with one message to send or to receive. */
struct member {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t buffer[ROOM];
};

static struct test_rings wires[2];
static struct uroce_worker *workers[3];
static struct ibv_context *a, *b;
static struct member members[MEMBERS], sender;

static union ibv_gid
gid_of(const char *text)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, 0xff } };

	if (inet_pton(AF_INET, text, gid.raw + 12) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, gid.raw), 1);
	return gid;
}

static void
poll(void)
{
	test_poll(workers, RTE_DIM(workers), ROUNDS);
}

static int
setup(void **state)
{
	/* without loopback: in one process, the devices would not use the wire */
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };

	test_rings_create_funnel(&wires[0], &wires[1]);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_non_null(workers[i] = uroce_create_worker(-1));
	a = uroce_open_port(wires[0].port_id, &conf, workers, 2);
	b = uroce_open_port(wires[1].port_id, &conf, &workers[2], 1);
	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(uroce_add_address(a, "10.0.0.1/24"), 0);
	assert_int_equal(uroce_add_address(a, "fd00::1/64"), 0);
	assert_int_equal(uroce_add_address(b, "10.0.0.2/24"), 0);
	assert_int_equal(uroce_add_address(b, "fd00::2/64"), 0);
	poll();
	return 0;
}

static int
teardown(void **state)
{
	assert_int_equal(uroce_close_device(a), 0);
	assert_int_equal(uroce_close_device(b), 0);
	rte_eth_dev_close(wires[1].port_id); /* both ends share the rings */
	test_rings_destroy(&wires[0]);
	for (unsigned int i = 0; i < RTE_DIM(workers); i++)
		assert_int_equal(uroce_destroy_worker(workers[i]), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	return 0;
}

/* Members of a device alternate between its workers. */
static void
member_open_with(struct member *m, struct ibv_context *context, uint32_t qkey, uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = create_flags,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };
	static int members_so_far;

	memset(m, 0, sizeof(*m));
	m->context = context;
	assert_non_null(m->pd = uroce_alloc_pd(context));
	assert_non_null(m->cq = uroce_create_cq(context, 16, NULL, NULL, members_so_far++ % context->num_comp_vectors));
	init.send_cq = m->cq;
	init.recv_cq = m->cq;
	init.pd = m->pd;
	assert_non_null(m->qp = uroce_create_qp_ex(context, &init));
	assert_non_null(m->mr = uroce_reg_mr(m->pd, m->buffer, ROOM, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(
		uroce_modify_qp(m->qp, &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(uroce_modify_qp(m->qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(uroce_modify_qp(m->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static void
member_open(struct member *m, struct ibv_context *context, uint32_t qkey)
{
	member_open_with(m, context, qkey, 0);
}

static void
member_close(struct member *m)
{
	assert_int_equal(uroce_destroy_qp(m->qp), 0);
	assert_int_equal(uroce_destroy_cq(m->cq), 0);
	assert_int_equal(uroce_dereg_mr(m->mr), 0);
	assert_int_equal(uroce_dealloc_pd(m->pd), 0);
}

static void
receive_post(struct member *m)
{
	struct ibv_sge sge = { .addr = (uintptr_t)m->buffer, .length = ROOM, .lkey = m->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	memset(m->buffer, 0, ROOM);
	assert_int_equal(uroce_post_recv(m->qp, &wr, &bad), 0);
}

/* Send a message, and call run() for its way to the members. */
static void
send_while(struct member *m, const union ibv_gid *group, uint8_t sgid_index, uint8_t fill, void (*run)(void))
{
	struct ibv_ah_attr attr = {
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = *group, .sgid_index = sgid_index },
	};
	struct ibv_sge sge = { .addr = (uintptr_t)m->buffer, .length = BYTES, .lkey = m->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .remote_qpn = UROCE_MULTICAST_QPN, .remote_qkey = QKEY },
	};
	struct ibv_wc wc;

	memset(m->buffer, fill, BYTES);
	assert_non_null(wr.wr.ud.ah = uroce_create_ah(m->pd, &attr));
	assert_int_equal(uroce_post_send(m->qp, &wr, &bad), 0);
	run();
	assert_int_equal(uroce_poll_cq(m->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(uroce_destroy_ah(wr.wr.ud.ah), 0);
}

static void
send_to(struct member *m, const union ibv_gid *group, uint8_t sgid_index, uint8_t fill)
{
	send_while(m, group, sgid_index, fill, poll);
}

/* The member receives one message; none if fill is 0. */
static void
expect(struct member *m, uint8_t fill)
{
	uint8_t data[BYTES];
	struct ibv_wc wc;

	assert_int_equal(uroce_poll_cq(m->cq, 1, &wc), fill != 0);
	memset(data, fill, sizeof(data));
	assert_memory_equal(m->buffer + 40, data, sizeof(data));
	if (fill == 0)
		return;
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, ROOM);
	assert_int_equal(wc.src_qp, sender.qp->qp_num);
	assert_int_equal(uroce_poll_cq(m->cq, 1, &wc), 0);
}

/* Members 0 to 3 alternate between a's two workers; the third has another Q_Key, the fourth is not attached; the
 * fifth is on b. */
static void
test_members(void **state)
{
	const union ibv_gid groups[] = { gid_of("239.1.2.3"), gid_of("ff15::1:2:3") };

	for (unsigned int i = 0; i < MEMBERS; i++)
		member_open(&members[i], i < 4 ? a : b, i == 2 ? QKEY + 1 : QKEY);
	member_open(&sender, b, QKEY);
	for (unsigned int g = 0; g < RTE_DIM(groups); g++) {
		uint64_t dropped = test_counter(a, "drop_qkey");

		for (unsigned int i = 0; i < MEMBERS; i++) {
			receive_post(&members[i]);
			if (i != 3)
				assert_int_equal(uroce_attach_mcast(members[i].qp, &groups[g], 0),
						 0);
		}
		receive_post(&sender); /* stays posted: the sender is not attached */
		poll();
		send_to(&sender, &groups[g], g == 0 ? 1 : 2, 0x5a);
		for (unsigned int i = 0; i < MEMBERS; i++)
			expect(&members[i], i == 2 || i == 3 ? 0 : 0x5a);
		assert_int_equal(uroce_poll_cq(sender.cq, 1, &(struct ibv_wc){ 0 }), 0);
		assert_int_equal(test_counter(a, "drop_qkey"), dropped + 1);
		for (unsigned int i = 0; i < MEMBERS; i++)
			if (i != 3)
				assert_int_equal(uroce_detach_mcast(members[i].qp, &groups[g], 0),
						 0);
		/* no member is left */
		send_to(&sender, &groups[g], g == 0 ? 1 : 2, 0xa5);
		for (unsigned int i = 0; i < MEMBERS; i++)
			assert_int_equal(uroce_poll_cq(members[i].cq, 1, &(struct ibv_wc){ 0 }), 0);
	}
	assert_true(test_counter(a, "handed_over") > 0);
	assert_int_equal(test_counter(a, "group_deliveries"), 2 * 3);
	assert_int_equal(test_counter(b, "group_deliveries"), 2);
	for (unsigned int i = 0; i < MEMBERS; i++)
		member_close(&members[i]);
	member_close(&sender);
}

static void
move_each_member(void)
{
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(uroce_qp_move(members[i].qp, workers[uroce_qp_worker(members[i].qp) == workers[0]]), 0);
}

/* One worker has delivered the message to its members, the other has it in its inbox. */
static void
move_members(void)
{
	test_poll(&workers[2], 1, 1);
	test_poll(&workers[0], 1, 1);
	move_each_member();
	move_each_member();
	poll();
}

static void
test_members_move(void **state)
{
	const union ibv_gid group = gid_of("239.1.2.3");

	member_open(&sender, b, QKEY);
	for (unsigned int i = 0; i < 4; i++) {
		member_open(&members[i], a, QKEY);
		assert_int_equal(uroce_attach_mcast(members[i].qp, &group, 0), 0);
		receive_post(&members[i]);
	}
	for (unsigned int round = 0; round < 4; round++) {
		send_while(&sender, &group, 1, (uint8_t)(round + 1), move_members);
		for (unsigned int i = 0; i < 4; i++) {
			expect(&members[i], (uint8_t)(round + 1));
			receive_post(&members[i]);
		}
		/* the members of the two workers change */
		assert_int_equal(uroce_qp_move(members[round].qp, workers[round / 2]), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(uroce_detach_mcast(members[i].qp, &group, 0), 0);
		member_close(&members[i]);
	}
	member_close(&sender);
}

/* An attached sender receives its own message, once. */
static void
test_sender(void **state)
{
	const union ibv_gid group = gid_of("239.1.2.3");

	member_open(&sender, b, QKEY);
	assert_int_equal(uroce_attach_mcast(sender.qp, &group, 0), 0);
	receive_post(&sender);
	{
		struct ibv_ah_attr attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = group, .sgid_index = 1 },
		};
		struct ibv_send_wr *bad, wr = {
			.opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.wr.ud = { .remote_qpn = UROCE_MULTICAST_QPN, .remote_qkey = QKEY },
		};
		struct ibv_wc wc[3];
		int n;

		assert_non_null(wr.wr.ud.ah = uroce_create_ah(sender.pd, &attr));
		assert_int_equal(uroce_post_send(sender.qp, &wr, &bad), 0);
		poll();
		n = uroce_poll_cq(sender.cq, 3, wc);
		assert_int_equal(n, 2);
		assert_int_equal(wc[0].opcode + wc[1].opcode, IBV_WC_SEND + IBV_WC_RECV);
		assert_int_equal(uroce_destroy_ah(wr.wr.ud.ah), 0);
	}
	assert_int_equal(test_counter(b, "loopback_frames"), 1);
	assert_int_equal(uroce_detach_mcast(sender.qp, &group, 0), 0);
	member_close(&sender);
}

/* A sender without multicast loopback does not receive its own messages; another QP of its port receives them, and
 * the sender receives that QP's. */
static void
test_sender_without_itself(void **state)
{
	const union ibv_gid groups[] = { gid_of("239.1.2.3"), gid_of("ff15::1:2:3") };

	for (unsigned int g = 0; g < RTE_DIM(groups); g++) {
		member_open_with(&sender, a, QKEY, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
		for (unsigned int i = 0; i < 2; i++) {
			member_open_with(&members[i], a, QKEY, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
			assert_int_equal(uroce_attach_mcast(members[i].qp, &groups[g], 0), 0);
			receive_post(&members[i]);
		}
		assert_int_equal(uroce_attach_mcast(sender.qp, &groups[g], 0), 0);
		receive_post(&sender);
		send_to(&sender, &groups[g], g == 0 ? 1 : 2, 0x33);
		for (unsigned int i = 0; i < 2; i++)
			expect(&members[i], 0x33);
		assert_int_equal(uroce_poll_cq(sender.cq, 1, &(struct ibv_wc){ 0 }), 0);
		assert_int_equal(test_counter(a, "group_deliveries"), 2 * (g + 1));
		assert_int_equal(uroce_detach_mcast(sender.qp, &groups[g], 0), 0);
		member_close(&sender);
		for (unsigned int i = 0; i < 2; i++) {
			assert_int_equal(uroce_detach_mcast(members[i].qp, &groups[g], 0), 0);
			member_close(&members[i]);
		}
	}
}

/* A sender on another host may have the same QPN. */
static void
test_namesake(void **state)
{
	const union ibv_gid group = gid_of("239.1.2.3");
	uint32_t number;

	member_open_with(&members[0], a, QKEY, IBV_QP_CREATE_BLOCK_SELF_MCAST_LB);
	assert_int_equal(uroce_attach_mcast(members[0].qp, &group, 0), 0);
	receive_post(&members[0]);
	member_open(&sender, b, QKEY);
	number = sender.qp->qp_num;
	sender.qp->qp_num = members[0].qp->qp_num;	/* in the DETH */
	send_to(&sender, &group, 1, 0x44);
	expect(&members[0], 0x44);
	sender.qp->qp_num = number;
	assert_int_equal(uroce_detach_mcast(members[0].qp, &group, 0), 0);
	member_close(&members[0]);
	member_close(&sender);
}

/* More members on one worker than a burst holds: each gets the message. */
static void
test_many(void **state)
{
	const union ibv_gid group = gid_of("239.1.2.3");
	static struct member many[UROCE_MAX_MCAST_QPS];

	for (unsigned int i = 0; i < RTE_DIM(many); i++) {
		member_open(&many[i], a, QKEY);
		receive_post(&many[i]);
		assert_int_equal(uroce_attach_mcast(many[i].qp, &group, 0), 0);
	}
	member_open(&sender, b, QKEY);
	send_to(&sender, &group, 1, 0x77);
	for (unsigned int i = 0; i < RTE_DIM(many); i++) {
		expect(&many[i], 0x77);
		assert_int_equal(uroce_detach_mcast(many[i].qp, &group, 0), 0);
		member_close(&many[i]);
	}
	member_close(&sender);
}

/* The valid frame to a group, byte for byte: the port has joined, but no QP is attached. */
#define FRAME                                                                   \
	"01005e010203 P 0800 45 00 003c 0000 4000 01 11 0000 0a000002 ef010203" \
	"c000 12b7 0028 0000"                                                   \
	"64 00 ffff 00 ffffff 00 000001 11223344 00 000007 Z8 "                 \
	"00000000"

static void
drop(struct tap *t, size_t offset, uint8_t value, const char *counter)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(t, frame, FRAME);
	struct rte_mbuf *m;
	uint32_t icrc;

	if (offset != 0 || value != 0)
		frame[offset] = value;
	tap_checksum_ipv4(frame, 14);
	m = tap_mbuf(t, frame, bytes);
	icrc = uroce_icrc(m, 14, 34, (uint32_t)(bytes - 4 - 14));
	rte_pktmbuf_free(m);
	for (unsigned int i = 0; i < 4; i++)
		frame[bytes - 4 + i] = (uint8_t)(icrc >> 8 * i);
	tap_expect_drop(t, frame, bytes, counter);
}

static void
test_drops(void **state)
{
	static const char *const cidrs[] = { "10.0.0.1/24", NULL };
	const union ibv_gid group = gid_of("239.1.2.3");
	struct tap t;

	tap_open(&t, 0, cidrs);
	t.port->link_due_ns = UINT64_MAX;
	drop(&t, 0, 0, "drop_l2_address"); /* before the port joins */
	assert_int_equal(uroce_port_mcast_join(&t.port->dev, &group), 0);
	for (unsigned int i = 0; i < 2; i++)
		rte_pktmbuf_free(tap_receive(&t));
	drop(&t, 33, 3, "drop_qpn"); /* unchanged: no QP is attached */
	drop(&t, 33, 4, "drop_ip_address");
	drop(&t, 5, 4, "drop_l2_address"); /* another group's MAC address */
	drop(&t, 0, 0x33, "drop_l2_address");
	drop(&t, 23, 1, "drop_ip_protocol"); /* an echo request */
	drop(&t, 49, 0xfe, "drop_qpn");      /* the BTH names a single QP */
	drop(&t, 37, 0xb8, "drop_udp_port");
	uroce_port_mcast_leave(&t.port->dev, &group);
	rte_pktmbuf_free(tap_receive(&t));
	tap_close(&t);
}

UROCE_TESTS(port_multicast)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_members, setup, teardown),
		cmocka_unit_test_setup_teardown(test_members_move, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sender, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sender_without_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_namesake, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test(test_drops),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
