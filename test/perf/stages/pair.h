/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two ends on one thread, each with a queue pair, connected over two net_ring ports. Their workers are not polled: the
 * benchmark does their work stage by stage.
 */

#ifndef UROCE_STAGES_PAIR_H
#define UROCE_STAGES_PAIR_H

#include <stdint.h>

#include "host.h"
#include "port/port.h"
#include "port/worker/worker.h"
#include "verbs/qp/qp.h"

#define PAIR_BYTES (64 * 1024)	/* of an end's memory */

struct pair_end {
	struct app_host host;
	struct uroce_worker *worker;
	struct uroce_port_queue *queue;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buffer;
};

/** Open and connect both ends, and send a message from ends[0] to ends[1]. @return 0 or -1, and a printed message */
int pair_open(struct pair_end ends[2]);
void pair_close(struct pair_end ends[2]);

#endif /* UROCE_STAGES_PAIR_H */
