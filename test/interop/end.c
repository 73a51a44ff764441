/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The queue pairs of an end and their way to RTS.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"
#include "line.h"

#define MAX_INLINE    256
#define QUEUE_DEPTH   128
#define CONNECT_TRIES 5

struct end self;

/* The index of this address in the GID table, or -1. */
static int
gid_index(const union ibv_gid *wanted)
{
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (VERB(query_port)(context, 1, &port) != 0)
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (VERB(query_gid)(context, 1, i, &gid) == 0 &&
		    memcmp(&gid, wanted, sizeof(gid)) == 0)
			return i;
	return -1;
}

unsigned int
qp_index(const char *line)
{
	uint64_t q = line_number(line, "q", 0);

	return q < self.count ? (unsigned int)q : 0;
}

int
end_close(void)
{
	int ret = window_close();

	for (unsigned int i = 0; i < self.count; i++) {
		if (self.ahs[i] != NULL)
			ret |= VERB(destroy_ah)(self.ahs[i]);
		ret |= VERB(destroy_qp)(self.qps[i]);
	}
	if (self.srq != NULL)
		ret |= VERB(destroy_srq)(self.srq);
	if (self.cq != NULL)
		ret |= VERB(destroy_cq)(self.cq);
	if (self.mr != NULL)
		ret |= VERB(dereg_mr)(self.mr);
	probe_free(self.memory, self.own_memory);
	memset(&self, 0, sizeof(self));
	return ret;
}

static enum ibv_qp_type
type_of(const char *line)
{
	const char *name = line_text(line, "type");

	if (name != NULL && strncmp(name, "uc", 2) == 0)
		return IBV_QPT_UC;
	return name != NULL && strncmp(name, "ud", 2) == 0 ? IBV_QPT_UD : IBV_QPT_RC;
}

static int
create_qps(const char *line)
{
	uint64_t n = line_number(line, "qps", 1);
	struct ibv_qp_init_attr init = {
		.qp_type = type_of(line),
		.srq = self.srq,
		.send_cq = self.cq,
		.recv_cq = self.cq,
		.cap = {
			.max_send_wr = MAX_WR, .max_recv_wr = MAX_WR,
			.max_send_sge = MAX_SGE, .max_recv_sge = MAX_SGE,
			.max_inline_data = MAX_INLINE,
		},
	};

	while (self.count < n && self.count < MAX_QPS) {
		struct ibv_qp_init_attr attr = init;	/* ibv_create_qp() writes the granted capabilities back */
		struct ibv_qp *qp = self.placement ? create_placement_qp(&attr) : VERB(create_qp)(pd, &attr);

		if (qp == NULL)
			return -1;
		self.qps[self.count++] = qp;
	}
	return 0;
}

static int
create_end(const char *line)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = MAX_WR, .max_sge = MAX_SGE } };
	bool own_memory = line_number(line, "own", 0) != 0;
	size_t size = line_number(line, "size", 4096);

	self.size = size;
	self.own_memory = own_memory;
	self.memory = probe_alloc(size, own_memory);
	if (self.memory == NULL)
		return -1;
	memset(self.memory, 0, size);
	self.placement = line_number(line, "placement", 0) != 0;
	self.mr = VERB(reg_mr)(pd, self.memory, size,
			       (line_number(line, "flushed", 0) != 0 ? PROBE_ACCESS_FLUSH_GLOBAL : 0) |
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC |
				       IBV_ACCESS_MW_BIND);
	self.cq = VERB(create_cq)(context, QUEUE_DEPTH, NULL, NULL, 0);
	if (self.mr == NULL || self.cq == NULL)
		return -1;
	if (line_number(line, "srq", 0) != 0) {
		self.srq = VERB(create_srq)(pd, &srq);
		if (self.srq == NULL)
			return -1;
	}
	return create_qps(line);
}

