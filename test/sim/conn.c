/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates, connects and destroys pairs of QPs through the public API. The seed determines every attribute.
 */

#include "conn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include "builder.h"
#include "queues.h"
#include "transport/requester/requester.h"
#include "uroce.h"
#include "verbs/qp/qp.h"
#include "wire/psn.h"

static const int mtus[] = { 256, 512, 1024, 2048, 4096 };

static void
create_channel(struct side *s)
{
	s->channel = uroce_create_comp_channel(end_context(s->end));
	SIM_CHECK(s->channel != NULL, "uroce_create_comp_channel: %s", strerror(errno));
	SIM_CHECK(fcntl(s->channel->fd, F_SETFL, O_NONBLOCK) == 0, "fcntl: %s", strerror(errno));
}

static void
watch_cqs(struct side *s)
{
	if (s->channel == NULL)
		return;
	s->watches[0].cq = s->send_cq;
	if (s->recv_cq != s->send_cq)
		s->watches[1].cq = s->recv_cq;
}

static void
create_cqs(struct side *s, struct sim_random *r, const struct conn_conf *conf)
{
	int send = (int)s->cap.max_send_wr, recv = (int)s->cap.max_recv_wr;

	s->overrun = conf->cqe != 0;
	s->extended = random_once_in(r, 3);
	if (!s->overrun && random_once_in(r, 2))
		create_channel(s);
	if (random_once_in(r, 2)) {
		s->send_cq = queue_create(s, conf->cqe != 0 ? conf->cqe : send + recv);
		s->recv_cq = s->send_cq;
		watch_cqs(s);
		return;
	}
	s->send_cq = queue_create(s, conf->cqe != 0 ? conf->cqe : send);
	s->recv_cq = queue_create(s, conf->cqe != 0 ? conf->cqe : recv);
	watch_cqs(s);
}

static void
draw_cap(struct side *s, struct sim_random *r, uint32_t depth)
{
	s->cap.max_send_wr = depth != 0 ? depth
					: random_between(r, 2, 1u << random_between(r, 1, 7));
	s->cap.max_recv_wr = depth != 0 ? depth
					: random_between(r, 2, 1u << random_between(r, 1, 7));
	s->cap.max_send_sge = random_between(r, 1, UROCE_MAX_SGE);
	s->cap.max_recv_sge = random_between(r, 1, UROCE_MAX_SGE);
	s->cap.max_inline_data = random_once_in(r, 3) ? 0
						      : random_below(r, UROCE_MAX_INLINE_BYTES + 1);
}

static void
create_qp(struct side *s)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.qp_context = s,
		.send_cq = s->send_cq,
		.recv_cq = s->recv_cq,
		.cap = s->cap,
		.sq_sig_all = s->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD | (s->built ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = s->end->pd,
		.send_ops_flags = s->built ? builder_operations() : 0,
	};

	s->qp = uroce_create_qp_ex(end_context(s->end), &attr);
	SIM_CHECK(s->qp != NULL, "uroce_create_qp_ex: %s", strerror(errno));
	s->qpn = s->qp->qp_num;
	SIM_CHECK(attr.cap.max_send_sge >= s->cap.max_send_sge &&
			  attr.cap.max_inline_data >= s->cap.max_inline_data &&
			  attr.cap.max_send_wr >= s->cap.max_send_wr &&
			  attr.cap.max_recv_wr >= s->cap.max_recv_wr,
		  "less is granted than was asked for");
}

static void
side_create(struct world *w, struct sim_random *r, struct side *s, const struct conn_conf *conf)
{
	s->end = w->ends[conf->ends[s - s->conn->side]];
	s->peer = &s->conn->side[1 - (s - s->conn->side)];
	STAILQ_INIT(&s->ops);
	STAILQ_INIT(&s->dead_ops);
	STAILQ_INIT(&s->receives);
	STAILQ_INIT(&s->messages);
	s->next_wr_id = random_draw(r);
	draw_cap(s, r, conf->depth);
	create_cqs(s, r, conf);
	s->sq_sig_all = random_once_in(r, 4);
	s->built = random_once_in(r, 2);
	s->largest_send = random_below(r, (random_once_in(r, 8) ? 16 : 4) * s->conn->mtu_bytes);
	create_qp(s);
	window_init(s);
}

struct conn *
conn_create(struct world *w, struct sim_random *r, unsigned int index, const struct conn_conf *conf)
{
	const struct link_conf *link = &w->conf.link;
	struct conn *c = calloc(1, sizeof(*c));
	uint64_t round_trip_ns = link_round_trip_ns(link);
	unsigned int mtu;

	SIM_CHECK(c != NULL, "out of memory");
	mtu = random_below(r, RTE_DIM(mtus));
	c->index = index;
	c->mtu_bytes = (uint32_t)mtus[mtu];
	c->mtu = (enum ibv_mtu)(IBV_MTU_256 + mtu);
	/* without losses no retry is needed */
	c->retry_cnt = link_does_harm(link) ? 7 : (uint8_t)random_below(r, 8);
	c->rnr_retry = conf->rnr_retry;
	c->min_rnr_timer = (uint8_t)random_between(r, 1, 20);
	c->eager_receives = conf->eager_receives;
	/* Well above the round trip, so that only lost packets and long delays cause timeouts. */
	for (c->timeout = 4; (UINT64_C(4096) << c->timeout) < 4 * round_trip_ns + 1000000;
	     c->timeout++)
		;
	for (unsigned int i = 0; i < 2; i++) {
		c->side[i].conn = c;
		side_create(w, r, &c->side[i], conf);
	}
	return c;
}

