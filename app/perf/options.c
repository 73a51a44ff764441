/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses the command line of uroce-perf after the `--`. main() parses it before EAL starts, so that a wrong argument
 * is reported at once. Each error names the remedy.
 */

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>

#include <uroce_netem.h>

#include "conf.h"
#include "options.h"
#include "program.h"

const char uroce_app_name[] = "uroce-perf";

const char uroce_app_both_ends[] = "leave out --server and --client";

const struct perf_op_info uroce_perf_ops[PERF_OP_COUNT] = {
	[PERF_WRITE] = { "write", IBV_WR_RDMA_WRITE, false, false, false },
	[PERF_WRITE_IMM] = { "write-imm", IBV_WR_RDMA_WRITE_WITH_IMM, true, false, false },
	[PERF_READ] = { "read", IBV_WR_RDMA_READ, false, true, false },
	[PERF_SEND] = { "send", IBV_WR_SEND, true, false, false },
	[PERF_SEND_IMM] = { "send-imm", IBV_WR_SEND_WITH_IMM, true, false, false },
	[PERF_FETCH_ADD] = { "fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, false, true, true },
	[PERF_CMP_SWAP] = { "cmp-swap", IBV_WR_ATOMIC_CMP_AND_SWP, false, true, true },
};

#define OP_BIT(op) (1u << (op))
#define OP(op)     OP_BIT(PERF_##op)

const struct perf_transport_info uroce_perf_transports[PERF_TRANSPORT_COUNT] = {
	[PERF_RC] = { "rc", IBV_QPT_RC, (1u << PERF_OP_COUNT) - 1 },
	[PERF_UC] = { "uc", IBV_QPT_UC, OP(WRITE) | OP(WRITE_IMM) | OP(SEND) | OP(SEND_IMM) },
	[PERF_UD] = { "ud", IBV_QPT_UD, OP(SEND) | OP(SEND_IMM) },
};

const char *const uroce_perf_modes[PERF_MODE_COUNT] = {
	[PERF_BW] = "bw",
	[PERF_RATE] = "rate",
	[PERF_LAT] = "lat",
};

/* The parser's state: the options, and the buffer for an error message. */
struct parse {
	struct perf_options *o;
	const char *oob_text;
	char *error;
	size_t room;
};

static int wrong(const struct parse *p, const char *format, ...) __rte_format_printf(2, 3);

static int
wrong(const struct parse *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->error, p->room, format, args);
	va_end(args);
	return -EINVAL;
}

int
uroce_perf_size_parse(const char *text, uint32_t *bytes)
{
	char digits[16];
	unsigned int shift = 0;
	size_t length = strlen(text);
	uint64_t value;

	if (length == 0 || length >= sizeof(digits))
		return -EINVAL;
	memcpy(digits, text, length + 1);
	switch (digits[length - 1]) {
	case 'k':
	case 'K': shift = 10; break;
	case 'm':
	case 'M': shift = 20; break;
	}
	if (shift != 0)
		digits[length - 1] = '\0';
	if (uroce_app_number_parse(digits, 0, UROCE_PERF_MAX_SIZE >> shift, &value) != 0)
		return -EINVAL;
	*bytes = (uint32_t)(value << shift);
	return 0;
}

static int
set_op(struct parse *p, const char *arg)
{
	p->o->asked.op_given = true;
	for (unsigned int i = 0; i < PERF_OP_COUNT; i++) {
		if (strcmp(arg, uroce_perf_ops[i].name) == 0) {
			p->o->asked.op = i;
			return 0;
		}
	}
	return wrong(p, "--op %s: use write, write-imm, read, send, send-imm, fetch-add or cmp-swap", arg);
}

static int
set_mode(struct parse *p, const char *arg)
{
	for (unsigned int i = 0; i < PERF_MODE_COUNT; i++) {
		if (strcmp(arg, uroce_perf_modes[i]) == 0) {
			p->o->mode = i;
			return 0;
		}
	}
	return wrong(p, "--mode %s: use bw, rate or lat", arg);
}

