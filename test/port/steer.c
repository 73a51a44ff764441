/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Steering between two devices with several workers each, on ports that distribute frames as NICs do: which frames
 * reach their QP's worker by RSS, which by flow rules. steer_inbox.c: full inboxes.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>

#include <cmocka.h>

#include "base/dpdk_compat.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "rings.h"
#include "sides.h"
#include "telemetry_client.h"
#include "uroce.h"
#include "uroce_cma.h"

#define PORT 7471

/* ---- RSS -------------------------------------------------------------------------------------------------------- */

static void
rss_reads(const uint16_t reta_size, unsigned int bits)
{
	struct uroce_rss rss = { .reta_size = reta_size, .hashes_udp4 = true, .hashes_udp6 = true };
	static const uint8_t a4[2][16] = { UROCE_GID_IPV4(10, 0, 0, 1), UROCE_GID_IPV4(192, 168, 77, 203) };
	static const uint8_t a6[2][16] = { { 0xfd, [8] = 0x52, 0x11, [15] = 1 },
					   { 0xfe, 0x80, [8] = 0xa, 0x11, 0x99 } };

	uroce_rss_make_key(rss.key, reta_size);
	for (uint16_t i = 0; i < reta_size; i++)
		rss.reta[i] = i;
	for (unsigned int port = 0xc000; port < 0xc000u + reta_size; port++) {
		int queue = uroce_rss_queue(&rss, a4[0], a4[1], (uint16_t)port);
		unsigned int reversed = 0;

		for (unsigned int bit = 0; bit < bits; bit++)
			reversed |= (port >> bit & 1) << (bits - 1 - bit);
		assert_int_equal(queue, reversed);
		assert_int_equal(uroce_rss_queue(&rss, a4[1], a4[1], (uint16_t)port), queue);
		assert_int_equal(uroce_rss_queue(&rss, a6[0], a6[1], (uint16_t)port), queue);
	}
}

/* With the made key, the lowest bits of the source port are the index of the table, whatever the addresses. */
static void
test_key(void **state)
{
	sides_open(0);
	rss_reads(4, 2);
	rss_reads(64, 6);
	rss_reads(128, 7);
	rss_reads(512, 9);
	rss_reads(2048, 11);
}

/* The hash of Microsoft's examples for verification, and of random tuples as the NIC computes it. */
static void
test_hash(void **state)
{
	static const uint8_t src4[16] = UROCE_GID_IPV4(66, 9, 149, 187), dst4[16] = UROCE_GID_IPV4(161, 142, 100, 80);
	alignas(uint32_t) uint8_t key[UROCE_RSS_KEY_BYTES];
	uint8_t input[36];

	sides[0].nic.fixed_key = true;
	sides_open(0);
	memcpy(key, sides[0].nic.key, NIC_KEY_BYTES);
	assert_int_equal(uroce_rss_hash(key, src4, dst4, 2794, 1766), 0x51ccc178);
	srandom(1);
	for (unsigned int i = 0; i < 1000; i++) {
		uint16_t port;

		for (unsigned int k = 0; k < sizeof(input); k++)
			input[k] = (uint8_t)random();
		memcpy(&port, input + 32, sizeof(port));
		input[34] = UROCE_UDP_PORT >> 8;
		input[35] = UROCE_UDP_PORT & 0xff;
		assert_int_equal(uroce_rss_hash(key, input, input + 16, rte_be_to_cpu_16(port), UROCE_UDP_PORT),
				 nic_toeplitz(key, input, sizeof(input)));
	}
}

