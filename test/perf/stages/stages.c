/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Runs a burst of WRITEs stage by stage, as two workers would, and reads the TSC in between. All data is in the caches of
 * one core; a run with two lcores shows the cost of transfers between caches. Main thread, which has the turns of both
 * workers.
 */

#include <stdio.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>

#include <uroce.h>

#include "base/clock.h"
#include "port/worker/rx.h"
#include "port/worker/tx.h"
#include "stages.h"
#include "wire/icrc.h"

const struct stage_info stage_infos[STAGE_COUNT] = {
#define STAGE(name, what, of, is_step) [STAGE_##name] = { .text = what, .per = of, .sums = is_step },
	STAGES
#undef STAGE
};

#define LIST (UROCE_BURST / 2)	/* work requests per post */

struct pass {
	struct pair_end *from, *to;
	uint32_t *cycles;
	uint64_t mark;
	struct rte_mbuf *frames[UROCE_BURST];
	struct uroce_packet packets[UROCE_BURST];
	struct uroce_qp *qps[UROCE_BURST];
	struct ibv_send_wr wrs[LIST];
	struct ibv_sge sge;
};

static inline void
done(struct pass *p, enum stage stage)
{
	uint64_t now = rte_rdtsc_precise();

	p->cycles[stage] = (uint32_t)(now - p->mark);
	p->mark = rte_rdtsc_precise();
}

static bool
is(const char *what, unsigned int n, unsigned int wanted)
{
	if (n == wanted)
		return true;
	fprintf(stderr, "stages: %u %s in place of %u\n", n, what, wanted);
	return false;
}

static void
prepare(struct pass *p, uint32_t bytes)
{
	p->sge = (struct ibv_sge){ (uintptr_t)p->from->buffer, bytes, p->from->mr->lkey };
	for (unsigned int i = 0; i < LIST; i++) {
		p->wrs[i] = (struct ibv_send_wr){
			.next = i + 1 < LIST ? &p->wrs[i + 1] : NULL,
			.sg_list = &p->sge,
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED |
				      (bytes <= UROCE_PERF_INLINE_BYTES ? IBV_SEND_INLINE : 0),
			.wr.rdma = { (uintptr_t)p->to->buffer, p->to->mr->rkey },
		};
	}
}

/* Run the stages from the work requests to the ring between the ports. */
static bool
send_burst(struct pass *p)
{
	struct uroce_worker *w = p->from->worker;
	struct ibv_send_wr *bad;
	unsigned int n, posted = 0;

	p->mark = rte_rdtsc_precise();
	for (unsigned int i = 0; i < UROCE_BURST / LIST; i++)
		posted += uroce_post_send(p->from->qp, p->wrs, &bad) == 0 ? LIST : 0;
	done(p, STAGE_POST);
	n = uroce_engine_send(&w->engine, p->frames, UROCE_BURST, w->now_ns);
	done(p, STAGE_REQUESTER);
	if (!is("work requests posted", posted, UROCE_BURST) || !is("frames", n, UROCE_BURST))
		return false;
	p->mark = rte_rdtsc_precise();
	uroce_tx_frames(w, p->frames, n);
	n = uroce_tx_flush(w, w->now_ns);
	done(p, STAGE_TX);
	return is("frames sent", n, UROCE_BURST);
}

/* Decode a packet as a worker does. */
static inline enum uroce_verdict
decode(struct pair_end *to, struct rte_mbuf *m, struct uroce_packet *p)
{
	enum uroce_verdict v = uroce_rx_frame(to->queue, m, to->worker->now_ns, p);

	return likely(v == UROCE_OK) ? uroce_packet_check_icrc(p) : v;
}

static bool
decode_burst(struct pass *p)
{
	struct pair_end *to = p->to;
	unsigned int n, right = 0;

	p->mark = rte_rdtsc_precise();
	n = rte_eth_rx_burst(to->queue->port_id, to->queue->id, p->frames, UROCE_BURST);
	done(p, STAGE_RX);
	if (!is("frames received", n, UROCE_BURST))
		return false;
	p->mark = rte_rdtsc_precise();
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		right += decode(to, p->frames[i], &p->packets[i]) == UROCE_OK;
	done(p, STAGE_DECODE);
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		p->qps[i] = uroce_qp_lookup(&to->queue->port->dev, p->packets[i].dest_qpn);
	done(p, STAGE_LOOKUP);
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		right += p->qps[i] == uroce_qp_of(to->qp);
	return is("packets for the queue pair", right, 2 * UROCE_BURST);
}

