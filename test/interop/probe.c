/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * One end of the interoperability tests: a verbs program that does what it is told on standard input, a
 * line at a time, and answers each line with one of its own: "ok ..." or "error ...". It has one RC queue
 * pair with its memory at a time. Which scenario the lines make up, scenarios.py knows.
 *
 *	qp sgid=A size=N [psn= own=1]		new memory (zeroed), MR, CQ and QP -> qpn= rkey= addr=
 *	connect dgid=A qpn=N psn=N mtu=N [timeout= retry= rnr= min_rnr=]	to RTS
 *	recv n=N len=N [at=N stride=N sges=N]	post receives, wr_id from 0
 *	send op=O n=N [len= at= stride= sges= flags= remote= rkey= imm= compare= swap=]
 *						post one list of n WRs, wr_id from 0
 *	poll n=N ms=N				wait for n completions -> id:status:opcode:bytes:imm ...
 *	fill at=N len=N seed=N			write the pattern of this seed into the memory
 *	check at=N len=N seed=N			compare with it
 *	put at=N value=N, get at=N		64-bit words in host byte order
 *	ping address=A			an echo request
 *	state, counters, close
 */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "probe.h"

#define LINE_BYTES 4096
#define MAX_WR 64
#define MAX_SGE 16
#define MAX_INLINE 256
#define QUEUE_DEPTH 128
#define IDLE_NS 50000
#define CONNECT_TRIES 5

static struct ibv_context *context;
static struct ibv_pd *pd;

/* What `qp` creates and `close` destroys. */
static struct {
	struct ibv_qp *qp;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *memory;
	size_t size;
	bool own_memory;
	uint32_t psn;
	uint8_t sgid_index;
} end;

/* ---- command lines: words "key=value" -------------------------------------------------------------- */

static const char *
arg_text(const char *line, const char *key)
{
	size_t n = strlen(key);

	for (const char *word = strchr(line, ' '); word != NULL; word = strchr(word, ' ')) {
		word++;
		if (strncmp(word, key, n) == 0 && word[n] == '=')
			return word + n + 1;
	}
	return NULL;
}

static uint64_t
arg(const char *line, const char *key, uint64_t otherwise)
{
	const char *text = arg_text(line, key);

	return text == NULL ? otherwise : strtoull(text, NULL, 0);
}

static bool
arg_gid(const char *line, const char *key, union ibv_gid *gid)
{
	const char *text = arg_text(line, key);
	char address[INET6_ADDRSTRLEN];

	return text != NULL && sscanf(text, "%45s", address) == 1 &&
	       inet_pton(AF_INET6, address, gid) == 1;
}

/* Do the n items of len bytes each, stride apart, lie in the memory? */
static bool
in_memory(uint64_t at, uint64_t len, uint64_t n, uint64_t stride)
{
	return n <= MAX_WR && at <= end.size && len <= end.size && stride <= end.size &&
	       at + (n > 0 ? (n - 1) * stride : 0) + len <= end.size;
}

/* ---- waiting ---------------------------------------------------------------------------------------- */

static uint64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void
idle(void)
{
	nanosleep(&(struct timespec){.tv_nsec = IDLE_NS}, NULL);
}

/* Wait for a command, and let the implementation work meanwhile. */
static bool
read_line(char *line)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t n = 0;

	for (;;) {
		bool polled = probe_progress();

		if (poll(&in, 1, polled ? 0 : -1) <= 0) {
			idle();
			continue;
		}
		if (n == LINE_BYTES - 1 || read(STDIN_FILENO, line + n, 1) != 1)
			return false;
		if (line[n] == '\n')
			break;
		n++;
	}
	line[n] = '\0';
	return true;
}

/* ---- the pattern ------------------------------------------------------------------------------------ */

/* Differs between seeds and between any two places, so that nothing misplaced looks right. */
static uint8_t
pattern(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed << 32 | i) * 0x9e3779b97f4a7c15;

	return (uint8_t)((x ^ x >> 29) >> 32);
}