/* The RSS function that uroce reads from each port. */
static void
test_read(void **state)
{
	struct uroce_rss *rss = calloc(1, sizeof(*rss));

	sides[1].nic.fixed_key = true;
	sides_open(0);
	assert_int_equal(uroce_rss_read(rss, sides[0].nic.port_id), 0);
	assert_true(rss->ignores_peer && rss->hashes_udp4 && rss->hashes_udp6);
	assert_int_equal(rss->reta_size, NIC_RETA);
	assert_int_equal(uroce_rss_read(rss, sides[1].nic.port_id), 0);
	assert_false(rss->ignores_peer);
	sides[0].nic.hashed = RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV6_UDP;
	assert_int_equal(uroce_rss_read(rss, sides[0].nic.port_id), 0);
	assert_true(!rss->ignores_peer && !rss->hashes_udp4 && rss->hashes_udp6);
	sides[0].nic.hashed = RTE_ETH_RSS_IP;
	assert_int_equal(uroce_rss_read(rss, sides[0].nic.port_id), -ENOTSUP);
	sides[0].nic.hashed = RTE_ETH_RSS_NONFRAG_IPV4_UDP | RTE_ETH_RSS_L4_SRC_ONLY;
	assert_int_equal(uroce_rss_read(rss, sides[0].nic.port_id), -ENOTSUP);
	sides[0].nic.secretive = true;
	assert_int_equal(uroce_rss_read(rss, sides[0].nic.port_id), -ENOTSUP);
	free(rss);
}

/* Between uroce devices, QPNs alone bring all frames to their workers, however they were exchanged. */
static void
test_qpns(void **state)
{
	sides_open(0);
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0);
	sides_traffic(0, SIDE_QPS);
	sides_expect_all_steered();
}

static void
test_qpns_ipv6(void **state)
{
	sides_open(0);
	sides_connect(IBV_QPT_UC, SIDE_QPS, GID_IPV6, 0);
	sides_traffic(0, SIDE_QPS);
	sides_expect_all_steered();
}

/* So do datagrams, from any number of peers. */
static void
test_datagrams(void **state)
{
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = GID_IPV4 } };
	struct ibv_ah *ah;

	sides_open(0);
	sides_connect(IBV_QPT_UD, SIDE_QPS, GID_IPV4, 0);
	assert_int_equal(uroce_query_gid(sides[1].context, 1, GID_IPV4, &attr.grh.dgid), 0);
	assert_non_null(ah = uroce_create_ah(sides[0].pd, &attr));
	sides_datagrams(&sides[0], 1, 1, ah, sides_poll);
	sides_datagrams(&sides[0], SIDE_QPS, 4, ah, sides_poll);
	assert_int_equal(side_counter(1, "handed_over"), 0);
	assert_int_equal(side_counter(1, "steered"), 1 + 4 * SIDE_QPS);
	sides_expect_nothing_lost();
	assert_int_equal(uroce_destroy_ah(ah), 0);
}

/* ---- Connection requests ---------------------------------------------------------------------------------------- */

static struct rdma_event_channel *channel;

static struct rdma_cm_id *
take_event(enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;
	struct rdma_cm_id *id;

	while (uroce_rdma_get_cm_event(channel, &event) != 0) {
		assert_int_equal(errno, EAGAIN);
		sides_poll();
	}
	assert_string_equal(uroce_rdma_event_str(event->event), uroce_rdma_event_str(type));
	id = event->id;
	assert_int_equal(uroce_rdma_ack_cm_event(event), 0);
	return id;
}

static void
id_create_qp(struct side *s, unsigned int i, struct rdma_cm_id *id)
{
	struct ibv_cq *cq = s->cqs[side_worker(s, i)];
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1 },
	};

	assert_int_equal(uroce_rdma_create_qp(id, s->pd, &attr), 0);
	s->qps[i] = id->qp;
}

static void
id_connect(unsigned int i, struct rdma_cm_id *ids[2])
{
	struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = inet_addr("10.0.0.1") };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(PORT),
				  .sin_addr.s_addr = inet_addr("10.0.0.2") };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7 };

	assert_int_equal(uroce_rdma_create_id(channel, &ids[0], NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_resolve_addr(ids[0], (struct sockaddr *)&from, (struct sockaddr *)&to, 10000), 0);
	take_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_int_equal(uroce_rdma_resolve_route(ids[0], 10000), 0);
	take_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	id_create_qp(&sides[0], i, ids[0]);
	assert_int_equal(uroce_rdma_connect(ids[0], &param), 0);
	ids[1] = take_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	id_create_qp(&sides[1], i, ids[1]);
	assert_int_equal(uroce_rdma_accept(ids[1], &param), 0);
	take_event(RDMA_CM_EVENT_ESTABLISHED);
	take_event(RDMA_CM_EVENT_ESTABLISHED);
}

/* A port with an RSS key of its own: the active side asks for flow labels that suit it, and the passive side, which has
 * the other key, gets QPNs that do. */
