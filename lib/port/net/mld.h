/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Sends MLD reports to routers, in both versions.
 */

#ifndef UROCE_PORT_NET_MLD_H
#define UROCE_PORT_NET_MLD_H

struct uroce_group_report;
struct uroce_port_queue;

/** Send a report of IPv6 groups. Worker, within a poll. */
void uroce_mld_send(struct uroce_port_queue *q, const struct uroce_group_report *report);

#endif /* UROCE_PORT_NET_MLD_H */
