/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Telemetry of all QPs of a device: pages of QPNs, the QPs in a state, and the QPs with the highest value of a counter.
 * The workers run meanwhile, so the values are not of the same instant. EAL's telemetry threads, with the registry's
 * lock.
 */

#include <errno.h>
#include <string.h>

#include "base/dpdk_compat.h"
#include "base/rcu.h"
#include "port/port.h"
#include "port/telemetry/page.h"
#include "port/telemetry/telemetry.h"
#include "uroce_config.h"
#include "verbs/qp/qp.h"

const char *const uroce_telemetry_qp_states[7] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

#define ANY_STATE UINT32_MAX

static const struct uroce_qp *
qp_at(const struct uroce_device *dev, uint64_t slot)
{
	/* pairs with the release in publish() of verbs/qp/qp.c */
	return __atomic_load_n(&dev->qps.qps[slot], __ATOMIC_ACQUIRE);
}

/* Parse a state's name, such as "RTS". @return 0 or -EINVAL */
static int
state_parse(const char *text, uint32_t *state)
{
	for (*state = 0; *state < RTE_DIM(uroce_telemetry_qp_states); ++*state)
		if (strcmp(text, uroce_telemetry_qp_states[*state]) == 0)
			return 0;
	return -EINVAL;
}

/* Parse "from,state", both optional. */
static int
page_parse(const char *argument, uint64_t last, uint64_t *from, uint32_t *state)
{
	const char *comma = argument != NULL ? strchr(argument, ',') : NULL;
	char number[24];
	size_t length;

	*state = ANY_STATE;
	if (comma == NULL)
		return uroce_telemetry_from(argument, last, from);
	length = (size_t)(comma - argument);
	if (length >= sizeof(number))
		return -EINVAL;
	memcpy(number, argument, length);
	number[length] = '\0';
	if (uroce_telemetry_from(length != 0 ? number : NULL, last, from) != 0)
		return -EINVAL;
	return state_parse(comma + 1, state);
}

int
uroce_telemetry_qps(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	const struct uroce_device *dev = &port->dev;
	const uint64_t slots = UINT64_C(1) << dev->qps.log2;
	struct uroce_telemetry_page page;
	uint64_t from, count = 0;
	uint32_t state;

	if (page_parse(argument, slots - 1, &from, &state) != 0)
		return -EINVAL;
	if (uroce_telemetry_page_begin(&page) != 0)
		return -ENOMEM;
	uroce_rcu_watch_begin();
	for (uint64_t slot = 0; slot < slots; slot++) {
		const struct uroce_qp *qp = qp_at(dev, slot);

		if (qp == NULL ||
		    (state != ANY_STATE && __atomic_load_n(&qp->state, __ATOMIC_RELAXED) != state))
			continue;
		count++;
		if (slot >= from && page.next == UINT64_MAX)
			uroce_telemetry_page_add(&page, slot, qp->ibv.qp_num);
	}
	uroce_rcu_watch_end();
	uroce_telemetry_page_end(&page, "qps", count, d);
	return 0;
}

/* The QPs with the highest values so far, in descending order. */
struct top {
	unsigned int n;
	struct {
		uint32_t qpn;
		uint32_t value;
	} entries[UROCE_TELEMETRY_TOP];
};

static void
top_add(struct top *top, uint32_t qpn, uint32_t value)
{
	unsigned int i = RTE_MIN(top->n, (unsigned int)UROCE_TELEMETRY_TOP - 1);

	if (value == 0 || (top->n == UROCE_TELEMETRY_TOP && value <= top->entries[i].value))
		return;
	for (; i > 0 && top->entries[i - 1].value < value; i--)
		top->entries[i] = top->entries[i - 1];
	top->entries[i].qpn = qpn;
	top->entries[i].value = value;
	top->n += top->n < UROCE_TELEMETRY_TOP;
}

/* Parse the name of a QP's counter. @return 0 or -EINVAL */
static int
counter_parse(const char *argument, unsigned int *counter)
{
	*counter = UROCE_QP_RETRANSMITTED;
	if (argument == NULL)
		return 0;
	for (*counter = 0; *counter < UROCE_QP_COUNTER_COUNT; ++*counter)
		if (strcmp(argument, uroce_qp_counter_names[*counter]) == 0)
			return 0;
	return -EINVAL;
}

static int
top_report(const struct top *top, const char *name, struct rte_tel_data *d)
{
	struct rte_tel_data *qpns = rte_tel_data_alloc(), *values = rte_tel_data_alloc();

	if (qpns == NULL || values == NULL) {
		rte_tel_data_free(qpns);
		rte_tel_data_free(values);
		return -ENOMEM;
	}
	rte_tel_data_start_array(qpns, RTE_TEL_U64_VAL);
	rte_tel_data_start_array(values, RTE_TEL_U64_VAL);
	for (unsigned int i = 0; i < top->n; i++) {
		rte_tel_data_add_array_uint(qpns, top->entries[i].qpn);
		rte_tel_data_add_array_uint(values, top->entries[i].value);
	}
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_container(d, "qps", qpns, 0);
	rte_tel_data_add_dict_container(d, name, values, 0);
	return 0;
}

int
uroce_telemetry_top(struct uroce_port *port, const char *argument, struct rte_tel_data *d)
{
	const struct uroce_device *dev = &port->dev;
	struct top top = { .n = 0 };
	unsigned int counter;

	if (counter_parse(argument, &counter) != 0)
		return -EINVAL;
	uroce_rcu_watch_begin();
	for (uint64_t slot = 0; slot < UINT64_C(1) << dev->qps.log2; slot++) {
		const struct uroce_qp *qp = qp_at(dev, slot);

		if (qp != NULL)
			top_add(&top, qp->ibv.qp_num,
				__atomic_load_n(&qp->history.counters[counter], __ATOMIC_RELAXED));
	}
	uroce_rcu_watch_end();
	return top_report(&top, uroce_qp_counter_names[counter], d);
}
