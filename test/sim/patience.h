/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Counts how often the network has harmed a packet and its retransmissions. A QP fails after its last retry, which is no
 * defect. So in worlds whose connections must survive, the network spares a packet that it has harmed often enough.
 */

#ifndef UROCE_TEST_SIM_PATIENCE_H
#define UROCE_TEST_SIM_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

#define PATIENCE_LOG2_SLOTS 14
#define PATIENCE_SLOTS	    (1 << PATIENCE_LOG2_SLOTS) /* packets; a newer one takes the slot of an older one */

struct patience {
	uint64_t keys[PATIENCE_SLOTS];	/* end, QPN and PSN */
	uint8_t harmed[PATIENCE_SLOTS]; /* number of times */
};

/** Has the packet with this PSN for this QP of end `to` been harmed `most` times? */
bool patience_is_over(const struct patience *p, unsigned int to, uint32_t qpn, uint32_t psn, uint32_t most);

/** Count one more harm to this packet. */
void patience_try(struct patience *p, unsigned int to, uint32_t qpn, uint32_t psn);

#endif /* UROCE_TEST_SIM_PATIENCE_H */
