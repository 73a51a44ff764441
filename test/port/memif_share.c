/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * share_memory: two devices of this process, connected by memif's memory and a pair of sockets, read payloads from each
 * other's DPDK memory, and refuse references to other memory.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_ethdev.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "memif_messages.h"
#include "net.h"
#include "port/memif/memif.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "wire/icrc.h"

#define LOG2  11
#define SLOTS (1u << LOG2)
#define ROOM  8192u
#define RING  ((uint32_t)(sizeof(struct memif_ring) + SLOTS * sizeof(struct memif_desc)))
#define BYTES (2 * (RING + SLOTS * ROOM))
#define PART  65536u /* of a window, in hostile messages */

static struct pair {
	struct net net;
	int memory;
	uint8_t *at;
	int sockets[2]; /* the devices', whose messages the test passes on; device 0 is the server */
	struct uroce_port *ports[2];
} pair;

static struct memif_add_ring
ring_of(unsigned int number)
{
	struct memif_ring *ring = (struct memif_ring *)(pair.at + number * RING);

	ring->cookie = MEMIF_COOKIE;
	for (uint32_t i = 0; i < SLOTS; i++)
		ring->slots[i] = (struct memif_desc){ .length = ROOM, .offset = 2 * RING + (number * SLOTS + i) * ROOM };
	return (struct memif_add_ring){ .flags = number, .offset = number * RING, .log2_slots = LOG2 };
}

static void
connect_device(unsigned int i, bool has_socket)
{
	struct uroce_memif_offer offer = { .is_server = i == 0, .socket = has_socket ? pair.sockets[i] : 0 };
	struct memif_message region = { .type = MEMIF_ADD_REGION, .region = { .bytes = BYTES } };

	uroce_memif_offer_add(&offer, &region, pair.memory);
	for (unsigned int number = 0; number < 2; number++) {
		struct memif_message ring = { .type = MEMIF_ADD_RING, .ring = ring_of(number) };

		uroce_memif_offer_add(&offer, &ring, -1);
	}
	uroce_memif_connect(pair.ports[i]->port_id, &offer);
	assert_non_null(pair.ports[i]->memif);
}

static void
connect_pair(const bool shares[2], bool has_sockets)
{
	pair.memory = memfd_create("pair", MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(pair.memory, BYTES), 0);
	assert_int_equal(fcntl(pair.memory, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	pair.at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, pair.memory, 0);
	assert_ptr_not_equal(pair.at, MAP_FAILED);
	memif_sockets(pair.sockets);
	for (unsigned int i = 0; i < 2; i++) {
		pair.ports[i] = uroce_port_of_context(pair.net.ends[i].context);
		pair.ports[i]->share_memory = shares[i];
		pair.ports[i]->at_process = true;
		uroce_memif_attach(pair.ports[i]);
	}
	for (unsigned int i = 0; i < 2; i++)
		connect_device(i, has_sockets);
}

/* @param shares	does each device? @param has_sockets	do the devices understand the messages? */
static void
open_pair(const bool shares[2], bool has_sockets)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };

	net_open(&pair.net, &conf, 1, "10.0.0.1/24", "10.0.0.2/24");
	connect_pair(shares, has_sockets);
}

/* The connection ends first: a device that hears nothing more would hold the other's memory. */
static void
close_pair(void)
{
	uroce_memif_detach(pair.ports[0]);
	net_close(&pair.net);
	munmap(pair.at, BYTES);
	close(pair.memory);
	close(pair.sockets[0]);
	close(pair.sockets[1]);
}

/* Pass the next message on to device i. @return its type */
static uint16_t
pass(unsigned int i)
{
	struct memif_message m;
	int fd;

	memif_receive(pair.sockets[i], &m, &fd);
	uroce_memif_obey(pair.ports[i]->port_id, &m, fd);
	if (fd >= 0)
		close(fd);
	return m.type;
}

/* Does the peer of device i know all of its memory? */
static bool
is_shown(unsigned int i)
{
	const struct uroce_memif *memif = pair.ports[i]->memif;

	return uroce_memif_is_shown(&memif->show, &memif->tx[0].ring.ring->seen);
}

