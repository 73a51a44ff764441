/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A table of features: for each, a field of the world's configuration and the value that disables it. The delay cannot
 * be disabled: without it, an end that never stops would not advance the clock.
 */

#include "without.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "world.h"

#define POOL_MBUFS 1023

#define FIELD(member) offsetof(struct world_conf, member), sizeof(((struct world_conf *)NULL)->member)

static const struct feature {
	const char *name;
	size_t offset;
	size_t bytes;
	uint64_t without;
} features[] = {
	{ "loss", FIELD(link.netem.loss), 0 },
	{ "burst", FIELD(link.netem.burst), 1 },
	{ "dup", FIELD(link.netem.dup), 0 },
	{ "reorder", FIELD(link.netem.reorder), 0 },
	{ "corrupt", FIELD(link.netem.corrupt), 0 },
	{ "truncate", FIELD(link.truncate), 0 },
	{ "ecn", FIELD(link.netem.ecn), 0 },
	{ "jitter", FIELD(link.netem.jitter_ns), 0 },
	{ "rate", FIELD(link.wire.rate), 0 },
	{ "switch", FIELD(link.switched), 0 },
	{ "rx-limit", FIELD(link.rx_frames), 0 },
	{ "quantum", FIELD(link.quantum_ns), 1 },
	{ "split", FIELD(split), 0 },
	{ "vlan", FIELD(vlan), 0 },
	{ "ipv6", FIELD(ipv6), 0 },
	{ "hold", FIELD(hold_ns), 0 },
	{ "short-bursts", FIELD(send_burst), UROCE_BURST },
	{ "small-pools", FIELD(pool_mbufs), POOL_MBUFS },
};

static uint32_t off; /* bit per feature */

bool
without_parse(const char *list)
{
	size_t length;
	unsigned int i;

	for (;; list += length + 1) {
		length = strcspn(list, ",");
		for (i = 0; i < RTE_DIM(features); i++)
			if (strlen(features[i].name) == length &&
			    memcmp(features[i].name, list, length) == 0)
				break;
		if (i == RTE_DIM(features))
			return false;
		off |= 1u << i;
		if (list[length] == '\0')
			return true;
	}
}

/* A field is set to the first bytes of the value, so the host must be little-endian. */
static_assert(RTE_BYTE_ORDER == RTE_LITTLE_ENDIAN, "without.c");

void
without_apply(struct world_conf *c)
{
	for (unsigned int i = 0; i < RTE_DIM(features); i++)
		if ((off >> i & 1) != 0)
			memcpy((uint8_t *)c + features[i].offset, &features[i].without, features[i].bytes);
}

void
without_print(const struct world_conf *c)
{
	const char *before = "did: features ";

	for (unsigned int i = 0; i < RTE_DIM(features); i++) {
		if (memcmp((const uint8_t *)c + features[i].offset, &features[i].without,
			   features[i].bytes) == 0)
			continue;
		printf("%s%s", before, features[i].name);
		before = ",";
	}
	printf("%s\n", *before == 'd' ? "did: features none" : "");
}
