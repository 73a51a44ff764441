/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The RDMA devices of one end: its ports with their addresses, and the workers that drive them.
 */

#ifndef UROCE_APP_HOST_H
#define UROCE_APP_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_config.h>

#include <uroce.h>
#include <uroce_config.h>

struct uroce_netem;

struct app_address {
	union ibv_gid gid;
	uint8_t index; /* index in the GID table */
};

struct app_device {
	struct ibv_context *ctx;
	uint16_t port_id;
	struct ibv_device_attr attr;
	uint32_t mtu; /* the largest path MTU of the port, bytes */
	struct uroce_netem *netem; /* NULL: without --impair */
	unsigned int nb_addrs;
	struct app_address addrs[UROCE_APP_MAX_ADDRESSES];
};

/* The devices and workers of one end: the main thread polls the first worker, lcores of their own the others. */
struct app_host {
	struct app_device devs[UROCE_APP_MAX_PORTS];
	unsigned int nb_devs;
	struct uroce_worker *workers[UROCE_MAX_WORKERS];
	unsigned int nb_workers;
	unsigned int lcores[UROCE_MAX_WORKERS]; /* of the workers, if nb_workers > 1 */
	unsigned int nb_launched; /* workers[1 .. nb_launched] are running */
	bool borrowed;            /* the workers belong to another host */
	bool impaired;            /* expect losses: use shorter timeouts */
	bool go_back_n;           /* conf.go_back_n of devices opened later */
	bool share_memory;        /* conf.share_memory of devices opened later */
	const char *limits;       /* of workers and devices, for uroce_parse_limits(); NULL: the defaults */
};

/** Create n workers. @return 0 or -1, a message printed */
int uroce_app_host_workers(struct app_host *host, unsigned int n);

/** Open an ethdev port as a device of the host. @return 0 or -1, a message printed */
int uroce_app_host_open(struct app_host *host, uint16_t port_id, uint32_t qps, bool no_loopback);

/** Give device `dev` an address and find it in the GID table. @return 0 or -1, a message printed */
int uroce_app_host_address(struct app_host *host, unsigned int dev, const char *cidr);

/** Emulate network impairments in front of every device. NULL: none. @return 0 or -1, a message printed */
int uroce_app_host_impair(struct app_host *host, const char *impairment);

/** Remove the impairments. */
void uroce_app_host_unimpair(struct app_host *host);

/** Switch congestion control on or off for QPs created later. @return 0 or -1, a message printed */
int uroce_app_host_control(struct app_host *host, bool on);

/** Run workers 1.. on these lcores. @return 0 or -1, a message printed */
int uroce_app_host_launch(struct app_host *host, const unsigned int *lcores);

/** Stop the workers that uroce_app_host_launch() started; from then on only the caller polls. */
void uroce_app_host_stop(struct app_host *host);

/** Take workers 1 .. n - 1 off the lcores on which uroce_app_host_launch() has started them: the lcores are free until
 * uroce_app_host_resume(). */
void uroce_app_host_pause(struct app_host *host, unsigned int n);
/** Run these workers on their lcores again. */
void uroce_app_host_resume(struct app_host *host, unsigned int n);

void uroce_app_host_close(struct app_host *host);

/** Get the device's address of the peer's family; `wanted` itself if the device has it (NULL: any). @return NULL: no
 * such address */
const struct app_address *uroce_app_device_address(const struct app_device *dev, bool v4,
						     const union ibv_gid *wanted);

/** Get the number of packets that the host's devices have retransmitted. */
uint64_t uroce_app_host_retransmits(const struct app_host *host);

/** Get a counter of the host's workers, which all its devices share. @return 0: no such counter, no device, or the
 * worker is borrowed */
uint64_t uroce_app_host_counter(const struct app_host *host, const char *name);

/** Get the number of frames that arrived at the queue of another worker than their QP's, on all devices. */
uint64_t uroce_app_host_handed_over(const struct app_host *host);

/** Get the number of late rounds of all workers; 0: the host borrows them. */
uint64_t uroce_app_host_late_rounds(const struct app_host *host);

/** Create two net_ring ports that are connected to each other, queue by queue. @return 0 or -1, a message printed */
int uroce_app_ring_ports(uint16_t ports[2], unsigned int queues);

#endif /* UROCE_APP_HOST_H */
