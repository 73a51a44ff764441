/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device without a port or a transport: what struct uroce_device_ops lends is counted, checked for being called
 * where it may be, and can be made to fail.
 */

#ifndef UROCE_TEST_VERBS_FAKE_H
#define UROCE_TEST_VERBS_FAKE_H

#include <stdbool.h>
#include <stdint.h>
#include <pthread.h>

#include <infiniband/verbs.h>

#include "verbs/cq/cq.h"
#include "verbs/device/device.h"
#include "verbs/qp/qp.h"

struct fake_engine {
	pthread_mutex_t lock;
	bool inside;
	uint64_t now_ns;
	struct uroce_timer *timer;	/* that is armed; one at a time */
	uint64_t deadline_ns;
};

struct fake {
	struct uroce_device dev;
	struct ibv_context *context;
	struct fake_engine engines[2];
	unsigned int engine;		/* what the next QP gets */
	/* to return, -errno */
	int attach_error;
	int path_error;
	int port_error;
	enum ibv_mtu active_mtu;
	bool all_gids;			/* no entry of the GID table is empty */
	uint64_t clock_ns;
	uint64_t wall_ns;
	union ibv_gid gid2;		/* entry 2 of the GID table; zero: empty */
	void (*entering)(void);		/* called by engine_enter, before it has entered */
	/* what was called */
	unsigned int attached;
	unsigned int paths;		/* set up and not taken down */
	unsigned int path_inits;
	uint32_t path_local_qpn;
	uint32_t path_remote_qpn;
	unsigned int joined;		/* multicast groups */
	int join_error;			/* to return, -errno */
	unsigned int doorbells;		/* atomic */
	unsigned int changes;
	struct uroce_qp *changed_qp;
	enum ibv_qp_state changed_from;
	enum ibv_qp_state changed_to;
	int changed_mask;
};

extern struct fake fake;

/* cmocka set-up and tear-down; at the end no object may be left over. */
int fake_setup(void **state);
int fake_teardown(void **state);
/* With a QP table of this size. */
void fake_open(unsigned int log2_max_qp);

struct uroce_engine *fake_engine(unsigned int i);

/* A PD, a CQ and RC QPs on them. */
struct fake_pair {
	struct ibv_pd *pd;
	struct ibv_cq *cq;
};

struct fake_pair fake_pair_create(int cqe);
void fake_pair_destroy(struct fake_pair *pair);
struct ibv_qp_init_attr fake_init_attr(const struct fake_pair *pair);
struct ibv_qp *fake_qp_create(const struct fake_pair *pair);

#define FAKE_INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define FAKE_RTR_MASK (IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | \
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define FAKE_RTS_MASK (IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | \
		       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)

/* Attributes that are good for any transition of an RC QP. */
struct ibv_qp_attr fake_attr(enum ibv_qp_state to);
/* From RESET through INIT, RTR and RTS up to the state; ERR directly. */
void fake_qp_to(struct ibv_qp *qp, enum ibv_qp_state to);

#endif /* UROCE_TEST_VERBS_FAKE_H */