static void
test_connections(void **state)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct rdma_cm_id *listener, *ids[SIDE_QPS][2];
	uint64_t before[2];

	sides[0].nic.fixed_key = true;
	sides[0].nic.takes = 0;
	sides_open(0);
	assert_non_null(channel = uroce_rdma_create_event_channel());
	assert_int_equal(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(uroce_rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(uroce_rdma_bind_addr(listener, (struct sockaddr *)&any), 0);
	assert_int_equal(uroce_rdma_listen(listener, SIDE_QPS), 0);
	for (unsigned int i = 0; i < SIDE_QPS; i++)
		id_connect(i, ids[i]);
	/* MADs reach QP1's worker, too, by uroce's key; with the other key they may not */
	before[0] = side_counter(0, "handed_over");
	before[1] = 0;
	sides_traffic(0, SIDE_QPS);
	for (unsigned int k = 0; k < 2; k++)
		assert_int_equal(side_counter(k, "handed_over"), before[k]);
	sides_expect_nothing_lost();
	for (unsigned int i = 0; i < SIDE_QPS; i++)
		for (unsigned int k = 0; k < 2; k++) {
			uroce_rdma_destroy_qp(ids[i][k]);
			sides[k].qps[i] = NULL;
			assert_int_equal(uroce_rdma_destroy_id(ids[i][k]), 0);
		}
	assert_int_equal(uroce_rdma_destroy_id(listener), 0);
	uroce_rdma_destroy_event_channel(channel);
}

/* ---- Flow rules ------------------------------------------------------------------------------------------------- */

/* Traffic until no frame is handed over. The rules are made meanwhile, on EAL's thread. */
static void
settle(unsigned int first, unsigned int n)
{
	uint64_t before;

	do {
		before = side_counter(0, "handed_over") + side_counter(1, "handed_over");
		sides_traffic(first, n);
	} while (side_counter(0, "handed_over") + side_counter(1, "handed_over") != before);
}

/* Peers that choose their source ports otherwise: rules bring their frames to the workers. */
static void
run_rules(unsigned int takes, uint8_t gid_index)
{
	for (unsigned int k = 0; k < 2; k++)
		sides[k].nic.takes = takes;
	sides_open(0);
	sides_connect(IBV_QPT_RC, SIDE_QPS, gid_index, 0x1234b);
	settle(0, SIDE_QPS);
	for (unsigned int k = 0; k < 2; k++) {
		assert_true(side_counter(k, "handed_over") > 0);
		assert_true(side_counter(k, "rules_installed") > SIDE_QPS / 2);
		assert_int_equal(side_counter(k, "rules_evicted"), 0);
		assert_true(sides[k].nic.matched > 0);
		assert_int_equal(sides[k].nic.rule_count, side_counter(k, "rules_installed"));
	}
	sides_expect_nothing_lost();
}

static void
test_rules_udp(void **state)
{
	run_rules(NIC_TAKES_UDP, GID_IPV4);
}

static void
test_rules_udp_ipv6(void **state)
{
	run_rules(NIC_TAKES_UDP, GID_IPV6);
}

static void
test_rules_raw(void **state)
{
	run_rules(NIC_TAKES_UDP | NIC_TAKES_RAW, GID_IPV4);
}

static void
test_rules_bth(void **state)
{
	if (!UROCE_FLOW_HAS_BTH) {
		print_message("skipped: this DPDK has no flow item for a BTH\n");
		sides_open(0);
		return;
	}
	run_rules(NIC_TAKES_UDP | NIC_TAKES_BTH, GID_IPV4);
}

/* @return the number of rules for some QPs of side 0 */
static unsigned int
count_rules(unsigned int first, unsigned int n)
{
	struct uroce_port *port = uroce_port_of_context(sides[0].context);
	const struct uroce_rules *r = &port->steer.rules;
	unsigned int count = 0;

	pthread_mutex_lock(&port->lock); /* EAL's thread makes rules */
	for (unsigned int i = first; i < first + n; i++)
		for (unsigned int k = 0; k < r->count; k++)
			count += r->rules[k].match.qpn == sides[0].qps[i]->qp_num;
	pthread_mutex_unlock(&port->lock);
	return count;
}

/* A device with less room than the table: idle QPs lose their rules to active ones, the least recently used first. */
static void
test_eviction(void **state)
{
	unsigned int recent;

	sides[0].nic.room = 4;
	sides[1].nic.room = NIC_RULES;
	sides_open(0);
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0x1234b);
	settle(0, 3);
	settle(3, 3);
	settle(6, 3);
	recent = count_rules(6, 3);
	settle(0, 3);
	assert_true(count_rules(3, 3) == 0 || count_rules(6, 3) == recent);
	assert_true(side_counter(0, "rules_evicted") > 0);
	assert_true(sides[0].nic.rule_count <= 4);
	/* more active QPs than rules: those that have one keep it */
	for (uint64_t before = side_counter(0, "rules_refused"); side_counter(0, "rules_refused") == before;)
		sides_traffic(0, SIDE_QPS);
	assert_int_equal(sides[0].nic.rule_count, 4);
	sides_expect_nothing_lost();
}

