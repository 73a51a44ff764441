/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Notes the QPs whose frames landed in the queue of another worker. The first packet of a QP costs a copy of its
 * addresses, further ones a read until the notes have been taken. Workers; and the thread that makes flow rules.
 */

#include <stdbool.h>

#include <rte_alarm.h>

#include "port/port.h"
#include "port/steer/note.h"
#include "wire/gid.h"

void
uroce_notes_add(struct uroce_port_queue *q, const struct uroce_packet *p)
{
	struct uroce_note *note = &q->notes.slots[p->dest_qpn % UROCE_STEER_NOTES];
	struct uroce_steer *steer = &q->port->steer;

	/* pairs with the release in uroce_notes_take() */
	if (__atomic_load_n(&note->taken, __ATOMIC_ACQUIRE) || __atomic_load_n(&steer->rules.refused, __ATOMIC_RELAXED))
		return;
	note->noted.qpn = p->dest_qpn;
	note->noted.src_port = p->udp_src_port;
	uroce_gid_from_ip(note->noted.src, p->ip_version, p->src_ip);
	__atomic_store_n(&note->taken, true, __ATOMIC_RELEASE);  /* pairs with uroce_notes_take() */
	__atomic_store_n(&steer->noted, true, __ATOMIC_RELEASE); /* pairs with uroce_notes_upkeep() */
	uroce_port_upkeep_by(q->port, 0);
}

uint64_t
uroce_notes_upkeep(struct uroce_port *port, uint64_t now_ns)
{
	struct uroce_steer *s = &port->steer;

	if (!__atomic_load_n(&s->noted, __ATOMIC_RELAXED))
		return UINT64_MAX;
	if (now_ns < s->due_ns)
		return s->due_ns;
	s->due_ns = now_ns + UROCE_STEER_NS;
	/* pairs with the release in uroce_notes_add() */
	if (__atomic_exchange_n(&s->noted, false, __ATOMIC_ACQUIRE) && rte_eal_alarm_set(1, s->make_rules, port) != 0)
		__atomic_store_n(&s->noted, true, __ATOMIC_RELAXED);
	return s->due_ns;
}

unsigned int
uroce_notes_take(struct uroce_notes *notes, struct uroce_noted noted[UROCE_STEER_NOTES])
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < UROCE_STEER_NOTES; i++) {
		struct uroce_note *note = &notes->slots[i];

		/* pairs with the release in uroce_notes_add() */
		if (!__atomic_load_n(&note->taken, __ATOMIC_ACQUIRE))
			continue;
		noted[n++] = note->noted;
		__atomic_store_n(&note->taken, false, __ATOMIC_RELEASE); /* pairs with uroce_notes_add() */
	}
	return n;
}