static int
to_init(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = qkey,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC |
				   (self.placement ? PROBE_ACCESS_FLUSH_GLOBAL : 0),
	};
	int rights = qp->qp_type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;

	return VERB(modify_qp)(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | rights);
}

void
do_qp(const char *line)
{
	union ibv_gid sgid;
	int index, ret;

	end_close();
	if (!line_gid(line, "sgid", &sgid) || (index = gid_index(&sgid)) < 0) {
		puts("error no such sgid");
		return;
	}
	self.sgid_index = (uint8_t)index;
	self.psn = line_number(line, "psn", 0);
	self.qkey = (uint32_t)line_number(line, "qkey", 0);
	ret = create_end(line) != 0 ? errno : 0;
	for (unsigned int i = 0; i < self.count && ret == 0; i++)
		ret = to_init(self.qps[i], self.qkey);
	if (ret != 0) {
		printf("error creating the queue pairs: %s\n", strerror(ret));
		return;
	}
	printf("ok rkey=%u addr=%" PRIu64 " qpn=%u", self.mr->rkey,
	       (uint64_t)(uintptr_t)self.memory, self.qps[0]->qp_num);
	for (unsigned int i = 1; i < self.count; i++)
		printf(" qpn%u=%u", i, self.qps[i]->qp_num);
	putchar('\n');
}

static enum ibv_mtu
mtu_code(uint64_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 128u << code < bytes)
		code++;
	return code;
}

/* The attributes of each service for RTR and RTS, except the state. */
static const int rc_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
static const int uc_rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
static const int rc_rts = IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			  IBV_QP_MAX_QP_RD_ATOMIC;

static int
to_rtr(const char *line, unsigned int q)
{
	enum ibv_qp_type type = self.qps[q]->qp_type;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(line_number(line, "mtu", 1024)),
		.dest_qp_num = line_number(line, "qpn", 0),
		.rq_psn = line_number(line, "psn", 0),
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = line_number(line, "min_rnr", 14),
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {.sgid_index = self.sgid_index, .hop_limit = 64},
		},
	};

	if (!line_gid(line, "dgid", &attr.ah_attr.grh.dgid))
		return EINVAL;
	if (type == IBV_QPT_UD) {
		self.remote_qpns[q] = attr.dest_qp_num;
		self.ahs[q] = VERB(create_ah)(pd, &attr.ah_attr);
		if (self.ahs[q] == NULL)
			return errno;
	}
	return VERB(modify_qp)(self.qps[q], &attr,
			       IBV_QP_STATE | (type == IBV_QPT_UD   ? 0
					       : type == IBV_QPT_UC ? uc_rtr
								    : rc_rtr));
}

static int
to_rts(const char *line, unsigned int q)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = self.psn,
		.timeout = line_number(line, "timeout", 15),
		.retry_cnt = line_number(line, "retry", 7),
		.rnr_retry = line_number(line, "rnr", 7),
		.max_rd_atomic = line_number(line, "max_rd_atomic", 8),
	};

	return VERB(modify_qp)(self.qps[q], &attr,
			       IBV_QP_STATE |
				       (self.qps[q]->qp_type == IBV_QPT_RC ? rc_rts : IBV_QP_SQ_PSN));
}

void
do_connect(const char *line)
{
	unsigned int q = qp_index(line);
	int ret = to_rtr(line, q);

	/* The kernel waits one second for a neighbor's reply, and may itself be slow to ask. */
	for (int i = 1; ret == ETIMEDOUT && i < CONNECT_TRIES; i++)
		ret = to_rtr(line, q);
	if (ret == 0)
		ret = to_rts(line, q);
	if (ret == 0)
		puts("ok");
	else
		printf("error connecting: %s\n", strerror(ret));
}

void
do_state(const char *line)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = VERB(query_qp)(self.qps[qp_index(line)], &attr, IBV_QP_STATE, &init);

	if (ret == 0)
		printf("ok state=%d\n", attr.qp_state);
	else
		printf("error query_qp: %s\n", strerror(ret));
}
