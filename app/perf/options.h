/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The options of uroce-perf: the operations, the modes, and the command line after the `--`.
 */

#ifndef UROCE_PERF_OPTIONS_H
#define UROCE_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include <uroce_config.h>

#include "address.h"
#include "peer/oob.h"
#include "program.h"

enum perf_op {
	PERF_WRITE,
	PERF_WRITE_IMM,
	PERF_READ,
	PERF_SEND,
	PERF_SEND_IMM,
	PERF_FETCH_ADD,
	PERF_CMP_SWAP,
	PERF_OP_COUNT,
};

struct perf_op_info {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool receives; /* a message consumes a receive at its destination */
	bool fetches;  /* data flows to the requester: READ and atomics */
	bool atomic;
};

extern const struct perf_op_info uroce_perf_ops[PERF_OP_COUNT];

enum perf_transport {
	PERF_RC,
	PERF_UC,
	PERF_UD,
	PERF_TRANSPORT_COUNT,
};

struct perf_transport_info {
	const char *name;
	enum ibv_qp_type qp_type;
	uint32_t ops; /* a bit for each enum perf_op that the transport has */
};

extern const struct perf_transport_info uroce_perf_transports[PERF_TRANSPORT_COUNT];

enum perf_mode {
	PERF_BW,
	PERF_RATE,
	PERF_LAT,
	PERF_MODE_COUNT,
};

extern const char *const uroce_perf_modes[PERF_MODE_COUNT];

enum perf_role {
	PERF_BOTH, /* both ends in this process */
	PERF_SERVER,
	PERF_CLIENT,
};

/* Options as given, from which others are derived; the prompt changes them one by one. */
struct perf_asked {
	enum perf_op op;
	bool op_given;
	bool all_sizes;
	bool time_given;
	uint32_t size;
};

struct perf_options {
	struct perf_asked asked;
	enum perf_op op;
	enum perf_transport transport;
	enum perf_mode mode;
	enum perf_role role;
	uint32_t size; /* bytes; unused with all_sizes */
	uint32_t mtu;
	uint32_t qps;
	uint32_t workers; /* of an end; 0: not given */
	uint32_t depth;
	uint32_t buffers; /* bytes of a queue pair's message buffers in each direction; 0: the default */
	double time_s;
	double stats_period_s; /* 0: not printed */
	uint64_t iters; /* 0: time_s limits the run */
	bool all_sizes;
	bool size_given;
	bool mtu_given;
	bool qps_given;
	bool size_ignored; /* an atomic has 8 bytes, --size does not apply */
	bool verify;
	bool floor;
	bool help;
	bool version;
	int64_t fault;      /* corrupt this message of QP 0; -1: none */
	union ibv_gid peer; /* --client */
	const char *peer_text;
	const char *addrs[UROCE_APP_MAX_ADDRESSES];
	unsigned int nb_addrs;
	const char *impair; /* NULL: no impairments */
	bool no_congestion; /* without congestion control */
	bool go_back_n;     /* answer a loss by go-back-N */
	bool share_memory;  /* as in struct uroce_port_conf */
	const char *limits; /* NULL: the defaults */
	const char *json; /* NULL: none; "-": standard output */
	bool interactive;
	const char *cmdline_file; /* NULL: none */
	bool use_oob;      /* false: the RDMA CM */
	struct perf_oob_addr oob;
};

/**
 * Parse the arguments after EAL's, argv[0] being the program. Strings stay argv's.
 *
 * @param error	set to the error and its remedy when -EINVAL is returned
 */
int uroce_perf_options_parse(struct perf_options *o, int argc, char **argv, char *error,
			     size_t error_room);

/** Change options in *o: all arguments take effect, or none. Strings stay argv's. */
int uroce_perf_options_change(struct perf_options *o, int argc, char **argv, char *error, size_t error_room);

/** Is this an option of uroce-perf, "--op" or "--op=read"? It is among EAL's arguments if the `--` is missing. */
bool uroce_perf_options_has(const char *arg);

/** Parse "64K". @return 0 or -EINVAL: not a number, or more than UROCE_PERF_MAX_SIZE */
int uroce_perf_size_parse(const char *text, uint32_t *bytes);

#endif /* UROCE_PERF_OPTIONS_H */
