/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Ends and their rounds, and the simulator's struct uroce_device_ops.
 */

#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "mem/random.h"
#include "mem/rcu.h"
#include "trace.h"
#include "uroce.h"
#include "uroce_config.h"
#include "verbs/qp.h"

#define RCU_THREAD       0
#define VLAN_TCI         0x6042
#define NO_VLAN          0xffff
#define START_NS         UINT64_C(1000000000)
#define LARGEST_MTU      4096
#define RX_MBUFS         (2 * UROCE_BURST + 1)
#define RX_FIRST_SEGMENT 192 /* all headers are in the first segment */

static struct end *
end_of(struct uroce_device *dev)
{
	return container_of(dev, struct end, device);
}

/* ---- device operations ---- */

static int
op_qp_attach(struct uroce_qp *qp)
{
	qp->engine = &end_of(qp->dev)->engine;
	return 0;
}

static void
op_engine_enter(struct uroce_engine *engine)
{
	(void)engine;
}

static int
op_path_init(struct uroce_device *dev, const struct ibv_ah_attr *attr, uint32_t local_qpn,
	     uint32_t remote_qpn, struct uroce_path *path)
{
	const struct end *e = end_of(dev);
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, (uint8_t)e->index },
		.dst_mac.addr_bytes = { 2, 0, 0, 0, 0, attr->grh.dgid.raw[15] },
		.vlan_tci = e->world->conf.vlan ? VLAN_TCI : NO_VLAN,
		.traffic_class = attr->grh.traffic_class,
		.hop_limit = attr->grh.hop_limit,
		.flow_label = attr->grh.flow_label,
		.udp_src_port = uroce_udp_src_port(attr->grh.flow_label, local_qpn, remote_qpn),
	};

	memset(path, 0, sizeof(*path));
	path->sgid = e->gid;
	path->dgid = attr->grh.dgid;
	path->multi_seg = e->world->conf.multi_seg;
	path->set_up = true;
	memcpy(conf.src_gid, path->sgid.raw, sizeof(conf.src_gid));
	memcpy(conf.dst_gid, path->dgid.raw, sizeof(conf.dst_gid));
	return uroce_template_init(&path->headers, &conf);
}

static void
op_path_fini(struct uroce_device *dev, struct uroce_path *path)
{
	(void)dev;
	path->set_up = false;
}

static void
held_release(struct held_frames *held, uint64_t now_ns)
{
	while (held->head != held->tail && held->until_ns[held->head % WORLD_HELD_FRAMES] <= now_ns)
		rte_pktmbuf_free(held->mbufs[held->head++ % WORLD_HELD_FRAMES]);
}

static void
op_progress(struct uroce_device *dev)
{
	held_release(&end_of(dev)->held, UINT64_MAX);
}

static int
op_query_port(struct uroce_device *dev, struct ibv_port_attr *attr)
{
	(void)dev;
	attr->state = IBV_PORT_ACTIVE;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = IBV_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->max_msg_sz = UROCE_MAX_MSG_BYTES;
	attr->pkey_tbl_len = 1;
	attr->link_layer = IBV_LINK_LAYER_ETHERNET;
	return 0;
}

static int
op_query_gid(struct uroce_device *dev, unsigned int index, struct ibv_gid_entry *entry)
{
	if (index != 0)
		return -EINVAL;
	memset(entry, 0, sizeof(*entry));
	entry->gid = end_of(dev)->gid;
	entry->port_num = 1;
	entry->gid_type = IBV_GID_TYPE_ROCE_V2;
	return 0;
}

static void
op_clocks(struct uroce_device *dev, uint64_t *device_ns, uint64_t *wall_ns)
{
	*device_ns = end_of(dev)->engine.now_ns;
	*wall_ns = *device_ns;
}

