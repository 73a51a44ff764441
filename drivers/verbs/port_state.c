/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * libibverbs.so.1: reports a port's state to the program. The link of a net_memif port is up only once its peer
 * process has connected. Most servers start first and refuse a port that is down, so such a port is reported as
 * active, like a port with a cable to a switch. Any thread of the program.
 */

#include <string.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <rte_ethdev.h>

#include "port/ethdev/ethdev_halt.h"
#include "port_state.h"
#include "uroce_config.h"

#define PHYS_LINK_UP 5
#define MEMIF "net_memif"

typedef int (*query_port_fn)(struct ibv_context *, uint8_t, struct ibv_port_attr *, size_t);
typedef int (*query_port_compat_fn)(struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *);

/* the contexts' own functions, the same for all devices; constant once a device is open */
static query_port_fn real_query_port;
static query_port_compat_fn real_query_port_compat;

static int
query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr, size_t bytes)
{
	int ret = real_query_port(context, port_num, attr, bytes);

	if (ret != 0)
		return ret;
	attr->state = IBV_PORT_ACTIVE;
	attr->phys_state = PHYS_LINK_UP;
	return 0;
}

/* Programs built against older headers pass a shorter structure, which begins with the same members. */
static int
query_port_compat(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *compat)
{
	int ret = real_query_port_compat(context, port_num, compat);
	struct ibv_port_attr *attr = (struct ibv_port_attr *)compat;

	if (ret != 0)
		return ret;
	attr->state = IBV_PORT_ACTIVE;
	attr->phys_state = PHYS_LINK_UP;
	return 0;
}

bool
uroce_port_state_is_shared(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port_id, &info) == 0 && strcmp(info.driver_name, MEMIF) == 0;
}

void
uroce_port_state_assume(struct ibv_context *context, uint16_t port_id)
{
	struct verbs_context *vctx = verbs_get_ctx(context);

	if (!uroce_port_state_is_shared(port_id))
		return;
	real_query_port = vctx->query_port;
	real_query_port_compat = context->ops._compat_query_port;
	vctx->query_port = query_port;
	context->ops._compat_query_port = query_port_compat;
}

bool
uroce_port_state_is_up(uint16_t port_id)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port_id, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

/* @return true: the link is up, or the port does not exist */
static bool
wait_for_link(uint16_t port_id, unsigned int limit_ms)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct rte_eth_link link = { .link_status = RTE_ETH_LINK_DOWN };

	for (unsigned int i = 0; i < limit_ms; i++) {
		if (rte_eth_link_get_nowait(port_id, &link) != 0 || link.link_status == RTE_ETH_LINK_UP)
			return true;
		nanosleep(&ms, NULL);
	}
	return false;
}

static bool
is_client(const struct rte_eth_dev_info *info)
{
	const struct rte_devargs *devargs = rte_dev_devargs(info->device);

	return devargs != NULL && devargs->args != NULL && strstr(devargs->args, "role=client") != NULL;
}

/* A net_memif server listens once its port is created, but refuses connections until the port is started. A client
 * connects only when its port starts, so restart it. */
static void
ask_again(uint16_t port_id)
{
	unsigned int limit_ms = UROCE_VERBS_FIRST_LINK_WAIT_MS;

	while (!wait_for_link(port_id, limit_ms)) {
		limit_ms *= 2;
		if (limit_ms > UROCE_VERBS_LAST_LINK_WAIT_MS)
			return;
		uroce_ethdev_halt(port_id);
		if (rte_eth_dev_start(port_id) != 0)	/* the peer has exited */
			return;
	}
}

void
uroce_port_state_wait(uint16_t port_id)
{
	struct rte_eth_dev_info info;

	if (rte_eth_dev_info_get(port_id, &info) != 0)
		return;
	if (strcmp(info.driver_name, MEMIF) != 0)
		(void)wait_for_link(port_id, UROCE_VERBS_LINK_WAIT_MS);
	else if (is_client(&info))
		ask_again(port_id);
}
