/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Carries a frame through the sender's port, the wire, the queue of the switch if there is one, and the receiver's port,
 * which keeps it until it is polled. At the wire the netem model decides which frames are harmed.
 */

#include "link.h"

#include <stdlib.h>
#include <string.h>

#include <rte_ether.h>

#include "digest.h"
#include "ecn.h"
#include "keep.h"
#include "link_queue.h"
#include "trace.h"
#include "wire/headers.h"

#define WIRE_STREAM   (1 << 20) /* first number: two for each end */
#define LATE_NS	      1000000	/* less than any timeout: a shorter delay of a frame costs no retry */

void
link_init(struct link *l, const struct link_conf *conf, unsigned int ends, uint64_t seed)
{
	struct bottleneck_conf out = { .rate = conf->wire.rate };
	struct uroce_netem_conf netem = conf->netem;

	memset(l, 0, sizeof(*l));
	SIM_CHECK(ends <= LINK_ENDS, "%u ends are too many", ends);
	l->conf = *conf;
	l->ends = ends;
	l->seed = seed;
	l->ports = calloc(ends, sizeof(l->ports[0]));
	l->paths = calloc((size_t)ends * ends, sizeof(l->paths[0]));
	l->patience = conf->most_harmed != 0 ? calloc(1, sizeof(*l->patience)) : NULL;
	SIM_CHECK(l->ports != NULL && l->paths != NULL && (conf->most_harmed == 0 || l->patience != NULL),
		  "out of memory");
	netem.seed = seed;
	for (unsigned int i = 0; i < ends * ends; i++)
		uroce_netem_model_init(&l->paths[i].model, &netem, i);
	for (unsigned int i = 0; i < ends; i++) {
		STAILQ_INIT(&l->ports[i].arrived);
		bottleneck_init(&l->ports[i].out, &out, seed, WIRE_STREAM + 2 * i);
		bottleneck_init(&l->ports[i].in, &conf->wire, seed, WIRE_STREAM + 2 * i + 1);
	}
}

void
link_forget(struct link *l, unsigned int end)
{
	struct link_port *p = &l->ports[end];
	struct link_frame *f;

	link_queue_clear(&p->to_switch);
	link_queue_clear(&p->coming);
	while ((f = link_receive(l, end)) != NULL)
		free(f);
}

void
link_fini(struct link *l)
{
	for (unsigned int i = 0; i < l->ends; i++) {
		link_forget(l, i);
		free(l->ports[i].to_switch.frames);
		free(l->ports[i].coming.frames);
	}
	free(l->ports);
	free(l->paths);
	free(l->patience);
}

/* ---- frames ---- */

static struct link_frame *
frame_copy(const struct rte_mbuf *m, unsigned int from, unsigned int to)
{
	struct link_frame *f = malloc(sizeof(*f) + m->pkt_len);
	uint32_t offset = 0;

	SIM_CHECK(f != NULL, "out of memory");
	memset(f, 0, sizeof(*f));
	f->from = (uint16_t)from;
	f->to = (uint16_t)to;
	f->bytes = m->pkt_len;
	for (; m != NULL; m = m->next) {
		SIM_CHECK(offset + m->data_len <= f->bytes, "segments are longer than pkt_len");
		memcpy(f->data + offset, rte_pktmbuf_mtod(m, const void *), m->data_len);
		offset += m->data_len;
	}
	SIM_CHECK(offset == f->bytes, "segments are shorter than pkt_len");
	return f;
}

static struct link_frame *
frame_twin(const struct link_frame *f)
{
	struct link_frame *twin = malloc(sizeof(*twin) + f->bytes);

	SIM_CHECK(twin != NULL, "out of memory");
	memcpy(twin, f, sizeof(*twin) + f->bytes);
	return twin;
}

static uint32_t
ip_offset(const struct link_frame *f)
{
	return f->data[12] == 0x81 ? 18 : 14;
}

static uint32_t
udp_offset(const struct link_frame *f)
{
	uint32_t l3 = ip_offset(f);

	return l3 + (f->data[l3] >> 4 == 6 ? 40 : 20);
}

