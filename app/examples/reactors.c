/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Reactors in the style of SPDK: each lcore runs one, which calls its pollers in a loop. A reactor has a worker, queue
 * pairs, a completion queue and buffers of its own. It takes no lock, and shares nothing with the others. Here each has
 * a target that answers requests, and an initiator that sends them, over queue i of one port.
 *
 *	cc -o reactors reactors.c $(pkg-config --static --cflags --libs uroce)
 *	./reactors --no-huge -m 128 --no-pci -l 0,1 --vdev net_ring0
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <uroce.h>

#define REACTORS 16	/* at most: a net_ring port has as many queues */
#define REQUESTS 100000 /* of each reactor */
#define DEPTH	 32	/* requests in flight */
#define BYTES	 64	/* of a request, and of its answer */
#define BATCH	 16	/* completions that one poll takes */

enum { INITIATOR, TARGET, ENDS };

/* Only its own lcore accesses a reactor while it runs. */
struct reactor {
	struct uroce_worker *worker;
	struct ibv_td *td;	/* one thread uses the objects below: no locks */
	struct ibv_pd *domain;	/* the protection domain of all reactors, for this thread */
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qps[ENDS];
	char (*buffers)[2 * DEPTH][BYTES]; /* of each end: DEPTH to receive, DEPTH to send */
	uint64_t sent;
	uint64_t answered;
	uint64_t rounds; /* calls of all pollers, and those that found work */
	uint64_t busy;
} __rte_cache_aligned;

static struct reactor reactors[REACTORS];
static unsigned int nb_reactors;
static struct ibv_context *device;
static struct ibv_pd *pd;
static union ibv_gid gid;

static void
check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "reactors: cannot %s\n", what);
	exit(1);
}

/* ---- the pollers of a reactor, on its lcore ---- */

/* wr_id: the end and its buffer. A receive may be posted again as soon as its message has been read. */
static void
post_recv(struct reactor *r, unsigned int end, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)r->buffers[end][slot], BYTES, r->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = end << 16 | slot, .sg_list = &sge, .num_sge = 1 };

	check(ibv_post_recv(r->qps[end], &wr, &bad) == 0, "post a receive");
}

static void
post_send(struct reactor *r, unsigned int end, unsigned int slot)
{
	struct ibv_sge sge = { (uintptr_t)r->buffers[end][DEPTH + slot], BYTES, r->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = end << 16 | slot, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};

	check(ibv_post_send(r->qps[end], &wr, &bad) == 0, "post a message");
}

static void
request(struct reactor *r, unsigned int slot)
{
	if (r->sent == REQUESTS)
		return;
	memcpy(r->buffers[INITIATOR][DEPTH + slot], &r->sent, sizeof(r->sent));
	r->sent++;
	post_send(r, INITIATOR, slot);
}

/* Messages arrive in order, so that message n of a connection is in buffer n modulo DEPTH. */
static void
received(struct reactor *r, unsigned int end, unsigned int slot)
{
	const char *message = r->buffers[end][slot];

	if (end == TARGET) {
		memcpy(r->buffers[TARGET][DEPTH + slot], message, BYTES);
		post_recv(r, TARGET, slot);
		post_send(r, TARGET, slot);
		return;
	}
	check(memcmp(message, &r->answered, sizeof(r->answered)) == 0, "find the expected number in an answer");
	r->answered++;
	post_recv(r, INITIATOR, slot);
	request(r, slot);
}

/* @return whether there was work, as SPDK_POLLER_BUSY and SPDK_POLLER_IDLE */
static bool
poll_worker(struct reactor *r)
{
	return uroce_worker_poll(r->worker) > 0;
}

static bool
poll_completions(struct reactor *r)
{
	struct ibv_wc wcs[BATCH];
	int n = ibv_poll_cq(r->cq, BATCH, wcs);

	for (int i = 0; i < n; i++) {
		check(wcs[i].status == IBV_WC_SUCCESS, uroce_wc_status_str(wcs[i].status));
		if ((wcs[i].opcode & IBV_WC_RECV) != 0)
			received(r, (unsigned int)(wcs[i].wr_id >> 16), (unsigned int)wcs[i].wr_id & 0xffff);
	}
	return n > 0;
}

static int
reactor_run(void *arg)
{
	static bool (*const pollers[])(struct reactor *r) = { poll_worker, poll_completions };
	struct reactor *r = arg;

	for (unsigned int slot = 0; slot < DEPTH; slot++)
		request(r, slot);
	for (; r->answered < REQUESTS; r->rounds++) {
		bool busy = false;

		for (unsigned int i = 0; i < RTE_DIM(pollers); i++)
			busy |= pollers[i](r);
		r->busy += busy;
	}
	uroce_worker_leave(r->worker); /* its last ACKs leave; the main thread may poll it now */
	return 0;
}

/* ---- set-up, on the main thread ---- */

