/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waits until the MAC address of a path's neighbor is known. With a kernel driver, ibv_modify_qp(3) and
 * ibv_create_ah(3) return with the address resolved, and applications fill their queues at once. Control threads.
 */

#include <pthread.h>
#include <time.h>

#include "uroce_config.h"
#include "verbs/address/path.h"
#include "verbs/srq/xrc.h"

void
uroce_path_wait(struct uroce_device *dev, const struct uroce_path *path)
{
	static const struct timespec pause = { .tv_nsec = UROCE_PATH_WAIT_PAUSE_NS };
	const uint64_t *lladdr = path->lladdr;
	int cancel;

	if (lladdr == NULL || dev->ops.worker->poll == NULL)
		return;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);	/* a QP's mutex may be held */
	for (unsigned int i = 0; i < UROCE_PATH_WAIT_POLLS && __atomic_load_n(lladdr, __ATOMIC_RELAXED) == 0; i++) {
		dev->ops.worker->poll(dev, NULL);
		nanosleep(&pause, NULL);
	}
	pthread_setcancelstate(cancel, NULL);
}

void
uroce_path_wait_qp(struct ibv_qp *ibv)
{
	struct uroce_qp *qp = uroce_qp_real(uroce_qp_of(ibv));

	pthread_mutex_lock(&qp->ibv.mutex);	/* keeps the path */
	uroce_path_wait(qp->dev, &qp->path);
	pthread_mutex_unlock(&qp->ibv.mutex);
}