static const struct uroce_bth *
frame_bth(const struct link_frame *f)
{
	return (const void *)(f->data + udp_offset(f) + 8);
}

/* Is the bit not covered by the ICRC? Switches change some of these bits, too. */
static bool
is_masked(const struct link_frame *f, uint32_t bit)
{
	uint32_t byte = bit / 8, l3 = ip_offset(f), l4 = udp_offset(f);

	if (byte == l4 + 6 || byte == l4 + 7 || byte == l4 + 8 + 4)
		return true;
	if (f->data[l3] >> 4 == 6)
		return (byte == l3 && bit % 8 < 4) || (byte > l3 && byte < l3 + 4) || byte == l3 + 7;
	return byte == l3 + 1 || byte == l3 + 8 || byte == l3 + 10 || byte == l3 + 11;
}

/* @return false: no receiver may accept the frame with this bit flipped */
static bool
frame_corrupt(struct link_frame *f, uint32_t bit)
{
	uint32_t l3 = ip_offset(f);

	if (bit / 8 < l3)
		return bit / 8 >= RTE_ETHER_ADDR_LEN && bit / 8 < 2 * RTE_ETHER_ADDR_LEN;
	f->touched = true;
	f->damaged = !is_masked(f, bit);
	f->data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	return true;
}

static void
frame_truncate(struct link *l, struct link_frame *f)
{
	f->bytes -= random_between(&l->random, 1, f->bytes - sizeof(struct rte_ether_hdr));
	f->touched = true;
	f->damaged = true;
}

/* ---- transmission ---- */

static struct link_path *
path_of(struct link *l, const struct link_frame *f)
{
	return &l->paths[f->from * l->ends + f->to];
}

/* Must be called before bits of the frame are changed, since it reads the BTH. */
static void
count_harm(struct link *l, struct link_frame *f)
{
	const struct uroce_bth *bth = frame_bth(f);

	if (l->patience == NULL || f->harmed)
		return;
	f->harmed = true;
	patience_try(l->patience, f->to, uroce_get24(bth->dest_qp), uroce_get24(bth->psn));
}

static void
lose(struct link *l, uint64_t now_ns, struct link_frame *f, const char *why)
{
	trace_frame(now_ns, f->from, f->to, why, f->data, f->bytes);
	count_harm(l, f);
	l->lost++;
	free(f);
}

static bool
is_dead(const struct link *l, const struct link_frame *f)
{
	uint32_t qpn = uroce_get24(frame_bth(f)->dest_qp);

	for (unsigned int i = 0; i < l->dead_count; i++)
		if (l->dead_qpns[i] == qpn)
			return true;
	return false;
}

static bool
is_chosen(struct link *l, const struct link_frame *f)
{
	for (unsigned int i = 0; i < LINK_CHOSEN; i++) {
		struct link_chosen *c = &l->chosen[i];

		if (c->nth != 0 && c->from == f->from && c->to == f->to &&
		    c->opcode == frame_bth(f)->opcode && --c->nth == 0)
			return true;
	}
	return false;
}

static void
last_hop(struct link *l, struct link_frame *f, uint64_t due_ns)
{
	f->due_ns = due_ns + l->conf.quantum_ns - 1;
	f->due_ns -= f->due_ns % l->conf.quantum_ns;
	f->order = l->order++;
	link_queue_push(&l->ports[f->to].coming, f);
}

static void
dispatch(struct link *l, struct link_frame *f, uint64_t due_ns)
{
	if (!l->conf.switched) {
		last_hop(l, f, due_ns);
		return;
	}
	f->due_ns = due_ns;
	f->order = l->order++;
	link_queue_push(&l->ports[f->to].to_switch, f);
}

/* The model's runs of losses count frames, not time: a run could use up all retries of a single packet. */
static bool
is_spared(struct link *l, struct link_path *p)
{
	if (l->conf.longest_run == 0 || p->run < l->conf.longest_run)
		return false;
	p->model.losing = false;
	return true;
}