/* Each device asks, and then gets the other's memory. */
static void
show(void)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(pass(i), MEMIF_ASK);
	for (unsigned int i = 0; i < 2; i++)
		while (!is_shown(i)) /* EAL's interrupt thread says so after it has sent the last one */
			if (memif_has_message(pair.sockets[1 - i]))
				assert_int_equal(pass(1 - i), MEMIF_SHOW);
}

static uint64_t
references_of(unsigned int i)
{
	return test_counter(pair.net.ends[i].context, "tx_by_reference");
}

/* Device 1 READs from device 0, whose memory is DPDK's. */
static void
read_all(void)
{
	struct end *from = &pair.net.ends[0], *to = &pair.net.ends[1];

	end_fill(from, 5);
	end_post(to, IBV_WR_RDMA_READ, from, END_BYTES, 0);
	net_expect_ok(&pair.net, to, IBV_WC_RDMA_READ);
	assert_memory_equal(from->buffer, to->buffer, END_BYTES);
}

/* READ responses refer to the memory unless atomic operations may change it. */
static void
test_shared(void **state)
{
	struct ibv_mr *mr;
	uint64_t before;

	open_pair((const bool[2]){ true, true }, true);
	show();
	net_run_operations(&pair.net);
	before = references_of(0);
	assert_true(before >= END_BYTES / 4096); /* a SEND, and those of a WRITE that did not wait for ARP */
	assert_int_equal(references_of(1), 0);	       /* its memory is not DPDK's: copied, but only once */
	assert_true(test_counter(pair.net.ends[1].context, "zero_copy_packets") > 0);
	read_all();
	assert_int_equal(references_of(0), before);
	mr = pair.net.ends[0].mr;
	assert_int_equal(uroce_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
					IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ), 0);
	read_all();
	assert_true(references_of(0) >= before + END_BYTES / 4096);
	close_pair();
}

/* Unless both ends have share_memory, and understand the messages, all payloads are copied. */
static void
test_not_shared(void **state)
{
	for (unsigned int i = 0; i < 4; i++) {
		open_pair((const bool[2]){ (i & 1) != 0, (i & 2) != 0 }, i != 3);
		if (i == 1 || i == 2) {
			assert_int_equal(pass(i == 1), MEMIF_ASK);
			assert_false(memif_has_message(pair.sockets[i != 1]));
		}
		net_run_operations(&pair.net);
		assert_int_equal(references_of(0), 0);
		assert_int_equal(references_of(1), 0);
		for (unsigned int e = 0; e < 2; e++)
			assert_null(pair.ports[e]->memif->windows.at[0].addr);
		close_pair();
	}
}

static void *
flood(void *arg)
{
	static const uint16_t types[] = { MEMIF_ASK, MEMIF_SHOW };

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		const struct memif_message m = { .type = types[i] };

		uroce_memif_obey(pair.ports[0]->port_id, &m, -1);
	}
	return arg;
}

/* Messages that change nothing do not wait for the workers' turns. */
static void
test_flood(void **state)
{
	const struct memif_message ask = { .type = MEMIF_ASK };
	struct timespec soon;
	pthread_t thread;

	open_pair((const bool[2]){ false, false }, true);
	uroce_memif_obey(pair.ports[0]->port_id, &ask, -1);
	uroce_worker_enter(pair.net.workers[0]);
	assert_int_equal(pthread_create(&thread, NULL, flood, NULL), 0);
	assert_int_equal(clock_gettime(CLOCK_REALTIME, &soon), 0);
	soon.tv_sec += 10;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &soon), 0);
	uroce_worker_exit(pair.net.workers[0]);
	close_pair();
}

/* A WRITE by reference from device 0 that device 1 has not received. */
struct waiting {
	uint8_t *bytes; /* in the slot */
	struct memif_desc *desc;
	struct memif_reference reference;
};

static void
set_deaf(bool is_deaf)
{
	pair.ports[1]->memif->rx[0].ring.is_broken = is_deaf;
}

