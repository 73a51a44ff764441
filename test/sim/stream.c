/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Streams of messages, posted as fast as they complete.
 */

#include "stream.h"

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "harness/qp.h"
#include "uroce.h"
#include "uroce_verbs.h"

#define MTU_BYTES    4096
#define FIRST_PSN    0xfff000 /* the PSN wraps soon */
#define STILL_ROUNDS 1000000  /* most rounds at the same time: more are an endless loop */
#define POST_ROUNDS  1000     /* most rounds at the same time that post: a link without delay never stops them */
#define RIGHTS	     (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)

static size_t
memory_bytes(const struct stream *s)
{
	return (size_t)s->conf.depth * s->conf.message_bytes;
}

static void
create_half(struct stream *s, unsigned int i)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { s->conf.depth, s->conf.depth, 1, 1, 0 },
	};
	struct end *e = s->ends[i];

	s->memory[i] = rte_zmalloc(NULL, memory_bytes(s), RTE_CACHE_LINE_SIZE);
	SIM_CHECK(s->memory[i] != NULL, "no memory for a stream");
	s->mrs[i] = uroce_reg_mr(e->pd, s->memory[i], memory_bytes(s),
				 RIGHTS | (s->conf.stable ? UROCE_ACCESS_STABLE : 0));
	SIM_CHECK(s->mrs[i] != NULL, "uroce_reg_mr: %s", strerror(errno));
	s->cqs[i] = uroce_create_cq(end_context(e), (int)(2 * s->conf.depth), NULL, NULL, 0);
	SIM_CHECK(s->cqs[i] != NULL, "uroce_create_cq: %s", strerror(errno));
	attr.send_cq = attr.recv_cq = s->cqs[i];
	s->qps[i] = uroce_create_qp(e->pd, &attr);
	SIM_CHECK(s->qps[i] != NULL, "uroce_create_qp: %s", strerror(errno));
}

static void
connect_half(struct stream *s, unsigned int i)
{
	struct ibv_qp_attr attr = {
		.port_num = 1,
		.qp_access_flags = RIGHTS,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = s->qps[1 - i]->qp_num,
		.rq_psn = FIRST_PSN,
		.sq_psn = FIRST_PSN,
		.max_rd_atomic = UROCE_MAX_RD_ATOMIC,
		.max_dest_rd_atomic = UROCE_MAX_RD_ATOMIC,
		.min_rnr_timer = 1,
		.retry_cnt = s->conf.no_retries ? 0 : 7,
		.rnr_retry = 7,
		.timeout = s->conf.timeout,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {
				.dgid = s->ends[1 - i]->gid,
				.hop_limit = 64,
				.traffic_class = s->conf.traffic_class,
			},
		},
	};

	harness_qp_to(s->qps[i], attr, IBV_QPS_RTS);
}