static const struct uroce_device_ops ops = {
	.qp_attach = op_qp_attach,
	.qp_detach = uroce_engine_qp_detach,
	.engine_enter = op_engine_enter,
	.engine_exit = op_engine_enter,
	.engine_now = uroce_engine_now,
	.timer_arm = uroce_engine_timer_arm,
	.timer_remove = uroce_engine_timer_remove,
	.clocks = op_clocks,
	.qp_changed = uroce_engine_qp_changed,
	.doorbell = uroce_engine_doorbell,
	.path_init = op_path_init,
	.path_fini = op_path_fini,
	.progress = op_progress,
	.query_port = op_query_port,
	.query_gid = op_query_gid,
};

/* ---- ends ---- */

static struct rte_mempool *
pool_create(const char *name, unsigned int end, unsigned int mbufs, uint32_t room_bytes)
{
	char unique[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;

	snprintf(unique, sizeof(unique), "%s%u", name, end);
	pool = rte_pktmbuf_pool_create(unique, mbufs, 0, UROCE_ENGINE_PRIV_BYTES,
				       (uint16_t)(RTE_PKTMBUF_HEADROOM + room_bytes),
				       SOCKET_ID_ANY);
	SIM_CHECK(pool != NULL, "rte_pktmbuf_pool_create: %s", rte_strerror(rte_errno));
	return pool;
}

static void
pool_destroy(struct rte_mempool *pool)
{
	SIM_CHECK(rte_mempool_full(pool), "%s has lost %u mbufs", pool->name,
		  rte_mempool_in_use_count(pool));
	rte_mempool_free(pool);
}

static void
end_set_gid(struct end *e)
{
	static const uint8_t ipv4[16] = { [10] = 0xff, [11] = 0xff, [12] = 10 };
	static const uint8_t ipv6[16] = { [0] = 0xfd, [1] = 0x42 };

	memcpy(e->gid.raw, e->world->conf.ipv6 ? ipv6 : ipv4, sizeof(e->gid.raw));
	e->gid.raw[15] = (uint8_t)e->index;
}

static struct end *
end_create(struct world *w, unsigned int index)
{
	struct uroce_device_conf conf = {
		.name = "sim",
		.node_guid = rte_cpu_to_be_64(0x0200000000000000 + index),
		.index = (uint16_t)index,
		.port_id = (uint16_t)index,
		.numa_node = SOCKET_ID_ANY,
		.log2_max_qp = 8,
		.log2_max_mr = 8,
	};
	struct end *e = rte_zmalloc(NULL, sizeof(*e), RTE_CACHE_LINE_SIZE);
	int ret;

	SIM_CHECK(e != NULL, "out of memory");
	e->world = w;
	e->index = index;
	end_set_gid(e);
	e->header_pool = pool_create("header", index, w->conf.pool_mbufs,
				     UROCE_ENGINE_ROOM(UROCE_SMALL_BYTES));
	e->payload_pool = pool_create("payload", index, w->conf.pool_mbufs,
				      UROCE_ENGINE_ROOM(LARGEST_MTU));
	uroce_engine_init(&e->engine, e->header_pool, e->payload_pool, w->now_ns);
	ret = uroce_device_init(&e->device, &ops, &conf);
	SIM_CHECK(ret == 0, "uroce_device_init: %s", strerror(-ret));
	SIM_CHECK(fcntl(end_context(e)->async_fd, F_SETFL, O_NONBLOCK) == 0, "fcntl: %s",
		  strerror(errno));
	e->pd = uroce_alloc_pd(end_context(e));
	SIM_CHECK(e->pd != NULL, "uroce_alloc_pd: %s", strerror(errno));
	memory_init(&e->memory, &w->random, w->conf.memory_bytes, index % 2 == 1);
	memory_register(&e->memory, e->pd);
	return e;
}

static void
end_destroy(struct end *e)
{
	int ret;

	memory_sweep(&e->memory, e->index);
	memory_fini(&e->memory);
	SIM_CHECK(uroce_dealloc_pd(e->pd) == 0, "uroce_dealloc_pd fails");
	ret = uroce_device_fini(&e->device);
	SIM_CHECK(ret == 0, "uroce_device_fini: %s", strerror(-ret));
	held_release(&e->held, UINT64_MAX);
	pool_destroy(e->header_pool);
	pool_destroy(e->payload_pool);
	rte_free(e);
}

/* A received frame as the driver of a port would give it. */
static struct rte_mbuf *
frame_to_mbuf(struct end *e, const struct link_frame *f)
{
	struct world *w = e->world;
	uint32_t first = f->bytes;
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->rx_pool), *second;

	SIM_CHECK(m != NULL, "the receive pool is empty");
	m->port = (uint16_t)e->index;
	if (w->conf.split && f->bytes > RX_FIRST_SEGMENT + 1)
		first = random_between(&w->random, RX_FIRST_SEGMENT, f->bytes - 1);
	memcpy(rte_pktmbuf_append(m, (uint16_t)first), f->data, first);
	if (first == f->bytes)
		return m;
	second = rte_pktmbuf_alloc(w->rx_pool);
	SIM_CHECK(second != NULL, "the receive pool is empty");
	memcpy(rte_pktmbuf_append(second, (uint16_t)(f->bytes - first)), f->data + first,
	       f->bytes - first);
	SIM_CHECK(rte_pktmbuf_chain(m, second) == 0, "rte_pktmbuf_chain fails");
	return m;
}

