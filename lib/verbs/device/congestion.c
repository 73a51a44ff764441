/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Checks the parameters of a device's congestion control, fills in defaults, and replaces the device's set. Workers
 * read the set without a lock, so the old one is freed after a grace period. Control threads.
 */

#include <errno.h>
#include <string.h>

#include <rte_malloc.h>

#include "base/rcu.h"
#include "base/sized.h"
#include "uroce_config.h"
#include "verbs/device/congestion.h"
#include "wire/headers.h"

#define MAX_DSCP 63
#define WHOLE 1024		/* alpha and its gain are fractions of this */
#define LEAST_BYTES UROCE_SIZED_UP_TO(struct uroce_congestion, dce_tcp_rtt)

static bool
check_rates(const struct uroce_congestion *c)
{
	const uint32_t rates[] = { c->rpg_max_rate, c->rpg_min_rate, c->rpg_ai_rate, c->rpg_hai_rate,
				   c->rate_to_set_on_first_cnp };

	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		if (rates[i] > UROCE_CONGESTION_MAX_RATE)
			return false;
	return c->rpg_max_rate == 0 || c->rpg_min_rate <= c->rpg_max_rate;
}

static bool
check_times(const struct uroce_congestion *c)
{
	const uint32_t times[] = { c->np_min_time_between_cnps, c->rpg_time_reset, c->rate_reduce_monitor_period,
				   c->dce_tcp_rtt };

	for (unsigned int i = 0; i < RTE_DIM(times); i++)
		if (times[i] > UROCE_CONGESTION_MAX_US)
			return false;
	return true;
}

static bool
check(const struct uroce_congestion *c)
{
	if (c->off > 1 || (c->np_cnp_dscp > MAX_DSCP && c->np_cnp_dscp != UROCE_CNP_DSCP_OF_QP))
		return false;
	if (c->rpg_min_dec_fac > 100 || c->dce_tcp_g >= WHOLE || c->initial_alpha_value > WHOLE)
		return false;
	return check_rates(c) && check_times(c);
}

#define FILL(c, field, value) ((c)->field = (c)->field != 0 ? (c)->field : (value))

static void
fill(struct uroce_congestion *c)
{
	FILL(c, np_cnp_dscp, UROCE_CNP_DSCP);
	FILL(c, rpg_threshold, UROCE_RPG_THRESHOLD);
	FILL(c, rpg_min_dec_fac, UROCE_RPG_MIN_DEC_FAC);
	FILL(c, dce_tcp_g, UROCE_DCE_TCP_G);
	FILL(c, initial_alpha_value, UROCE_INITIAL_ALPHA_VALUE);
	FILL(c, np_min_time_between_cnps, UROCE_CNP_INTERVAL_US);
	FILL(c, rpg_min_rate, UROCE_RPG_MIN_RATE);
	FILL(c, rpg_ai_rate, UROCE_RPG_AI_RATE);
	FILL(c, rpg_hai_rate, UROCE_RPG_HAI_RATE);
	FILL(c, rpg_time_reset, UROCE_RPG_TIME_RESET_US);
	FILL(c, rpg_byte_reset, UROCE_RPG_BYTE_RESET);
	FILL(c, rate_reduce_monitor_period, UROCE_RATE_REDUCE_MONITOR_PERIOD_US);
	FILL(c, dce_tcp_rtt, UROCE_DCE_TCP_RTT_US);
}

/* @return 0; -EINVAL; -E2BIG; -ENOMEM */
static int
make(const struct uroce_device *dev, const struct uroce_congestion *from, struct uroce_congestion **to)
{
	struct uroce_congestion filled = { .size = sizeof(filled) };
	int ret = from == NULL ? 0 : uroce_sized_get("uroce_congestion", &filled, sizeof(filled), LEAST_BYTES, from);

	if (ret < 0)
		return ret;
	if (!check(&filled))
		return -EINVAL;
	fill(&filled);
	if (filled.rpg_max_rate != 0 && filled.rpg_min_rate > filled.rpg_max_rate)
		filled.rpg_min_rate = filled.rpg_max_rate;	/* the default exceeds the given maximum */
	*to = uroce_device_alloc(dev, "uroce_congestion", sizeof(**to));
	if (*to == NULL)
		return -ENOMEM;
	**to = filled;
	return 0;
}

/* @return the previous set */
static const struct uroce_congestion *
publish(struct uroce_device *dev, const struct uroce_congestion *congestion)
{
	const struct uroce_congestion *old = dev->congestion;

	__atomic_store_n(&dev->ecn_capable, !congestion->off, __ATOMIC_RELAXED);
	/* pairs with the acquire in uroce_congestion_of() */
	__atomic_store_n(&dev->congestion, congestion, __ATOMIC_RELEASE);
	return old;
}

int
uroce_congestion_init(struct uroce_device *dev, const struct uroce_congestion *congestion)
{
	struct uroce_congestion *made;
	int ret = make(dev, congestion, &made);

	if (ret == 0)
		publish(dev, made);
	return ret;
}

void
uroce_congestion_fini(struct uroce_device *dev)
{
	rte_free((void *)(uintptr_t)dev->congestion);
	dev->congestion = NULL;
}

void
uroce_congestion_mark(const struct uroce_device *dev, struct uroce_path *path)
{
	uint8_t traffic_class = uroce_template_traffic_class(&path->headers);

	if (__atomic_load_n(&dev->ecn_capable, __ATOMIC_RELAXED) && (traffic_class & UROCE_ECN_MASK) == 0)
		uroce_template_set_traffic_class(&path->headers, traffic_class | UROCE_ECN_ECT0);
}

int
uroce_set_congestion(struct ibv_context *context, const struct uroce_congestion *congestion)
{
	struct uroce_device *dev = uroce_device_of(context);
	const struct uroce_congestion *old;
	struct uroce_congestion *made;
	int ret = make(dev, congestion, &made);

	if (ret != 0)
		return -ret;
	pthread_mutex_lock(&dev->lock);
	old = publish(dev, made);
	pthread_mutex_unlock(&dev->lock);
	uroce_rcu_wait();
	rte_free((void *)(uintptr_t)old);
	return 0;
}

int
uroce_get_congestion(struct ibv_context *context, struct uroce_congestion *congestion)
{
	struct uroce_device *dev = uroce_device_of(context);
	struct uroce_congestion own;

	pthread_mutex_lock(&dev->lock);
	own = *dev->congestion;
	pthread_mutex_unlock(&dev->lock);
	return -uroce_sized_put("uroce_congestion", &own, sizeof(own), LEAST_BYTES, congestion);
}