static struct waiting
send_unheard(enum ibv_wr_opcode opcode)
{
	struct uroce_memif_ring *r = &pair.ports[0]->memif->tx[0].ring;
	struct memif_desc *desc = &r->ring->slots[r->next % r->slots];
	struct waiting w = { .bytes = pair.at + desc->offset, .desc = desc };

	set_deaf(true);
	end_fill(&pair.net.ends[0], 9);
	end_post(&pair.net.ends[0], opcode, &pair.net.ends[1], 4096, 0);
	test_poll(pair.net.workers, 1, 3);
	assert_int_equal(desc->flags, MEMIF_DESC_NO_ICRC | MEMIF_DESC_REFERENCE);
	assert_int_equal(desc->length,
			 14 + 20 + 8 + 12 + (opcode == IBV_WR_RDMA_WRITE ? 16 : 0) + sizeof(w.reference));
	memcpy(&w.reference, w.bytes + desc->length - sizeof(w.reference), sizeof(w.reference));
	return w;
}

static struct waiting
open_unheard(void)
{
	open_pair((const bool[2]){ true, true }, true);
	show();
	net_run_operations(&pair.net);
	return send_unheard(IBV_WR_RDMA_WRITE);
}

static void
hear(const struct waiting *w)
{
	memcpy(w->bytes + w->desc->length - sizeof(w->reference), &w->reference, sizeof(w->reference));
	set_deaf(false);
	test_poll(pair.net.workers, 1, 3);
}

/* The bytes of a slot. Its frame is held until the peer returns the slot. */
static void
test_held(void **state)
{
	struct waiting w = open_unheard();
	struct end *a = &pair.net.ends[0];
	struct uroce_memif_tx *tx = &pair.ports[0]->memif->tx[0];
	const struct uroce_memif_window *window = &pair.ports[1]->memif->windows.at[w.reference.window];

	assert_int_equal(w.bytes[14 + 20 + 8], 0x0a); /* RC WRITE only */
	assert_int_equal(w.reference.bytes, 4096);
	assert_memory_equal(window->addr + w.reference.at, a->buffer, 4096);
	assert_int_equal(tx->nb_held - tx->nb_freed, 1);
	test_poll(pair.net.workers, 1, 3);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)a->mr), 1);
	hear(&w);
	net_expect_ok(&pair.net, a, IBV_WC_RDMA_WRITE);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)a->mr), 0);
	assert_memory_equal(pair.net.ends[1].buffer, a->buffer, 4096);
	close_pair();
}

static void
fail_qp(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
}

static void
reset_qp(struct end *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	assert_int_equal(uroce_modify_qp(e->qp, &attr, IBV_QP_STATE), 0);
}

/* The QP fails, or is reset, and the application uses the buffer for other bytes. The peer does not take them for those
 * of the message. */
static void
check_revoked(enum ibv_wr_opcode opcode, void (*end_qp)(struct end *e))
{
	struct end *a = &pair.net.ends[0], *b = &pair.net.ends[1];
	struct ibv_sge sge;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;
	struct waiting w;
	struct ibv_wc wc;

	open_pair((const bool[2]){ true, true }, true);
	show();
	net_run_operations(&pair.net);
	sge = (struct ibv_sge){ (uintptr_t)b->buffer, END_BYTES, b->mr->lkey };
	assert_int_equal(uroce_post_recv(b->qp, &recv, &bad), 0);
	w = send_unheard(opcode);
	end_qp(a);
	end_fill(a, 77);
	memset(b->buffer, 0, 4096);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 0);
	hear(&w);
	test_poll(pair.net.workers, 1, 3);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 1);
	assert_int_equal(b->buffer[4095], 0); /* it may poll its memory */
	assert_int_equal(uroce_poll_cq(b->cq, 1, &wc), 0);
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)a->mr), 0);
	close_pair();
}

static void
test_revoked(void **state)
{
	check_revoked(IBV_WR_SEND, fail_qp);
	check_revoked(IBV_WR_RDMA_WRITE, fail_qp);
	check_revoked(IBV_WR_SEND, reset_qp);
}