static void
do_fill(const char *line)
{
	uint64_t at = arg(line, "at", 0), len = arg(line, "len", 0), seed = arg(line, "seed", 0);

	if (!in_memory(at, len, 1, 0)) {
		puts("error outside the memory");
		return;
	}
	for (uint64_t i = 0; i < len; i++)
		end.memory[at + i] = pattern(seed, i);
	puts("ok");
}

static void
do_check(const char *line)
{
	uint64_t at = arg(line, "at", 0), len = arg(line, "len", 0), seed = arg(line, "seed", 0);

	if (!in_memory(at, len, 1, 0)) {
		puts("error outside the memory");
		return;
	}
	for (uint64_t i = 0; i < len; i++) {
		if (end.memory[at + i] != pattern(seed, i)) {
			printf("error byte %" PRIu64 " of %" PRIu64 " is %02x, not %02x\n", i, len,
			       end.memory[at + i], pattern(seed, i));
			return;
		}
	}
	puts("ok");
}

static void
do_word(const char *line, bool put)
{
	uint64_t at = arg(line, "at", 0), value = arg(line, "value", 0);

	if (!in_memory(at, sizeof(value), 1, 0)) {
		puts("error outside the memory");
		return;
	}
	if (put)
		memcpy(end.memory + at, &value, sizeof(value));
	else
		memcpy(&value, end.memory + at, sizeof(value));
	printf("ok value=%" PRIu64 "\n", value);
}

/* ---- the queue pair --------------------------------------------------------------------------------- */

/* The index of this address in the GID table, or -1. */
static int
gid_index(const union ibv_gid *wanted)
{
	struct ibv_port_attr port;
	union ibv_gid gid;

	if (VERB(query_port)(context, 1, &port) != 0)
		return -1;
	for (int i = 0; i < port.gid_tbl_len; i++)
		if (VERB(query_gid)(context, 1, i, &gid) == 0 && memcmp(&gid, wanted, sizeof(gid)) == 0)
			return i;
	return -1;
}

static int
close_end(void)
{
	int ret = 0;

	if (end.qp != NULL)
		ret |= VERB(destroy_qp)(end.qp);
	if (end.cq != NULL)
		ret |= VERB(destroy_cq)(end.cq);
	if (end.mr != NULL)
		ret |= VERB(dereg_mr)(end.mr);
	probe_free(end.memory, end.own_memory);
	memset(&end, 0, sizeof(end));
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

	end.size = size;
	end.own_memory = own_memory;
	end.memory = probe_alloc(size, own_memory);
	if (end.memory == NULL)
		return -1;
	memset(end.memory, 0, size);
	end.mr = VERB(reg_mr)(pd, end.memory, size, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	end.cq = VERB(create_cq)(context, QUEUE_DEPTH, NULL, NULL, 0);
	if (end.mr == NULL || end.cq == NULL)
		return -1;
	init.send_cq = end.cq;
	init.recv_cq = end.cq;
	end.qp = VERB(create_qp)(pd, &init);
	return end.qp == NULL ? -1 : 0;
}

static void
do_qp(const char *line)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	union ibv_gid sgid;
	int index;

	close_end();
	if (!arg_gid(line, "sgid", &sgid) || (index = gid_index(&sgid)) < 0) {
		puts("error no such sgid");
		return;
	}
	end.sgid_index = (uint8_t)index;
	end.psn = arg(line, "psn", 0);
	if (create_end(arg(line, "size", 4096), arg(line, "own", 0) != 0) != 0 ||
	    VERB(modify_qp)(end.qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS) != 0) {
		printf("error creating the queue pair: %s\n", strerror(errno));
		return;
	}
	printf("ok qpn=%u rkey=%u addr=%" PRIu64 "\n", end.qp->qp_num, end.mr->rkey,
	       (uint64_t)(uintptr_t)end.memory);
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
		.path_mtu = mtu_code(arg(line, "mtu", 1024)),
		.dest_qp_num = arg(line, "qpn", 0),
		.rq_psn = arg(line, "psn", 0),
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = arg(line, "min_rnr", 14),
		.ah_attr = {
			.is_global = 1,
			.port_num = 1,
			.grh = {.sgid_index = end.sgid_index, .hop_limit = 64},
		},
	};

	if (!arg_gid(line, "dgid", &attr.ah_attr.grh.dgid))
		return EINVAL;
	return VERB(modify_qp)(end.qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			       IBV_QP_MIN_RNR_TIMER);
}

