/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Enters and leaves the engine of a QP, for control calls. Control threads.
 */

#include <rte_branch_prediction.h>

#include "verbs/device/device.h"
#include "verbs/qp/qp.h"

/* The QP may move to another engine while this thread waits for its turn. */
void
uroce_qp_enter(struct uroce_qp *qp)
{
	const struct uroce_worker_ops *worker = qp->dev->ops.worker;
	struct uroce_engine *engine = uroce_qp_engine(qp);

	worker->engine_enter(engine);
	while (unlikely(engine != uroce_qp_engine(qp))) {
		worker->engine_exit(engine);
		engine = uroce_qp_engine(qp);
		worker->engine_enter(engine);
	}
}

void
uroce_qp_exit(struct uroce_qp *qp)
{
	qp->dev->ops.worker->engine_exit(qp->engine);
}