/* Another QP goes, which has sent nothing: the frame stays valid. */
static void
test_other_destroyed(void **state)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UD };

	for (unsigned int i = 0; i < RTE_DIM(types); i++) {
		struct waiting w = open_unheard();
		struct end *a = &pair.net.ends[0];
		struct ibv_qp_init_attr attr = {
			.qp_type = types[i], .send_cq = a->cq, .recv_cq = a->cq,
			.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 },
		};
		struct ibv_qp *idle = uroce_create_qp(a->pd, &attr);

		assert_non_null(idle);
		assert_int_equal(uroce_destroy_qp(idle), 0);
		assert_int_equal(w.desc->flags, MEMIF_DESC_NO_ICRC | MEMIF_DESC_REFERENCE);
		hear(&w);
		assert_int_equal(test_counter(pair.net.ends[1].context, "drop_revoked"), 0);
		net_expect_ok(&pair.net, a, IBV_WC_RDMA_WRITE);
		close_pair();
	}
}

/* A request fails after its first packets have been built: they must not leave with the memory's later bytes. */
static void
test_revoked_in_burst(void **state)
{
	struct uroce_memif_tx *tx;
	struct end *a = &pair.net.ends[0], *b = &pair.net.ends[1];
	struct ibv_sge sge[2];
	struct ibv_send_wr wr = { .sg_list = sge, .num_sge = 2, .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct ibv_wc wc;

	open_pair((const bool[2]){ true, true }, true);
	show();
	net_run_operations(&pair.net);
	sge[0] = (struct ibv_sge){ (uintptr_t)a->buffer, 4096, a->mr->lkey };
	sge[1] = (struct ibv_sge){ (uintptr_t)a->buffer, 4096, a->mr->lkey + 1 };
	wr.wr.rdma.remote_addr = (uintptr_t)b->buffer;
	wr.wr.rdma.rkey = b->mr->rkey;
	tx = &pair.ports[0]->memif->tx[0];
	set_deaf(true);
	memset(b->buffer, 0, 4096);
	assert_int_equal(uroce_post_send(a->qp, &wr, &bad), 0);
	test_poll(pair.net.workers, 1, 3);
	assert_int_equal(uroce_poll_cq(a->cq, 1, &wc), 1);
	assert_int_equal(wc.status, IBV_WC_LOC_PROT_ERR);
	for (uint32_t i = tx->nb_freed; i != tx->nb_held; i++)
		assert_true((tx->ring.ring->slots[tx->held[i % UROCE_MEMIF_HELD].slot % SLOTS].flags &
			     MEMIF_DESC_REVOKED) != 0);
	close_pair();
}

static void
post_recv(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buffer, END_BYTES, e->mr->lkey };
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(uroce_post_recv(e->qp, &recv, &bad), 0);
}

static struct ibv_mw *
bind_window(struct end *e, struct ibv_mr *mr)
{
	struct ibv_mw *mw = uroce_alloc_mw(e->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED }, *bad;

	assert_non_null(mw);
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = mw->rkey + 1;
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)e->buffer, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_READ,
	};
	assert_int_equal(uroce_post_send(e->qp, &wr, &bad), 0);
	net_expect_ok(&pair.net, e, IBV_WC_BIND_MW);
	mw->rkey = wr.bind_mw.rkey;
	return mw;
}

/* A SEND with invalidate that is revoked, and sent again, is executed once. */
static void
test_revoked_invalidate(void **state)
{
	struct end *a = &pair.net.ends[0], *b = &pair.net.ends[1];
	struct ibv_send_wr wr = {
		.num_sge = 1, .opcode = IBV_WR_SEND_WITH_INV, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_sge sge;
	struct ibv_mr *mr;
	struct ibv_mw *mw;

	open_pair((const bool[2]){ true, true }, true);
	show();
	net_run_operations(&pair.net);
	mr = uroce_reg_mr(b->pd, b->buffer, END_BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	assert_non_null(mr);
	mw = bind_window(b, mr);
	post_recv(b);
	sge = (struct ibv_sge){ (uintptr_t)a->buffer, 4096, a->mr->lkey };
	wr.sg_list = &sge;
	wr.invalidate_rkey = mw->rkey;
	set_deaf(true);
	assert_int_equal(uroce_post_send(a->qp, &wr, &bad), 0);
	test_poll(pair.net.workers, 1, 3);
	uroce_memif_revoke(pair.ports[0]->memif, 0, 0, UROCE_MEMIF_ALL_QPS);
	set_deaf(false);
	net_expect_ok(&pair.net, a, IBV_WC_SEND);
	net_expect_ok(&pair.net, b, IBV_WC_RECV);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 1);
	assert_int_equal(uroce_dealloc_mw(mw), 0);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	close_pair();
}

/* A frame between two devices of the process waits in a worker's inbox when its QP fails: its ICRC protects it. */
static void
test_failed_in_inbox(void **state)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf) };
	struct end *a = &pair.net.ends[0], *b = &pair.net.ends[1];
	struct ibv_wc wc;

	net_open(&pair.net, &conf, 2, "10.0.0.1/24", "10.0.0.2/24");
	connect_pair((const bool[2]){ false, false }, true);
	net_run_operations(&pair.net);
	post_recv(b);
	end_post(a, IBV_WR_SEND, b, 4096, 0);
	test_poll(pair.net.workers, 1, 3);
	fail_qp(a);
	end_fill(a, 77);
	test_poll(&pair.net.workers[1], 1, 3);
	assert_int_equal(uroce_poll_cq(b->cq, 1, &wc), 0);
	close_pair();
}