static void
test_refused(void **state)
{
	struct uroce_port *port;

	sides[0].nic.takes = 0;
	sides[0].nic.secretive = true;
	sides_open(0);
	port = uroce_port_of_context(sides[0].context);
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0x1234b);
	while (!__atomic_load_n(&port->steer.rules.refused, __ATOMIC_RELAXED))
		sides_traffic(0, SIDE_QPS);
	sides_traffic(0, SIDE_QPS);
	assert_int_equal(side_counter(0, "rules_installed"), 0);
	assert_true(side_counter(0, "rules_refused") > 0);
	sides_expect_nothing_lost();
}

/* A QP that is gone leaves its rule to others; a QP whose peer changes its source port gets another rule. */
static void
test_changes(void **state)
{
	sides[0].nic.takes = NIC_TAKES_UDP;
	sides[1].nic.takes = NIC_TAKES_UDP;
	sides_open(0);
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0x1234b);
	settle(0, SIDE_QPS);
	for (unsigned int i = 0; i < SIDE_QPS; i++) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

		for (unsigned int k = 0; k < 2; k++)
			assert_int_equal(uroce_modify_qp(sides[k].qps[i], &attr, IBV_QP_STATE), 0);
		for (unsigned int k = 0; k < 2; k++)
			side_qp_connect(&sides[k], i, GID_IPV4, 0x5432f * (2 * i + k + 1));
	}
	settle(0, SIDE_QPS);
	for (unsigned int k = 0; k < 2; k++)
		assert_true(sides[k].nic.rule_count <= SIDE_QPS);
	sides_expect_nothing_lost();
}

/* ---- Changes of the QPs' workers and of the port ---------------------------------------------------------------- */

/* Move every other QP of side 0 to the worker after its own, or back. */
static void
move_qps(unsigned int by)
{
	for (unsigned int i = 0; i < SIDE_QPS; i += 2) {
		struct uroce_worker *w = sides[0].workers[(side_worker(&sides[0], i) + by) % SIDE_WORKERS];

		assert_int_equal(uroce_qp_move(sides[0].qps[i], w), 0);
		assert_ptr_equal(uroce_qp_worker(sides[0].qps[i]), w);
	}
}

/* A QP that moves to another worker keeps its QPN, so RSS misleads its frames. A rule corrects that, and is replaced
 * when the QP moves again. */
static void
test_move(void **state)
{
	sides_open(0);
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0);
	sides_traffic(0, SIDE_QPS);
	sides_expect_all_steered();
	move_qps(1);
	settle(0, SIDE_QPS);
	assert_int_equal(sides[0].nic.rule_count, SIDE_QPS / 2);
	move_qps(2);
	settle(0, SIDE_QPS);
	move_qps(0);
	settle(0, SIDE_QPS);
	assert_int_equal(sides[0].nic.rule_count, SIDE_QPS / 2);
	assert_int_equal(side_counter(0, "rules_installed"), 3 * SIDE_QPS / 2);
	assert_int_equal(side_counter(1, "handed_over"), 0);
	sides_expect_nothing_lost();
}

