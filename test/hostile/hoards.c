/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Peers that make a worker hold resources for them: out-of-order requests whose gap they never close, and records of
 * missing packets that they never report as received. Meanwhile pairs of queue pairs send to each other, with and
 * without loss. Packets sent in one round of the worker arrive in the next. The rounds are the only clock; for one
 * thread.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>

#include "cmocka_compat.h"
#include "groups.h"
#include "peer.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/psn.h"
#include "wire/sack.h"

#define PAIRS   4
#define HOSTILE (UROCE_REORDER_QPS + 44) /* more than there are records of either kind */
#define DEPTH   8
#define BYTES   16384 /* of a message: 16 packets */
#define STRIKES 32    /* frames of the attackers per round */
#define ROUNDS  400
#define NS      10000
#define SHARE   80 /* % of the packets executed without attackers */

struct world {
	struct peer peer;
	struct rte_mempool *rx; /* mbufs for received frames, as in a port's queue */
	struct ibv_qp *sender[PAIRS];
	struct ibv_qp *receiver[PAIRS];
	struct ibv_qp *hostile[HOSTILE];
	unsigned int attackers;
	struct rte_mbuf *flight[UROCE_POLL_BURSTS * UROCE_BURST];
	unsigned int flying;
	bool lossy; /* lose one frame in a hundred between the pairs */
	bool posts;
	uint32_t draws;
	uint32_t struck;
	uint32_t posted[PAIRS];
	uint32_t done[PAIRS];
};

static struct world w;

static struct ibv_qp *
qp_create(void)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = w.peer.send_cq,
		.recv_cq = w.peer.recv_cq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp(w.peer.pd, &init);

	assert_non_null(qp);
	return qp;
}

/* The packets return to this engine: their source is its own address (R8). */
static void
pair_up(struct ibv_qp *qp, const struct ibv_qp *other)
{
	struct peer_conf conf = { .dest_qpn = other->qp_num,
				  .rq_psn = PEER_SQ_PSN,
				  .sq_psn = PEER_SQ_PSN };

	peer_connect(qp, &conf);
	uroce_qp_of(qp)->path.dgid.raw[15] = 1;
}

static void
start(unsigned int attackers, unsigned int rx_mbufs, bool go_back_n)
{
	struct peer_conf conf = { .cqe = 1024, .log2_max_qp = 10, .go_back_n = go_back_n };

	memset(&w, 0, sizeof(w));
	peer_start(&w.peer, &conf);
	w.posts = true;
	w.attackers = attackers;
	w.rx = rte_pktmbuf_pool_create("rx", rx_mbufs, 0, 0,
				       RTE_PKTMBUF_HEADROOM + UROCE_ENGINE_ROOM(1024),
				       SOCKET_ID_ANY);
	assert_non_null(w.rx);
	for (unsigned int i = 0; i < PAIRS; i++) {
		w.sender[i] = qp_create();
		w.receiver[i] = qp_create();
		pair_up(w.sender[i], w.receiver[i]);
		pair_up(w.receiver[i], w.sender[i]);
	}
	conf = (struct peer_conf){ .retry_cnt = 1 };
	for (unsigned int i = 0; i < attackers; i++) {
		w.hostile[i] = qp_create();
		peer_connect(w.hostile[i], &conf);
		/* as those of many hosts: QPs to one host share a budget of packets in flight */
		uroce_requester_of(uroce_qp_of(w.hostile[i]))->budget = i % UROCE_BUDGETS;
	}
}

static void
finish(void)
{
	rte_pktmbuf_free_bulk(w.flight, w.flying);
	for (unsigned int i = 0; i < PAIRS; i++) {
		assert_int_equal(uroce_destroy_qp(w.sender[i]), 0);
		assert_int_equal(uroce_destroy_qp(w.receiver[i]), 0);
	}
	for (unsigned int i = 0; i < w.attackers; i++)
		assert_int_equal(uroce_destroy_qp(w.hostile[i]), 0);
	assert_int_equal(w.peer.engine.reorder.frames_free, UROCE_REORDER_FRAMES);
	assert_int_equal(w.peer.engine.recoveries.lent, 0);
	peer_stop(&w.peer);
	assert_int_equal(rte_mempool_in_use_count(w.rx), 0);
	rte_mempool_free(w.rx);
}