/* As open_pair(), but device 0 has a second worker. */
static void
open_wide(void)
{
	struct net *net = &pair.net;

	memset(net, 0, sizeof(*net));
	test_rings_create_funnel(&net->wire[0], &net->wire[1]);
	net_create_workers(net, 2);
	for (unsigned int i = 0; i < 2; i++) {
		const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
		struct ibv_context *context = uroce_open_port(net->wire[i].port_id, &conf, net->workers, 2 - i);

		assert_non_null(context);
		assert_int_equal(uroce_add_address(context, i == 0 ? "10.0.0.1/24" : "10.0.0.2/24"), 0);
		end_open(&net->ends[i], context, END_MEMORY_DPDK);
	}
	net_connect(net);
	connect_pair((const bool[2]){ true, true }, true);
	show();
	net_run_operations(net);
}

static void
close_wide(void)
{
	uroce_memif_detach(pair.ports[0]);
	for (unsigned int i = 0; i < 2; i++)
		end_close(&pair.net.ends[i]);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(uroce_close_device(pair.net.ends[i].context), 0);
	net_destroy_workers(&pair.net);
	rte_eth_dev_close(pair.net.wire[1].port_id);
	test_rings_destroy(&pair.net.wire[0]);
	munmap(pair.at, BYTES);
	close(pair.memory);
	close(pair.sockets[0]);
	close(pair.sockets[1]);
}

/* The QP moves to another worker, and fails there. */
static void
test_revoked_after_move(void **state)
{
	struct end *a = &pair.net.ends[0], *b = &pair.net.ends[1];
	struct waiting w;

	open_wide();
	w = send_unheard(IBV_WR_RDMA_WRITE);
	assert_int_equal(uroce_qp_move(a->qp, pair.net.workers[1]), 0);
	fail_qp(a);
	memset(a->buffer, 77, 4096);
	hear(&w);
	assert_int_equal(test_counter(b->context, "drop_revoked"), 1);
	close_wide();
}

/* A frame that must be kept, for another worker or until earlier ones arrive, is revoked while it is copied. */
static void
test_revoked_while_kept(void **state)
{
	struct waiting w = open_unheard();
	struct uroce_memif *memif = pair.ports[1]->memif;
	struct rte_mbuf *frames[UROCE_BURST];
	struct uroce_packet p, kept;

	set_deaf(false);
	assert_int_equal(uroce_memif_receive(memif, 0, pair.ports[1]->queues[0].pool, frames), 1);
	p = (struct uroce_packet){
		.mbuf = frames[0], .bth = rte_pktmbuf_mtod(frames[0], void *),
		.src_ip = rte_pktmbuf_mtod(frames[0], void *), .dst_ip = rte_pktmbuf_mtod(frames[0], void *),
	};
	assert_int_equal(uroce_packet_keep(&p, &kept), 0);
	assert_false(uroce_mbuf_is_revoked(kept.mbuf));
	rte_pktmbuf_free(kept.mbuf);
	fail_qp(&pair.net.ends[0]);
	assert_true((w.desc->flags & MEMIF_DESC_REVOKED) != 0);
	assert_int_equal(uroce_packet_keep(&p, &kept), -ENOBUFS);
	uroce_memif_release(memif, 0);
	close_pair();
}

