/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks struct uroce_worker_conf, fills in its defaults, and adds up the memory that it stands for. Control threads.
 */

#include <rte_common.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#include "base/sized.h"
#include "port/worker/pool.h"
#include "port/worker/worker.h"
#include "port/worker/worker_conf.h"
#include "uroce_config.h"

#define LEAST_BYTES UROCE_SIZED_UP_TO(struct uroce_worker_conf, rates)

#define MEMBER(member, standard, least, most) UROCE_SIZED_MEMBER(uroce_worker_conf, member, standard, least, most)

static const struct uroce_sized_member conf_members[] = {
	MEMBER(header_mbufs, UROCE_HEADER_MBUFS, UROCE_MIN_HEADER_MBUFS, UROCE_MAX_POOL_MBUFS),
	MEMBER(payload_mbufs, UROCE_PAYLOAD_MBUFS, UROCE_MIN_PAYLOAD_MBUFS, UROCE_MAX_POOL_MBUFS),
	MEMBER(inbox_frames, UROCE_INBOX - 1, UROCE_MIN_INBOX_FRAMES, UROCE_MAX_INBOX_FRAMES),
	MEMBER(reorder_frames, UROCE_REORDER_FRAMES, 1, UROCE_MAX_REORDER_FRAMES),
	MEMBER(reorder_qps, UROCE_REORDER_QPS, 1, UROCE_MAX_WORKER_QPS),
	MEMBER(recoveries, UROCE_RECOVERIES, 1, UROCE_MAX_WORKER_QPS),
	MEMBER(rates, UROCE_RATES, 1, UROCE_MAX_WORKER_QPS),
};

int
uroce_worker_conf_get(struct uroce_worker_conf *conf, const struct uroce_worker_conf *program_conf)
{
	int ret = 0;

	*conf = (struct uroce_worker_conf){ .size = sizeof(*conf), .numa_node = -1 };
	if (program_conf != NULL)
		ret = uroce_sized_get("uroce_worker_conf", conf, sizeof(*conf), LEAST_BYTES, program_conf);
	if (ret == 0)
		ret = uroce_sized_limit("uroce_worker_conf", conf, conf_members, RTE_DIM(conf_members));
	if (conf->numa_node < 0)
		conf->numa_node = (int)rte_socket_id();
	return ret;
}

size_t
uroce_worker_conf_bytes(const struct uroce_worker_conf *conf)
{
	return uroce_pool_bytes(conf->header_mbufs, UROCE_ENGINE_ROOM(UROCE_TX_INLINE_BYTES)) +
	       uroce_pool_bytes(conf->payload_mbufs, UROCE_ENGINE_ROOM(4096)) +
	       (size_t)rte_ring_get_memsize_elem(sizeof(struct uroce_inbox_item),
						 rte_align32pow2(conf->inbox_frames + 1)) +
	       conf->reorder_frames * sizeof(struct uroce_reorder_frame) +
	       conf->reorder_qps * sizeof(struct uroce_reorder) + conf->recoveries * sizeof(struct uroce_recovery) +
	       conf->rates * sizeof(struct uroce_rate) + sizeof(struct uroce_worker);
}