/* Any PSN, but often one just before the wrap. */
static uint32_t
draw_psn(struct sim_random *r)
{
	uint32_t psn = (uint32_t)random_draw(r);

	return (random_once_in(r, 2) ? 0u - random_below(r, 300) : psn) & UROCE_PSN_MASK;
}

static void
modify(struct side *s, struct ibv_qp_attr *attr, int mask, const char *what)
{
	int ret = uroce_modify_qp(s->qp, attr, mask);

	SIM_CHECK(ret == 0, "uroce_modify_qp to %s: %s", what, strerror(ret));
}

void
conn_modify(struct side *s, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	modify(s, &attr, IBV_QP_STATE, "a state");
}

static void
to_init(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				   IBV_ACCESS_FLUSH_GLOBAL,
	};

	modify(s, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	       "INIT");
}

static void
to_rtr(struct side *s, struct sim_random *r)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = s->conn->mtu,
		.dest_qp_num = s->peer->qp->qp_num,
		.rq_psn = s->peer->sq_psn,
		/* at least the peer's max_rd_atomic */
		.max_dest_rd_atomic = (uint8_t)random_between(r, s->peer->max_rd_atomic, 16),
		.min_rnr_timer = s->conn->min_rnr_timer,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = s->peer->end->gid,
				.hop_limit = 64,
				.traffic_class = (uint8_t)random_draw(r),
				.flow_label = random_once_in(r, 2) ? 0 : random_below(r, 1 << 20),
			},
		},
	};

	modify(s, &attr,
	       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	       "RTR");
}

static void
to_rts(struct side *s)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = s->conn->timeout,
		.retry_cnt = s->conn->retry_cnt,
		.rnr_retry = s->conn->rnr_retry,
		.sq_psn = s->sq_psn,
		.max_rd_atomic = s->max_rd_atomic,
	};

	modify(s, &attr,
	       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC,
	       "RTS");
	/* the whole window at once: the messages of a seed would not let a large one grow */
	uroce_requester_of(uroce_qp_of(s->qp))->log2_window = uroce_qp_of(s->qp)->dev->log2_window;
}

void
conn_connect(struct sim_random *r, struct conn *c)
{
	static uint64_t lives;

	for (unsigned int i = 0; i < 2; i++) {
		c->side[i].life = ++lives;
		c->side[i].sq_psn = draw_psn(r);
		c->side[i].max_rd_atomic = (uint8_t)random_between(r, 1, 16);
	}
	for (unsigned int i = 0; i < 2; i++) {
		to_init(&c->side[i]);
		to_rtr(&c->side[i], r);
	}
	/* After both are in RTR: a request that arrives earlier would cost a retry. */
	for (unsigned int i = 0; i < 2; i++)
		to_rts(&c->side[i]);
}

void
conn_destroy_qp(struct side *s)
{
	if (s->qp == NULL)
		return;
	SIM_CHECK(uroce_destroy_qp(s->qp) == 0, "uroce_destroy_qp fails");
	s->qp = NULL;
}

static void
drop_spare_mr(struct conn *c)
{
	if (c->spare_mr != NULL)
		SIM_CHECK(uroce_dereg_mr(c->spare_mr) == 0, "uroce_dereg_mr fails");
	c->spare_mr = NULL;
}

/* Drop the failed requests and their expectations. */
static void
renew_side(struct side *s)
{
	s->unsignaled = 0;
	s->draining = s->drained = false;
	s->may_fail = s->must_fail = false;
	s->send_errors = s->recv_errors = 0;
	s->culprit = NULL;
	s->send_failed = s->recv_failed = false;
	s->send_status = s->recv_status = IBV_WC_SUCCESS;
	s->fatal_events = s->request_events = 0;
	window_fini(s);
	if (s->qp != NULL)
		conn_modify(s, IBV_QPS_RESET);
	else
		create_qp(s);
	window_init(s);
}

void
conn_renew(struct sim_random *r, struct conn *c, bool again)
{
	drop_spare_mr(c);
	/* destroy both before creating new ones */
	for (unsigned int i = 0; i < 2 && !again; i++)
		conn_destroy_qp(&c->side[i]);
	c->cut_off = false;
	renew_side(&c->side[0]);
	renew_side(&c->side[1]);
	conn_connect(r, c);
}

void
conn_destroy(struct conn *c)
{
	drop_spare_mr(c);
	for (unsigned int i = 0; i < 2; i++) {
		struct side *s = &c->side[i];

		SIM_CHECK(STAILQ_EMPTY(&s->ops) && STAILQ_EMPTY(&s->dead_ops) &&
				  STAILQ_EMPTY(&s->receives) && STAILQ_EMPTY(&s->messages),
			  "the simulation has lost track of what it posted");
		conn_destroy_qp(s);
		window_fini(s);
		SIM_CHECK(uroce_destroy_cq(s->send_cq) == 0, "uroce_destroy_cq fails");
		if (s->recv_cq != s->send_cq)
			SIM_CHECK(uroce_destroy_cq(s->recv_cq) == 0, "uroce_destroy_cq fails");
		if (s->channel != NULL)
			SIM_CHECK(uroce_destroy_comp_channel(s->channel) == 0,
				  "uroce_destroy_comp_channel fails");
	}
	free(c);
}
