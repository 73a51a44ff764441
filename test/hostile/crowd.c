/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include "crowd.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"
#include "wire/psn.h"

#define FIRST_QPN 0x200 /* of the peers of the innocent QPs */
#define DEPTH     48
#define UNLIMITED (UROCE_AETH_ACK | UROCE_AETH_CREDITS_UNLIMITED)

static struct ibv_qp *
qp_create(struct crowd *c)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.send_cq = c->peer.send_cq,
		.recv_cq = c->peer.recv_cq,
		.cap = { .max_send_wr = DEPTH,
			 .max_recv_wr = DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = uroce_create_qp(c->peer.pd, &init);

	assert_non_null(qp);
	return qp;
}

static void
fill(struct crowd *c, struct ibv_qp *qp)
{
	const struct uroce_qp *q = uroce_qp_of(qp);

	c->peer.qp = qp;
	while (q->sq.tail - q->sq.head < DEPTH && qp->state == IBV_QPS_RTS)
		peer_post(&c->peer, IBV_WR_RDMA_WRITE, 0, CROWD_BYTES, 1, 0);
	c->peer.qp = c->hostile;
}

static void
connect_hostile(struct crowd *c)
{
	struct peer_conf conf = { .mtu = IBV_MTU_4096 };

	if (c->attack != NULL) {
		conf = c->attack->conf;
		conf.mtu = IBV_MTU_4096;
	}
	peer_connect(c->hostile, &conf);
	c->next_psn = PEER_RQ_PSN;
	c->first_psn = PEER_SQ_PSN;
	c->heard_psn = PEER_SQ_PSN - 1;
}

void
crowd_start(struct crowd *c, const struct attack *attack)
{
	struct peer_conf conf = { .mtu = IBV_MTU_4096, .cqe = 1024, .state = IBV_QPS_INIT };

	memset(c, 0, sizeof(*c));
	c->attack = attack;
	peer_start(&c->peer, &conf);
	assert_int_equal(uroce_modify_qp(c->peer.qp,
					 &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
					 IBV_QP_STATE),
			 0);
	assert_int_equal(fcntl(c->peer.dev.vctx.context.async_fd, F_SETFL, O_NONBLOCK), 0);
	c->hostile = c->peer.qp;
	connect_hostile(c);
	for (unsigned int i = 0; i < CROWD_INNOCENT; i++) {
		conf = (struct peer_conf){ .mtu = IBV_MTU_4096, .dest_qpn = FIRST_QPN + i };
		c->innocent[i] = qp_create(c);
		c->last_psn[i] = PEER_SQ_PSN - 1;
		peer_connect(c->innocent[i], &conf);
	}
}

void
crowd_stop(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_INNOCENT; i++)
		assert_int_equal(uroce_destroy_qp(c->innocent[i]), 0);
	c->peer.qp = c->hostile;
	peer_stop(&c->peer);
}

/* ---- received packets ------------------------------------------------------------------ */

void
crowd_in_times(struct crowd *c, const struct peer_packet *in, unsigned int times)
{
	struct peer_packet burst[UROCE_BURST];

	c->peer.qp = c->hostile;
	for (unsigned int n; times > 0; times -= n) {
		n = RTE_MIN(times, (unsigned int)RTE_DIM(burst));
		for (unsigned int i = 0; i < n; i++)
			burst[i] = *in;
		peer_in_burst(&c->peer, burst, n);
		c->strikes += n;
	}
}

enum uroce_verdict
crowd_in(struct crowd *c, const struct peer_packet *in)
{
	c->peer.qp = c->hostile;
	c->strikes++;
	return peer_in(&c->peer, in);
}

static void
acknowledge(struct crowd *c)
{
	for (unsigned int i = 0; i < CROWD_INNOCENT; i++) {
		struct peer_packet ack = { .opcode = UROCE_RC_ACKNOWLEDGE,
					   .syndrome = UNLIMITED,
					   .psn = c->last_psn[i] };

		if (!c->ack_due[i])
			continue;
		c->ack_due[i] = false;
		c->peer.qp = c->innocent[i];
		peer_in_burst(&c->peer, &ack, 1);
	}
	c->peer.qp = c->hostile;
}

