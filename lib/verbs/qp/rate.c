/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Converts static rates to multiples of 2.5 Gb/s and to Mb/s, and back: ibv_rate_to_mult(3), ibv_rate_to_mbps(3).
 * Constant; any thread.
 */

#include <stddef.h>

#include <rte_common.h>

#include "uroce.h"

static const struct {
	int mult;
	int mbps;
} rates[] = {
	[IBV_RATE_2_5_GBPS] = { 1, 2500 },
	[IBV_RATE_5_GBPS] = { 2, 5000 },
	[IBV_RATE_10_GBPS] = { 4, 10000 },
	[IBV_RATE_20_GBPS] = { 8, 20000 },
	[IBV_RATE_30_GBPS] = { 12, 30000 },
	[IBV_RATE_40_GBPS] = { 16, 40000 },
	[IBV_RATE_60_GBPS] = { 24, 60000 },
	[IBV_RATE_80_GBPS] = { 32, 80000 },
	[IBV_RATE_120_GBPS] = { 48, 120000 },
	/* from here on, the lanes carry more than the nominal rate */
	[IBV_RATE_14_GBPS] = { 6, 14062 },
	[IBV_RATE_56_GBPS] = { 22, 56250 },
	[IBV_RATE_112_GBPS] = { 45, 112500 },
	[IBV_RATE_168_GBPS] = { 67, 168750 },
	[IBV_RATE_25_GBPS] = { 10, 25781 },
	[IBV_RATE_100_GBPS] = { 40, 103125 },
	[IBV_RATE_200_GBPS] = { 80, 206250 },
	[IBV_RATE_300_GBPS] = { 120, 309375 },
	[IBV_RATE_28_GBPS] = { 11, 28125 },
	[IBV_RATE_50_GBPS] = { 20, 53125 },
	[IBV_RATE_400_GBPS] = { 160, 425000 },
	[IBV_RATE_600_GBPS] = { 240, 637500 },
	[IBV_RATE_800_GBPS] = { 320, 850000 },
	[IBV_RATE_1200_GBPS] = { 480, 1275000 },
};

int
uroce_rate_to_mult(enum ibv_rate rate)
{
	return (unsigned int)rate < RTE_DIM(rates) && rates[rate].mult != 0 ? rates[rate].mult : -1;
}

int
uroce_rate_to_mbps(enum ibv_rate rate)
{
	return (unsigned int)rate < RTE_DIM(rates) && rates[rate].mbps != 0 ? rates[rate].mbps : -1;
}

enum ibv_rate
uroce_mult_to_rate(int mult)
{
	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		if (rates[i].mult == mult && mult != 0)
			return (enum ibv_rate)i;
	return IBV_RATE_MAX;
}

enum ibv_rate
uroce_mbps_to_rate(int mbps)
{
	for (unsigned int i = 0; i < RTE_DIM(rates); i++)
		if (rates[i].mbps == mbps && mbps != 0)
			return (enum ibv_rate)i;
	return IBV_RATE_MAX;
}
