/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <stdbool.h>
#include <string.h>

#include <rte_debug.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "base/rcu.h"
#include "eal.h"
#include "setup.h"
#include "transport/engine.h"

void
harness_eal(void)
{
	static bool initialized;

	if (initialized)
		return;
	initialized = true;
	test_eal_init(NULL);
	RTE_VERIFY(uroce_rcu_init() == 0);
}

struct rte_mempool *
harness_pool(const char *name, unsigned int mbufs, uint32_t payload)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create(name, mbufs, 0, UROCE_ENGINE_PRIV_BYTES,
		RTE_PKTMBUF_HEADROOM + UROCE_ENGINE_ROOM(payload), SOCKET_ID_ANY);

	if (pool == NULL)
		rte_panic("%s: %s\n", name, rte_strerror(rte_errno));
	return pool;
}

void
harness_headers(struct uroce_template *headers, const union ibv_gid *from, const union ibv_gid *to)
{
	struct uroce_template_conf conf = {
		.src_mac.addr_bytes = { 2, 0, 0, 0, 0, from->raw[15] },
		.dst_mac.addr_bytes = { 2, 0, 0, 0, 0, to->raw[15] },
		.vlan_tci = UROCE_NO_VLAN, .hop_limit = 64, .udp_src_port = 0xc001,
	};

	memcpy(conf.src_gid, from->raw, sizeof(conf.src_gid));
	memcpy(conf.dst_gid, to->raw, sizeof(conf.dst_gid));
	RTE_VERIFY(uroce_template_init(headers, &conf) == 0);
}
