/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Opens and closes the sockets of a port, and adds the callbacks through which ethdev's bursts use them. Control threads,
 * while no worker polls the port.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_malloc.h>

#include "base/log.h"
#include "base/rcu.h"
#include "port/counters.h"
#include "port/port.h"
#include "port/udp/queue.h"
#include "port/udp/udp.h"
#include "wire/gid.h"
#include "wire/unseen_id.h"

struct uroce_udp {
	const struct uroce_udp_device *device;
	unsigned int nb_queues;
	struct uroce_udp_queue queues[];
};

static const struct uroce_udp_device *
device_of(uint16_t port_id)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	return rte_eth_dev_get_name_by_port(port_id, name) == 0 ? uroce_udp_device_find(name) : NULL;
}

bool
uroce_udp_is(uint16_t port_id)
{
	return device_of(port_id) != NULL;
}

/* @return 0 or -errno; logs the error */
static int
queue_start(struct uroce_port *port, struct uroce_udp *udp, uint16_t i)
{
	struct uroce_udp_queue *q = &udp->queues[i];
	struct uroce_port_queue *of_port = &port->queues[i];
	int ret;

	q->tx.gso = udp->device->gso;
	q->tx.drops = &of_port->counters[UROCE_PORT_TX_DROP_SOCKET];
	q->rx.drops = &of_port->counters[UROCE_PORT_RX_DROP_SOCKET];
	q->rx.port_id = port->port_id;
	q->rx.mac = port->mac;
	ret = uroce_udp_sockets_open(q, udp->device, i, udp->nb_queues > 1);
	if (ret < 0)
		return ret;
	ret = uroce_udp_rx_init(&q->rx, of_port->pool);
	if (ret < 0) {
		UROCE_LOG(ERR, "port %u: too few mbufs to receive: raise rx_mbufs\n", port->port_id);
		return ret;
	}
	q->rx_callback = rte_eth_add_first_rx_callback(port->port_id, i, uroce_udp_receive, q);
	q->tx_callback = rte_eth_add_tx_callback(port->port_id, i, uroce_udp_send, q);
	if (q->rx_callback == NULL || q->tx_callback == NULL) {
		UROCE_LOG(ERR, "port %u: cannot add callbacks: %s\n", port->port_id, rte_strerror(rte_errno));
		return -rte_errno;
	}
	return 0;
}

static void
queue_stop(const struct uroce_port *port, struct uroce_udp *udp, uint16_t i)
{
	struct uroce_udp_queue *q = &udp->queues[i];

	if (q->rx_callback != NULL)
		rte_eth_remove_rx_callback(port->port_id, i, q->rx_callback);
	if (q->tx_callback != NULL)
		rte_eth_remove_tx_callback(port->port_id, i, q->tx_callback);
	uroce_rcu_wait(); /* until no worker is in a callback */
	rte_free((void *)(uintptr_t)q->rx_callback);
	rte_free((void *)(uintptr_t)q->tx_callback);
	uroce_udp_rx_fini(&q->rx);
	uroce_udp_sockets_close(q);
}

int
uroce_udp_start(struct uroce_port *port)
{
	const struct uroce_udp_device *device = device_of(port->port_id);
	struct uroce_udp *udp;
	int ret = 0;

	if (device == NULL)
		return 0;
	if (port->vlan != 0) {
		UROCE_LOG(ERR, "port %u is on UDP sockets, which have no VLAN: open it without vlan, and give the VLAN's "
			  "interface the address\n", port->port_id);
		return -EINVAL;
	}
	ret = uroce_unseen_id_init();
	if (ret < 0)
		return ret;
	udp = rte_zmalloc_socket("uroce_udp", sizeof(*udp) + port->open_queues * sizeof(udp->queues[0]),
				 RTE_CACHE_LINE_SIZE, port->numa_node);
	if (udp == NULL)
		return -ENOMEM;
	udp->device = device;
	udp->nb_queues = port->open_queues;
	for (uint16_t i = 0; i < udp->nb_queues; i++)
		udp->queues[i].epoll_fd = -1;
	port->udp = udp;
	for (uint16_t i = 0; i < udp->nb_queues && ret == 0; i++)
		ret = queue_start(port, udp, i);
	if (ret < 0)
		uroce_udp_stop(port);
	return ret;
}

void
uroce_udp_stop(struct uroce_port *port)
{
	if (port->udp == NULL)
		return;
	for (uint16_t i = 0; i < port->udp->nb_queues; i++)
		queue_stop(port, port->udp, i);
	rte_free(port->udp);
	port->udp = NULL;
}

int
uroce_udp_fd(const struct uroce_port *port, uint16_t queue)
{
	return queue < port->udp->nb_queues ? port->udp->queues[queue].epoll_fd : -1;
}

bool
uroce_udp_receives(const struct uroce_port *port, uint16_t queue, const void *callback)
{
	return port->udp != NULL && queue < port->udp->nb_queues && callback == port->udp->queues[queue].rx_callback;
}

void
uroce_udp_neighbor(struct rte_ether_addr *mac, const uint8_t gid[16])
{
	uroce_udp_mac(mac, gid + 12);
}
