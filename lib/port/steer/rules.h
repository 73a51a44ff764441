/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The flow rules of a port: at most UROCE_STEER_RULES, one for each QP whose frames another worker received. EAL's
 * interrupt thread makes them, which also runs the drivers' interrupt handlers; under the port's lock.
 */

#ifndef UROCE_PORT_STEER_RULES_H
#define UROCE_PORT_STEER_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "port/steer/pattern.h"
#include "uroce_config.h"

struct uroce_port;

struct uroce_rule {
	struct rte_flow *flow;
	struct uroce_rule_match match;
	uint16_t queue;
	uint32_t activity; /* of the QP at the last look: a number that packets change */
	uint64_t used_ns;  /* the last look at which it had changed; 0: the QP is gone */
};

struct uroce_rules {
	enum uroce_rule_kind kind; /* the kind that the driver takes, once it has taken one; else the next to try */
	bool refused;              /* atomic: the driver takes no kind; workers note no QPs */
	uint32_t count;
	uint64_t looked_ns; /* time of the last look at the QPs */
	/* others: relaxed read */
	uint64_t installed;
	uint64_t evicted;
	uint64_t rejected; /* rules that the driver did not take, or for which there was no room */
	struct uroce_rule rules[UROCE_STEER_RULES];
};

/** Make the rules for the QPs that workers have noted. @param now_ns	the device's clock */
void uroce_rules_make(struct uroce_port *port, uint64_t now_ns);

/** Remove all rules, before the device stops. Control threads. */
void uroce_rules_clear(struct uroce_port *port);

#endif /* UROCE_PORT_STEER_RULES_H */
