/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connections: two RC queue pairs, and the outstanding requests of each. This is the oracle's state, which is built
 * from posted requests, never from the engine's actions.
 */

#ifndef UROCE_TEST_SIM_CONN_H
#define UROCE_TEST_SIM_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "atomics.h"
#include "memory.h"
#include "sim.h"
#include "uroce_config.h"
#include "watch.h"
#include "window.h"
#include "world.h"

struct scenario;
struct side;

/* A SEND or WRITE with immediate that the other end is to receive. */
struct message {
	STAILQ_ENTRY(message) link;
	struct op *op;           /* the sender's request; NULL: completed */
	struct receive *receive; /* the receive that it will consume; NULL: not posted yet */
	uint8_t *data;           /* SEND */
	uint32_t length;
	uint32_t imm; /* as in wc.imm_data */
	bool is_write;
	bool has_imm;
	bool invalidates;
	bool solicited;
};

/* A posted receive. */
struct receive {
	STAILQ_ENTRY(receive) link;
	uint64_t wr_id;
	struct message *message;
	uint32_t length;
	unsigned int num_sge;
	struct region *regions[UROCE_MAX_SGE];
	uint32_t lkeys[UROCE_MAX_SGE];
	bool bad;	/* one of its keys does not allow writing */
	bool must_fail; /* the key was invalidated before its message was placed */
};

/* A posted send request. */
struct op {
	STAILQ_ENTRY(op) link;
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	bool signaled;
	bool inlined;
	bool solicited;
	bool must_fail;
	bool forbidden; /* the responder must not execute it */
	bool cut;	/* its key was invalidated before it was done */
	uint32_t imm;
	uint32_t length;
	unsigned int num_sge;
	struct region *locals[UROCE_MAX_SGE];
	uint32_t lkeys[UROCE_MAX_SGE]; /* 0: none */
	struct region *remote; /* WRITE's target, READ's source */
	uint32_t rkey;
	struct message *message;
	struct window *window; /* binds and invalidations */
	struct word *word; /* atomics */
	uint64_t compare_add;
	uint64_t swap;
};

STAILQ_HEAD(op_list, op);
STAILQ_HEAD(message_list, message);
STAILQ_HEAD(receive_list, receive);

struct side {
	struct conn *conn;
	struct side *peer;
	struct end *end;
	struct ibv_qp *qp; /* NULL: destroyed */
	uint64_t life;	   /* unique to each connection and renewal */
	uint32_t qpn;
	struct ibv_cq *send_cq;
	struct ibv_comp_channel *channel; /* NULL: without events */
	struct watch watches[2];
	struct window window; /* type 2 */
	struct window first;  /* type 1 */
	struct ibv_cq *recv_cq; /* may be the same */
	struct ibv_qp_cap cap;
	bool sq_sig_all;
	bool extended; /* CQs */
	bool built;    /* some requests are posted by builder.c */
	uint8_t max_rd_atomic;
	uint32_t sq_psn;
	uint32_t largest_send; /* bytes that this side's receives have room for */
	uint64_t next_wr_id;
	struct op_list ops;      /* posted, not completed */
	struct op_list dead_ops; /* failed; their effects are checked when the world is at rest */
	unsigned int op_count;
	unsigned int unsignaled; /* requests since the last signaled one */
	struct receive_list receives;
	unsigned int receive_count;
	struct message_list messages; /* for this side, not received yet */
	bool draining;                /* in SQD */
	bool drained;                 /* in SQD, after its event */
	/* what a scenario expects; without one, only success */
	bool may_fail;
	bool must_fail;       /* with one of send_errors */
	uint32_t send_errors; /* bit per enum ibv_wc_status that may be the first error */
	uint32_t recv_errors;
	const struct op *culprit; /* the request that must complete with the error; NULL: any */
	bool send_failed;         /* an error or flush has been polled */
	bool recv_failed;
	enum ibv_wc_status
		send_status; /* of the first error; IBV_WC_SUCCESS: only flushes */
	enum ibv_wc_status recv_status;
	unsigned int fatal_events;   /* IBV_EVENT_QP_FATAL */
	unsigned int request_events; /* ... QP_REQ_ERR or QP_ACCESS_ERR */
	bool overrun; /* its CQ is too small: completions may be missing */
	uint64_t completed;
};

enum conn_phase {
	CONN_UP,
	CONN_QUIET,   /* posts nothing and waits for completions, then a scenario starts */
	CONN_FAILING, /* the scenario has started */
	CONN_FLUSHED, /* both QPs are in error and flush their requests */
};

struct conn {
	unsigned int index;
	enum conn_phase phase;
	const struct scenario *scenario;
	struct side *failing;
	bool again;   /* failed QPs are reused after a reset */
	bool cut_off; /* the link drops all of its frames from now on */
	struct ibv_mr *spare_mr; /* left over from a scenario; NULL: none */
	uint32_t mtu_bytes;
	enum ibv_mtu mtu;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	bool eager_receives; /* receives are always posted before they are needed */
	struct side side[2];
};

/** Attributes of a new connection; the seed determines the others. */
struct conn_conf {
	unsigned int ends[2];
	uint8_t rnr_retry;
	bool eager_receives;
	int cqe;        /* of each CQ; 0: large enough */
	uint32_t depth; /* of each queue; 0: any */
};

struct conn *conn_create(struct world *w, struct sim_random *r, unsigned int index,
			 const struct conn_conf *conf);
/** Replace failed QPs by new, connected ones.
 * @param again	reset and reuse the same QPs; no frame may be in flight */
void conn_renew(struct sim_random *r, struct conn *c, bool again);
/** Move both QPs from RESET to RTS, with new PSNs. */
void conn_connect(struct sim_random *r, struct conn *c);
void conn_modify(struct side *s, enum ibv_qp_state state);
/** Destroy one side's QP, if it has one. */
void conn_destroy_qp(struct side *s);
/** Free all; no request may be outstanding. */
void conn_destroy(struct conn *c);

#endif /* UROCE_TEST_SIM_CONN_H */
