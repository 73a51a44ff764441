/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of memory keys: regions and windows, their addresses and rights, whether payloads are copied, and how
 * many frames reference them. EAL's telemetry threads, with the registry's lock; the key table's lock keeps a
 * region from being freed.
 */

#include <errno.h>
#include <pthread.h>

#include "base/dpdk_compat.h"
#include "mem/iova.h"
#include "mem/mr.h"
#include "mem/mw.h"
#include "port/port.h"
#include "port/telemetry/page.h"
#include "port/telemetry/telemetry.h"

/* List the valid keys. Reads the table without the lock, as workers do. */
int
uroce_telemetry_mrs(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_mrs *t = &port->dev.mrs;
	const uint64_t slots = UINT64_C(1) << t->log2;
	struct uroce_telemetry_page page;
	uint64_t from, count;

	if (uroce_telemetry_from(argument, slots - 1, &from) != 0)
		return -EINVAL;
	if (uroce_telemetry_page_begin(&page) != 0)
		return -ENOMEM;
	for (uint64_t slot = from; slot < slots; slot++) {
		uint32_t key = __atomic_load_n(&t->keys[slot].key, __ATOMIC_RELAXED);

		if (key != 0 && !uroce_telemetry_page_add(&page, slot, key))
			break;
	}
	pthread_mutex_lock(&t->lock);
	count = t->count;
	pthread_mutex_unlock(&t->lock);
	uroce_telemetry_page_end(&page, "keys", count, d);
	return 0;
}

static void
describe_key(const struct uroce_mr_key *k, const char *type, struct rte_tel_data *d)
{
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_uint(d, "key", k->key);
	rte_tel_data_add_dict_string(d, "type", type);
	rte_tel_data_add_dict_uint(d, "address", k->addr);
	rte_tel_data_add_dict_uint(d, "length", k->length);
	rte_tel_data_add_dict_int(d, "local_write", (k->access & IBV_ACCESS_LOCAL_WRITE) != 0);
	rte_tel_data_add_dict_int(d, "remote_write", (k->access & IBV_ACCESS_REMOTE_WRITE) != 0);
	rte_tel_data_add_dict_int(d, "remote_read", (k->access & IBV_ACCESS_REMOTE_READ) != 0);
	rte_tel_data_add_dict_int(d, "remote_atomic", (k->access & IBV_ACCESS_REMOTE_ATOMIC) != 0);
}

/* Describe a region, or the region that a window is bound to. */
static void
describe_region(const struct uroce_mr *mr, struct rte_tel_data *d)
{
	const struct uroce_iova_map *iova = mr->iova;

	rte_tel_data_add_dict_uint(d, "region", mr->ibv.lkey);
	if (mr->ibv.pd != NULL)
		rte_tel_data_add_dict_uint(d, "pd", mr->ibv.pd->handle);
	rte_tel_data_add_dict_uint(d, "virtual_address", (uintptr_t)mr->ibv.addr);
	rte_tel_data_add_dict_int(d, "zero_copy", iova != NULL || uroce_device_of(mr->ibv.context)->by_cpu);
	if (iova != NULL)
		rte_tel_data_add_dict_uint(d, "page_bytes", UINT64_C(1) << iova->page_log2);
	rte_tel_data_add_dict_int(d, "of_dpdk", mr->is_of_dpdk);
	rte_tel_data_add_dict_int(d, "given_back", mr->is_gone);
	rte_tel_data_add_dict_uint(d, "frames_in_flight", uroce_mr_inflight(mr));
}

/* Describe a key. Under the table's lock. */
static int
describe(const struct uroce_mrs *t, uint32_t key, struct rte_tel_data *d)
{
	const struct uroce_mr_key *k = &t->keys[uroce_slots_index(t->log2, 32, key)];
	const struct uroce_mr *mr;
	bool is_window, is_null;

	/* pairs with the releases where keys are published */
	if (__atomic_load_n(&k->key, __ATOMIC_ACQUIRE) != key || key == 0)
		return -ENOENT;
	is_window = (k->access & UROCE_KEY_WINDOW) != 0;
	is_null = (k->access & UROCE_KEY_NULL) != 0;
	describe_key(k, is_window ? "window" : is_null ? "null region" : "region", d);
	mr = is_window ? k->mw->mr : k->mr;
	if (mr != NULL)
		describe_region(mr, d);
	return 0;
}

int
uroce_telemetry_mr(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	struct uroce_mrs *t = &port->dev.mrs;
	uint64_t key;
	int ret;

	if (uroce_telemetry_number(argument, UINT32_MAX, &key) != 0)
		return -EINVAL;
	pthread_mutex_lock(&t->lock);
	ret = describe(t, (uint32_t)key, d);
	pthread_mutex_unlock(&t->lock);
	return ret;
}
