/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Looks ahead in a burst of received frames: with many queue pairs, what a packet needs of its own is in no cache. So
 * while a frame is decoded, the queue pairs of the next ones are brought near. A guess is all that this is: nothing
 * has been checked yet but that the bytes are there. Workers, within a poll.
 */

#ifndef UROCE_PORT_WORKER_RX_PREFETCH_H
#define UROCE_PORT_WORKER_RX_PREFETCH_H

#include <stdint.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "uroce_config.h"
#include "verbs/qp/qp.h"
#include "wire/headers.h"

struct uroce_rx_prefetch {
	const struct uroce_device *dev;
	unsigned int count;
	uint32_t qpns[UROCE_BURST]; /* UROCE_RX_PREFETCH_NONE: as the one before, or not known */
};

#define UROCE_RX_PREFETCH_NONE UINT32_MAX

/* The QP that the frame seems to be for. */
static inline uint32_t
uroce_rx_prefetch_qpn(const struct rte_mbuf *m)
{
	const struct rte_ether_hdr *eth = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);
	const struct rte_vlan_hdr *tag = (const struct rte_vlan_hdr *)(eth + 1);
	uint32_t l4 = sizeof(*eth) + sizeof(struct rte_udp_hdr);
	const struct uroce_bth *bth;
	rte_be16_t type;

	if (rte_pktmbuf_data_len(m) < sizeof(*eth) + sizeof(*tag))
		return UROCE_RX_PREFETCH_NONE;
	type = eth->ether_type;
	if (type == rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN)) {
		type = tag->eth_proto;
		l4 += sizeof(*tag);
	}
	l4 += type == rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) ? sizeof(struct rte_ipv4_hdr) : sizeof(struct rte_ipv6_hdr);
	if (rte_pktmbuf_data_len(m) < l4 + sizeof(*bth))
		return UROCE_RX_PREFETCH_NONE;
	bth = rte_pktmbuf_mtod_offset(m, const struct uroce_bth *, l4);
	return uroce_get24(bth->dest_qp);
}

/** Look at what a burst is for. */
static inline void
uroce_rx_prefetch_init(struct uroce_rx_prefetch *a, const struct uroce_device *dev, struct rte_mbuf *const *frames, unsigned int n)
{
	uint32_t last = UROCE_RX_PREFETCH_NONE, qpn;
	unsigned int qps = 0;

	a->dev = dev;
	a->count = n;
	for (unsigned int i = 0; i < n; i++) {
		qpn = uroce_rx_prefetch_qpn(frames[i]);
		a->qpns[i] = qpn != last ? qpn : UROCE_RX_PREFETCH_NONE;
		qps += qpn != last;
		if (qpn != last && qpn != UROCE_RX_PREFETCH_NONE)
			uroce_qp_lookup_prefetch(dev, qpn);
		last = qpn;
	}
	if (qps <= 1)
		a->count = 0;	/* one QP: the first frame fetches it, and nothing is left to prefetch */
}

static inline const struct uroce_qp *
uroce_rx_prefetch_qp(const struct uroce_rx_prefetch *a, unsigned int i)
{
	if (i >= a->count || a->qpns[i] == UROCE_RX_PREFETCH_NONE)
		return NULL;
	return uroce_qp_lookup_unchecked(a->dev, a->qpns[i]);
}

/** Bring near of the QP of frame i, if there are such, what says whose it is. */
static inline void
uroce_rx_prefetch_look(const struct uroce_rx_prefetch *a, unsigned int i)
{
	const struct uroce_qp *qp = uroce_rx_prefetch_qp(a, i);

	if (qp != NULL)
		uroce_qp_prefetch_constant(qp);
}

/** ... and the rest of it, UROCE_RX_AHEAD frames later. Of another worker's QP, for which a frame is handed over,
 * nothing: that one is writing there. */
static inline void
uroce_rx_prefetch_take(const struct uroce_rx_prefetch *a, unsigned int i, const struct uroce_engine *engine)
{
	const struct uroce_qp *qp = uroce_rx_prefetch_qp(a, i);

	if (qp != NULL && qp->engine == engine)
		uroce_qp_prefetch_variable(qp);
}

#endif /* UROCE_PORT_WORKER_RX_PREFETCH_H */
