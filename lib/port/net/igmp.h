/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends IGMP reports to routers, in all three versions.
 */

#ifndef UROCE_PORT_NET_IGMP_H
#define UROCE_PORT_NET_IGMP_H

struct uroce_group_report;
struct uroce_port_queue;

/** Send a report of IPv4 groups. Worker, within a poll. */
void uroce_igmp_send(struct uroce_port_queue *q, const struct uroce_group_report *report);

#endif /* UROCE_PORT_NET_IGMP_H */
