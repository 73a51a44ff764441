/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: uroce-nvmf for any private data of a connection request, and any capsules on several queues, with hosts that
 * must authenticate and hosts that need not. Work requests complete at once or fail: this program has the functions of
 * post.c. At the end no controller, request or buffer is left.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_log.h>

#include "capsule.h"
#include "command/execute.h"
#include "controller.h"
#include "fuzz.h"
#include "post.h"
#include "queue.h"
#include "subsystem.h"
#include "target.h"

#define MAX_OPS 64
#define QUEUES 4
#define DEPTH 4
#define BUFFERS 4
#define SECRET "DHHC-1:01:AQ4bKDVCT1xpdoOQnaq3xNHe6/gFEh8sOUZTYG16h5SQWMao:"
#define NQN "nqn.2026-11.org.example:target"

static struct nvmf_target target;
static struct nvmf_host hosts[] = { { .nqn = "nqn.open" }, { .nqn = "nqn.key" } };
static struct fuzz_input in;
static bool answered;

static struct fuzz_queue {
	struct nvmf_queue q;
	struct nvmf_capsule capsules[DEPTH];
	struct nvme_command commands[DEPTH];
	struct nvmf_request requests[DEPTH];
	struct nvme_completion completions[DEPTH];
	uint8_t data[UROCE_NVMF_IN_CAPSULE_BYTES];
	bool used;
} queues[QUEUES];

int
uroce_nvmf_post_receive(struct nvmf_capsule *c)
{
	(void)c;
	return 0;
}

/* The host's memory holds what follows in the input. */
bool
uroce_nvmf_post_fetch(struct nvmf_request *req)
{
	RTE_VERIFY(req->data_bytes <= UROCE_NVMF_BUFFER_BYTES && req->data == req->buffer);
	if (fuzz_below(&in, 16) == 0) {
		req->queue->dead = true;
		return false;
	}
	fuzz_bytes(&in, req->data, RTE_MIN(req->data_bytes, 2048u));
	uroce_nvmf_request_execute(req);
	return true;
}

bool
uroce_nvmf_post_response(struct nvmf_request *req, bool with_data)
{
	uint16_t status = rte_le_to_cpu_16(req->completion->status);

	RTE_VERIFY((status & 1) == 0 && req->completion->cid == req->command.cid && req->state == NVMF_SENDING);
	RTE_VERIFY(!with_data || (status == 0 && req->data == req->buffer && req->data_bytes <= UROCE_NVMF_BUFFER_BYTES));
	answered = true;
	uroce_nvmf_request_free(req);
	return true;
}

static void
buffers_create(struct nvmf_buffers *b)
{
	b->arena_bytes = (size_t)BUFFERS * UROCE_NVMF_BUFFER_BYTES;
	b->arena = calloc(1, b->arena_bytes);
	RTE_VERIFY(b->arena != NULL);
	for (unsigned int i = 0; i < BUFFERS; i++)
		uroce_nvmf_buffer_put(b, b->arena + (size_t)i * UROCE_NVMF_BUFFER_BYTES);
}

/* The target's log is discarded; EAL's and libFuzzer's go to the old stderr. */
static void
silence(void)
{
	rte_openlog_stream(stderr);
	stderr = fopen("/dev/null", "w");
	RTE_VERIFY(stderr != NULL);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct nvmf_subsystem *s = &target.subsystem;
	struct nvmf_reason why;

	(void)argc;
	(void)argv;
	fuzz_init(true);
	silence();
	uroce_nvmf_subsystem_init(s);
	strcpy(s->nqn, NQN);
	s->io_queues = QUEUES;
	s->hosts = hosts;
	s->nb_hosts = RTE_DIM(hosts);
	RTE_VERIFY(uroce_nvmf_secret_parse(SECRET, &hosts[1].host_key) == 0);
	RTE_VERIFY(uroce_nvmf_secret_parse(SECRET, &hosts[1].ctrl_key) == 0);
	RTE_VERIFY(uroce_nvmf_subsystem_add(s, "ram:64K", &why) == 1 &&
		   uroce_nvmf_subsystem_add(s, "null:1G", &why) == 2);
	TAILQ_INIT(&target.pollers[0].waiting);
	buffers_create(&target.pollers[0].buffers);
	return 0;
}