/* The connection ends: the frame is free. */
static void
test_held_at_end(void **state)
{
	const struct memif_desc *desc = open_unheard().desc;

	/* the test's own view of it: ring 0 is device 0's */
	desc = &((const struct memif_ring *)pair.at)->slots[desc - pair.ports[0]->memif->tx[0].ring.ring->slots];
	uroce_memif_detach(pair.ports[0]);
	assert_true((desc->flags & MEMIF_DESC_REVOKED) != 0); /* the peer may learn of the end later */
	assert_int_equal(uroce_mr_inflight((struct uroce_mr *)pair.net.ends[0].mr), 0);
	close_pair();
}

/* Memory that the peer no longer shows reads as zeros. */
static void
test_gone(void **state)
{
	struct waiting w = open_unheard();
	const struct uroce_memif_window *window = &pair.ports[1]->memif->windows.at[0];
	static const uint8_t zeros[4096];
	struct memif_message m = {
		.type = MEMIF_SHOW,
		.show = { .is_gone = 1, .window_bytes = window->bytes, .bytes = window->bytes },
	};

	uroce_memif_obey(pair.ports[1]->port_id, &m, -1);
	hear(&w);
	assert_memory_equal(pair.net.ends[1].buffer, zeros, sizeof(zeros));
	close_pair();
}

enum nonsense { NO_WINDOW, UNUSED_WINDOW, BEYOND, ACROSS, TOO_LONG, NO_HEADERS, NO_REFERENCE, TOO_MANY, NONSENSES };

/* The device receives nothing more from the broken ring, and writes no byte. */
static void
check_nonsense(enum nonsense what)
{
	struct waiting w = open_unheard();
	const struct uroce_memif_window *window = &pair.ports[1]->memif->windows.at[0];
	struct end *b = &pair.net.ends[1];

	memset(b->buffer, 1, 4096);
	switch (what) {
	case NO_WINDOW: w.reference.window = UROCE_MEMIF_WINDOWS; break;
	case UNUSED_WINDOW: w.reference.window = UROCE_MEMIF_WINDOWS - 1; break;
	case BEYOND: w.reference.at = UINT64_MAX; break;
	case ACROSS: w.reference.at = window->bytes - 4095; break;
	case TOO_LONG: w.reference.bytes = 4097; break;
	case NO_HEADERS: w.desc->length = sizeof(w.reference); break;
	case NO_REFERENCE: w.desc->length = sizeof(w.reference) - 1; break;
	default: w.desc->length = UROCE_MEMIF_COPY_BYTES + 1; break;
	}
	if (what != NO_REFERENCE)
		hear(&w);
	set_deaf(false);
	test_poll(pair.net.workers, 1, 3);
	assert_true(pair.ports[1]->memif->rx[0].ring.is_broken);
	for (unsigned int i = 0; i < 4096; i++)
		assert_int_equal(b->buffer[i], 1);
	close_pair();
}

static void
test_nonsense(void **state)
{
	for (unsigned int i = 0; i < NONSENSES; i++)
		check_nonsense(i);
}

static unsigned int nb_seen;

static uint16_t
see_frames(uint16_t port_id, uint16_t queue, struct rte_mbuf **frames, uint16_t n, uint16_t most, void *arg)
{
	for (uint16_t i = 0; i < n; i++)
		assert_int_equal(frames[i]->ol_flags & UROCE_MBUF_NO_ICRC, 0);
	nb_seen += n;
	return n;
}

/* Receive callbacks, such as those of dpdk-dumpcap, see whole frames with ICRCs. */
static void
test_callback(void **state)
{
	const struct waiting w = open_unheard();
	const struct rte_eth_rxtx_callback *callback = rte_eth_add_rx_callback(pair.ports[1]->port_id, 0, see_frames, NULL);

	assert_non_null(callback);
	nb_seen = 0;
	hear(&w);
	assert_int_equal(nb_seen, 1);
	assert_memory_equal(pair.net.ends[0].buffer, pair.net.ends[1].buffer, 4096);
	assert_int_equal(rte_eth_remove_rx_callback(pair.ports[1]->port_id, 0, callback), 0);
	close_pair();
}

