/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A queue of a port on UDP sockets: a socket for each local address, the messages that it sends, and the room for those
 * that it receives. The worker's turn, but see socket.c.
 */

#ifndef UROCE_PORT_UDP_QUEUE_H
#define UROCE_PORT_UDP_QUEUE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "port/udp/device.h"
#include "uroce_config.h"

/* Room for a segment size and a traffic class. */
union uroce_udp_control {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint32_t))];
};

/* A power for the change of the ICRC with the identification, of packets with so many covered bytes. */
struct uroce_udp_power {
	uint32_t covered_bytes; /* 0: none */
	uint32_t power;
};

/* The messages of one sendmmsg(2). */
struct uroce_udp_tx {
	unsigned int nb_messages;
	unsigned int nb_iovs;
	uint16_t ends[UROCE_UDP_TX_MESSAGES]; /* frames up to the end of each message */
	struct mmsghdr messages[UROCE_UDP_TX_MESSAGES];
	union uroce_udp_address peers[UROCE_UDP_TX_MESSAGES];
	union uroce_udp_control controls[UROCE_UDP_TX_MESSAGES];
	struct iovec iovs[UROCE_UDP_TX_IOVS];
	struct uroce_udp_power powers[8]; /* by length */
	bool gso;
	uint16_t nb_alone; /* next frames that are sent one by one, since the kernel has refused their message */
	uint64_t *drops; /* counter of frames that the kernel refuses, or that are not RoCE from a local address */
};

/* Room for a message: mbufs behind the headers to be added, in units of one packet. */
struct uroce_udp_room {
	struct rte_mbuf *mbufs[UROCE_UDP_SEGMENTS];
	struct iovec iovs[UROCE_UDP_SEGMENTS];
	union uroce_udp_address peer;
	union uroce_udp_control control;
};

struct uroce_udp_rx {
	struct rte_mempool *pool; /* NULL: there are no mbufs */
	uint16_t port_id;
	struct rte_ether_addr mac; /* of the port */
	uint32_t most_unit; /* bytes behind the headers for which an mbuf has room */
	uint32_t unit;      /* bytes of each mbuf that a message fills */
	unsigned int nb_units;
	struct mmsghdr messages[UROCE_UDP_RX_MESSAGES];
	struct uroce_udp_room rooms[UROCE_UDP_RX_MESSAGES];
	unsigned int first_ready;
	unsigned int nb_ready;
	struct rte_mbuf *ready[UROCE_UDP_RX_MESSAGES * UROCE_UDP_RX_SEGMENTS];
	uint64_t *drops; /* counter of datagrams that are too long, or find no mbuf or no room in a socket's buffer */
};

struct uroce_udp_socket {
	int fd;
	uint32_t lost; /* the kernel's number of datagrams that found no room in the buffer */
	const union uroce_udp_address *local;
};

struct uroce_udp_queue {
	unsigned int nb_sockets;
	unsigned int next_socket; /* index of the one that receives first */
	struct uroce_udp_socket sockets[UROCE_UDP_LOCALS];
	int epoll_fd; /* readable while one of them is */
	struct uroce_udp_tx tx;
	struct uroce_udp_rx rx;
	const struct rte_eth_rxtx_callback *rx_callback, *tx_callback;
};

/* The address of a neighbor on a link that does not exist: frames need one. */
static inline void
uroce_udp_mac(struct rte_ether_addr *mac, const uint8_t address[4])
{
	*mac = (struct rte_ether_addr){ { 0x02, 0, address[0], address[1], address[2], address[3] } };
}

/* socket.c */
/** Open the queue's sockets. @param shared	further queues have sockets with the same address
 * @return 0 or -errno; logs the error */
int uroce_udp_sockets_open(struct uroce_udp_queue *q, const struct uroce_udp_device *device, unsigned int id, bool shared);
void uroce_udp_sockets_close(struct uroce_udp_queue *q);

/* tx.c */
/** Send frames: a TX callback of ethdev, of which arg is the queue. @return the number of frames that were sent, or that
 * can never be; the caller frees them */
uint16_t uroce_udp_send(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, void *arg);

/* rx.c */
/** @return 0 or -ENOMEM */
int uroce_udp_rx_init(struct uroce_udp_rx *rx, struct rte_mempool *pool);
void uroce_udp_rx_fini(struct uroce_udp_rx *rx);
/** Receive frames: an RX callback of ethdev, of which arg is the queue, and n is 0. */
uint16_t uroce_udp_receive(uint16_t port_id, uint16_t queue, struct rte_mbuf *frames[], uint16_t n, uint16_t room,
			   void *arg);

#endif /* UROCE_PORT_UDP_QUEUE_H */
