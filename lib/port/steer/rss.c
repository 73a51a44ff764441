/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The RSS function of a port: the Toeplitz hash of addresses and UDP ports, with the key that the device has, is an
 * index of the redirection table (RETA). Control threads.
 */

#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_thash.h>

#include "base/dpdk_compat.h"
#include "port/steer/rss.h"
#include "wire/gid.h"
#include "wire/headers.h"

#define UDP4_TYPES RTE_ETH_RSS_NONFRAG_IPV4_UDP
#define UDP6_TYPES (RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX)
#define ONLY_TYPES \
	(RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY | RTE_ETH_RSS_L4_SRC_ONLY | RTE_ETH_RSS_L4_DST_ONLY)
#define RETA_GROUPS  (UROCE_MAX_RETA / RTE_ETH_RETA_GROUP_SIZE)
#define ADDRESS_BITS 128

static_assert(UROCE_MAX_RETA % RTE_ETH_RETA_GROUP_SIZE == 0, "UROCE_MAX_RETA");

static void
set_bit(uint8_t *key, unsigned int bit)
{
	key[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
}

/* With bit b as the only one of the key, bit b - 31 + j of the input is bit j of the hash. The inputs are the source
 * and destination addresses and ports: an IPv4 packet's UDP source port is bits 64 to 79, an IPv6 packet's bits 256 to
 * 271. So the lowest bits of the port become the index of the RETA. IPv6 packets also meet the bit for IPv4: the index
 * gets bits 69 to 79 of the source address. A third bit adds the same bits of the destination address, which cancels
 * them if they are equal. */
void
uroce_rss_make_key(uint8_t *key, uint16_t reta_size)
{
	unsigned int last = 80 + 31 - rte_log2_u32(RTE_MAX(reta_size, 2u));

	memset(key, 0, UROCE_RSS_KEY_BYTES);
	set_bit(key, last);
	set_bit(key, last + 128);
	set_bit(key, last + 192);
}

void
uroce_rss_configure(uint8_t *key, const struct rte_eth_dev_info *info, struct rte_eth_rss_conf *conf)
{
	conf->rss_hf = (RTE_ETH_RSS_UDP | RTE_ETH_RSS_IP) & info->flow_type_rss_offloads;
	if (info->hash_key_size < UROCE_RSS_KEY_LEAST || info->hash_key_size > UROCE_RSS_KEY_BYTES ||
	    info->reta_size == 0)
		return;
	uroce_rss_make_key(key, info->reta_size);
	conf->rss_key = key;
	conf->rss_key_len = info->hash_key_size;
}

uint32_t
uroce_rss_hash(const uint8_t *key, const uint8_t src[16], const uint8_t dst[16], uint16_t src_port, uint16_t dst_port)
{
	unsigned int first = uroce_gid_is_ipv4(src) ? 12 : 0, n = 0;
	uint32_t input[9];
	rte_be32_t word;

	for (unsigned int i = first; i < 16; i += sizeof(word)) {
		memcpy(&word, src + i, sizeof(word));
		input[n++] = rte_be_to_cpu_32(word);
	}
	for (unsigned int i = first; i < 16; i += sizeof(word)) {
		memcpy(&word, dst + i, sizeof(word));
		input[n++] = rte_be_to_cpu_32(word);
	}
	input[n++] = (uint32_t)src_port << 16 | dst_port;
	return rte_softrss(input, n, key);
}

int
uroce_rss_queue(const struct uroce_rss *rss, const uint8_t src[16], const uint8_t dst[16], uint16_t src_port)
{
	if (rss->reta_size == 0 || !(uroce_gid_is_ipv4(src) ? rss->hashes_udp4 : rss->hashes_udp6))
		return -ENOTSUP;
	return rss->reta[uroce_rss_hash(rss->key, src, dst, src_port, UROCE_UDP_PORT) % rss->reta_size];
}

/* The hash is linear: it ignores the addresses if each of their bits contributes nothing to the index. */
static bool
ignores_ipv4(const struct uroce_rss *rss)
{
	static const uint8_t zero[16] = UROCE_GID_IPV4(0, 0, 0, 0);
	bool is_power = rte_is_power_of_2(rss->reta_size);
	uint32_t mask = is_power ? rss->reta_size - 1u : UINT32_MAX;
	uint8_t gid[16];
	uint32_t hash;

	for (unsigned int bit = ADDRESS_BITS - 32; bit < ADDRESS_BITS; bit++) {
		memcpy(gid, zero, sizeof(gid));
		set_bit(gid, bit);
		hash = uroce_rss_hash(rss->key, gid, zero, 0, 0) | uroce_rss_hash(rss->key, zero, gid, 0, 0);
		if ((hash & mask) != 0)
			return false;
	}
	return true;
}

/* @return 0 or -ENOTSUP */
static int
read_hash(struct uroce_rss *rss, uint16_t port_id, uint8_t key_bytes)
{
	struct rte_eth_rss_conf conf = { .rss_key = rss->key, .rss_key_len = key_bytes };

	if (rte_eth_dev_rss_hash_conf_get(port_id, &conf) != 0 || !uroce_rss_is_toeplitz(&conf))
		return -ENOTSUP;
	if ((conf.rss_hf & ONLY_TYPES) != 0)
		return -ENOTSUP; /* drivers differ in what they hash then */
	rss->hashes_udp4 = (conf.rss_hf & UDP4_TYPES) != 0;
	rss->hashes_udp6 = (conf.rss_hf & UDP6_TYPES) != 0;
	return rss->hashes_udp4 || rss->hashes_udp6 ? 0 : -ENOTSUP;
}

static int
read_reta(struct uroce_rss *rss, uint16_t port_id, uint16_t size)
{
	struct rte_eth_rss_reta_entry64 groups[RETA_GROUPS];

	memset(groups, 0, sizeof(groups));
	for (unsigned int i = 0; i < size; i++)
		groups[i / RTE_ETH_RETA_GROUP_SIZE].mask |= UINT64_C(1) << i % RTE_ETH_RETA_GROUP_SIZE;
	if (rte_eth_dev_rss_reta_query(port_id, groups, size) != 0)
		return -ENOTSUP;
	for (unsigned int i = 0; i < size; i++)
		rss->reta[i] = groups[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
	return 0;
}

int
uroce_rss_read(struct uroce_rss *rss, uint16_t port_id)
{
	struct rte_eth_dev_info info;
	int ret;

	memset(rss, 0, sizeof(*rss));
	if (rte_eth_dev_info_get(port_id, &info) != 0 || info.reta_size == 0 || info.reta_size > UROCE_MAX_RETA ||
	    info.hash_key_size < UROCE_RSS_KEY_LEAST || info.hash_key_size > UROCE_RSS_KEY_BYTES)
		return -ENOTSUP;
	ret = read_hash(rss, port_id, info.hash_key_size);
	if (ret == 0)
		ret = read_reta(rss, port_id, info.reta_size);
	if (ret < 0)
		return ret;
	rss->reta_size = info.reta_size;
	rss->ignores_peer = rss->hashes_udp4 && ignores_ipv4(rss);
	return 0;
}