/* Messages that cannot be carried out are refused, and change nothing. */
static void
check_refused(struct memif_show show, int fd)
{
	const struct memif_message m = { .type = MEMIF_SHOW, .show = show };
	const struct uroce_memif *memif = pair.ports[1]->memif;
	const uint32_t before = memif->nb_seen;

	uroce_memif_obey(pair.ports[1]->port_id, &m, fd);
	assert_int_equal(memif->nb_seen, before);
	assert_int_equal(memif->rx[0].ring.ring->seen, before);
}

static void
test_refused(void **state)
{
	const struct memif_show good = { .window = 1, .window_bytes = 2 * PART, .at = PART, .bytes = PART };
	int memory = memfd_create("memory", 0), file = open("/proc/self/exe", O_RDONLY), pipes[2];
	struct memif_show bad;

	open_pair((const bool[2]){ true, true }, true);
	show();
	assert_int_equal(ftruncate(memory, PART), 0);
	assert_int_equal(pipe(pipes), 0);
#define REFUSED(member, value) (bad = good, bad.member = (value), check_refused(bad, memory))
	REFUSED(window, UROCE_MEMIF_WINDOWS);
	REFUSED(window_bytes, UROCE_MEMIF_WINDOW_BYTES + 1);
	REFUSED(window_bytes, PART);
	REFUSED(bytes, 0);
	REFUSED(bytes, PART + 1);
	REFUSED(bytes, UINT64_MAX);
	REFUSED(at, UINT64_MAX - PART + 1);
	REFUSED(at, PART - 1);		/* no page begins there */
	REFUSED(file_at, 4096);		/* the file ends before */
	REFUSED(file_at, UINT64_MAX - PART + 1);
	REFUSED(window, 0);		/* it has another size */
#undef REFUSED
	check_refused(good, -1);
	check_refused(good, pipes[0]);
	check_refused(good, file);
	net_run_operations(&pair.net);
	close_pair();
	close(memory);
	close(file);
	close(pipes[0]);
	close(pipes[1]);
}

/* If the kernel refuses to map a part, it reads as zeros, although the kernel has unmapped it. */
static void
test_refused_by_kernel(void **state)
{
	const uint64_t page = 2 << 20;
	const int memory = memfd_create("memory", 0), huge = memfd_create("huge", MFD_HUGETLB);
	const struct memif_show good = { .window_bytes = page, .bytes = page };
	const struct memif_show bad = { .window_bytes = page, .bytes = page, .file_at = 4096 }; /* no hugepage begins there */
	const struct memif_reference reference = { .bytes = 1 };
	struct uroce_memif_windows windows = { 0 };

	if (huge < 0)
		skip(); /* a kernel without hugepages */
	assert_int_equal(ftruncate(memory, (off_t)page), 0);
	assert_int_equal(ftruncate(huge, (off_t)(2 * page)), 0);
	assert_int_equal(pwrite(memory, "m", 1, 0), 1);
	assert_int_equal(uroce_memif_window_set(&windows, &good, memory), 0);
	assert_int_equal(*uroce_memif_window_at(&windows, &reference), 'm');
	assert_int_equal(uroce_memif_window_set(&windows, &bad, huge), -EINVAL);
	assert_int_equal(*uroce_memif_window_at(&windows, &reference), 0);
	uroce_memif_windows_drop(&windows);
	close(memory);
	close(huge);
}

static void
leave_memory(void *bytes, void *arg)
{
}

/* A frame as the builder makes it, with its payload in DPDK's memory. */
static struct rte_mbuf *
make_frame(struct rte_mempool *pool, struct rte_mbuf_ext_shared_info *shared)
{
	struct rte_mbuf *m[3];

	for (unsigned int i = 0; i < 3; i++) {
		m[i] = rte_pktmbuf_alloc(pool);
		assert_non_null(m[i]);
	}
	rte_pktmbuf_attach_extbuf(m[1], pair.net.ends[0].buffer, RTE_BAD_IOVA, 4096, shared);
	assert_non_null(rte_pktmbuf_append(m[0], 70));
	assert_non_null(rte_pktmbuf_append(m[1], 4096));
	assert_non_null(rte_pktmbuf_append(m[2], 4));
	memset(rte_pktmbuf_mtod(m[0], void *), 0, 70);
	assert_int_equal(rte_pktmbuf_chain(m[1], m[2]), 0);
	assert_int_equal(rte_pktmbuf_chain(m[0], m[1]), 0);
	m[0]->ol_flags |= UROCE_MBUF_NO_ICRC;
	return m[0];
}

