/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prints the counters of the switch, on SIGUSR1 and at the end. Main thread.
 */

#include <inttypes.h>
#include <stdio.h>

#include <rte_ethdev.h>

#include "report.h"

void
uroce_switch_report(const struct uroce_switch *s, uint64_t refused)
{
	char name[RTE_ETH_NAME_MAX_LEN];

	fprintf(stderr, "%-16s %-4s %12s %15s %12s %15s %10s %10s %10s %10s\n", "port", "link", "received", "bytes",
		"sent", "bytes", "dropped", "marked", "malformed", "forged");
	for (unsigned int i = 0; i < s->nb_ports; i++) {
		const struct switch_port *p = &s->ports[i];

		uroce_switch_port_name(p, name);
		fprintf(stderr, "%-16s %-4s %12" PRIu64 " %15" PRIu64 " %12" PRIu64 " %15" PRIu64 " %10" PRIu64
			" %10" PRIu64 " %10" PRIu64 " %10" PRIu64 "\n",
			name, p->up ? "up" : "down", p->received, p->received_bytes, p->sent, p->sent_bytes, p->dropped,
			p->marked, p->malformed, p->forged);
	}
	fprintf(stderr, "%" PRIi32 " stations, %" PRIu64 " not learned, %" PRIu64 " clients refused\n",
		rte_hash_count(s->fdb.hash), s->fdb.unlearned, refused);
}