/* A QP belongs to the worker that its thread domain names; the CQ takes no lock either. */
static void
objects_create(struct reactor *r, unsigned int index)
{
	struct ibv_parent_domain_init_attr domain = { .pd = pd };
	struct ibv_cq_init_attr_ex cq = { .cqe = 2 * ENDS * DEPTH, .comp_vector = index, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD };
	struct ibv_qp_init_attr qp = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 2 * DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	const size_t bytes = ENDS * sizeof(r->buffers[0]);
	struct ibv_cq_ex *ex;

	r->td = domain.td = uroce_alloc_td_on(device, r->worker);
	check(r->td != NULL, "create a thread domain");
	r->domain = cq.parent_domain = uroce_alloc_parent_domain(device, &domain);
	check(r->domain != NULL, "create a parent domain");
	ex = uroce_create_cq_ex(device, &cq);
	check(ex != NULL, "create a completion queue");
	r->cq = qp.send_cq = qp.recv_cq = ibv_cq_ex_to_cq(ex);
	r->buffers = rte_zmalloc("reactor", bytes, RTE_CACHE_LINE_SIZE);
	check(r->buffers != NULL, "allocate buffers");
	r->mr = uroce_reg_mr(r->domain, r->buffers, bytes, IBV_ACCESS_LOCAL_WRITE);
	check(r->mr != NULL, "register memory");
	for (unsigned int end = 0; end < ENDS; end++) {
		r->qps[end] = uroce_create_qp(r->domain, &qp);
		check(r->qps[end] != NULL && uroce_qp_worker(r->qps[end]) == r->worker, "create a queue pair");
	}
}

/* INIT, RTR, RTS: a program with peers exchanges the QPNs, or uses uroce_rdma_connect(). */
static void
connect_end(struct reactor *r, unsigned int end)
{
	static const int masks[] = {
		[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		[IBV_QPS_RTS] = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				IBV_QP_MAX_QP_RD_ATOMIC,
	};
	struct ibv_qp_attr attr = {
		.dest_qp_num = r->qps[1 - end]->qp_num,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = 1 } },
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.min_rnr_timer = 1,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	for (int state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		attr.qp_state = state;
		check(uroce_modify_qp(r->qps[end], &attr, IBV_QP_STATE | masks[state]) == 0, "connect a queue pair");
	}
	for (unsigned int slot = 0; slot < DEPTH; slot++)
		post_recv(r, end, slot);
}

static void
objects_destroy(struct reactor *r)
{
	for (unsigned int end = 0; end < ENDS; end++)
		uroce_destroy_qp(r->qps[end]);
	uroce_destroy_cq(r->cq);
	uroce_dereg_mr(r->mr);
	rte_free(r->buffers);
	uroce_dealloc_pd(r->domain);
	uroce_dealloc_td(r->td);
}

/* The port has a queue for each worker. Without loopback, the reactors' messages to this host leave by these queues. */
static void
device_open(void)
{
	const struct uroce_port_conf conf = { .size = sizeof(conf), .no_loopback = 1 };
	struct uroce_worker *workers[REACTORS];

	for (unsigned int i = 0; i < nb_reactors; i++) {
		workers[i] = reactors[i].worker = uroce_create_worker(-1);
		check(workers[i] != NULL, "create a worker");
	}
	device = uroce_open_port(0, &conf, workers, nb_reactors);
	check(device != NULL && uroce_add_address(device, "10.0.0.1/24") == 0 &&
		      uroce_query_gid(device, 1, 1, &gid) == 0,
	      "open port 0: see the messages above; EAL needs a port, such as --vdev net_ring0, and enough memory (-m)");
	pd = uroce_alloc_pd(device);
	check(pd != NULL, "create a protection domain");
}

static uint64_t
handed_over(void)
{
	struct uroce_counter counters[512];
	unsigned int n = uroce_query_counters(device, counters, RTE_DIM(counters));

	for (unsigned int i = 0; i < RTE_MIN(n, RTE_DIM(counters)); i++)
		if (strcmp(counters[i].name, "handed_over") == 0)
			return counters[i].value;
	return 0;
}

int
main(int argc, char **argv)
{
	unsigned int lcore, index = 0;

	check(rte_eal_init(argc, argv) >= 0, "start EAL");
	nb_reactors = RTE_MIN(rte_lcore_count(), (unsigned int)REACTORS);
	device_open();
	for (unsigned int i = 0; i < nb_reactors; i++) {
		objects_create(&reactors[i], i);
		connect_end(&reactors[i], INITIATOR);
		connect_end(&reactors[i], TARGET);
	}
	RTE_LCORE_FOREACH_WORKER(lcore)
		if (++index < nb_reactors)
			rte_eal_remote_launch(reactor_run, &reactors[index], lcore);
	reactor_run(&reactors[0]);
	rte_eal_mp_wait_lcore();

	for (unsigned int i = 0; i < nb_reactors; i++)
		printf("reactor %u: %" PRIu64 " requests answered in %" PRIu64 " rounds, %" PRIu64 " of them busy\n", i,
		       reactors[i].answered, reactors[i].rounds, reactors[i].busy);
	printf("frames that arrived at another reactor: %" PRIu64 "\n", handed_over());
	for (unsigned int i = 0; i < nb_reactors; i++)
		objects_destroy(&reactors[i]);
	uroce_dealloc_pd(pd);
	uroce_close_device(device);
	for (unsigned int i = 0; i < nb_reactors; i++)
		uroce_destroy_worker(reactors[i].worker);
	rte_eal_cleanup();
	return 0;
}
