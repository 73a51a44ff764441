/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The queue pair of an end and its way to RTS.
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

int
end_close(void)
{
	int ret = 0;

	if (self.qp != NULL)
		ret |= VERB(destroy_qp)(self.qp);
	if (self.cq != NULL)
		ret |= VERB(destroy_cq)(self.cq);
	if (self.mr != NULL)
		ret |= VERB(dereg_mr)(self.mr);
	probe_free(self.memory, self.own_memory);
	memset(&self, 0, sizeof(self));
	return ret;
}

static int
create_end(size_t size, bool own_memory)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = MAX_WR, .max_recv_wr = MAX_WR,
			.max_send_sge = MAX_SGE, .max_recv_sge = MAX_SGE,
			.max_inline_data = MAX_INLINE,
		},
	};

	self.size = size;
	self.own_memory = own_memory;
	self.memory = probe_alloc(size, own_memory);
	if (self.memory == NULL)
		return -1;
	memset(self.memory, 0, size);
	self.mr = VERB(reg_mr)(pd, self.memory, size,
			       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	self.cq = VERB(create_cq)(context, QUEUE_DEPTH, NULL, NULL, 0);
	if (self.mr == NULL || self.cq == NULL)
		return -1;
	init.send_cq = self.cq;
	init.recv_cq = self.cq;
	self.qp = VERB(create_qp)(pd, &init);
	return self.qp == NULL ? -1 : 0;
}

void
do_qp(const char *line)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
	};
	union ibv_gid sgid;
	int index;

	end_close();
	if (!line_gid(line, "sgid", &sgid) || (index = gid_index(&sgid)) < 0) {
		puts("error no such sgid");
		return;
	}
	self.sgid_index = (uint8_t)index;
	self.psn = line_number(line, "psn", 0);
	if (create_end(line_number(line, "size", 4096), line_number(line, "own", 0) != 0) != 0 ||
	    VERB(modify_qp)(self.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) !=
		    0) {
		printf("error creating the queue pair: %s\n", strerror(errno));
		return;
	}
	printf("ok qpn=%u rkey=%u addr=%" PRIu64 "\n", self.qp->qp_num, self.mr->rkey,
	       (uint64_t)(uintptr_t)self.memory);
}

static enum ibv_mtu
mtu_code(uint64_t bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && 128u << code < bytes)
		code++;
	return code;
}

static int
to_rtr(const char *line)
{
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
	return VERB(modify_qp)(self.qp, &attr,
			       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				       IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				       IBV_QP_MIN_RNR_TIMER);
}

static int
to_rts(const char *line)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = self.psn,
		.timeout = line_number(line, "timeout", 15),
		.retry_cnt = line_number(line, "retry", 7),
		.rnr_retry = line_number(line, "rnr", 7),
		.max_rd_atomic = line_number(line, "max_rd_atomic", 8),
	};

	return VERB(modify_qp)(self.qp, &attr,
			       IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				       IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

void
do_connect(const char *line)
{
	int ret = to_rtr(line);

	/* The kernel gives a neighbour one second to answer, and may itself be slow to ask. */
	for (int i = 1; ret == ETIMEDOUT && i < CONNECT_TRIES; i++)
		ret = to_rtr(line);
	if (ret == 0)
		ret = to_rts(line);
	if (ret == 0)
		puts("ok");
	else
		printf("error connecting: %s\n", strerror(ret));
}

void
do_state(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = VERB(query_qp)(self.qp, &attr, IBV_QP_STATE, &init);

	if (ret == 0)
		printf("ok state=%d\n", attr.qp_state);
	else
		printf("error query_qp: %s\n", strerror(ret));
}