/* Has the network harmed the packet so often that its sender might run out of retries? */
static bool
is_harmed_enough(const struct link *l, const struct link_frame *f)
{
	const struct uroce_bth *bth = frame_bth(f);

	return l->patience != NULL && patience_is_over(l->patience, f->to, uroce_get24(bth->dest_qp),
						       uroce_get24(bth->psn), l->conf.most_harmed);
}

/* The model's decision on the next frame; for a frame that must not be harmed, only its delay. */
static bool
decide(struct link *l, struct link_path *p, struct link_frame *f, struct uroce_netem_fate *fate)
{
	bool cut_short;

	keep_draw_anew(&l->random, l->seed, LINK_STREAM, l->sent);
	p->model.random = random_draw(&l->random);
	uroce_netem_decide(&p->model, f->bytes, fate);
	cut_short = l->conf.truncate != 0 && random_draw(&l->random) >> 32 < l->conf.truncate;
	if (!fate->lost && !fate->twice && !fate->corrupted && !fate->reordered && !cut_short)
		return false;
	if (keep_do(KEEP_HARM, l->sent) && !is_harmed_enough(l, f))
		return cut_short && !fate->corrupted;
	*fate = (struct uroce_netem_fate){ .delay_ns = p->model.conf.delay_ns, .marked = fate->marked };
	p->model.losing = false;
	return false;
}

/* Put a frame on the wire, and decide what happens to it there. */
static void
wire(struct link *l, struct link_frame *f, uint64_t now_ns)
{
	struct link_path *p = path_of(l, f);
	struct uroce_netem_fate fate;
	uint32_t bytes = f->bytes;
	bool cut_short = decide(l, p, f, &fate);

	if (fate.lost && !is_spared(l, p)) {
		p->run++;
		lose(l, now_ns, f, "lost");
		return;
	}
	if (fate.lost)
		fate.delay_ns = p->model.conf.delay_ns;
	p->run = 0;
	if (fate.twice) {
		trace_frame(now_ns, f->from, f->to, "twice", f->data, bytes);
		dispatch(l, frame_twin(f), now_ns + fate.twin_delay_ns);
	}
	if (fate.marked)
		uroce_netem_mark(f->data, bytes);
	trace_frame(now_ns, f->from, f->to, fate.corrupted ? "damaged" : fate.reordered ? "late" : "sent",
		    f->data, bytes);
	if (fate.corrupted || cut_short || (fate.reordered && fate.delay_ns >= LATE_NS))
		count_harm(l, f);
	if (fate.corrupted && !frame_corrupt(f, fate.bit)) {
		lose(l, now_ns, f, "lost");
		return;
	}
	if (cut_short)
		frame_truncate(l, f);
	dispatch(l, f, now_ns + fate.delay_ns);
}

void
link_send(struct link *l, uint64_t now_ns, unsigned int from, unsigned int to,
	  const struct rte_mbuf *m)
{
	struct link_frame *f = frame_copy(m, from, to);
	uint64_t out_ns;

	l->sent++;
	digest_frame(now_ns, from, to, f->data, f->bytes);
	bottleneck_take(&l->ports[from].out, now_ns, f->bytes, false, &out_ns);
	if (is_dead(l, f) || is_chosen(l, f))
		lose(l, now_ns, f, "lost");
	else if (now_ns < path_of(l, f)->down_until_ns)
		lose(l, now_ns, f, "cut");
	else
		wire(l, f, out_ns);
}

uint64_t
link_ready(const struct link *l, uint64_t now_ns, unsigned int end)
{
	return bottleneck_falls_to(&l->ports[end].out, now_ns, l->conf.tx_bytes);
}

static void
pass_switch(struct link *l, struct link_frame *f)
{
	bool capable = uroce_netem_ecn(f->data, f->bytes) != 0;
	uint64_t out_ns;

	switch (bottleneck_take(&l->ports[f->to].in, f->due_ns, f->bytes, capable, &out_ns)) {
	case BOTTLENECK_DROPPED: lose(l, f->due_ns, f, "dropped"); return;
	case BOTTLENECK_MARKED: uroce_netem_mark(f->data, f->bytes); break;
	case BOTTLENECK_PASSED: break;
	}
	last_hop(l, f, out_ns);
}