static int
set_transport(struct parse *p, const char *arg)
{
	for (unsigned int i = 0; i < PERF_TRANSPORT_COUNT; i++) {
		if (strcmp(arg, uroce_perf_transports[i].name) == 0) {
			p->o->transport = i;
			return 0;
		}
	}
	return wrong(p, "--transport %s: use rc, uc or ud", arg);
}

static int
set_size(struct parse *p, const char *arg)
{
	p->o->size_given = true;
	p->o->asked.all_sizes = strcmp(arg, "all") == 0;
	if (p->o->asked.all_sizes || uroce_perf_size_parse(arg, &p->o->asked.size) == 0)
		return 0;
	return wrong(p, "--size %s: use a number of bytes from 0 to %u, e.g. 4097, 64K or 1M, or all", arg,
		     UROCE_PERF_MAX_SIZE);
}

static int
set_mtu(struct parse *p, const char *arg)
{
	uint64_t value;

	if (uroce_app_number_parse(arg, 256, 4096, &value) != 0 || (value & (value - 1)) != 0)
		return wrong(p, "--mtu %s: use 256, 512, 1024, 2048 or 4096", arg);
	p->o->mtu = (uint32_t)value;
	p->o->mtu_given = true;
	return 0;
}

static int
set_buffers(struct parse *p, const char *arg)
{
	uint32_t bytes;

	if (uroce_perf_size_parse(arg, &bytes) != 0 || bytes == 0 || bytes > UROCE_PERF_BUFFER_BYTES)
		return wrong(p, "--buffers %s: use a number of bytes from 1 to %u, e.g. 512K or 8M", arg,
			     UROCE_PERF_BUFFER_BYTES);
	p->o->buffers = bytes;
	return 0;
}

static int
set_time(struct parse *p, const char *arg)
{
	char *end;

	p->o->asked.time_given = true;
	p->o->time_s = strtod(arg, &end);
	if (end == arg || *end != '\0' || !isfinite(p->o->time_s) || p->o->time_s <= 0 ||
	    p->o->time_s > UROCE_PERF_MAX_TIME_S)
		return wrong(p, "--time %s: use seconds above 0, at most %u, e.g. 5 or 0.5", arg,
			     UROCE_PERF_MAX_TIME_S);
	return 0;
}

static int
set_stats_period(struct parse *p, const char *arg)
{
	double *period_s = &p->o->stats_period_s;
	char *end;

	*period_s = strtod(arg, &end);
	if (end == arg || *end != '\0' || !isfinite(*period_s) || *period_s < UROCE_PERF_MIN_STATS_S ||
	    *period_s > UROCE_PERF_MAX_TIME_S)
		return wrong(p, "--stats-period %s: use seconds from %.1f to %u, e.g. 1 or 0.5", arg,
			     UROCE_PERF_MIN_STATS_S, UROCE_PERF_MAX_TIME_S);
	return 0;
}

static int
set_role(struct parse *p, enum perf_role role)
{
	if (p->o->role != PERF_BOTH && p->o->role != role)
		return wrong(p, "--server and --client exclude each other: use one of them");
	p->o->role = role;
	return 0;
}

static int
set_client(struct parse *p, const char *arg)
{
	if (uroce_app_gid_parse(arg, &p->o->peer) != 0)
		return wrong(p,
			     "--client %s: use the server's RDMA address, one of its --addr, e.g. 10.0.0.1 or fd00::1",
			     arg);
	p->o->peer_text = arg;
	return set_role(p, PERF_CLIENT);
}

static int
set_addr(struct parse *p, const char *arg)
{
	union ibv_gid gid, other;

	if (uroce_app_cidr_parse(arg, &gid) != 0)
		return wrong(p, "--addr %s: use an IP address with its prefix length, e.g. 10.0.0.1/24 or fd00::1/64",
			     arg);
	if (p->o->nb_addrs == UROCE_APP_MAX_ADDRESSES)
		return wrong(p, "--addr %s: there are more than %u: leave this one out", arg,
			     UROCE_APP_MAX_ADDRESSES);
	for (unsigned int i = 0; i < p->o->nb_addrs; i++) {
		if (uroce_app_cidr_parse(p->o->addrs[i], &other) == 0 && memcmp(&other, &gid, sizeof(gid)) == 0)
			return wrong(p, "--addr %s is given twice: leave one of them out", arg);
	}
	p->o->addrs[p->o->nb_addrs++] = arg;
	return 0;
}