/* ---- sent packets ---------------------------------------------------------------------- */

static void
take(struct crowd *c, const struct uroce_packet *p)
{
	unsigned int i = p->dest_qpn - FIRST_QPN;

	if (p->dest_qpn == PEER_QPN) {
		c->hostile_packets++;
		c->heard_psn = p->psn;
		if (c->attack != NULL && c->attack->heard != NULL)
			c->attack->heard(c, p);
		return;
	}
	assert_true(i < CROWD_INNOCENT);
	/* during any attack, no packet of an innocent QP is lost, duplicated or out of order */
	assert_int_equal(p->psn, uroce_psn_add(c->last_psn[i], 1));
	c->last_psn[i] = p->psn;
	c->ack_due[i] |= p->ack_req;
	c->per_qp[i]++;
	c->innocent_packets++;
}

static void
transmit(struct crowd *c)
{
	struct rte_mbuf *frames[UROCE_BURST];
	struct uroce_packet p;
	unsigned int n;

	/* as a worker does */
	for (unsigned int burst = 0; burst < UROCE_POLL_BURSTS; burst++) {
		n = uroce_engine_send(&c->peer.engine, frames, RTE_DIM(frames), c->peer.now_ns);
		for (unsigned int i = 0; i < n; i++) {
			assert_int_equal(uroce_packet_decode(frames[i], 14, &p), UROCE_OK);
			take(c, &p);
			rte_pktmbuf_free(frames[i]);
		}
		if (n < RTE_DIM(frames))
			break;
	}
}

/* Poll completions and post further WRITEs; read events. */
static void
work(struct crowd *c)
{
	struct ibv_async_event event;
	struct ibv_wc wc[32];
	int n;

	while ((n = uroce_poll_cq(c->peer.send_cq, RTE_DIM(wc), wc)) > 0)
		for (int i = 0; i < n; i++)
			if (wc[i].qp_num != c->hostile->qp_num)
				assert_int_equal(wc[i].status, IBV_WC_SUCCESS);
	while (uroce_poll_cq(c->peer.recv_cq, RTE_DIM(wc), wc) > 0)
		;
	for (unsigned int i = 0; i < CROWD_INNOCENT; i++)
		fill(c, c->innocent[i]);
	if (c->attack == NULL)
		return;
	if (c->attack->fatal && uroce_qp_of(c->hostile)->state == IBV_QPS_ERR) {
		while (uroce_get_async_event(&c->peer.dev.vctx.context, &event) == 0)
			uroce_ack_async_event(&event);
		assert_int_equal(uroce_modify_qp(c->hostile,
						 &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET },
						 IBV_QP_STATE),
				 0);
		connect_hostile(c);
	}
	if (c->attack->posts)
		fill(c, c->hostile);
}

void
crowd_run(struct crowd *c, unsigned int rounds)
{
	work(c);
	for (unsigned int i = 0; i < rounds; i++) {
		c->peer.now_ns += CROWD_NS;
		acknowledge(c);
		if (c->attack != NULL && c->attack->strike != NULL)
			c->attack->strike(c);
		transmit(c);
		work(c);
		/* between rounds the engine holds no mbufs */
		assert_int_equal(rte_mempool_in_use_count(c->peer.headers), 0);
		assert_int_equal(rte_mempool_in_use_count(c->peer.payloads), 0);
	}
	c->innocent_least = UINT64_MAX;
	for (unsigned int i = 0; i < CROWD_INNOCENT; i++)
		c->innocent_least = RTE_MIN(c->innocent_least, c->per_qp[i]);
}

uint64_t
crowd_counter(const struct crowd *c, const char *name)
{
	for (unsigned int i = 0; i < UROCE_VERDICT_COUNT; i++)
		if (strcmp(uroce_verdicts[i].name, name) == 0)
			return c->peer.engine.verdicts[i];
	for (unsigned int i = 0; i < UROCE_ENGINE_COUNTER_COUNT; i++)
		if (strcmp(uroce_engine_counter_names[i], name) == 0)
			return c->peer.engine.counters[i];
	fail_msg("no counter is named %s", name);
	return 0;
}