/* Without flow rules, the frames of moved QPs are handed over until the QPs move back. */
static void
test_move_without_rules(void **state)
{
	uint64_t before;

	sides[0].nic.takes = 0;
	sides_open(0);
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0);
	move_qps(1);
	sides_traffic(0, SIDE_QPS);
	before = side_counter(0, "handed_over");
	assert_true(before >= SIDE_QPS);
	move_qps(0);
	sides_traffic(0, SIDE_QPS);
	assert_int_equal(side_counter(0, "handed_over"), before);
	sides_expect_nothing_lost();
}

/* Restart the port of side 0, which then uses the configured RSS key or ignores it. */
static void
restart(bool fixed_key)
{
	assert_int_equal(uroce_stop_port(sides[0].context), 0);
	assert_int_equal(sides[0].nic.rule_count, 0);
	sides[0].nic.fixed_key = fixed_key;
	assert_int_equal(uroce_start_port(sides[0].context, NULL, NULL, 0), 0);
	sides_traffic(0, 1); /* resolves the neighbors */
}

/* A restart reads the RSS function anew, and the rules are made again. */
static void
test_restart(void **state)
{
	const struct uroce_rss *rss;
	unsigned int rules;
	uint64_t before;

	sides_open(0);
	rss = &uroce_port_of_context(sides[0].context)->steer.rss;
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0);
	sides_traffic(0, SIDE_QPS);
	sides_expect_all_steered();
	restart(true);
	assert_false(rss->ignores_peer);
	settle(0, SIDE_QPS);
	rules = sides[0].nic.rule_count;
	assert_true(rules > 0);
	restart(true);
	settle(0, SIDE_QPS);
	assert_int_equal(sides[0].nic.rule_count, rules);
	restart(false);
	assert_true(rss->ignores_peer);
	before = side_counter(0, "handed_over");
	sides_traffic(0, SIDE_QPS);
	assert_int_equal(side_counter(0, "handed_over"), before);
	assert_int_equal(sides[0].nic.rule_count, 0);
	sides_expect_nothing_lost();
}

/* ---- Telemetry -------------------------------------------------------------------------------------------------- */

static void
test_telemetry(void **state)
{
	sides[1].nic.fixed_key = true;
	sides_open(0);
	telemetry_expect("/uroce/info,uroce0", "\"steering\":\"qpn\",\"flow_rule_kind\":\"bth\",\"flow_rules\":0");
	telemetry_expect("/uroce/info,uroce1", "\"steering\":\"flow_label\"");
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0x1234b);
	settle(0, SIDE_QPS);
	telemetry_expect("/uroce/info,uroce0", UROCE_FLOW_HAS_BTH ? "_kind\":\"bth\"" : "_kind\":\"raw\"");
	assert_int_equal(telemetry_number("flow_rules"), sides[0].nic.rule_count);
	telemetry_ask("/uroce/worker,%u", sides[0].workers[0]->index);
	assert_true(telemetry_number("steered") > 0);
	assert_true(telemetry_number("handed_over") > 0);
}

static void
test_telemetry_of_others(void **state)
{
	sides[0].nic.takes = 0;
	sides[0].nic.secretive = true;
	sides_open(0);
	telemetry_expect("/uroce/info,uroce0", "\"steering\":\"unknown\"");
	sides_connect(IBV_QPT_RC, SIDE_QPS, GID_IPV4, 0x1234b);
	while (!__atomic_load_n(&uroce_port_of_context(sides[0].context)->steer.rules.refused, __ATOMIC_RELAXED))
		sides_traffic(0, SIDE_QPS);
	telemetry_expect("/uroce/info,uroce0", "\"flow_rule_kind\":\"none\",\"flow_rules\":0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, sides_setup, sides_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_key),
		TEST(test_hash),
		TEST(test_read),
		TEST(test_qpns),
		TEST(test_qpns_ipv6),
		TEST(test_datagrams),
		TEST(test_connections),
		TEST(test_rules_udp),
		TEST(test_rules_udp_ipv6),
		TEST(test_rules_raw),
		TEST(test_rules_bth),
		TEST(test_eviction),
		TEST(test_refused),
		TEST(test_changes),
		TEST(test_move),
		TEST(test_move_without_rules),
		TEST(test_restart),
		TEST(test_telemetry),
		TEST(test_telemetry_of_others),
	};

	return cmocka_run_group_tests(tests, telemetry_setup, telemetry_teardown);
}