/* Measure parts of the stages separately. */
static bool
parts(struct pass *p)
{
	const uint64_t addr = (uintptr_t)p->to->buffer;
	const struct uroce_mrs *mrs = &p->to->queue->port->dev.mrs;
	unsigned int right = 0;

	p->mark = rte_rdtsc_precise();
	for (unsigned int i = 0; i < UROCE_BURST; i++) {
		const struct uroce_packet *q = &p->packets[i];
		uint32_t bytes = rte_pktmbuf_pkt_len(q->mbuf) - q->l3_offset - UROCE_ICRC_BYTES;
		uint32_t l4 = q->payload_offset - q->info->header_bytes - (uint32_t)sizeof(struct rte_udp_hdr);

		right += uroce_icrc(q->mbuf, q->l3_offset, l4, bytes) != 0;
	}
	done(p, STAGE_ICRC);
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		right += uroce_mr_lookup(mrs, p->to->mr->rkey, p->to->pd, addr, p->packets[i].payload_bytes,
					 IBV_ACCESS_REMOTE_WRITE) != NULL;
	done(p, STAGE_KEY);
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		uroce_packet_copy(&p->packets[i], 0, p->to->buffer, p->packets[i].payload_bytes);
	done(p, STAGE_PLACEMENT);
	/* a correct ICRC may be 0 */
	return is("look-ups", RTE_MAX(right, 2u * UROCE_BURST - 1), right);
}

/* Run the responder, its acknowledgement, and the completion. */
static bool
answer_burst(struct pass *p)
{
	struct uroce_worker *from = p->from->worker, *to = p->to->worker;
	struct uroce_qp *qp = uroce_qp_of(p->from->qp);
	struct ibv_wc wcs[UROCE_BURST];
	struct rte_mbuf *ack;
	enum uroce_verdict v;
	unsigned int n;

	p->mark = rte_rdtsc_precise();
	uroce_engine_receive(&to->engine, p->qps, p->packets, UROCE_BURST, to->now_ns);
	uroce_engine_heard(&to->engine, to->now_ns, true);
	done(p, STAGE_RESPONDER);
	rte_pktmbuf_free_bulk(p->frames, UROCE_BURST);
	done(p, STAGE_FREE);
	n = uroce_engine_send(&to->engine, &ack, 1, to->now_ns);
	done(p, STAGE_ACK);
	if (!is("acknowledgements", n, 1))
		return false;
	p->mark = rte_rdtsc_precise();
	v = decode(p->from, ack, p->packets);
	done(p, STAGE_ACK_DECODE);
	if (!is("verdict of the acknowledgement", v, UROCE_OK))
		return false;
	p->mark = rte_rdtsc_precise();
	uroce_engine_receive(&from->engine, &qp, p->packets, 1, from->now_ns);
	done(p, STAGE_COMPLETER);
	n = (unsigned int)uroce_poll_cq(p->from->cq, UROCE_BURST, wcs);
	done(p, STAGE_POLL);
	rte_pktmbuf_free(ack);
	return is("completions", n, UROCE_BURST);
}

static void
timers(struct pass *p)
{
	struct uroce_engine *e = &p->from->worker->engine;
	struct uroce_timer timer = { .deadline_ns = 0 };

	p->mark = rte_rdtsc_precise();
	for (unsigned int i = 0; i < UROCE_BURST; i++) {
		uroce_wheel_arm(&e->wheel, &timer, p->from->worker->now_ns + 1000000 + i * 100000);
		uroce_wheel_remove(&e->wheel, &timer);
	}
	done(p, STAGE_TIMER);
}

static bool
idle(struct pass *p)
{
	struct ibv_wc wc;
	unsigned int n = 0;

	p->mark = rte_rdtsc_precise();
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		n += uroce_worker_poll(p->from->worker);
	done(p, STAGE_ROUND);
	for (unsigned int i = 0; i < UROCE_BURST; i++)
		n += (unsigned int)uroce_poll_cq(p->from->cq, 1, &wc);
	done(p, STAGE_POLL_EMPTY);
	return is("frames in a round with nothing to do", n, 0);
}

int
stages_pass(struct pair_end ends[2], uint32_t bytes, uint32_t cycles[STAGE_COUNT])
{
	struct pass p = { .from = &ends[0], .to = &ends[1], .cycles = cycles };
	bool ok;

	prepare(&p, bytes);
	uroce_worker_enter(p.from->worker);
	uroce_worker_enter(p.to->worker);
	p.from->worker->now_ns = p.to->worker->now_ns = uroce_clock_ns();
	ok = send_burst(&p) && decode_burst(&p) && parts(&p) && answer_burst(&p);
	if (ok)
		timers(&p);
	uroce_worker_exit(p.to->worker);
	uroce_worker_exit(p.from->worker);
	return ok && idle(&p) ? 0 : -1;
}