static uint64_t
counter(enum uroce_engine_counter c)
{
	return w.peer.engine.counters[c];
}

static unsigned int
kept(void)
{
	return UROCE_REORDER_FRAMES - w.peer.engine.reorder.frames_free;
}

/* ---- a round -------------------------------------------------------------------------------- */

static bool
is_lost(void)
{
	w.draws = w.draws * 1664525u + 1013904223u;
	return w.lossy && (w.draws >> 16) % 100 == 0;
}

/* Receive the packets of the last round, copied into mbufs of the port, as from a wire. */
static void
receive(void)
{
	struct uroce_packet packets[UROCE_BURST];
	struct uroce_qp *qps[UROCE_BURST];

	for (unsigned int at = 0, n; at < w.flying; at += n) {
		n = RTE_MIN(w.flying - at, (unsigned int)UROCE_BURST);
		for (unsigned int i = 0; i < n; i++) {
			struct rte_mbuf *sent = w.flight[at + i];
			struct rte_mbuf *m = rte_pktmbuf_copy(sent, w.rx, 0, UINT32_MAX);

			assert_non_null(m); /* the engine must not hold all mbufs */
			rte_pktmbuf_free(sent);
			assert_int_equal(uroce_packet_decode(m, 14, &packets[i]), UROCE_OK);
			qps[i] = uroce_qp_lookup(&w.peer.dev, packets[i].dest_qpn);
			assert_non_null(qps[i]);
		}
		uroce_engine_receive(&w.peer.engine, qps, packets, n, w.peer.now_ns);
		for (unsigned int i = 0; i < n; i++)
			rte_pktmbuf_free(packets[i].mbuf);
	}
	w.flying = 0;
}

/* Send as a worker does; packets to the attackers are dropped. */
static void
transmit(void)
{
	struct rte_mbuf *frames[UROCE_BURST];
	struct uroce_packet p;
	unsigned int n = UROCE_BURST;

	for (unsigned int b = 0; b < UROCE_POLL_BURSTS && n == UROCE_BURST; b++) {
		n = uroce_engine_send(&w.peer.engine, frames, UROCE_BURST, w.peer.now_ns);
		for (unsigned int i = 0; i < n; i++) {
			assert_int_equal(uroce_packet_decode(frames[i], 14, &p), UROCE_OK);
			if (p.dest_qpn == PEER_QPN || is_lost())
				rte_pktmbuf_free(frames[i]);
			else
				w.flight[w.flying++] = frames[i];
		}
	}
}

static void
post(unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)w.peer.buffer, BYTES, w.peer.mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = w.posted[i]++,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)w.peer.buffer + BYTES * (i % 2 + 1), w.peer.mr->rkey },
	};

	assert_int_equal(uroce_post_send(w.sender[i], &wr, &bad), 0);
}

/* The pairs' requests complete in order and without errors; those of the attackers' QPs may fail. */
static void
work(void)
{
	struct ibv_wc wc;

	while (uroce_poll_cq(w.peer.send_cq, 1, &wc) == 1)
		for (unsigned int i = 0; i < PAIRS; i++)
			if (wc.qp_num == w.sender[i]->qp_num) {
				assert_int_equal(wc.status, IBV_WC_SUCCESS);
				assert_int_equal(wc.wr_id, w.done[i]);
				w.done[i]++;
			}
	for (unsigned int i = 0; w.posts && i < PAIRS; i++)
		while (w.posted[i] - w.done[i] < DEPTH)
			post(i);
}