/* As lib/port: decode, look the QP up. @return true if the packet goes to the engine */
static bool
frame_accept(struct end *e, const struct link_frame *f, struct rte_mbuf *m,
	     struct uroce_packet *packet, struct uroce_qp **qp)
{
	uint16_t l3_offset = e->world->conf.vlan ? 18 : 14;
	enum uroce_verdict v = uroce_packet_decode(m, l3_offset, packet);

	SIM_CHECK(v != UROCE_OK || !f->damaged, "a damaged frame of %u bytes was accepted",
		  f->bytes);
	if (v != UROCE_OK) {
		SIM_CHECK(f->damaged, "a good frame was dropped: %s", uroce_verdicts[v].name);
		e->engine.verdicts[v]++;
		return false;
	}
	*qp = uroce_qp_lookup(&e->device, packet->dest_qpn);
	if (*qp == NULL)
		e->unknown_qpn++;
	return *qp != NULL;
}

static bool
end_receive(struct end *e, uint64_t now_ns)
{
	struct uroce_packet packets[UROCE_BURST];
	struct uroce_qp *qps[UROCE_BURST];
	struct rte_mbuf *mbufs[UROCE_BURST];
	struct link_frame *f;
	unsigned int n = 0, taken = 0;

	while (taken < UROCE_BURST &&
	       (f = link_receive(&e->world->link, now_ns, e->index)) != NULL) {
		mbufs[taken] = frame_to_mbuf(e, f);
		if (frame_accept(e, f, mbufs[taken++], &packets[n], &qps[n]))
			n++;
		free(f);
	}
	if (n > 0)
		uroce_engine_receive(&e->engine, qps, packets, n, now_ns);
	rte_pktmbuf_free_bulk(mbufs, taken);
	return taken > 0;
}

static unsigned int
frame_destination(const struct end *e, const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	unsigned int to = eth->dst_addr.addr_bytes[5];

	SIM_CHECK(to < e->world->conf.ends, "a frame for nobody: end %u", to);
	SIM_CHECK(m->port == e->device.port_id, "a frame for port %u leaves by port %u", m->port,
		  e->device.port_id);
	SIM_CHECK(e->world->conf.multi_seg || m->nb_segs == 1,
		  "a chain for a port that takes none");
	return to;
}