static int
set_impair(struct parse *p, const char *arg)
{
	char reason[256];

	p->o->impair = arg;
	if (uroce_netem_check(arg, reason, sizeof(reason)) != 0)
		return wrong(p, "--impair %s", reason);
	return 0;
}

static int
set_limits(struct parse *p, const char *arg)
{
	char reason[256];

	p->o->limits = arg;
	return uroce_app_limits_check(arg, reason, sizeof(reason)) ? 0 : wrong(p, "--limits: %s", reason);
}

static int
set_congestion(struct parse *p, const char *arg)
{
	p->o->no_congestion = strcmp(arg, "off") == 0;
	if (!p->o->no_congestion && strcmp(arg, "on") != 0)
		return wrong(p, "--congestion %s: use on or off", arg);
	return 0;
}

static int
set_count(const struct parse *p, const char *name, const char *arg, uint64_t max, uint64_t *value)
{
	if (uroce_app_number_parse(arg, 1, max, value) != 0)
		return wrong(p, "--%s %s: use a number from 1 to %llu", name, arg,
			     (unsigned long long)max);
	return 0;
}

enum {
	OPT_OP = 256,
	OPT_TRANSPORT,
	OPT_MODE,
	OPT_SIZE,
	OPT_MTU,
	OPT_QPS,
	OPT_WORKERS,
	OPT_DEPTH,
	OPT_BUFFERS,
	OPT_TIME,
	OPT_ITERS,
	OPT_STATS_PERIOD,
	OPT_SERVER,
	OPT_CLIENT,
	OPT_ADDR,
	OPT_OOB,
	OPT_VERIFY,
	OPT_FAULT,
	OPT_JSON,
	OPT_IMPAIR,
	OPT_CONGESTION,
	OPT_VERSION,
	OPT_FLOOR,
	OPT_GO_BACK_N,
	OPT_SHARE_MEMORY,
	OPT_LIMITS,
	OPT_CMDLINE_FILE,
};

static const struct option long_options[] = {
	{ "op", required_argument, NULL, OPT_OP },
	{ "transport", required_argument, NULL, OPT_TRANSPORT },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "size", required_argument, NULL, OPT_SIZE },
	{ "mtu", required_argument, NULL, OPT_MTU },
	{ "qps", required_argument, NULL, OPT_QPS },
	{ "workers", required_argument, NULL, OPT_WORKERS },
	{ "depth", required_argument, NULL, OPT_DEPTH },
	{ "buffers", required_argument, NULL, OPT_BUFFERS },
	{ "time", required_argument, NULL, OPT_TIME },
	{ "iters", required_argument, NULL, OPT_ITERS },
	{ "stats-period", required_argument, NULL, OPT_STATS_PERIOD },
	{ "server", no_argument, NULL, OPT_SERVER },
	{ "client", required_argument, NULL, OPT_CLIENT },
	{ "addr", required_argument, NULL, OPT_ADDR },
	{ "oob", required_argument, NULL, OPT_OOB },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "floor", no_argument, NULL, OPT_FLOOR },
	{ "fault", required_argument, NULL, OPT_FAULT },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "impair", required_argument, NULL, OPT_IMPAIR },
	{ "congestion", required_argument, NULL, OPT_CONGESTION },
	{ "go-back-n", no_argument, NULL, OPT_GO_BACK_N },
	{ "share-memory", no_argument, NULL, OPT_SHARE_MEMORY },
	{ "limits", required_argument, NULL, OPT_LIMITS },
	{ "interactive", no_argument, NULL, 'i' },
	{ "cmdline-file", required_argument, NULL, OPT_CMDLINE_FILE },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int
