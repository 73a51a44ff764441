/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Connections: two RC queue pairs, and for each of them all that was posted and has not completed
 * yet. The oracle's state: it is built from what is posted, never from what the engine does.
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

/* What a SEND, or a WRITE with immediate, means for the other end. */
struct message {
	STAILQ_ENTRY(message) link;
	struct op *op;           /* the sender's; NULL once that has completed */
	struct receive *receive; /* the one that it will take; NULL: not posted yet */
	uint8_t *data;           /* SEND */
	uint32_t length;
	uint32_t imm; /* as in wc.imm_data */
	bool is_write;
	bool has_imm;
	bool invalidates;
	bool solicited;
};

/* A receive that was posted. */
struct receive {
	STAILQ_ENTRY(receive) link;
	uint64_t wr_id;
	struct message *message;
	uint32_t length;
	unsigned int num_sge;
	struct region *regions[UROCE_MAX_SGE];
	uint32_t lkeys[UROCE_MAX_SGE];
	bool bad;	/* one of its keys does not let it be written */
	bool must_fail; /* ... any more, and its message was not in place by then */
};

/* A send that was posted. */
struct op {
	STAILQ_ENTRY(op) link;
	uint64_t wr_id;
	enum ibv_wr_opcode opcode;
	bool signaled;
	bool inlined;
	bool solicited;
	bool must_fail;
	bool forbidden; /* must not be executed either */
	bool cut;	/* the key that it names went when it was not done */
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
	struct ibv_qp *qp; /* NULL once it is destroyed */
	uint64_t life;	   /* each connection's is another one's */
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
	uint32_t largest_send; /* bytes: what this side's receives have room for */
	uint64_t next_wr_id;
	struct op_list ops;      /* posted, not completed */
	struct op_list dead_ops; /* failed; what became of them is checked when all is at rest */
	unsigned int op_count;
	unsigned int unsignaled; /* since the last signaled one */
	struct receive_list receives;
	unsigned int receive_count;
	struct message_list messages; /* for this side, not received yet */
	bool draining;                /* in SQD */
	bool drained;                 /* ... and the event has come */
	/* what a scenario expects; without one, success alone */
	bool may_fail;
	bool must_fail;       /* with one of send_errors */
	uint32_t send_errors; /* bit per enum ibv_wc_status that may be the first error */
	uint32_t recv_errors;
	const struct op *culprit; /* the one to complete with the error; NULL: any */
	bool send_failed;         /* the first error, or flush, has come */
	bool recv_failed;
	enum ibv_wc_status
		send_status; /* of the first error; IBV_WC_SUCCESS: none came, only flushes */
	enum ibv_wc_status recv_status;
	unsigned int fatal_events;   /* IBV_EVENT_QP_FATAL */
	unsigned int request_events; /* ... QP_REQ_ERR or QP_ACCESS_ERR */
	bool overrun; /* its CQ is too small: completions may be missing */
	uint64_t completed;
};

enum conn_phase {
	CONN_UP,
	CONN_QUIET,   /* what is posted completes, nothing else begins: a scenario is to start */
	CONN_FAILING, /* it has */
	CONN_FLUSHED, /* both QPs are in error: everything completes */
};

struct conn {
	unsigned int index;
	enum conn_phase phase;
	const struct scenario *scenario;
	struct side *failing;
	bool again;   /* the QPs that fail are used again */
	bool cut_off; /* the link loses its frames for ever */
	struct ibv_mr *spare_mr; /* that a scenario has left; NULL: none */
	uint32_t mtu_bytes;
	enum ibv_mtu mtu;
	uint8_t timeout;
	uint8_t retry_cnt;
	uint8_t rnr_retry;
	uint8_t min_rnr_timer;
	bool eager_receives; /* always posted before they are needed */
	struct side side[2];
};

/** How to make a connection; drawn from the seed where it is not given. */
struct conn_conf {
	unsigned int ends[2];
	uint8_t rnr_retry;
	bool eager_receives;
	int cqe;        /* of each CQ; 0: large enough */
	uint32_t depth; /* of each queue; 0: any */
};

struct conn *conn_create(struct world *w, struct sim_random *r, unsigned int index,
			 const struct conn_conf *conf);
/** New QPs, connected, instead of those that have failed.
 * @param again	the same QPs: no frame may be on its way */
void conn_renew(struct sim_random *r, struct conn *c, bool again);
/** Both QPs RESET to RTS, with new PSNs. */
void conn_connect(struct sim_random *r, struct conn *c);
void conn_modify(struct side *s, enum ibv_qp_state state);
/** Destroy one side's QP, where it still has one. */
void conn_destroy_qp(struct side *s);
/** Free all; nothing may be posted any more. */
void conn_destroy(struct conn *c);

#endif /* UROCE_TEST_SIM_CONN_H */