static void
run(unsigned int rounds, void (*strike)(void))
{
	struct rte_mempool *payloads = w.peer.payloads;

	for (unsigned int i = 0; i < rounds; i++) {
		work();
		w.peer.now_ns += NS;
		receive();
		w.peer.payloads = w.rx; /* peer_in() takes its frames from this pool */
		if (strike != NULL)
			strike();
		w.peer.payloads = payloads;
		transmit();
		assert_int_equal(rte_mempool_in_use_count(w.rx), kept());
	}
}

/* @return packets of the pairs executed in these rounds; sets least to the requests of the slowest pair */
static uint64_t
executed(void (*strike)(void), uint32_t *least)
{
	uint64_t before = counter(UROCE_RECEIVED_BYTES);
	uint32_t done[PAIRS];

	memcpy(done, w.done, sizeof(done));
	run(ROUNDS, strike);
	*least = UINT32_MAX;
	for (unsigned int i = 0; i < PAIRS; i++)
		*least = RTE_MIN(*least, w.done[i] - done[i]);
	return (counter(UROCE_RECEIVED_BYTES) - before) / 1024;
}

/* Without attackers: without loss, and with loss where all QPs go back N. */
static uint64_t alone, back;
static uint32_t least_alone;

static uint64_t
undisturbed(bool lossy, bool go_back_n)
{
	uint64_t packets;

	start(0, UROCE_RX_MBUFS + UROCE_REORDER_FRAMES, go_back_n);
	w.lossy = lossy;
	run(20, NULL);
	packets = executed(NULL, &least_alone);
	finish();
	return packets;
}

static int
measure(void **state)
{
	back = undisturbed(true, true);
	alone = undisturbed(false, false);
	return 0;
}

/* All posted requests complete, with or without loss or attack. */
static void
all_complete(void (*strike)(void))
{
	w.posts = false;
	for (unsigned int i = 0; i < PAIRS; i++)
		for (unsigned int n = 0; w.done[i] != w.posted[i]; n++) {
			assert_true(n < 100000);
			run(1, strike);
		}
}

/* Under attack, first without loss, then with it. A QP that goes back N for lack of a record gets at least its share of
 * the rate that it would have if all QPs went back N. */
static void
others_have_their_share(void (*strike)(void))
{
	uint32_t least;

	assert_true(back > 0 && back < alone);
	assert_true(executed(strike, &least) * 100 >= alone * SHARE);
	assert_true(least * 100 >= least_alone * SHARE);
	w.lossy = true;
	assert_true(executed(strike, &least) * 100 >= back * SHARE);
	assert_true(least > 0);
	all_complete(strike);
	w.lossy = false;
}

/* ---- the attacks ---------------------------------------------------------------------------- */

/* A request `ahead` of the expected PSN, which never arrives. */
static void
strike_early(uint32_t attacker, uint32_t ahead)
{
	struct peer_packet in = { .opcode = UROCE_RC_WRITE_ONLY,
				  .psn = PEER_RQ_PSN + ahead,
				  .va = (uintptr_t)w.peer.buffer,
				  .rkey = w.peer.mr->rkey,
				  .dma_len = 8,
				  .payload_bytes = 8 };
	struct ibv_qp *own = w.peer.qp;

	w.peer.qp = w.hostile[attacker];
	peer_in_burst(&w.peer, &in, 1);
	w.peer.qp = own;
}

/* A few attackers fill their windows, in turn. */
static void
fill_windows(void)
{
	for (unsigned int i = 0; i < STRIKES; i++, w.struck++)
		strike_early(w.struck % w.attackers,
			     1 + w.struck / w.attackers % (UROCE_REORDER_WINDOW - 1));
}

/* Report the second packet as received; never report the first. */
static void
lack_the_first(void)
{
	struct uroce_sack s = { .runs[0] = { rte_cpu_to_be_16(1), rte_cpu_to_be_16(1) } };
	struct peer_packet in = { .opcode = UROCE_RC_SACK,
				  .syndrome = UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED,
				  .psn = PEER_SQ_PSN,
				  .payload = (const uint8_t *)&s,
				  .payload_bytes = UROCE_SACK_BYTES(1) };
	struct ibv_qp *own = w.peer.qp;

	uroce_put24(s.asked, PEER_SQ_PSN + 2);
	for (unsigned int i = 0; i < STRIKES; i++, w.struck++) {
		w.peer.qp = w.hostile[w.struck % w.attackers];
		peer_in_burst(&w.peer, &in, 1);
	}
	w.peer.qp = own;
}