set_option(struct parse *p, int option, const char *arg)
{
	struct perf_options *o = p->o;
	uint64_t value = 0;
	int ret = 0;

	switch (option) {
	case OPT_OP: return set_op(p, arg);
	case OPT_TRANSPORT: return set_transport(p, arg);
	case OPT_MODE: return set_mode(p, arg);
	case OPT_SIZE: return set_size(p, arg);
	case OPT_MTU: return set_mtu(p, arg);
	case OPT_BUFFERS: return set_buffers(p, arg);
	case OPT_TIME: return set_time(p, arg);
	case OPT_STATS_PERIOD: return set_stats_period(p, arg);
	case OPT_SERVER: return set_role(p, PERF_SERVER);
	case OPT_CLIENT: return set_client(p, arg);
	case OPT_ADDR: return set_addr(p, arg);
	case OPT_ITERS: return set_count(p, "iters", arg, 1ull << 48, &o->iters);
	case OPT_QPS:
		ret = set_count(p, "qps", arg, UROCE_PERF_MAX_QPS, &value);
		o->qps = (uint32_t)value;
		o->qps_given = true;
		return ret;
	case OPT_WORKERS:
		ret = set_count(p, "workers", arg, UROCE_MAX_WORKERS, &value);
		o->workers = (uint32_t)value;
		return ret;
	case OPT_DEPTH:
		ret = set_count(p, "depth", arg, UROCE_MAX_QP_WR, &value);
		o->depth = (uint32_t)value;
		return ret;
	case OPT_FAULT:
		if (uroce_app_number_parse(arg, 0, INT32_MAX, &value) != 0)
			return wrong(p, "--fault %s: use the number of a message; the first is 0",
				     arg);
		o->fault = (int64_t)value;
		return 0;
	case OPT_OOB:
		o->use_oob = true;
		p->oob_text = arg;
		return 0;
	case OPT_VERIFY: o->verify = true; return 0;
	case OPT_GO_BACK_N: o->go_back_n = true; return 0;
	case OPT_SHARE_MEMORY: o->share_memory = true; return 0;
	case OPT_LIMITS: return set_limits(p, arg);
	case OPT_FLOOR: o->floor = true; return 0;
	case OPT_JSON: o->json = arg; return 0;
	case OPT_IMPAIR: return set_impair(p, arg);
	case OPT_CONGESTION: return set_congestion(p, arg);
	case 'i': o->interactive = true; return 0;
	case OPT_CMDLINE_FILE: o->cmdline_file = arg; return 0;
	case 'h': o->help = true; return 0;
	case OPT_VERSION: o->version = true; return 0;
	}
	return -EINVAL;
}

/* Checks that need all options. */
static int
check_transport(struct parse *p)
{
	struct perf_options *o = p->o;
	const struct perf_transport_info *t = &uroce_perf_transports[o->transport];

	if (o->transport == PERF_UD && !o->asked.op_given)
		o->op = PERF_SEND;
	if ((t->ops & OP_BIT(o->op)) == 0)
		return wrong(p, "--transport %s does not support --op %s: use %s", t->name, uroce_perf_ops[o->op].name,
			     o->transport == PERF_UD ? "send or send-imm"
						     : "write, write-imm, send or send-imm");
	if (o->transport == PERF_UD && o->size_given && !o->all_sizes && o->size > o->mtu)
		return wrong(p, "--size %u: a UD message is one packet, at most the path MTU of %u bytes: lower --size",
			     o->size, o->mtu);
	if (o->transport == PERF_UC && o->op == PERF_WRITE && o->verify && o->mode != PERF_LAT)
		return wrong(p, "--verify cannot tell a lost UC WRITE from a wrong one, since the server is not "
			     "notified of a WRITE: use --op write-imm");
	return 0;
}

