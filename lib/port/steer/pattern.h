/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Flow rules (rte_flow) that bring the frames for a QP to a queue. Control threads.
 */

#ifndef UROCE_PORT_STEER_PATTERN_H
#define UROCE_PORT_STEER_PATTERN_H

#include <stdint.h>

#include <rte_flow.h>

/* What a rule matches, besides UDP port 4791: the best kind first, that fewest drivers take. */
enum uroce_rule_kind {
	UROCE_RULE_BTH, /* the destination QPN, by the item for a BTH */
	UROCE_RULE_RAW, /* the destination QPN, as bytes */
	UROCE_RULE_UDP, /* the peer's address and UDP source port */
	UROCE_RULE_NONE,
};

/* The frames of a QP. */
struct uroce_rule_match {
	uint32_t qpn;
	uint16_t src_port;
	uint16_t vlan;   /* 0: untagged */
	uint8_t src[16]; /* the peer's GID */
};

/** Pass a rule to the driver. @return NULL, with error->type and error->message set (the message may be NULL) */
struct rte_flow *uroce_pattern_create(uint16_t port_id, enum uroce_rule_kind kind, const struct uroce_rule_match *match,
				      uint16_t queue, struct rte_flow_error *error);

#endif /* UROCE_PORT_STEER_PATTERN_H */
