/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The server's rounds. They run on the thread that polls the lane's worker: an lcore of its own, the client's loop if
 * both ends share an lcore, or the main thread of a server process.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_cycles.h>

#include "measure/server.h"
#include "measure/verify.h"

#define REMINDERS_PER_SECOND 100

void
uroce_perf_server_note(struct perf_server *s, const char *format, ...)
{
	va_list args;

	s->verdict.errors++;
	if (s->verdict.text[0] != '\0')
		return;
	va_start(args, format);
	vsnprintf(s->verdict.text, sizeof(s->verdict.text), format, args);
	va_end(args);
}

void
uroce_perf_server_init(struct perf_server *s)
{
	const struct perf_params *p = &s->end.params;
	const bool polled = p->mode == PERF_LAT && uroce_perf_lat_kind(p) == PERF_LAT_MEMORY;

	memset(&s->verdict, 0, sizeof(s->verdict));
	s->next_qp = 0;
	s->passive = s->end.recv_depth == 0 && !polled;
	uroce_perf_poster_init(&s->end);
}

/* Get the slot number of the message that has arrived; a SEND is in the slot of its receive. */
static uint64_t
place_of(const struct perf_server *s, const struct perf_qp *q)
{
	return s->end.params.op == PERF_SEND || s->end.params.op == PERF_SEND_IMM ? q->received
										  : q->expected;
}

/* Can the message be this far ahead? Datagrams may also be late or duplicate. */
static bool
may_be(const struct perf_server *s, const struct perf_qp *q, int64_t ahead)
{
	if (ahead >= 0)
		return true;
	return s->end.params.transport == PERF_UD && q->expected >= (uint64_t)-ahead;
}

/* Find the number of the message that has arrived. Without immediate data, an unexpected message is found by its
 * bytes. */
static size_t
message_find(struct perf_server *s, struct perf_qp *q)
{
	const struct perf_params *p = &s->end.params;
	uint64_t place = place_of(s, q);
	size_t wrong = uroce_perf_check_message(&s->end, q, place, q->expected);

	if (wrong == PERF_VERIFIED || !uroce_perf_is_lossy(p) || p->op != PERF_SEND)
		return wrong;
	for (int64_t i = 2; i < 2 * UROCE_PERF_LOSS_WINDOW; i++) {
		int64_t ahead = i & 1 ? -(i / 2) : i / 2;

		if (may_be(s, q, ahead) &&
		    uroce_perf_check_message(&s->end, q, place, q->expected + (uint64_t)ahead) ==
			    PERF_VERIFIED) {
			q->expected += (uint64_t)ahead;
			return PERF_VERIFIED;
		}
	}
	return wrong;
}

/* Check one message, then fill its slot with bytes that are wrong for the next message there. */
static void
message_check(struct perf_server *s, struct perf_qp *q)
{
	struct perf_end *end = &s->end;
	size_t wrong = message_find(s, q);

	if (wrong == PERF_VERIFIED)
		s->verdict.verified_bytes += end->params.size;
	else
		uroce_perf_server_note(s, "queue pair %u, message %llu: byte %zu is wrong", q->index,
		     (unsigned long long)q->expected, wrong);
	if (end->params.mode != PERF_LAT)
		uroce_perf_poison(uroce_perf_slot(end, q->in, place_of(s, q)) + end->grh,
				  end->params.size,
				  uroce_perf_pattern(q->index, q->expected + end->slots));
}

/* Check the message's length and number in the completion. */
static void
completion_check(struct perf_server *s, struct perf_qp *q, const struct ibv_wc *wc)
{
	const struct perf_params *p = &s->end.params;
	const uint32_t length = p->op == PERF_WRITE ? 0 : p->size + s->end.grh;
	int32_t ahead;

	if (wc->byte_len != length)
		uroce_perf_server_note(s, "queue pair %u, message %llu: completion of %u bytes instead of %u",
		     q->index, (unsigned long long)q->expected, wc->byte_len, length);
	if (p->op == PERF_SEND)
		return;
	ahead = (int32_t)(rte_be_to_cpu_32(wc->imm_data) - (uint32_t)q->expected);
	if ((wc->wc_flags & IBV_WC_WITH_IMM) == 0 || (ahead != 0 && !uroce_perf_is_lossy(p)) ||
	    !may_be(s, q, ahead))
		uroce_perf_server_note(s, "queue pair %u, message %llu: wrong immediate data", q->index,
		     (unsigned long long)q->expected);
	else
		q->expected += (uint64_t)(int64_t)ahead;
}

static void
message_received(struct perf_server *s, struct perf_qp *q)
{
	if (s->end.params.verify)
		message_check(s, q);
	q->posted = q->expected;	/* lat: a reply has the number of its message */
	q->received++;
	q->expected++;
	s->verdict.received++;
	if (s->end.params.mode == PERF_LAT && uroce_perf_post(&s->end, q, 1) != 0)
		uroce_perf_server_note(s, "cannot post a reply to queue pair %u", q->index);
}