static int
to_rts(const char *line)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = end.psn,
		.timeout = arg(line, "timeout", 15),
		.retry_cnt = arg(line, "retry", 7),
		.rnr_retry = arg(line, "rnr", 7),
		.max_rd_atomic = arg(line, "max_rd_atomic", 8),
	};

	return VERB(modify_qp)(end.qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT |
			       IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void
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

static void
do_state(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int ret = VERB(query_qp)(end.qp, &attr, IBV_QP_STATE, &init);

	if (ret == 0)
		printf("ok state=%d\n", attr.qp_state);
	else
		printf("error query_qp: %s\n", strerror(ret));
}

/* ---- work requests ---------------------------------------------------------------------------------- */

/* len bytes of the memory as `want` entries of uneven length. @return how many */
static int
make_sges(struct ibv_sge *sge, uint64_t at, uint64_t len, uint64_t want)
{
	uint64_t n = len == 0 ? 0 : want < 1 ? 1 : want > MAX_SGE ? MAX_SGE : want;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t part = i == n - 1 ? len : len / (n - i) | (len / (n - i) > 1);

		if (part > len)
			part = len;
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)end.memory + at,
			.length = (uint32_t)part,
			.lkey = end.mr->lkey,
		};
		at += part;
		len -= part;
	}
	return (int)n;
}

static void
do_recv(const char *line)
{
	uint64_t n = arg(line, "n", 1), len = arg(line, "len", 0), at = arg(line, "at", 0);
	uint64_t stride = arg(line, "stride", len), sges = arg(line, "sges", 1);
	int ret = 0;

	if (!in_memory(at, len, n, stride)) {
		puts("error outside the memory");
		return;
	}
	for (uint64_t i = 0; i < n && ret == 0; i++) {
		struct ibv_sge sge[MAX_SGE];
		struct ibv_recv_wr *bad, wr = {.wr_id = i, .sg_list = sge};

		wr.num_sge = make_sges(sge, at + i * stride, len, sges);
		ret = VERB(post_recv)(end.qp, &wr, &bad);
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
		{"send", IBV_WR_SEND}, {"send-imm", IBV_WR_SEND_WITH_IMM},
		{"write", IBV_WR_RDMA_WRITE}, {"write-imm", IBV_WR_RDMA_WRITE_WITH_IMM},
		{"read", IBV_WR_RDMA_READ}, {"cas", IBV_WR_ATOMIC_CMP_AND_SWP},
		{"faa", IBV_WR_ATOMIC_FETCH_AND_ADD},
	};
	const char *name = arg_text(line, "op");

	for (size_t i = 0; name != NULL && i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strncmp(name, ops[i].name, strcspn(name, " ")) == 0 &&
		    ops[i].name[strcspn(name, " ")] == '\0') {
			*opcode = ops[i].opcode;
			return true;
		}
	}
	return false;
}

/* WR i of `send`: item i of the memory to or from item i at the peer. */
static void
make_wr(struct ibv_send_wr *wr, struct ibv_sge *sge, const char *line, uint64_t i)
{
	uint64_t len = arg(line, "len", 0), stride = arg(line, "stride", len);
	uint64_t remote = arg(line, "remote", 0) + i * arg(line, "remote_stride", stride);

	*wr = (struct ibv_send_wr){
		.wr_id = i,
		.sg_list = sge,
		.num_sge = make_sges(sge, arg(line, "at", 0) + i * stride, len, arg(line, "sges", 1)),
		.send_flags = IBV_SEND_SIGNALED | arg(line, "flags", 0),
		.imm_data = htonl((uint32_t)(arg(line, "imm", 0) + i)),
	};
	opcode_of(line, &wr->opcode);
	if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = remote;
		wr->wr.atomic.rkey = arg(line, "rkey", 0);
		wr->wr.atomic.compare_add = arg(line, "compare", 0) + i * arg(line, "step", 0);
		wr->wr.atomic.swap = arg(line, "swap", 0) + i * arg(line, "step", 0);
	} else {
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = arg(line, "rkey", 0);
	}
}

