/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The state of the target as telemetry, and commands that add, remove and resize namespaces. EAL's telemetry threads; pollers
 * go on meanwhile. Controllers and their queues are read under the subsystem's lock.
 */

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#include "address.h"
#include "controller.h"
#include "queue.h"
#include "target.h"
#include "report/telemetry.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the next */
static struct nvmf_target *shown;

static int fail(struct rte_tel_data *d, const char *format, ...) __rte_format_printf(2, 3);

/* Answer with the error as a text: for a negative result, EAL answers only null. */
static int
fail(struct rte_tel_data *d, const char *format, ...)
{
	char text[sizeof(struct nvmf_reason) + 32] = "error: ";
	size_t at = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + at, sizeof(text) - at, format, args);
	va_end(args);
	return rte_tel_data_string(d, text);
}

/* @return the object's number; -1: params has none, and the error is the answer */
static int
number(const char *params, const char *what, unsigned int least, unsigned int most, struct rte_tel_data *d)
{
	uint64_t n;

	if (params != NULL && uroce_app_number_parse(params, least, most, &n) == 0)
		return (int)n;
	(void)fail(d, "'%s' is not the number of a %s, %u to %u: put it after a comma", params != NULL ? params : "", what,
		   least, most);
	return -1;
}

static uint64_t
get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static int
info(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	const struct nvmf_subsystem *s = &t->subsystem;

	(void)params;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "nqn", s->nqn);
	rte_tel_data_add_dict_string(d, "serial", s->serial);
	rte_tel_data_add_dict_string(d, "address", s->traddr);
	rte_tel_data_add_dict_string(d, "port", s->trsvcid);
	rte_tel_data_add_dict_uint(d, "namespaces", uroce_nvmf_subsystem_count(s));
	rte_tel_data_add_dict_uint(d, "pollers", t->nb_pollers);
	rte_tel_data_add_dict_uint(d, "queues", __atomic_load_n(&t->nb_queues, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(d, "refused_connections", get(&t->refused));
	return 0;
}

static int
controllers(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	const struct nvmf_controller *c;

	(void)params;
	rte_tel_data_start_array(d, RTE_TEL_INT_VAL);
	pthread_mutex_lock(&t->subsystem.lock);
	LIST_FOREACH(c, &t->subsystem.controllers, link)
		if (rte_tel_data_add_array_int(d, c->cntlid) != 0)
			break; /* full */
	pthread_mutex_unlock(&t->subsystem.lock);
	return 0;
}

static void
add_queues(const struct nvmf_controller *c, struct rte_tel_data *d)
{
	struct rte_tel_data *commands = rte_tel_data_alloc(), *pollers = rte_tel_data_alloc();

	if (commands == NULL || pollers == NULL) {
		rte_tel_data_free(commands);
		rte_tel_data_free(pollers);
		return;
	}
	rte_tel_data_start_dict(commands);
	rte_tel_data_start_dict(pollers);
	for (unsigned int i = 0; i < UROCE_NVMF_MAX_QUEUES; i++) {
		char qid[8];

		if (c->queues[i] == NULL)
			continue;
		snprintf(qid, sizeof(qid), "%u", i);
		rte_tel_data_add_dict_uint(commands, qid, get(&c->queues[i]->commands));
		rte_tel_data_add_dict_uint(pollers, qid, c->queues[i]->poller->index);
	}
	rte_tel_data_add_dict_container(d, "commands", commands, 0);
	rte_tel_data_add_dict_container(d, "poller", pollers, 0);
}

static int
controller(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	int cntlid = number(params, "controller", 1, NVME_CNTLID_MAX, d);
	const struct nvmf_controller *c;

	if (cntlid < 0)
		return 0;
	pthread_mutex_lock(&t->subsystem.lock);
	LIST_FOREACH(c, &t->subsystem.controllers, link)
		if (c->cntlid == cntlid)
			break;
	if (c != NULL) {
		rte_tel_data_start_dict(d);
		rte_tel_data_add_dict_string(d, "host", c->hostnqn);
		rte_tel_data_add_dict_uint(d, "discovery", c->discovery);
		rte_tel_data_add_dict_uint(d, "keep_alive_ms", __atomic_load_n(&c->kato_ms, __ATOMIC_RELAXED));
		rte_tel_data_add_dict_uint(d, "queues", c->nb_queues);
		add_queues(c, d);
	}
	pthread_mutex_unlock(&t->subsystem.lock);
	return c != NULL ? 0 : fail(d, "there is no controller %d: see /uroce/nvmf/controllers", cntlid);
}

static int
poller(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	int n = number(params, "poller", 0, t->nb_pollers - 1, d);
	const struct nvmf_poller *p;

	if (n < 0)
		return 0;
	p = &t->pollers[n];
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "queues", __atomic_load_n(&p->nb_queues, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_uint(d, "commands", get(&p->counters.commands));
	rte_tel_data_add_dict_uint(d, "iops", get(&p->counters.iops));
	rte_tel_data_add_dict_uint(d, "errors", get(&p->counters.errors));
	rte_tel_data_add_dict_uint(d, "bytes_read", get(&p->counters.bytes_read));
	rte_tel_data_add_dict_uint(d, "bytes_written", get(&p->counters.bytes_written));
	return 0;
}

static int
latency(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	(void)params;
	rte_tel_data_start_dict(d);
	for (unsigned int i = 0; i < UROCE_NVMF_LATENCIES; i++) {
		uint64_t n = 0;
		char name[32];

		for (unsigned int k = 0; k < t->nb_pollers; k++)
			n += get(&t->pollers[k].counters.latency[i]);
		if (i + 1 < UROCE_NVMF_LATENCIES)
			snprintf(name, sizeof(name), "below_%llu_us", 1ull << i);
		else
			snprintf(name, sizeof(name), "more");
		rte_tel_data_add_dict_uint(d, name, n);
	}
	return 0;
}

static void
add_namespace(const struct nvmf_namespace *ns, struct rte_tel_data *d)
{
	char uuid[2 * sizeof(ns->uuid) + 1];

	for (unsigned int i = 0; i < sizeof(ns->uuid); i++)
		snprintf(&uuid[2 * i], 3, "%02x", ns->uuid[i]);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_string(d, "store", ns->path);
	rte_tel_data_add_dict_uint(d, "blocks", uroce_nvmf_namespace_blocks(ns));
	rte_tel_data_add_dict_uint(d, "block_bytes", UINT64_C(1) << ns->block_shift);
	rte_tel_data_add_dict_uint(d, "read_only", ns->read_only);
	rte_tel_data_add_dict_uint(d, "flush_errno", (unsigned int)-__atomic_load_n(&ns->flush_error, __ATOMIC_RELAXED));
	rte_tel_data_add_dict_string(d, "uuid", uuid);
}

static int
namespace(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	int nsid = number(params, "namespace", 1, UROCE_NVMF_MAX_NAMESPACES, d);
	const struct nvmf_namespace *ns;

	if (nsid < 0)
		return 0;
	pthread_mutex_lock(&t->subsystem.namespace_lock);
	ns = uroce_nvmf_subsystem_namespace(&t->subsystem, (uint32_t)nsid);
	if (ns != NULL)
		add_namespace(ns, d);
	pthread_mutex_unlock(&t->subsystem.namespace_lock);
	return ns != NULL ? 0 : fail(d, "there is no namespace %d", nsid);
}

static int
add(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	struct nvmf_reason why = { .text = "put PATH, ram:SIZE or null:SIZE after a comma" };
	uint32_t nsid = params != NULL && *params != '\0' ? uroce_nvmf_subsystem_add(&t->subsystem, params, &why) : 0;

	if (nsid == 0)
		return fail(d, "%s", why.text);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "nsid", nsid);
	return 0;
}

static int
remove_namespace(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	int nsid = number(params, "namespace", 1, UROCE_NVMF_MAX_NAMESPACES, d);

	if (nsid < 0)
		return 0;
	if (uroce_nvmf_subsystem_remove(&t->subsystem, (uint32_t)nsid) != 0)
		return fail(d, "there is no namespace %d", nsid);
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "removed", (unsigned int)nsid);
	return 0;
}

