/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reads the completions of plain and extended CQs, which must have the same fields.
 */

#include "queues.h"

#include <errno.h>
#include <string.h>

#include "conn.h"
#include "uroce.h"
#include "watch.h"

#define MOST_SPARE     64 /* most spare entries of a CQ */
#define MOST_COUNT     8
#define MOST_PERIOD_US 200

struct ibv_cq *
queue_create(struct side *s, int cqe)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = (uint32_t)cqe, .cq_context = s, .channel = s->channel,
		.wc_flags = IBV_WC_STANDARD_FLAGS,
	};
	struct ibv_cq *cq = s->extended ? ibv_cq_ex_to_cq(uroce_create_cq_ex(end_context(s->end), &attr))
					: uroce_create_cq(end_context(s->end), cqe, s, s->channel, 0);

	SIM_CHECK(cq != NULL, "no CQ: %s", strerror(errno));
	return cq;
}

static void
read_completion(struct ibv_cq_ex *cq, struct ibv_wc *wc)
{
	memset(wc, 0, sizeof(*wc));
	wc->wr_id = cq->wr_id;
	wc->status = cq->status;
	wc->qp_num = ibv_wc_read_qp_num(cq);
	wc->opcode = ibv_wc_read_opcode(cq);
	if (wc->status != IBV_WC_SUCCESS)
		return; /* the other fields are undefined */
	wc->byte_len = ibv_wc_read_byte_len(cq);
	wc->wc_flags = ibv_wc_read_wc_flags(cq);
	wc->src_qp = ibv_wc_read_src_qp(cq);
	if (wc->wc_flags & IBV_WC_WITH_INV)
		wc->invalidated_rkey = ibv_wc_read_invalidated_rkey(cq);
	else
		wc->imm_data = ibv_wc_read_imm_data(cq);
}

static int
poll_extended(const struct side *s, struct ibv_cq_ex *cq, int room, struct ibv_wc *wc)
{
	struct ibv_poll_cq_attr attr = { .comp_mask = 0 };
	int n = 0, ret = ibv_start_poll(cq, &attr);

	if (ret == ENOENT || (ret != 0 && s->overrun))
		return 0;
	while (ret == 0) {
		read_completion(cq, &wc[n++]);
		if (n == room)
			break;
		ret = ibv_next_poll(cq);
	}
	ibv_end_poll(cq);
	SIM_CHECK(ret == 0 || ret == ENOENT || s->overrun, "ibv_next_poll: %s", strerror(ret));
	return n;
}

int
queue_poll(struct side *s, struct ibv_cq *cq, int room, struct ibv_wc *wc)
{
	if (s->extended && room > 0)
		return poll_extended(s, (struct ibv_cq_ex *)cq, room, wc);
	return uroce_poll_cq(cq, room, wc);
}

static void
resize(struct sim_random *r, struct side *s, struct ibv_cq *cq)
{
	uint32_t least = s->send_cq == s->recv_cq ? s->cap.max_send_wr + s->cap.max_recv_wr
			 : cq == s->send_cq	  ? s->cap.max_send_wr
						  : s->cap.max_recv_wr;
	int ret = uroce_resize_cq(cq, (int)(least + random_below(r, MOST_SPARE)));

	SIM_CHECK(ret == 0, "uroce_resize_cq: %s", strerror(ret));
}

/* Moderated events may be late, but must not be lost. */
static void
moderate(struct sim_random *r, struct side *s, struct ibv_cq *cq)
{
	struct ibv_modify_cq_attr attr = {
		.attr_mask = IBV_CQ_ATTR_MODERATE,
		.moderate = { .cq_count = (uint16_t)random_between(r, 1, MOST_COUNT),
			      .cq_period = (uint16_t)random_between(r, 1, MOST_PERIOD_US) },
	};
	int ret = uroce_modify_cq(cq, &attr);

	SIM_CHECK(ret == 0, "uroce_modify_cq: %s", strerror(ret));
	watch_moderate(s, cq);
}

void
queue_change(struct sim_random *r, struct side *s)
{
	struct ibv_cq *cq = random_once_in(r, 2) ? s->send_cq : s->recv_cq;

	if (s->channel != NULL && random_once_in(r, 3))
		moderate(r, s, cq);
	else if (!s->overrun)
		resize(r, s, cq);
}
