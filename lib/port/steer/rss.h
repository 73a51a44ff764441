/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The RSS function of a started port: which RX queue a RoCEv2 frame lands in. Control threads.
 */

#ifndef UROCE_PORT_STEER_RSS_H
#define UROCE_PORT_STEER_RSS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "uroce_config.h"

#define UROCE_RSS_KEY_BYTES 52 /* longest key of a device */
#define UROCE_RSS_KEY_LEAST 40 /* a hash of IPv6 addresses and ports reads so many bytes of it */

struct uroce_rss {
	alignas(uint32_t) uint8_t key[UROCE_RSS_KEY_BYTES];
	uint16_t reta_size; /* 0: unknown function */
	uint16_t reta[UROCE_MAX_RETA];
	bool hashes_udp4; /* the hash covers the UDP ports of IPv4 packets */
	bool hashes_udp6;
	bool ignores_peer; /* the queue of an IPv4 packet depends on its UDP ports only */
};

/**
 * Make a key with which the RSS queue depends on the UDP source port and on no IPv4 address. An IPv6 peer must have
 * the device's own bits 69 to 79 of the address (part of the interface identifier) for that.
 * @param key	UROCE_RSS_KEY_BYTES
 */
void uroce_rss_make_key(uint8_t *key, uint16_t reta_size);

/** Choose the hash types of a device, and unless it has no room for it, a key. @param key	UROCE_RSS_KEY_BYTES;
 * drivers may keep its address */
void uroce_rss_configure(uint8_t *key, const struct rte_eth_dev_info *info, struct rte_eth_rss_conf *conf);

/** Read the function of a started port with several queues. @return 0; -ENOTSUP: the driver does not report it,
 * or it hashes no UDP ports */
int uroce_rss_read(struct uroce_rss *rss, uint16_t port_id);

/** The Toeplitz hash of a UDP packet. @param src, dst	addresses as GIDs @param key	aligned to 4 bytes */
uint32_t uroce_rss_hash(const uint8_t *key, const uint8_t src[16], const uint8_t dst[16], uint16_t src_port,
			uint16_t dst_port);

/** @return the queue in which a RoCEv2 packet of the peer `src` to the own address `dst` lands; -ENOTSUP: unknown */
int uroce_rss_queue(const struct uroce_rss *rss, const uint8_t src[16], const uint8_t dst[16], uint16_t src_port);

#endif /* UROCE_PORT_STEER_RSS_H */
