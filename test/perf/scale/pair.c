/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The two ends, their QPs, and WRITEs from one to the other. Main thread; the second lcore runs the other end's
 * worker.
 */

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_debug.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>

#include "host.h"
#include "scale.h"

#define TIMEOUT   18 /* 1 s (R36): longer than delays by the scheduler of a busy machine */
#define RETRY_CNT 7
#define REMOTE_ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define STALL_NS  20e9
#define INLINE_BYTES 32
#define AHEAD 4 /* turns */

const char *const scale_addresses[2] = { "10.0.0.1/24", "10.0.0.2/24" };

void
scale_check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "scale: %s: %s\n", what, errno != 0 ? strerror(errno) : "failed");
	exit(1);
}

double
scale_now(void)
{
	static double ns_per_cycle;

	if (ns_per_cycle == 0)
		ns_per_cycle = 1e9 / (double)rte_get_tsc_hz();
	return (double)rte_rdtsc() * ns_per_cycle;
}

static void
end_open(struct scale_end *e, unsigned int index, const struct scale_conf *conf)
{
	const struct uroce_port_conf port = {
		.size = sizeof(port),
		.log2_max_qp = conf->log2_max_qp,
		.log2_max_mr = conf->log2_max_mr,
		.no_loopback = 1,
	};

	e->ctx = uroce_open_port(e->port_id, &port, e->workers, e->nb_workers);
	scale_check(e->ctx != NULL, "opening a port");
	errno = uroce_add_address(e->ctx, scale_addresses[index]);
	scale_check(errno == 0, "giving it an address");
	/* entry 0 is the link-local one */
	errno = uroce_query_gid(e->ctx, 1, 1, &e->gid);
	scale_check(errno == 0, "finding its GID");
	e->pd = uroce_alloc_pd(e->ctx);
	scale_check(e->pd != NULL, "a protection domain");
	e->cq = uroce_create_cq(e->ctx, (int)conf->cqes, NULL, NULL, 0);
	scale_check(e->cq != NULL, "a completion queue");
	e->bytes = conf->bytes;
	e->buffer = rte_zmalloc("scale", e->bytes, 4096);
	scale_check(e->buffer != NULL, "memory of EAL: give it more hugepages");
	e->mr = uroce_reg_mr(e->pd, e->buffer, e->bytes, REMOTE_ACCESS);
	scale_check(e->mr != NULL, "registering memory");
}

void
scale_pair_open(struct scale_pair *p, const struct scale_conf *conf)
{
	static uint16_t ports[2];
	static bool made;

	/* ports of net_ring exist until EAL ends */
	if (!made)
		scale_check(uroce_app_ring_ports(ports, 1) == 0, "a wire");
	made = true;
	memset(p, 0, sizeof(*p));
	p->lcore = rte_get_next_lcore(UINT32_MAX, 1, 0);
	if (p->lcore >= RTE_MAX_LCORE)
		p->lcore = UINT32_MAX;
	for (unsigned int i = 0; i < 2; i++) {
		struct scale_end *e = &p->ends[i];

		e->port_id = ports[i];
		e->workers[0] = uroce_create_worker(-1);
		e->nb_workers = 1;
		scale_check(e->workers[0] != NULL, "a worker");
		end_open(e, i, conf);
	}
	if (p->lcore != UINT32_MAX) {
		errno = uroce_worker_launch(p->ends[1].workers[0], p->lcore);
		scale_check(errno == 0, "a second lcore");
	}
}

void
scale_pair_close(struct scale_pair *p)
{
	if (p->lcore != UINT32_MAX)
		uroce_worker_stop(p->ends[1].workers[0]);
	for (unsigned int i = 0; i < 2; i++) {
		struct scale_end *e = &p->ends[i];

		scale_qps_destroy(e);
		errno = uroce_dereg_mr(e->mr);
		scale_check(errno == 0, "deregistering memory");
		uroce_destroy_cq(e->cq);
		uroce_dealloc_pd(e->pd);
		errno = uroce_close_device(e->ctx);
		scale_check(errno == 0, "closing a device");
		rte_free(e->buffer);
	}
	for (unsigned int i = 0; i < 2; i++)
		uroce_destroy_worker(p->ends[i].workers[0]);
}

