/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Notes that the peer's workers have changed: one has begun to read its ring, or sends by a ring whose worker at this
 * end does not have the QPs. EAL's interrupt thread then chooses the queues of the port's workers again. Workers,
 * within a poll.
 */

#include <rte_alarm.h>

#include "port/memif/memif.h"
#include "port/port.h"

void
uroce_port_follow_peer(struct uroce_port *port)
{
	if (!__atomic_exchange_n(&port->follows, true, __ATOMIC_RELAXED) && rte_eal_alarm_set(1, port->follow, port) != 0)
		__atomic_store_n(&port->follows, false, __ATOMIC_RELAXED);
}

static uint64_t
steered(const struct uroce_port_queue *q)
{
	return __atomic_load_n(&q->counters[UROCE_PORT_STEERED], __ATOMIC_RELAXED);
}

void
uroce_port_note_fed(struct uroce_port_queue *q, uint16_t from)
{
	const struct uroce_port_queue *feeder = &q->port->queues[from];

	if (q->fed == 0 || q->fed_by != from || q->fed >= UROCE_FED_FRAMES) {
		q->fed = 0;
		q->fed_by = from;
		q->fed_steered = steered(feeder);
		q->fed_own = steered(q);
	}
	if (++q->fed == UROCE_FED_FRAMES && q->port->dev.poll_progress && uroce_memif_may_swap(q->port->memif))
		uroce_port_follow_peer(q->port);
}