static void
post_receive(struct stream *s, uint64_t slot)
{
	struct ibv_sge sge = {
		(uintptr_t)s->memory[1] + slot * s->conf.message_bytes,
		s->conf.message_bytes,
		s->mrs[1]->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	SIM_CHECK(uroce_post_recv(s->qps[1], &wr, &bad) == 0, "uroce_post_recv fails");
}

/* Fill the source with random bytes, and the destination with zeros. */
static void
fill(struct stream *s)
{
	uint8_t *from = s->memory[s->conf.opcode == IBV_WR_RDMA_READ ? 1 : 0];
	struct sim_random random;

	random_init(&random, s->qps[0]->qp_num, 0);
	for (size_t i = 0; i + 8 <= memory_bytes(s); i += 8) {
		uint64_t value = random_draw(&random);

		memcpy(from + i, &value, sizeof(value));
	}
}

/* ---- changing memory: each word contains its index and the number of its changes ---- */

#define WORD_BYTES 8

/* Change some words of each packet in the responder's memory, while built frames wait to be sent. */
static void
change(void *arg)
{
	struct stream *s = arg;

	s->changes++;
	for (size_t i = s->changes % 32 * WORD_BYTES; i + WORD_BYTES <= memory_bytes(s); i += 32 * WORD_BYTES)
		memcpy(s->memory[1] + i, &s->changes, sizeof(s->changes));
}

static void
number_words(struct stream *s)
{
	for (size_t i = 0; i + WORD_BYTES <= memory_bytes(s); i += WORD_BYTES) {
		uint64_t word = (uint64_t)(i / WORD_BYTES) << 32;

		memcpy(s->memory[1] + i, &word, sizeof(word));
	}
	s->ends[1]->departing = change;
	s->ends[1]->departing_arg = s;
}

/* Check the words READ to slot `offset`: none is older than at the last READ, and each value has existed. */
static void
check_words(const struct stream *s, uint64_t offset)
{
	size_t from = (offset + WORD_BYTES - 1) / WORD_BYTES * WORD_BYTES;

	for (size_t i = from; i + WORD_BYTES <= offset + s->conf.message_bytes; i += WORD_BYTES) {
		uint64_t word, now;

		memcpy(&word, s->memory[0] + i, sizeof(word));
		memcpy(&now, s->memory[1] + i, sizeof(now));
		SIM_CHECK(word >> 32 == i / WORD_BYTES && word <= now, "word %zu reads 0x%jx, and is 0x%jx by now",
			  i / WORD_BYTES, (uintmax_t)word, (uintmax_t)now);
	}
}

void
stream_create(struct stream *s, struct world *w, unsigned int from, unsigned int to,
	      const struct stream_conf *conf)
{
	memset(s, 0, sizeof(*s));
	s->world = w;
	s->conf = *conf;
	s->ends[0] = w->ends[from];
	s->ends[1] = w->ends[to];
	create_half(s, 0);
	create_half(s, 1);
	s->rkey = s->mrs[1]->rkey;
	connect_half(s, 0);
	connect_half(s, 1);
	if (s->conf.changing)
		number_words(s);
	else
		fill(s);
	for (uint64_t i = 0; s->conf.opcode == IBV_WR_SEND && i < conf->depth; i++)
		post_receive(s, i);
}

static void
post_one(struct stream *s)
{
	uint64_t offset = s->posted % s->conf.depth * s->conf.message_bytes;
	struct ibv_sge sge = { (uintptr_t)s->memory[0] + offset, s->conf.message_bytes, s->mrs[0]->lkey };
	struct ibv_send_wr wr = {
		.wr_id = s->posted,
		.opcode = s->conf.opcode,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { (uintptr_t)s->memory[1] + offset, s->rkey },
	}, *bad;

	SIM_CHECK(uroce_post_send(s->qps[0], &wr, &bad) == 0, "uroce_post_send fails");
	s->posted++;
}

static void
check_status(struct stream *s, enum ibv_wc_status status)
{
	if (s->status != IBV_WC_SUCCESS)
		SIM_CHECK(status == IBV_WC_WR_FLUSH_ERR, "after an error a message is not flushed: %s",
			  uroce_wc_status_str(status));
	SIM_CHECK(status == IBV_WC_SUCCESS || s->lost[1], "a message of end %u fails: %s",
		  s->ends[0]->index, uroce_wc_status_str(status));
	if (s->status == IBV_WC_SUCCESS)
		s->status = status;
	s->stopped |= s->status != IBV_WC_SUCCESS;
}

static void
poll_one(struct stream *s, unsigned int i, const struct ibv_wc *wc)
{
	if (i == 1) {
		SIM_CHECK(wc->status == IBV_WC_SUCCESS, "a receive fails: %s",
			  uroce_wc_status_str(wc->status));
		post_receive(s, wc->wr_id);
		return;
	}
	check_status(s, wc->status);
	SIM_CHECK(wc->wr_id == s->completed, "message %ju completes instead of %ju",
		  (uintmax_t)wc->wr_id, (uintmax_t)s->completed);
	if (s->conf.changing)
		check_words(s, wc->wr_id % s->conf.depth * s->conf.message_bytes);
	s->completed++;
}

/* @return whether there was something to do */
static bool
go_on(struct stream *s, bool may_post)
{
	uint64_t before = s->posted + s->completed;
	struct ibv_wc wc[16];
	int n;

	for (unsigned int i = 0; i < 2; i++)
		while (!s->lost[i] && (n = uroce_poll_cq(s->cqs[i], RTE_DIM(wc), wc)) != 0)
			for (int j = 0; j < n; j++)
				poll_one(s, i, &wc[j]);
	while (may_post && !s->stopped && !s->lost[0] && s->posted - s->completed < s->conf.depth)
		post_one(s);
	return s->posted + s->completed != before;
}

/* Run all rounds of the current time. */
static void
now(struct world *w, struct stream *streams, unsigned int n)
{
	uint64_t rounds = 0;
	bool busy;

	do {
		busy = world_poll(w);
		for (unsigned int i = 0; i < n; i++)
			busy |= go_on(&streams[i], rounds < POST_ROUNDS);
		SIM_CHECK(++rounds < STILL_ROUNDS, "the engines never stop sending");
	} while (busy);
}

void
streams_run(struct world *w, struct stream *streams, unsigned int n, uint64_t until_ns)
{
	uint64_t next_ns, still = 0;

	while (w->now_ns < until_ns) {
		now(w, streams, n);
		next_ns = RTE_MIN(world_next(w), until_ns);
		still = next_ns == w->now_ns ? still + 1 : 0;
		SIM_CHECK(still < STILL_ROUNDS, "the clock stands still");
		w->now_ns = next_ns;
	}
}

void
streams_finish(struct world *w, struct stream *streams, unsigned int n)
{
	uint64_t next_ns;

	for (unsigned int i = 0; i < n; i++)
		streams[i].stopped = true;
	for (now(w, streams, n); (next_ns = world_next(w)) != UINT64_MAX; now(w, streams, n))
		w->now_ns = RTE_MAX(next_ns, w->now_ns + 1);
	for (unsigned int i = 0; i < n; i++)
		SIM_CHECK(streams[i].completed == streams[i].posted || streams[i].lost[0],
			  "all is at rest, and %ju messages are not complete",
			  (uintmax_t)(streams[i].posted - streams[i].completed));
}

static void
destroy_half(struct stream *s, unsigned int i)
{
	SIM_CHECK(uroce_destroy_qp(s->qps[i]) == 0, "uroce_destroy_qp fails");
	SIM_CHECK(uroce_destroy_cq(s->cqs[i]) == 0, "uroce_destroy_cq fails");
	SIM_CHECK(uroce_dereg_mr(s->mrs[i]) == 0, "uroce_dereg_mr fails");
	rte_free(s->memory[i]);
}

void
stream_lose(struct stream *s, unsigned int half)
{
	destroy_half(s, half);
	s->lost[half] = true;
}

void
stream_destroy(struct stream *s)
{
	size_t bytes = RTE_MIN(s->posted, s->conf.depth) * s->conf.message_bytes;

	if (s->conf.changing)
		s->ends[1]->departing = NULL;
	else if (!s->lost[0] && !s->lost[1])
		SIM_CHECK(memcmp(s->memory[0], s->memory[1], bytes) == 0,
			  "a message is not what was sent");
	for (unsigned int i = 0; i < 2; i++)
		if (!s->lost[i])
			destroy_half(s, i);
}
