/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The differences between the DPDK releases from 22.11 on, each with the release that brought it.
 */

#ifndef UROCE_BASE_DPDK_COMPAT_H
#define UROCE_BASE_DPDK_COMPAT_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_flow.h>
#include <rte_lcore.h>
#include <rte_telemetry.h>
#include <rte_thread.h>
#include <rte_version.h>

/* 24.11: IPv6 addresses are struct rte_ipv6_addr; they were arrays of 16 bytes.
 * UROCE_IPV6_BYTES(ip->src_addr) is the array in either. */
#if RTE_VERSION >= RTE_VERSION_NUM(24, 11, 0, 0)
#define UROCE_IPV6_BYTES(address) ((address).a)
#else
#define UROCE_IPV6_BYTES(address) (address)
#endif

/* 24.03, and updates of older releases: the parts of a VLAN tag. */
#ifndef RTE_VLAN_PRI_SHIFT
#define RTE_VLAN_PRI_SHIFT 13
#define RTE_VLAN_PRI_MASK 0xe000
#define RTE_VLAN_ID_MASK 0x0fff
#define RTE_VLAN_TCI_PRI(tci) (((tci) & RTE_VLAN_PRI_MASK) >> RTE_VLAN_PRI_SHIFT)
#endif

/* 23.03: rte_tel_data_add_dict_uint() and rte_tel_data_add_array_uint() are new; 25.11 removed their older names. */
#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#define rte_tel_data_add_array_uint rte_tel_data_add_array_u64
#endif

/* 24.11: rte_kvargs_process() refuses a key without a value; rte_kvargs_process_opt() takes it. */
#if RTE_VERSION < RTE_VERSION_NUM(24, 11, 0, 0)
#define rte_kvargs_process_opt rte_kvargs_process
#endif

/* 23.11: the members of a bonding device have another name. */
#ifndef RTE_ETH_DEV_BONDING_MEMBER
#define RTE_ETH_DEV_BONDING_MEMBER RTE_ETH_DEV_BONDED_SLAVE
#endif

/* 23.11: struct rte_eth_rss_conf has the hash function; drivers of earlier releases use Toeplitz. */
static inline bool
uroce_rss_is_toeplitz(const struct rte_eth_rss_conf *conf)
{
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
	return conf->algorithm == RTE_ETH_HASH_FUNCTION_DEFAULT || conf->algorithm == RTE_ETH_HASH_FUNCTION_TOEPLITZ;
#else
	(void)conf;
	return true;
#endif
}

/* 23.11: a flow item for a BTH. Before, no rule has an item of type UROCE_FLOW_BTH. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
#define UROCE_FLOW_BTH RTE_FLOW_ITEM_TYPE_IB_BTH
#define UROCE_FLOW_HAS_BTH true

struct uroce_flow_bth {
	struct rte_flow_item_ib_bth item;
};

static inline void
uroce_flow_bth_set(struct uroce_flow_bth *bth, const uint8_t dest_qpn[3])
{
	memcpy(bth->item.hdr.dst_qp, dest_qpn, sizeof(bth->item.hdr.dst_qp));
}
#else
#define UROCE_FLOW_BTH RTE_FLOW_ITEM_TYPE_END
#define UROCE_FLOW_HAS_BTH false

struct uroce_flow_bth {
	uint8_t unused;
};

static inline void
uroce_flow_bth_set(struct uroce_flow_bth *bth, const uint8_t dest_qpn[3])
{
	(void)bth;
	(void)dest_qpn;
}
#endif

/* 23.11: rte_thread_create_control() replaces rte_ctrl_thread_create(). Its threads return a uint32_t. */
#if RTE_VERSION >= RTE_VERSION_NUM(23, 11, 0, 0)
struct uroce_ctrl_thread {
	void *(*run)(void *);
	void *arg;
};

static inline uint32_t
uroce_ctrl_thread_main(void *arg)
{
	struct uroce_ctrl_thread thread = *(struct uroce_ctrl_thread *)arg;

	free(arg);
	thread.run(thread.arg);
	return 0;
}

static inline int
uroce_ctrl_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	struct uroce_ctrl_thread *start = malloc(sizeof(*start));
	rte_thread_t id;
	int ret;

	if (start == NULL)
		return -ENOMEM;
	*start = (struct uroce_ctrl_thread){ .run = run, .arg = arg };
	ret = rte_thread_create_control(&id, name, uroce_ctrl_thread_main, start);
	if (ret != 0)
		free(start);
	else
		*thread = (pthread_t)id.opaque_id;
	return ret;
}
#else
static inline int
uroce_ctrl_thread_start(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	return rte_ctrl_thread_create(thread, name, NULL, run, arg);
}
#endif

/**
 * Start a control thread of EAL with the signal mask of the calling thread. pthread_join() waits for its end; its
 * return value is lost.
 * @param name	at most 15 characters
 * @return 0 or -errno
 */
static inline int
uroce_ctrl_thread_create(pthread_t *thread, const char *name, void *(*run)(void *), void *arg)
{
	return -abs(uroce_ctrl_thread_start(thread, name, run, arg));
}

#endif /* UROCE_BASE_DPDK_COMPAT_H */
