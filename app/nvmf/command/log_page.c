/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Get Log Page. The poller of the admin queue.
 */

#include <stdio.h>
#include <string.h>

#include "command/execute.h"
#include "controller.h"
#include "queue.h"
#include "request.h"

static void
reply(struct nvmf_request *req, const void *log, size_t bytes)
{
	uint64_t from = (uint64_t)uroce_nvmf_cdw(req, 13) << 32 | uroce_nvmf_cdw(req, 12);

	if ((from & 3) != 0 || from > bytes) {
		uroce_nvmf_request_refuse(req, NVME_INVALID_FIELD);
		return;
	}
	uroce_nvmf_request_reply(req, log, bytes, from);
}

/* SMART: a target has no sensors; a temperature of 0 K means none. */
static void
log_smart(struct nvmf_request *req)
{
	uint8_t log[512] = { [3] = 100, [4] = 10 }; /* %: spare, its threshold */

	reply(req, log, sizeof(log));
}

static void
log_firmware(struct nvmf_request *req)
{
	uint8_t log[512] = { [0] = 1 };

	uroce_nvme_set_text((char *)&log[8], 8, UROCE_VERSION);
	reply(req, log, sizeof(log));
}

/* Commands Supported and Effects: supported; those that change data change logical blocks. */
static void
log_effects(struct nvmf_request *req)
{
	static const uint8_t admin[] = {
		NVME_ADMIN_GET_LOG_PAGE, NVME_ADMIN_IDENTIFY, NVME_ADMIN_ABORT, NVME_ADMIN_SET_FEATURES,
		NVME_ADMIN_GET_FEATURES, NVME_ADMIN_ASYNC_EVENT, NVME_ADMIN_KEEP_ALIVE,
	};
	static const uint8_t io[] = { NVME_IO_FLUSH, NVME_IO_READ, NVME_IO_COMPARE, NVME_IO_VERIFY };
	static const uint8_t writes[] = { NVME_IO_WRITE, NVME_IO_WRITE_ZEROES, NVME_IO_DSM };
	rte_le32_t log[1024] = { 0 };

	for (unsigned int i = 0; i < sizeof(admin); i++)
		log[admin[i]] = rte_cpu_to_le_32(1);
	for (unsigned int i = 0; i < sizeof(io); i++)
		log[256 + io[i]] = rte_cpu_to_le_32(1);
	for (unsigned int i = 0; i < sizeof(writes); i++)
		log[256 + writes[i]] = rte_cpu_to_le_32(3);
	reply(req, log, sizeof(log));
}

/* The numbers of the namespaces that have changed since the last time; reading it permits the next event. */
static void
log_changed(struct nvmf_request *req)
{
	struct nvmf_controller *c = req->queue->controller;
	rte_le32_t log[NVME_CHANGED_NAMESPACES] = { 0 };
	bool keep = (uroce_nvmf_cdw(req, 10) >> 15 & 1) != 0; /* retain asynchronous event */
	unsigned int n = 0;

	for (unsigned int w = 0; w < RTE_DIM(c->changed); w++) {
		uint64_t bits = keep ? __atomic_load_n(&c->changed[w], __ATOMIC_RELAXED)
				     : __atomic_exchange_n(&c->changed[w], 0, __ATOMIC_RELAXED);

		for (unsigned int b = 0; b < 64; b++)
			if ((bits >> b & 1) != 0 && n < RTE_DIM(log))
				log[n++] = rte_cpu_to_le_32(w * 64 + b + 1);
	}
	if (!keep)
		c->event_masked = false;
	reply(req, log, sizeof(log));
}

static void
log_discovery(struct nvmf_request *req)
{
	const struct nvmf_subsystem *s = req->queue->controller->subsystem;
	union {
		struct nvme_discovery_log log;
		uint8_t bytes[sizeof(struct nvme_discovery_log) + sizeof(struct nvme_discovery_entry)];
	} all = { .bytes = { 0 } };
	struct nvme_discovery_entry *entry = &all.log.entries[0];

	all.log.generation = rte_cpu_to_le_64(1);
	all.log.records = rte_cpu_to_le_64(1);
	entry->trtype = 1; /* RDMA */
	entry->adrfam = s->ipv6 ? 2 : 1;
	entry->subtype = 2; /* an NVMe subsystem */
	entry->treq = 2; /* no secure channel */
	entry->portid = rte_cpu_to_le_16(1);
	entry->cntlid = rte_cpu_to_le_16(NVME_CNTLID_DYNAMIC);
	entry->asqsz = rte_cpu_to_le_16(32);
	uroce_nvme_set_text(entry->trsvcid, sizeof(entry->trsvcid), s->trsvcid);
	uroce_nvme_set_text(entry->traddr, sizeof(entry->traddr), s->traddr);
	snprintf(entry->subnqn, sizeof(entry->subnqn), "%s", s->nqn);
	entry->rdma.qptype = 1; /* reliable connected */
	entry->rdma.prtype = 1; /* none */
	entry->rdma.cms = 1;    /* RDMA_IP_CM */
	reply(req, &all, sizeof(all));
}

void
uroce_nvmf_log_page(struct nvmf_request *req)
{
	const struct nvmf_controller *c = req->queue->controller;
	uint64_t dwords = ((uint64_t)(uroce_nvmf_cdw(req, 11) & 0xffff) << 16 | uroce_nvmf_cdw(req, 10) >> 16) + 1;
	uint8_t page = uroce_nvmf_cdw(req, 10) & 0xff;

	if (dwords * 4 > req->data_bytes) {
		uroce_nvmf_request_refuse(req, NVME_SGL_LENGTH_INVALID);
		return;
	}
	req->data_bytes = (uint32_t)(dwords * 4);
	if (c->discovery != (page == NVME_LOG_DISCOVERY)) {
		uroce_nvmf_request_refuse(req, NVME_INVALID_LOG_PAGE);
		return;
	}
	switch (page) {
	case NVME_LOG_ERROR: reply(req, (uint8_t[64]){ 0 }, 64); break;
	case NVME_LOG_SMART: log_smart(req); break;
	case NVME_LOG_FIRMWARE: log_firmware(req); break;
	case NVME_LOG_CHANGED_NAMESPACES: log_changed(req); break;
	case NVME_LOG_EFFECTS: log_effects(req); break;
	case NVME_LOG_DISCOVERY: log_discovery(req); break;
	default: uroce_nvmf_request_refuse(req, NVME_INVALID_LOG_PAGE);
	}
}