static int
check_together(struct parse *p)
{
	struct perf_options *o = p->o;

	o->op = o->asked.op;
	o->size = o->asked.size;
	o->all_sizes = o->asked.all_sizes;
	o->size_ignored = false;
	if (o->asked.time_given && o->iters != 0)
		return wrong(p, "--time and --iters exclude each other: use one of them");
	if (o->use_oob && o->role == PERF_BOTH)
		return wrong(p, "--oob is for two processes: add --server or --client");
	if (o->fault >= 0 && !o->verify)
		return wrong(p, "--fault corrupts a message, which only --verify detects: add --verify");
	if (!o->qps_given)
		o->qps = RTE_MAX(o->workers, 1u);
	if (o->qps < o->workers)
		return wrong(p, "--workers %u need a queue pair each: raise --qps %u, or leave it out", o->workers, o->qps);
	if (o->floor && o->role == PERF_SERVER)
		return wrong(p, "--floor is an option of the client, which prints the results: use it there");
	if (check_transport(p) != 0)
		return -EINVAL;
	if (!uroce_perf_ops[o->op].atomic)
		return 0;
	if (o->size_given && !o->all_sizes && o->size == 0)
		return wrong(p, "--size 0: --op %s always has 8 bytes: leave --size out",
			     uroce_perf_ops[o->op].name);
	o->size_ignored = o->size_given && (o->all_sizes || o->size != 8);
	o->all_sizes = false;
	o->size = 8;
	return 0;
}

/* Parse each argument by itself. */
static int
parse_all(struct parse *p, int argc, char **argv)
{
	int option, at = 1, ret = 0; /* argv[at] is the argument in question: optind is not always just behind it */

	opterr = 0;
	optind = 0; /* glibc: start again, EAL may have used getopt */
	for (; ret == 0 && (option = getopt_long(argc, argv, "+:hi", long_options, NULL)) != -1; at = optind) {
		if (option == ':')
			ret = wrong(p, "%s needs a value: see --help", argv[at]);
		else if (option == '?')
			ret = wrong(p, "%s is not an option, or takes no value: see --help; "
				    "EAL arguments go before a --",
				    argv[at]);
		else
			ret = set_option(p, option, optarg);
	}
	opterr = 1; /* let EAL's getopt report wrong arguments */
	if (ret == 0 && optind < argc)
		ret = wrong(p, "'%s' is not an option: see --help", argv[optind]);
	return ret;
}

int
uroce_perf_options_parse(struct perf_options *o, int argc, char **argv, char *error,
			 size_t error_room)
{
	struct parse p = { .o = o, .error = error, .room = error_room };

	memset(o, 0, sizeof(*o));
	o->asked.op = PERF_WRITE;
	o->asked.size = 65536;
	o->mtu = 4096;
	o->qps = 1;
	o->depth = 128;
	o->time_s = 5;
	o->fault = -1;

	if (parse_all(&p, argc, argv) != 0)
		return -EINVAL;
	if (uroce_perf_oob_parse(&o->oob, p.oob_text) != 0)
		return wrong(&p, "--oob %s: use tcp:PORT, tcp:HOST:PORT or unix:PATH", p.oob_text);
	if (o->interactive && o->json != NULL && strcmp(o->json, "-") == 0)
		return wrong(&p, "--json -: the prompt is on standard output: use a file");
	return check_together(&p);
}

int
uroce_perf_options_change(struct perf_options *o, int argc, char **argv, char *error, size_t error_room)
{
	struct perf_options changed = *o;
	struct parse p = { .o = &changed, .error = error, .room = error_room };

	if (parse_all(&p, argc, argv) != 0 || check_together(&p) != 0)
		return -EINVAL;
	*o = changed;
	return 0;
}

bool
uroce_perf_options_has(const char *arg)
{
	size_t length = strcspn(arg, "=");

	if (strncmp(arg, "--", 2) != 0 || strncmp(arg, "--help", length) == 0)
		return false;
	for (unsigned int i = 0; long_options[i].name != NULL; i++) {
		if (strlen(long_options[i].name) == length - 2 &&
		    strncmp(long_options[i].name, arg + 2, length - 2) == 0)
			return strcmp(long_options[i].name, "version") != 0;
	}
	return false;
}