static int
resize(struct nvmf_target *t, const char *params, struct rte_tel_data *d)
{
	(void)params;
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "resized", uroce_nvmf_subsystem_resize(&t->subsystem));
	return 0;
}

static const struct {
	const char *name, *help;
	int (*answer)(struct nvmf_target *t, const char *params, struct rte_tel_data *d);
} commands[] = {
	{ "/uroce/nvmf/info", "The target: name, address, numbers of objects", info },
	{ "/uroce/nvmf/controllers", "Numbers of the controllers", controllers },
	{ "/uroce/nvmf/controller", "A controller: host and queues. Parameter: number", controller },
	{ "/uroce/nvmf/poller", "Counters of a poller. Parameter: number", poller },
	{ "/uroce/nvmf/latency", "Histogram of the latency of I/O commands", latency },
	{ "/uroce/nvmf/namespace", "A namespace. Parameter: number", namespace },
	{ "/uroce/nvmf/add", "Add a namespace. Parameter: PATH, ram:SIZE or null:SIZE", add },
	{ "/uroce/nvmf/remove", "Remove a namespace. Parameter: number", remove_namespace },
	{ "/uroce/nvmf/resize", "Read the sizes of the namespaces again", resize },
};

static int
answer(const char *cmd, const char *params, struct rte_tel_data *d)
{
	int ret = -ENODEV;

	pthread_mutex_lock(&lock);
	for (unsigned int i = 0; shown != NULL && i < RTE_DIM(commands); i++)
		if (strcmp(cmd, commands[i].name) == 0)
			ret = commands[i].answer(shown, params, d);
	pthread_mutex_unlock(&lock);
	return ret;
}

/* EAL cannot unregister a command, and registers each once. */
void
uroce_nvmf_telemetry_start(struct nvmf_target *t)
{
	pthread_mutex_lock(&lock);
	shown = t;
	pthread_mutex_unlock(&lock);
	for (unsigned int i = 0; i < RTE_DIM(commands); i++)
		rte_telemetry_register_cmd(commands[i].name, answer, commands[i].help);
}

void
uroce_nvmf_telemetry_stop(void)
{
	pthread_mutex_lock(&lock);
	shown = NULL;
	pthread_mutex_unlock(&lock);
}
