/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Work requests and completions.
 */

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include <arpa/inet.h>

#include "end.h"
#include "line.h"

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Describe len bytes of the memory by `want` entries of different lengths. @return the number of entries */
static int
make_sges(struct ibv_sge *sge, uint64_t at, uint64_t len, uint64_t want)
{
	uint64_t n = len == 0 ? 0 : want < 1 ? 1 : want > MAX_SGE ? MAX_SGE : want;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t part = i == n - 1 ? len : len / (n - i) | (len / (n - i) > 1);

		if (part > len)
			part = len;
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)self.memory + at,
			.length = (uint32_t)part,
			.lkey = self.mr->lkey,
		};
		at += part;
		len -= part;
	}
	return (int)n;
}

void
do_recv(const char *line)
{
	uint64_t n = line_number(line, "n", 1), len = line_number(line, "len", 0),
		 at = line_number(line, "at", 0);
	uint64_t stride = line_number(line, "stride", len), sges = line_number(line, "sges", 1);
	int ret = 0;

	if (!in_memory(at, len, n, stride)) {
		puts("error outside the memory");
		return;
	}
	for (uint64_t i = 0; i < n && ret == 0; i++) {
		struct ibv_sge sge[MAX_SGE];
		struct ibv_recv_wr *bad, wr = { .wr_id = i, .sg_list = sge };

		wr.num_sge = make_sges(sge, at + i * stride, len, sges);
		ret = self.srq != NULL ? VERB(post_srq_recv)(self.srq, &wr, &bad)
				       : VERB(post_recv)(self.qps[qp_index(line)], &wr, &bad);
	}
	if (ret == 0)
		puts("ok");
	else
		printf("error post_recv: %s\n", strerror(ret));
}

static bool
opcode_of(const char *line, enum ibv_wr_opcode *opcode)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode opcode;
	} ops[] = {
		{ "send", IBV_WR_SEND },
		{ "send-imm", IBV_WR_SEND_WITH_IMM },
		{ "send-inv", IBV_WR_SEND_WITH_INV },
		{ "local-inv", IBV_WR_LOCAL_INV },
		{ "write", IBV_WR_RDMA_WRITE },
		{ "write-imm", IBV_WR_RDMA_WRITE_WITH_IMM },
		{ "read", IBV_WR_RDMA_READ },
		{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP },
		{ "faa", IBV_WR_ATOMIC_FETCH_AND_ADD },
	};
	const char *name = line_text(line, "op");

	for (size_t i = 0; name != NULL && i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strncmp(name, ops[i].name, strcspn(name, " ")) == 0 &&
		    ops[i].name[strcspn(name, " ")] == '\0') {
			*opcode = ops[i].opcode;
			return true;
		}
	}
	return false;
}

/* Request i of `send`: item i of the memory, to or from item i at the peer. */
static void
make_wr(struct ibv_send_wr *wr, struct ibv_sge *sge, const char *line, uint64_t i)
{
	unsigned int q = qp_index(line);
	uint64_t len = line_number(line, "len", 0), stride = line_number(line, "stride", len);
	uint64_t remote = line_number(line, "remote", 0) +
			  i * line_number(line, "remote_stride", stride);

	*wr = (struct ibv_send_wr){
		.wr_id = i,
		.sg_list = sge,
		.num_sge = make_sges(sge, line_number(line, "at", 0) + i * stride, len,
				     line_number(line, "sges", 1)),
		.send_flags = IBV_SEND_SIGNALED | line_number(line, "flags", 0),
		.imm_data = htonl((uint32_t)(line_number(line, "imm", 0) + i)),
	};
	opcode_of(line, &wr->opcode);
	if (wr->opcode == IBV_WR_SEND_WITH_INV || wr->opcode == IBV_WR_LOCAL_INV)
		wr->invalidate_rkey = (uint32_t)line_number(line, "inv", 0);
	if (self.ahs[q] != NULL) {
		wr->wr.ud.ah = self.ahs[q];
		wr->wr.ud.remote_qpn = self.remote_qpns[q];
		wr->wr.ud.remote_qkey = (uint32_t)line_number(line, "qkey", self.qkey);
	} else if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = line_number(line, "rkey", 0);
		wr->wr.atomic.compare_add = line_number(line, "compare", 0) +
					    i * line_number(line, "step", 0);
		wr->wr.atomic.swap = line_number(line, "swap", 0) +
				     i * line_number(line, "step", 0);
	} else {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = line_number(line, "rkey", 0);
	}
}

void
do_send(const char *line)
{
	static struct ibv_sge sge[MAX_WR][MAX_SGE];
	static struct ibv_send_wr wr[MAX_WR];
	uint64_t n = line_number(line, "n", 1), len = line_number(line, "len", 0);
	struct ibv_send_wr *bad;
	enum ibv_wr_opcode opcode;
	int ret;

	if (n == 0 ||
	    !in_memory(line_number(line, "at", 0), len, n, line_number(line, "stride", len)) ||
	    !opcode_of(line, &opcode)) {
		puts("error outside the memory, or no such op");
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		make_wr(&wr[i], sge[i], line, i);
		if (i > 0)
			wr[i - 1].next = &wr[i];
	}
	ret = VERB(post_send)(self.qps[qp_index(line)], &wr[0], &bad);
	if (ret == 0)
		puts("ok");
	else
		printf("error post_send: %s\n", strerror(ret));
}

void
do_poll(const char *line)
{
	uint64_t wanted = line_number(line, "n", 1),
		 deadline = now_ms() + line_number(line, "ms", 20000);
	struct ibv_wc wc;

	printf("ok");
	while (wanted > 0) {
		int n = VERB(poll_cq)(self.cq, 1, &wc);

		if (n < 0) {
			printf(" poll_cq:%d", n);
			break;
		}
		if (n == 0) {
			if (now_ms() > deadline)
				break;
			probe_progress();
			idle();
			continue;
		}
		/* the scenario knows from the opcode which member of the union it is */
		printf(" %" PRIu64 ":%d:%d:%u:%u:%u:%u", wc.wr_id, wc.status, wc.opcode, wc.byte_len,
		       (wc.wc_flags & IBV_WC_WITH_IMM) != 0   ? ntohl(wc.imm_data)
		       : (wc.wc_flags & IBV_WC_WITH_INV) != 0 ? wc.invalidated_rkey
							      : 0,
		       wc.qp_num, (wc.wc_flags & IBV_WC_GRH) != 0 ? wc.src_qp : 0);
		wanted--;
	}
	putchar('\n');
}