static void
expect_given_back(void)
{
	w.posts = false;
	run(UROCE_REORDER_NS / NS + 1, NULL);
	assert_int_equal(kept(), 0);
	assert_true(TAILQ_EMPTY(&w.peer.engine.reorder.holders));
	assert_true(counter(UROCE_EARLY_EXPIRED) > 0);
	assert_int_equal(rte_mempool_in_use_count(w.rx), 0);
}

static void
early_packets_of_a_few_peers(void **state)
{
	start(4, UROCE_RX_MBUFS + UROCE_REORDER_FRAMES, false);
	run(UROCE_REORDER_FRAMES / STRIKES + 1, fill_windows);
	assert_int_equal(kept(), UROCE_REORDER_FRAMES);
	others_have_their_share(fill_windows);
	assert_int_equal(kept(), UROCE_REORDER_FRAMES);
	assert_true(w.peer.engine.verdicts[UROCE_DROP_AHEAD] > 0);
	expect_given_back();
	finish();
}

static void
early_packets_of_many_peers(void **state)
{
	start(HOSTILE, UROCE_RX_MBUFS + UROCE_REORDER_FRAMES, false);
	run(HOSTILE / STRIKES + 1, fill_windows);
	assert_true(TAILQ_EMPTY(&w.peer.engine.reorder.free));
	others_have_their_share(fill_windows);
	assert_true(kept() <= UROCE_REORDER_FRAMES);
	expect_given_back();
	finish();
}

/* With a pool too small for the reorder buffers, the receiving port keeps enough mbufs. */
static void
early_packets_in_a_small_pool(void **state)
{
	start(4, 1023, false);
	run(UROCE_REORDER_FRAMES / STRIKES + 1, fill_windows);
	assert_uint_in_range(kept(), 512, 1023 - 1023 / UROCE_REORDER_SPARE - 2 * UROCE_BURST + 1 +
						UROCE_REORDER_SPARE_FRAMES);
	others_have_their_share(fill_windows);
	expect_given_back();
	finish();
}

static void
recoveries_that_never_end(void **state)
{
	struct ibv_qp *own;

	start(HOSTILE, UROCE_RX_MBUFS + UROCE_REORDER_FRAMES, false);
	own = w.peer.qp;
	for (unsigned int i = 0; i < HOSTILE; i++) {
		w.peer.qp = w.hostile[i];
		peer_post(&w.peer, IBV_WR_RDMA_WRITE, 0, 2048, i, 0);
	}
	w.peer.qp = own;
	run(20, NULL);
	run(2 * HOSTILE / STRIKES, lack_the_first);
	assert_int_equal(w.peer.engine.recoveries.lent, UROCE_RECOVERIES);
	others_have_their_share(lack_the_first);
	assert_int_equal(w.peer.engine.recoveries.lent, UROCE_RECOVERIES);
	/* the retries run out, which frees the records */
	w.posts = false;
	for (unsigned int i = 0; i < 1000; i++) {
		w.peer.now_ns += 1000000;
		run(1, NULL);
	}
	assert_int_equal(w.peer.engine.recoveries.lent, 0);
	for (unsigned int i = 0; i < HOSTILE; i++)
		assert_int_equal(uroce_qp_of(w.hostile[i])->state, IBV_QPS_ERR);
	finish();
}

UROCE_TESTS(hostile_hoards)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(early_packets_of_a_few_peers),
		cmocka_unit_test(early_packets_of_many_peers),
		cmocka_unit_test(early_packets_in_a_small_pool),
		cmocka_unit_test(recoveries_that_never_end),
	};

	return cmocka_run_group_tests(tests, measure, NULL);
}
