/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The commands of dpdk-telemetry.py. EAL's telemetry threads, one at a time, under the registry's lock, which keeps
 * devices from being closed.
 */

#ifndef UROCE_PORT_TELEMETRY_TELEMETRY_H
#define UROCE_PORT_TELEMETRY_TELEMETRY_H

#include <rte_telemetry.h>

struct uroce_port;

/** Register the commands; idempotent. Control threads. */
void uroce_telemetry_init(void);

/* A command about a device. @param argument	the text behind the device's name and comma; NULL: none.
 * @return 0, or -errno: the reply is null */
typedef int (*uroce_telemetry_fn)(struct uroce_port *port, const char *argument, struct rte_tel_data *d);

/* device.c */
int uroce_telemetry_info(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_stats(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_hw_counters(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_cm(struct uroce_port *port, const char *argument, struct rte_tel_data *d);

/* qp.c: one QP, copied in its worker's turn */
int uroce_telemetry_qp(struct uroce_port *port, const char *argument, struct rte_tel_data *d);

/* qps.c: all QPs, while the workers run */
int uroce_telemetry_qps(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_top(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
extern const char *const uroce_telemetry_qp_states[7];

/* memory.c */
int uroce_telemetry_mrs(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_mr(struct uroce_port *port, const char *argument, struct rte_tel_data *d);

/* queues.c */
int uroce_telemetry_cqs(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_cq(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_srqs(struct uroce_port *port, const char *argument, struct rte_tel_data *d);
int uroce_telemetry_srq(struct uroce_port *port, const char *argument, struct rte_tel_data *d);

/* worker.c: a worker, which belongs to no device */
int uroce_telemetry_worker(const char *argument, struct rte_tel_data *d);

#endif /* UROCE_PORT_TELEMETRY_TELEMETRY_H */
