/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A host and a target in this process, on two ports: the host sends commands as capsules, and the test polls both ends.
 */

#ifndef UROCE_TEST_NVMF_HOST_H
#define UROCE_TEST_NVMF_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "controller.h"
#include "nvme.h"
#include "rings.h"
#include "target.h"

#define HOST_NQN "nqn.2026-11.org.example:host"
#define TARGET_NQN "nqn.2026-11.org.example:target"
#define HOST_BYTES (256u << 10)

/* A connection of the host. */
struct host_queue {
	struct host *host;
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct {
		struct nvme_command command;
		uint8_t in_capsule[UROCE_NVMF_IN_CAPSULE_BYTES];
		struct nvme_completion completions[4];
	} *memory;
	uint16_t next_cid;
	bool no_retry;		/* the last completion says so */
	bool established;
	bool disconnected;
	int rejected;		/* status of the private data of a REJ; 0: none */
};

struct host {
	struct test_rings wire[2];
	struct uroce_worker *workers[2];	/* the target's, the host's */
	struct ibv_context *ports[2];
	struct nvmf_target *target;
	struct rdma_event_channel *channel;
	struct ibv_pd *pd;
	uint8_t *data;		/* HOST_BYTES, which the target may read and write */
	struct ibv_mr *mr;
};

/** Start a target with these namespaces, and a host. */
void host_open(struct host *h, const char *const *namespaces, unsigned int n);
void host_close(struct host *h);
/** One round of both ends. */
void host_poll(struct host *h);

/** Connect a queue at the CM. @param priv	NULL: that of a depth of 32. @return whether it was accepted */
bool host_queue_open(struct host *h, struct host_queue *q, uint16_t qid, const struct nvme_cm_request *priv);
void host_queue_close(struct host_queue *q);

/** Send a command, and wait for its completion. Chooses the CID. @param in_capsule	bytes of q->memory->in_capsule to
 * send. @return the completion */
struct nvme_completion host_run(struct host_queue *q, struct nvme_command *c, uint32_t in_capsule);

/** The halves of host_run(): send a command; wait for a completion of any. */
void host_send(struct host_queue *q, struct nvme_command *c, uint32_t in_capsule);
struct nvme_completion host_wait(struct host_queue *q);

/** Describe `bytes` of h->data in the command. */
void host_keyed(struct host *h, struct nvme_command *c, uint32_t bytes);

/** Connect: the command. @return the status */
uint16_t host_connect_as(struct host_queue *q, uint16_t qid, uint16_t cntlid, const char *subnqn, const char *hostnqn);
uint16_t host_connect(struct host_queue *q, uint16_t qid, uint16_t cntlid, const char *subnqn);
/** Enable the controller. */
void host_enable(struct host_queue *admin);
/** Open and connect an admin queue and enable the controller; then I/O queue 1. @return the controller's ID */
uint16_t host_start(struct host *h, struct host_queue *admin, struct host_queue *io);

static inline uint16_t
host_status(struct nvme_completion c)
{
	return rte_le_to_cpu_16(c.status) >> 1 & (uint16_t)~NVME_DO_NOT_RETRY;
}

#endif /* UROCE_TEST_NVMF_HOST_H */