/* A frame that waits, since the ring takes none, does not need the application's memory any more. */
static void
test_unmapped(void **state)
{
	const size_t bytes = 2 * 4096;
	uint8_t *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uroce_memif_ring *r;
	struct end *a = &pair.net.ends[0], *b = &pair.net.ends[1];
	struct ibv_sge sge = { .addr = (uintptr_t)memory, .length = (uint32_t)bytes };
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	struct ibv_mr *mr;

	assert_ptr_not_equal(memory, MAP_FAILED);
	open_pair((const bool[2]){ false, false }, true);
	net_run_operations(&pair.net);
	memset(memory, 7, bytes);
	mr = uroce_reg_mr(b->pd, memory, bytes, 0);
	assert_non_null(mr);
	sge.lkey = mr->lkey;
	wr.wr.rdma.remote_addr = (uintptr_t)a->buffer;
	wr.wr.rdma.rkey = a->mr->rkey;
	r = &pair.ports[1]->memif->tx[0].ring;
	r->is_broken = true; /* takes no frame */
	assert_int_equal(uroce_post_send(b->qp, &wr, &bad), 0);
	test_poll(pair.net.workers, 1, 3);
	assert_int_equal(mprotect(memory, bytes, PROT_NONE), 0);
	r->is_broken = false;
	net_expect_ok(&pair.net, b, IBV_WC_RDMA_WRITE);
	for (size_t i = 0; i < bytes; i++)
		assert_int_equal(a->buffer[i], 7);
	assert_int_equal(uroce_dereg_mr(mr), 0);
	munmap(memory, bytes);
	close_pair();
}

/* A peer that reads no frames holds only so many, and only a part of a pool of n mbufs; further payloads are copied. */
static void
check_most_held(unsigned int n, unsigned int most)
{
	struct rte_mbuf_ext_shared_info shared = { .free_cb = leave_memory, .refcnt = (uint16_t)(most + 1) };
	struct uroce_memif *memif;
	uint64_t references = 0;
	struct rte_mempool *pool;

	open_pair((const bool[2]){ true, true }, true);
	show();
	memif = pair.ports[0]->memif;
	memif->tx[0].ring.is_started = true;
	pool = rte_pktmbuf_pool_create("held", n, 0, 64, 2048, SOCKET_ID_ANY);
	assert_non_null(pool);
	test_poll(pair.net.workers, 1, 3);
	set_deaf(true);
	for (unsigned int i = 0; i < most + 1; i++) {
		struct rte_mbuf *m = make_frame(pool, &shared);

		assert_int_equal(uroce_memif_send(memif, 0, &m, 1, &references), 1);
	}
	assert_int_equal(references, most);
	assert_int_equal(rte_mbuf_ext_refcnt_read(&shared), most);
	uroce_memif_detach(pair.ports[0]);
	assert_int_equal(rte_mempool_avail_count(pool), n);
	rte_mempool_free(pool);
	close_pair();
}

static void
test_most_held(void **state)
{
	check_most_held(UROCE_MEMIF_HELD_PART * UROCE_MEMIF_HELD, UROCE_MEMIF_HELD);
	check_most_held(UROCE_MEMIF_HELD_PART * 10, 10);
}

UROCE_TESTS(port_memif_share)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared),	 cmocka_unit_test(test_not_shared), cmocka_unit_test(test_held),
		cmocka_unit_test(test_held_at_end), cmocka_unit_test(test_gone),    cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_callback), cmocka_unit_test(test_refused),    cmocka_unit_test(test_most_held),
		cmocka_unit_test(test_unmapped), cmocka_unit_test(test_flood),	    cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_revoked_while_kept), cmocka_unit_test(test_other_destroyed),
		cmocka_unit_test(test_revoked_in_burst), cmocka_unit_test(test_revoked_after_move),
		cmocka_unit_test(test_revoked_invalidate), cmocka_unit_test(test_failed_in_inbox),
		cmocka_unit_test(test_refused_by_kernel),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