/* After some completions of one QP: post receives, and give credit. */
static void
qp_refresh(struct perf_server *s, struct perf_qp *q)
{
	if (s->end.recv_depth > 0 && uroce_perf_end_receive(&s->end, q) != 0)
		uroce_perf_server_note(s, "cannot post receives to queue pair %u", q->index);
	if (uroce_perf_has_credits(&s->end.params) && !q->credit_busy &&
	    q->credited != q->expected && uroce_perf_post_credit(&s->end, q) != 0)
		uroce_perf_server_note(s, "cannot post a credit to queue pair %u", q->index);
}

/* Repeat credits: one may have been lost. */
static void
remind(struct perf_server *s)
{
	const uint64_t now = rte_rdtsc();

	if (likely(now < s->next_reminder))
		return;
	s->next_reminder = now + rte_get_tsc_hz() / REMINDERS_PER_SECOND;
	for (uint32_t i = 0; i < s->end.nb_qps; i++) {
		struct perf_qp *q = &s->end.qps[i];

		if (!q->credit_busy && q->received > 0 && uroce_perf_post_credit(&s->end, q) != 0)
			uroce_perf_server_note(s, "cannot post a credit to queue pair %u", q->index);
	}
}

static void
completion_take(struct perf_server *s, struct perf_qp *q, const struct ibv_wc *wc)
{
	if (unlikely(wc->status != IBV_WC_SUCCESS)) {
		if (wc->status != IBV_WC_WR_FLUSH_ERR)
			uroce_perf_server_note(s, "queue pair %u of the server: %s", q->index,
			     uroce_wc_status_str(wc->status));
	} else if ((wc->wr_id & PERF_WR_CREDIT) != 0) {
		q->credit_busy = false;
	} else if ((wc->opcode & IBV_WC_RECV) != 0) {
		completion_check(s, q, wc);
		message_received(s, q);
	}
}

/* Take all completions: the receives that one poll of the worker has consumed must be reposted. */
static unsigned int
completions_take(struct perf_server *s)
{
	struct ibv_wc wcs[UROCE_BURST];
	struct perf_qp *q = NULL;
	unsigned int taken = 0;
	int n;

	do {
		n = uroce_perf_end_completions(&s->end, wcs, RTE_DIM(wcs));
		for (int i = 0; i < n; i++) {
			struct perf_qp *next = uroce_perf_wr_qp(&s->end, wcs[i].wr_id);

			if (q != NULL && q != next)
				qp_refresh(s, q);
			q = next;
			completion_take(s, q, &wcs[i]);
		}
		taken += n > 0 ? (unsigned int)n : 0;
	} while (n == (int)RTE_DIM(wcs));
	if (q != NULL)
		qp_refresh(s, q);
	return taken;
}

static bool
arrived_take(struct perf_server *s, uint32_t index)
{
	struct perf_qp *q = &s->end.qps[index];
	int lost = uroce_perf_lat_arrived(&s->end, q, q->expected);

	if (lost < 0)
		return false;
	q->expected += (unsigned int)lost;
	message_received(s, q);
	s->next_qp = (index + 1) % s->end.nb_qps;
	return true;
}

/* Take the next message of a ping-pong in memory. The client uses the QPs in turn, but stays with one whose reply was
 * lost. */
static bool
polled_take(struct perf_server *s)
{
	const uint32_t qps = s->end.nb_qps;

	return arrived_take(s, s->next_qp) ||
	       (uroce_perf_is_lossy(&s->end.params) && arrived_take(s, (s->next_qp + qps - 1) % qps));
}

unsigned int
uroce_perf_server_round(struct perf_server *s)
{
	unsigned int work = 0;

	if (s->passive)
		return 0;
	if (s->end.params.mode == PERF_LAT && s->end.recv_depth == 0) {
		work += polled_take(s);
		if (work == 0 && (s->verdict.received & 7) != 0)
			return 0; /* completions of replies can wait */
	}
	if (uroce_perf_is_lossy(&s->end.params) && uroce_perf_has_credits(&s->end.params))
		remind(s);
	return work + completions_take(s);
}

int
uroce_perf_server_lcore(void *server)
{
	struct perf_server *s = server;

	/* pairs with the release in uroce_perf_servers_stop() */
	while (!__atomic_load_n(s->stop, __ATOMIC_ACQUIRE)) {
		uroce_worker_poll(s->end.worker);
		uroce_perf_server_round(s);
		/* pairs with the acquire in ping.c, which waits for rounds */
		__atomic_store_n(&s->rounds, s->rounds + 1, __ATOMIC_RELEASE);
	}
	return 0;
}