static void
queue_open(struct fuzz_queue *f, uint16_t qid, uint16_t depth)
{
	struct nvmf_queue *q = &f->q;

	memset(f, 0, sizeof(*f));
	f->used = true;
	q->target = &target;
	q->poller = &target.pollers[0];
	q->execute = uroce_nvmf_execute;
	q->qid = qid;
	q->depth = depth;
	STAILQ_INIT(&q->free);
	STAILQ_INIT(&q->pending);
	for (unsigned int i = 0; i < DEPTH; i++) {
		f->capsules[i] = (struct nvmf_capsule){ .queue = q, .command = &f->commands[i], .data = f->data };
		f->requests[i].queue = q;
		f->requests[i].completion = &f->completions[i];
		STAILQ_INSERT_TAIL(&q->free, &f->requests[i], free);
	}
}

/* As queue.c does when the connection ends. */
static void
queue_close(struct fuzz_queue *f)
{
	struct nvmf_queue *q = &f->q;

	q->dead = true;
	for (unsigned int i = 0; i < DEPTH; i++)
		if (f->requests[i].state == NVMF_HELD) {
			uroce_nvmf_controller_drop_event(q->controller, &f->requests[i]);
			uroce_nvmf_request_free(&f->requests[i]);
		}
	RTE_VERIFY(q->busy == 0);
	if (q->controller != NULL)
		uroce_nvmf_controller_leave(q->controller, q);
	uroce_nvmf_dhchap_free(q->auth);
	f->used = false;
}

/* A connection request: its private data decide about the queue. */
static void
connect_cm(struct fuzz_queue *f)
{
	uint8_t how = fuzz_u8(&in), priv[64];
	struct nvme_cm_request usual = { .qid = rte_cpu_to_le_16(how >> 4 & 3), .hrqsize = rte_cpu_to_le_16(32),
					 .hsqsize = rte_cpu_to_le_16(31) }, parsed;
	size_t bytes = sizeof(usual);

	memcpy(priv, &usual, sizeof(usual));
	if ((how & 1) != 0)
		fuzz_poke(&in, priv, sizeof(usual));
	if ((how & 2) != 0)
		bytes = fuzz_below(&in, sizeof(priv));
	if (uroce_nvmf_parse_request(bytes == 0 ? NULL : priv, bytes, &parsed) != 0)
		return;
	RTE_VERIFY(rte_le_to_cpu_16(parsed.qid) < UROCE_NVMF_MAX_QUEUES);
	RTE_VERIFY(rte_le_to_cpu_16(parsed.hrqsize) - 1u < UROCE_NVMF_QUEUE_DEPTH);
	queue_open(f, rte_le_to_cpu_16(parsed.qid), rte_le_to_cpu_16(parsed.hrqsize));
}

/* Data of Connect that are right, for the controller whose queue 0 exists. */
static void
fill_connect(struct fuzz_queue *f, struct nvme_command *c)
{
	struct nvme_connect_data data = { .cntlid = rte_cpu_to_le_16(NVME_CNTLID_DYNAMIC) };
	uint8_t how = fuzz_u8(&in);

	c->opcode = NVME_OPCODE_FABRICS;
	c->fabrics.fctype = NVME_FABRICS_CONNECT;
	c->connect.qid = rte_cpu_to_le_16(f->q.qid);
	c->connect.sqsize = rte_cpu_to_le_16(31);
	if (f->q.qid != 0 && !LIST_EMPTY(&target.subsystem.controllers))
		data.cntlid = rte_cpu_to_le_16(LIST_FIRST(&target.subsystem.controllers)->cntlid);
	strcpy(data.subnqn, (how & 2) != 0 ? NVME_DISCOVERY_NQN : NQN);
	strcpy(data.hostnqn, hosts[how & 1].nqn);
	if ((how & 4) != 0)
		memset(data.hostnqn, 'x', sizeof(data.hostnqn));
	memcpy(f->data, &data, sizeof(data));
}

