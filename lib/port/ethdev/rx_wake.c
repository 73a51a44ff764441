/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Finds the descriptor that becomes readable when frames arrive at a queue: that of the RX interrupt, or the driver's
 * socket. Drivers do not give away their sockets, so those of net_af_packet and net_af_xdp are read from the driver's
 * queue, and the kernel confirms them (drivers/quirks/README.rst). The worker's turn.
 */

#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/if_packet.h>

#include <rte_ethdev.h>

#include "port/ethdev/rx_wake.h"
#include "port/memif/memif.h"
#include "port/udp/udp.h"

#define AF_XDP_QUEUE_BYTES 216 /* least size of a queue of net_af_xdp */

static bool
is_socket(int fd, int domain)
{
	socklen_t bytes = sizeof(int);
	int real;

	return fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &real, &bytes) == 0 && real == domain;
}

/* The queue begins with its socket, which is bound to the port's interface. */
static int
af_packet_fd(const uint8_t *queue, unsigned int if_index)
{
	struct sockaddr_ll address = { .sll_ifindex = 0 };
	socklen_t bytes = sizeof(address);
	int fd;

	memcpy(&fd, queue, sizeof(fd));
	if (!is_socket(fd, AF_PACKET) || getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
		return -1;
	return address.sll_ifindex == (int)if_index ? fd : -1;
}

/* The queue has a struct pollfd for its socket, at an offset that differs between releases. */
static int
af_xdp_fd(const uint8_t *queue, unsigned int if_index)
{
	struct pollfd p;

	RTE_SET_USED(if_index);
	for (size_t i = 0; i + sizeof(p) <= AF_XDP_QUEUE_BYTES; i += sizeof(p.fd)) {
		memcpy(&p, queue + i, sizeof(p));
		if (p.events == POLLIN && is_socket(p.fd, AF_XDP))
			return p.fd;
	}
	return -1;
}

static const struct {
	const char *driver;
	int (*find)(const uint8_t *queue, unsigned int if_index);
} sockets[] = {
	{ "net_af_packet", af_packet_fd },
	{ "net_af_xdp", af_xdp_fd },
};

static void
found(struct uroce_port_queue *q, enum uroce_rx_wake how, int fd)
{
	if (fd < 0)
		return;
	q->rx_wake = how;
	q->rx_fd = fd;
}

void
uroce_rx_wake_find(struct uroce_port_queue *q)
{
	struct rte_eth_dev_info info = { .driver_name = "" };

	q->rx_wake = UROCE_RX_WAKE_NONE;
	q->rx_fd = -1;
	if (q->port->memif != NULL)
		found(q, UROCE_RX_WAKE_MEMIF, uroce_memif_wake_fd(q->port->memif, q->id));
	if (q->rx_fd >= 0)
		return;
	if (rte_eth_dev_info_get(q->port_id, &info) != 0)
		return;
	if (q->port->rx_interrupts && rte_eth_dev_rx_intr_enable(q->port_id, q->id) == 0) {
		rte_eth_dev_rx_intr_disable(q->port_id, q->id);
		found(q, UROCE_RX_WAKE_INTERRUPT, rte_eth_dev_rx_intr_ctl_q_get_fd(q->port_id, q->id));
	} else if (q->port->rx_interrupts && strcmp(info.driver_name, "net_tap") == 0) {
		/* the "interrupt" is the queue's descriptor, which cannot be turned off */
		found(q, UROCE_RX_WAKE_SOCKET, rte_eth_dev_rx_intr_ctl_q_get_fd(q->port_id, q->id));
	}
	if (q->port->udp != NULL)
		found(q, UROCE_RX_WAKE_SOCKET, uroce_udp_fd(q->port, q->id));
	for (unsigned int i = 0; q->rx_fd < 0 && i < RTE_DIM(sockets); i++)
		if (strcmp(info.driver_name, sockets[i].driver) == 0)
			found(q, UROCE_RX_WAKE_SOCKET,
			      sockets[i].find(rte_eth_fp_ops[q->port_id].rxq.data[q->id], info.if_index));
}

/* A lock for each port: the queues of some devices share a register. */
bool
uroce_rx_wake_enable(struct uroce_port_queue *q, bool on)
{
	int ret;

	if (q->rx_wake == UROCE_RX_WAKE_MEMIF)
		uroce_memif_wake_enable(q->port->memif, q->id, on);
	if (q->rx_wake != UROCE_RX_WAKE_INTERRUPT)
		return true;
	rte_spinlock_lock(&q->port->interrupt_lock);
	ret = on ? rte_eth_dev_rx_intr_enable(q->port_id, q->id) : rte_eth_dev_rx_intr_disable(q->port_id, q->id);
	rte_spinlock_unlock(&q->port->interrupt_lock);
	return ret == 0;
}

bool
uroce_rx_wake_is_sure(const struct uroce_port_queue *q)
{
	return q->rx_wake != UROCE_RX_WAKE_MEMIF || uroce_memif_wake_is_sure(q->port->memif, q->id);
}

bool
uroce_rx_wake_is_filtered(const struct uroce_port_queue *q)
{
	const void *first = __atomic_load_n(&rte_eth_fp_ops[q->port_id].rxq.clbk[q->id], __ATOMIC_RELAXED);

	return first != NULL && !uroce_udp_receives(q->port, q->id, first);
}
