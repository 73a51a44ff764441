/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two connected ports with several queues that distribute received frames as a NIC does: by flow rules, else by RSS
 * with a key, a table and hash types. They are ports of net_ring with replaced control functions of ethdev, so their
 * program must be one of its own. Each queue's receive callback distributes the frames that the other port has sent.
 */

#ifndef UROCE_TEST_PORT_NIC_H
#define UROCE_TEST_PORT_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_ring.h>
#include <rte_spinlock.h>

#define NIC_QUEUES    4
#define NIC_RETA      128
#define NIC_KEY_BYTES 40
#define NIC_RULES     64
#define NIC_ITEMS     8

/* Item types that a NIC takes in rules, beside Ethernet, VLAN, IP and UDP. */
#define NIC_TAKES_UDP (1u << 0) /* rules without one of the others */
#define NIC_TAKES_RAW (1u << 1)
#define NIC_TAKES_BTH (1u << 2)

/* A rule: copies of its items, and its queue. */
struct rte_flow {
	bool used;
	uint16_t queue;
	unsigned int items;
	struct nic_item {
		enum rte_flow_item_type type;
		bool any; /* it matches any header of its type */
		uint8_t spec[64];
		uint8_t mask[64];
		uint8_t raw[2][16];
	} item[NIC_ITEMS];
};

struct nic {
	uint16_t port_id;
	unsigned int queues;
	/* capabilities, which a test may change before the port is opened */
	uint64_t types; /* hash types; 0: no RSS */
	uint16_t reta_size;
	bool fixed_key;     /* ignore the key of the configuration, as some virtual functions do */
	bool secretive;     /* do not tell the hash function */
	unsigned int takes; /* NIC_TAKES_… */
	unsigned int room;  /* for rules, up to NIC_RULES */
	/* configuration */
	uint8_t key[NIC_KEY_BYTES];
	uint64_t hashed;
	uint16_t reta[NIC_RETA];
	struct rte_flow rules[NIC_RULES];
	unsigned int rule_count;
	/* traffic */
	rte_spinlock_t lock;
	struct rte_ring *in; /* frames that the other port has sent */
	struct rte_ring *rx[NIC_QUEUES];
	uint64_t received[NIC_QUEUES];
	uint64_t matched; /* by a rule */
	uint64_t missed;  /* an RX ring was full */
};

/** Create two connected ports that take all rules. */
void nic_create_pair(struct nic *a, struct nic *b, unsigned int queues);
/** Close the ports, and free their rings with their frames. */
void nic_destroy_pair(struct nic *a, struct nic *b);

/** Microsoft's hash of bits, computed bit by bit. */
uint32_t nic_toeplitz(const uint8_t *key, const uint8_t *input, unsigned int bytes);

#endif /* UROCE_TEST_PORT_NIC_H */