/* A command: of a kind that exists, or any; with any bytes changed. @return the bytes of in-capsule data */
static uint32_t
fill(struct fuzz_queue *f, struct nvme_command *c)
{
	uint8_t how = fuzz_u8(&in);
	uint32_t bytes = how % 3 == 0 ? 0 : fuzz_u16(&in) % (UROCE_NVMF_IN_CAPSULE_BYTES + 1);

	memset(c, 0, sizeof(*c));
	c->flags = NVME_PSDT_SGL;
	c->opcode = fuzz_u8(&in) & 0x1f;
	c->nsid = rte_cpu_to_le_32(1 + (how >> 6 & 1));
	c->cdw[0] = rte_cpu_to_le_32(fuzz_u8(&in));
	if ((how & 0x30) == 0) {
		fill_connect(f, c);
		bytes = sizeof(struct nvme_connect_data);
	} else if ((how & 0x30) == 0x10) {
		c->opcode = NVME_OPCODE_FABRICS;
		c->fabrics.fctype = fuzz_u8(&in) & 7;
		c->auth.spsp0 = c->auth.spsp1 = 1;
		c->auth.secp = NVME_SECURITY_PROTOCOL;
		c->auth.bytes = rte_cpu_to_le_32(bytes);
		fuzz_bytes(&in, f->data, RTE_MIN(bytes, 128u));
	} else if ((how & 0x30) == 0x20) {
		/* Property Set: enable the controller */
		c->opcode = NVME_OPCODE_FABRICS;
		c->fabrics.fctype = NVME_FABRICS_PROPERTY_SET;
		c->property.offset = rte_cpu_to_le_32(NVME_PROPERTY_CC);
		c->property.value = rte_cpu_to_le_64(NVME_CC_ENABLE | 6u << NVME_CC_IOSQES_SHIFT | 4u << NVME_CC_IOCQES_SHIFT);
	}
	c->sgl.block.length = rte_cpu_to_le_32(bytes);
	c->sgl.block.type = NVME_SGL_IN_CAPSULE;
	if ((how & 0x80) != 0) {
		c->sgl.keyed.type = NVME_SGL_KEYED;
		c->sgl.keyed.length[0] = (uint8_t)bytes;
		c->sgl.keyed.length[1] = (uint8_t)(bytes >> 8);
		c->sgl.keyed.length[2] = fuzz_u8(&in) & 3;
	}
	for (unsigned int n = fuzz_below(&in, 4); n > 0; n--)
		fuzz_poke(&in, c, sizeof(*c));
	return bytes;
}

static void
send_capsule(struct fuzz_queue *f)
{
	struct nvmf_capsule *c = &f->capsules[0];
	unsigned int held = f->q.busy;

	if (f->q.dead || held == DEPTH - 1)
		return;
	c->data_bytes = fill(f, c->command);
	answered = false;
	uroce_nvmf_request_start(c);
	RTE_VERIFY(answered || f->q.busy == held + 1 || f->q.dead);
	RTE_VERIFY(target.pollers[0].buffers.nb_free == BUFFERS || f->q.busy > held);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	in = (struct fuzz_input){ data, size };
	target.pollers[0].now_ns = 1000;
	target.subsystem.next_cntlid = 0;
	for (unsigned int i = 0; i < MAX_OPS && fuzz_more(&in); i++) {
		uint8_t op = fuzz_u8(&in);
		struct fuzz_queue *f = &queues[op % QUEUES];

		target.pollers[0].now_ns += (uint64_t)(op >> 2 & 3) * 1000000000;
		if (!f->used)
			connect_cm(f);
		else if (op >= 0xf0)
			queue_close(f);
		else
			send_capsule(f);
		if (f->used && f->q.controller != NULL && f->q.qid == 0)
			uroce_nvmf_controller_look(f->q.controller, &f->q, target.pollers[0].now_ns);
	}
	for (unsigned int i = 0; i < QUEUES; i++)
		if (queues[i].used)
			queue_close(&queues[i]);
	RTE_VERIFY(LIST_EMPTY(&target.subsystem.controllers));
	RTE_VERIFY(target.pollers[0].buffers.nb_free == BUFFERS);
	return 0;
}