static bool
end_send(struct end *e, uint64_t now_ns)
{
	uint32_t burst = e->world->conf.send_burst;
	struct rte_mbuf *frames[UROCE_BURST];
	struct held_frames *held = &e->held;
	uint64_t no_mbuf = e->engine.counters[UROCE_NO_MBUF];
	unsigned int n;

	held_release(held, now_ns);
	n = uroce_engine_send(&e->engine, frames, burst, now_ns);
	SIM_CHECK(n <= burst, "uroce_engine_send() returns %u of %u", n, burst);
	for (unsigned int i = 0; i < n; i++) {
		link_send(&e->world->link, now_ns, e->index, frame_destination(e, frames[i]),
			  frames[i]);
		if (held->tail - held->head == WORLD_HELD_FRAMES)
			held_release(held, UINT64_MAX);
		held->mbufs[held->tail % WORLD_HELD_FRAMES] = frames[i];
		held->until_ns[held->tail++ % WORLD_HELD_FRAMES] = now_ns + e->world->conf.hold_ns;
	}
	e->has_more = n == burst;
	e->starved = n == 0 && e->engine.counters[UROCE_NO_MBUF] != no_mbuf;
	return n > 0;
}

/* ---- the world ---- */

void
world_init(struct world *w, const struct world_conf *conf, uint64_t seed)
{
	SIM_CHECK(uroce_rcu_init() == 0, "uroce_rcu_init fails");
	rte_rcu_qsbr_thread_register(uroce_rcu, RCU_THREAD);
	uroce_random_seed(seed);
	memset(w, 0, sizeof(*w));
	w->conf = *conf;
	w->now_ns = START_NS;
	random_init(&w->random, seed, 2);
	link_init(&w->link, &conf->link, seed);
	w->rx_pool = pool_create("rx", 0, RX_MBUFS, 128 + LARGEST_MTU);
	for (unsigned int i = 0; i < conf->ends; i++)
		w->ends[i] = end_create(w, i);
}

void
world_fini(struct world *w)
{
	for (unsigned int i = 0; i < w->conf.ends; i++)
		end_destroy(w->ends[i]);
	pool_destroy(w->rx_pool);
	link_fini(&w->link);
	rte_rcu_qsbr_thread_unregister(uroce_rcu, RCU_THREAD);
	uroce_random_seed(0);
}

bool
world_poll(struct world *w)
{
	bool busy = false;

	rte_rcu_qsbr_thread_online(uroce_rcu, RCU_THREAD);
	for (unsigned int i = 0; i < w->conf.ends; i++) {
		busy |= end_receive(w->ends[i], w->now_ns);
		busy |= end_send(w->ends[i], w->now_ns);
	}
	rte_rcu_qsbr_quiescent(uroce_rcu, RCU_THREAD);
	rte_rcu_qsbr_thread_offline(uroce_rcu, RCU_THREAD);
	return busy;
}

static uint64_t
end_next(const struct end *e)
{
	uint64_t deadline_ns = uroce_engine_deadline(&e->engine), held_ns = UINT64_MAX;

	if (e->has_more)
		return e->world->now_ns;
	if (e->held.head != e->held.tail)
		held_ns = e->held.until_ns[e->held.head % WORLD_HELD_FRAMES];
	/* at once, and yet it sent nothing: it has to wait for mbufs */
	if (e->starved && held_ns != UINT64_MAX && deadline_ns <= e->world->now_ns)
		return held_ns;
	return RTE_MIN(deadline_ns, held_ns);
}

uint64_t
world_next(const struct world *w)
{
	uint64_t next_ns = link_next(&w->link);

	for (unsigned int i = 0; i < w->conf.ends; i++)
		next_ns = RTE_MIN(next_ns, end_next(w->ends[i]));
	return RTE_MAX(next_ns, w->now_ns);
}

void
world_release(struct world *w)
{
	for (unsigned int i = 0; i < w->conf.ends; i++)
		held_release(&w->ends[i]->held, UINT64_MAX);
}

uint64_t
world_verdicts(const struct world *w, enum uroce_verdict v)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < w->conf.ends; i++)
		sum += w->ends[i]->engine.verdicts[v];
	return sum;
}

uint64_t
world_counters(const struct world *w, enum uroce_engine_counter c)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < w->conf.ends; i++)
		sum += w->ends[i]->engine.counters[c];
	return sum;
}