static void
do_send(const char *line)
{
	static struct ibv_sge sge[MAX_WR][MAX_SGE];
	static struct ibv_send_wr wr[MAX_WR];
	uint64_t n = arg(line, "n", 1), len = arg(line, "len", 0);
	struct ibv_send_wr *bad;
	enum ibv_wr_opcode opcode;
	int ret;

	if (n == 0 || !in_memory(arg(line, "at", 0), len, n, arg(line, "stride", len)) ||
	    !opcode_of(line, &opcode)) {
		puts("error outside the memory, or no such op");
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		make_wr(&wr[i], sge[i], line, i);
		if (i > 0)
			wr[i - 1].next = &wr[i];
	}
	ret = VERB(post_send)(end.qp, &wr[0], &bad);
	if (ret == 0)
		puts("ok");
	else
		printf("error post_send: %s\n", strerror(ret));
}

static void
do_poll(const char *line)
{
	uint64_t wanted = arg(line, "n", 1), deadline = now_ms() + arg(line, "ms", 20000);
	struct ibv_wc wc;

	printf("ok");
	while (wanted > 0) {
		int n = VERB(poll_cq)(end.cq, 1, &wc);

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
		printf(" %" PRIu64 ":%d:%d:%u:%u", wc.wr_id, wc.status, wc.opcode, wc.byte_len,
		       (wc.wc_flags & IBV_WC_WITH_IMM) != 0 ? ntohl(wc.imm_data) : 0);
		wanted--;
	}
	putchar('\n');
}

static void
do_ping(const char *line)
{
	const char *text = arg_text(line, "address");
	char address[INET6_ADDRSTRLEN];
	int ret = EINVAL;

	if (text != NULL && sscanf(text, "%45s", address) == 1)
		ret = probe_ping(context, address);
	if (ret == 0)
		puts("ok");
	else
		printf("error ping: %s\n", strerror(ret));
}

/* ---- commands --------------------------------------------------------------------------------------- */

static bool
is(const char *line, const char *command)
{
	size_t n = strlen(command);

	return strncmp(line, command, n) == 0 && (line[n] == ' ' || line[n] == '\0');
}

static void
run_without_qp(const char *line)
{
	if (is(line, "qp")) {
		do_qp(line);
	} else if (is(line, "ping")) {
		do_ping(line);
	} else if (is(line, "counters")) {
		printf("ok");
		probe_counters(context);
		putchar('\n');
	} else if (is(line, "close")) {
		puts(close_end() == 0 ? "ok" : "error closing");
	} else {
		puts("error no such command, or no queue pair");
	}
}

static void
run(const char *line)
{
	if (end.qp == NULL)
		run_without_qp(line);
	else if (is(line, "connect"))
		do_connect(line);
	else if (is(line, "recv"))
		do_recv(line);
	else if (is(line, "send"))
		do_send(line);
	else if (is(line, "poll"))
		do_poll(line);
	else if (is(line, "fill"))
		do_fill(line);
	else if (is(line, "check"))
		do_check(line);
	else if (is(line, "put") || is(line, "get"))
		do_word(line, is(line, "put"));
	else if (is(line, "state"))
		do_state();
	else
		run_without_qp(line);
}

int
main(int argc, char **argv)
{
	char line[LINE_BYTES];

	context = probe_open(argc, argv);
	pd = VERB(alloc_pd)(context);
	if (pd == NULL) {
		fprintf(stderr, "%s: no protection domain: %s\n", argv[0], strerror(errno));
		return 1;
	}
	puts("ok ready");
	fflush(stdout);
	while (read_line(line)) {
		run(line);
		fflush(stdout);
	}
	close_end();
	return 0;
}