static void
arrive(struct link *l, struct link_port *p, struct link_frame *f)
{
	if (f->due_ns < path_of(l, f)->down_until_ns) {
		lose(l, f->due_ns, f, "cut");
	} else if (l->conf.rx_frames != 0 && p->arrived_count == l->conf.rx_frames) {
		l->overrun++;
		lose(l, f->due_ns, f, "overrun");
	} else {
		STAILQ_INSERT_TAIL(&p->arrived, f, next);
		p->arrived_count++;
	}
}

void
link_advance(struct link *l, uint64_t now_ns)
{
	struct link_frame *f;

	for (unsigned int i = 0; i < l->ends; i++) {
		struct link_port *p = &l->ports[i];

		while ((f = link_queue_due(&p->to_switch, now_ns)) != NULL)
			pass_switch(l, f);
		while ((f = link_queue_due(&p->coming, now_ns)) != NULL)
			arrive(l, p, f);
	}
}

struct link_frame *
link_receive(struct link *l, unsigned int to)
{
	struct link_port *p = &l->ports[to];
	struct link_frame *f = STAILQ_FIRST(&p->arrived);

	if (f == NULL)
		return NULL;
	STAILQ_REMOVE_HEAD(&p->arrived, next);
	p->arrived_count--;
	return f;
}

uint64_t
link_next(const struct link *l)
{
	uint64_t next_ns = UINT64_MAX;

	for (unsigned int i = 0; i < l->ends; i++) {
		const struct link_port *p = &l->ports[i];

		if (p->to_switch.count > 0)
			next_ns = RTE_MIN(next_ns, p->to_switch.frames[0]->due_ns);
		if (p->coming.count > 0)
			next_ns = RTE_MIN(next_ns, p->coming.frames[0]->due_ns);
	}
	return next_ns;
}

/* ---- requested losses and cuts ---- */

void
link_kill(struct link *l, uint32_t qpn)
{
	SIM_CHECK(l->dead_count < LINK_DEAD_QPNS, "too many dead QPNs");
	l->dead_qpns[l->dead_count++] = qpn;
}

void
link_choose(struct link *l, unsigned int from, unsigned int to, uint8_t opcode, uint32_t nth)
{
	for (unsigned int i = 0; i < LINK_CHOSEN; i++) {
		if (l->chosen[i].nth != 0)
			continue;
		l->chosen[i] = (struct link_chosen){ (uint16_t)from, (uint16_t)to, opcode, nth };
		return;
	}
	sim_fail("more than %u packets are to be lost", LINK_CHOSEN);
}

unsigned int
link_choices(const struct link *l)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < LINK_CHOSEN; i++)
		n += l->chosen[i].nth != 0;
	return n;
}

void
link_cut(struct link *l, unsigned int a, unsigned int b, uint64_t until_ns)
{
	struct link_path *there = &l->paths[a * l->ends + b], *back = &l->paths[b * l->ends + a];

	there->down_until_ns = RTE_MAX(there->down_until_ns, until_ns);
	back->down_until_ns = RTE_MAX(back->down_until_ns, until_ns);
}

void
link_pull(struct link *l, unsigned int end, uint64_t until_ns)
{
	for (unsigned int i = 0; i < l->ends; i++)
		link_cut(l, end, i, until_ns);
}

void
link_partition(struct link *l, uint64_t group, uint64_t until_ns)
{
	for (unsigned int a = 0; a < l->ends; a++)
		for (unsigned int b = 0; b < a; b++)
			if ((group >> a & 1) != (group >> b & 1))
				link_cut(l, a, b, until_ns);
}

void
link_mend(struct link *l)
{
	for (unsigned int i = 0; i < l->ends * l->ends; i++)
		l->paths[i].down_until_ns = 0;
}