void
scale_qps_create(struct scale_end *e, uint32_t n, uint32_t send_depth)
{
	const struct ibv_qp_init_attr init = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_sge = 1, .max_inline_data = INLINE_BYTES },
	};

	e->qps = calloc(n, sizeof(*e->qps));
	scale_check(e->qps != NULL, "memory");
	e->nb_qps = n;
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_qp_init_attr attr = init;

		attr.cap.max_send_wr = i == 0 ? SCALE_WINDOW : send_depth;
		e->qps[i] = uroce_create_qp(e->pd, &attr);
		scale_check(e->qps[i] != NULL, "a queue pair");
	}
}

void
scale_qp_connect(struct scale_end *e, const struct scale_end *peer, uint32_t i)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = REMOTE_ACCESS,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = peer->qps[i]->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = { .dgid = peer->gid, .sgid_index = 1, .hop_limit = 64 },
		},
		.timeout = TIMEOUT,
		.retry_cnt = RETRY_CNT,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
	};

	errno = uroce_modify_qp(e->qps[i], &attr,
				IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	scale_check(errno == 0, "a queue pair to INIT");
	attr.qp_state = IBV_QPS_RTR;
	errno = uroce_modify_qp(e->qps[i], &attr,
				IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	scale_check(errno == 0, "a queue pair to RTR");
	attr.qp_state = IBV_QPS_RTS;
	errno = uroce_modify_qp(e->qps[i], &attr,
				IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	scale_check(errno == 0, "a queue pair to RTS");
}

void
scale_qps_connect(struct scale_pair *p)
{
	for (uint32_t i = 0; i < p->ends[0].nb_qps; i++) {
		scale_qp_connect(&p->ends[0], &p->ends[1], i);
		scale_qp_connect(&p->ends[1], &p->ends[0], i);
	}
}

void
scale_qps_destroy(struct scale_end *e)
{
	for (uint32_t i = 0; i < e->nb_qps; i++) {
		errno = uroce_destroy_qp(e->qps[i]);
		scale_check(errno == 0, "destroying a queue pair");
	}
	free(e->qps);
	e->qps = NULL;
	e->nb_qps = 0;
}

uint32_t *
scale_shuffle(uint32_t n)
{
	uint32_t *order = malloc(n * sizeof(*order));
	uint64_t state = 0x9e3779b97f4a7c15;

	scale_check(order != NULL, "memory");
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = (uint32_t)(scale_random(&state) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	return order;
}

struct scale_memory
scale_memory(void)
{
	struct rte_malloc_socket_stats stats;
	unsigned long pages = 0, resident = 0;
	struct scale_memory m;
	FILE *f;

	scale_check(rte_malloc_get_socket_stats((int)rte_socket_id(), &stats) == 0, "the heap's statistics");
	m.heap_bytes = stats.heap_allocsz_bytes;
	m.malloc_bytes = mallinfo2().uordblks + mallinfo2().hblkhd;
	f = fopen("/proc/self/statm", "r");
	scale_check(f != NULL && fscanf(f, "%lu %lu", &pages, &resident) == 2, "/proc/self/statm");
	fclose(f);
	m.process_bytes = resident * (size_t)sysconf(_SC_PAGESIZE);
	if (rte_eal_has_hugepages())
		m.process_bytes += stats.heap_totalsz_bytes;
	return m;
}

/* A run of WRITEs. */
struct writes {
	struct scale_pair *pair;
	const struct scale_load *load;
	uint64_t posted;
	uint64_t done;
	uint32_t turn; /* index of load->order */
	uint32_t slots; /* messages that fit into the buffer */
	uint32_t slot;
	uint32_t key;
	struct ibv_send_wr wrs[SCALE_WINDOW];
	struct ibv_sge sges[SCALE_WINDOW];
};

/* Both ends use the same slot of their buffers, in turn within a part that stays in cache. */
static void
fill(struct writes *w, unsigned int i)
{
	const struct scale_load *load = w->load;
	const struct scale_end *to = &w->pair->ends[1];
	const uint64_t offset = (uint64_t)w->slot * load->size;

	w->slot = w->slot + 1 < w->slots ? w->slot + 1 : 0;
	w->sges[i].addr = (uintptr_t)w->pair->ends[0].buffer + offset;
	w->wrs[i].wr.rdma.remote_addr = (uintptr_t)to->buffer + offset;
	if (load->nb_keys == 0)
		return;
	w->key = w->key + 1 < load->nb_keys ? w->key + 1 : 0;
	w->sges[i].lkey = load->lkeys[w->key];
	w->wrs[i].wr.rdma.rkey = load->rkeys[w->key];
}

/* Post a turn of one QP. @return false: its queue is full */
static bool
post(struct writes *w)
{
	const struct scale_load *load = w->load;
	struct ibv_qp *qp = w->pair->ends[0].qps[load->order[w->turn]];
	struct ibv_send_wr *bad;
	int ret;

	for (unsigned int i = 0; i < load->batch; i++)
		fill(w, i);
	ret = ibv_post_send(qp, w->wrs, &bad);
	if (ret == ENOMEM && bad == w->wrs)
		return false;
	errno = ret;
	scale_check(ret == 0, "posting a WRITE");
	w->posted += load->batch;
	w->turn = w->turn + 1 < load->nb_order ? w->turn + 1 : 0;
	/* as an application with many QPs can do, too */
	rte_prefetch0(w->pair->ends[0].qps[load->order[(w->turn + AHEAD) % load->nb_order]]);
	return true;
}

static void
take(struct writes *w)
{
	struct ibv_wc wcs[32];
	int n = ibv_poll_cq(w->pair->ends[0].cq, RTE_DIM(wcs), wcs);

	for (int i = 0; i < n; i++) {
		if (wcs[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "scale: a WRITE has failed: %s\n", uroce_wc_status_str(wcs[i].status));
			exit(1);
		}
		w->done += w->load->batch;
	}
}

static void
writes_init(struct writes *w, struct scale_pair *p, const struct scale_load *load)
{
	RTE_VERIFY(load->batch >= 1 && load->batch <= SCALE_WINDOW);
	memset(w, 0, sizeof(*w));
	w->pair = p;
	w->load = load;
	w->slots = (uint32_t)RTE_MIN(p->ends[0].bytes / load->size, (size_t)SCALE_WINDOW);
	for (unsigned int i = 0; i < load->batch; i++) {
		w->sges[i].length = load->size;
		w->sges[i].lkey = p->ends[0].mr->lkey;
		w->wrs[i] = (struct ibv_send_wr){
			.next = i + 1 < load->batch ? &w->wrs[i + 1] : NULL,
			.sg_list = &w->sges[i],
			.num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.wr.rdma.rkey = p->ends[1].mr->rkey,
			.send_flags = (i + 1 == load->batch ? IBV_SEND_SIGNALED : 0u) |
				      (load->inlined ? IBV_SEND_INLINE : 0u),
		};
	}
}

double
scale_writes(struct scale_pair *p, const struct scale_load *load)
{
	const double start = scale_now(), end = start + load->seconds * 1e9;
	static struct writes w;
	double now = start, last = start;
	uint64_t done = 0, counted;

	writes_init(&w, p, load);
	while (now < end) {
		while (w.posted + load->batch - w.done <= SCALE_WINDOW && post(&w))
			;
		scale_pair_poll(p);
		take(&w);
		now = scale_now();
	}
	counted = w.done;
	while (w.done < w.posted) {
		if (w.done != done)
			last = scale_now();
		done = w.done;
		errno = ETIMEDOUT;
		scale_check(scale_now() - last < STALL_NS, "waiting for WRITEs");
		scale_pair_poll(p);
		take(&w);
	}
	return (double)counted / ((now - start) * 1e-9);
}
