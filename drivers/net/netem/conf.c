/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses and checks the text of an impairment. Any thread.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_common.h>
#include <rte_kvargs.h>

#include "base/dpdk_compat.h"
#include "model.h"
#include "uroce_config.h"
#include "uroce_netem.h"

#define MAX_DELAY_NS 10e9

struct parse {
	struct uroce_netem_conf *conf;
	char *error;
	unsigned int room;
};

static int wrong(struct parse *p, const char *format, ...) __rte_format_printf(2, 3);

static int
wrong(struct parse *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->error, p->room, format, args);
	va_end(args);
	return -EINVAL;
}

static int
parse_share(struct parse *p, const char *key, const char *text, uint32_t *share)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= 0 && value <= 1))
		return wrong(p, "%s=%s: give a share from 0 to 1, as %s=0.01", key, text, key);
	*share = (uint32_t)(value * UINT32_MAX + 0.5);
	if (value > 0 && *share == 0)
		*share = 1;
	return 0;
}

static int
parse_time(struct parse *p, const char *key, const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1e3 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *end;
	double value = strtod(text, &end);

	for (unsigned int i = 0; i < RTE_DIM(units) && end != text; i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (!(value >= 0 && value * units[i].ns <= MAX_DELAY_NS))
			break;
		*ns = (uint64_t)(value * units[i].ns);
		return 0;
	}
	return wrong(p, "%s=%s: give a time up to 10s, as %s=100us or %s=1.5ms", key, text, key, key);
}

static int
parse_count(struct parse *p, const char *key, const char *text, uint64_t max, uint64_t *count)
{
	char *end;

	errno = 0;
	*count = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || *count < 1 || *count > max)
		return wrong(p, "%s=%s: give a number from 1 to %llu", key, text, (unsigned long long)max);
	return 0;
}

static int
parse_pair(const char *key, const char *text, void *arg)
{
	struct parse *p = arg;
	struct uroce_netem_conf *c = p->conf;
	uint64_t count = 0;
	int ret;

	if (text == NULL)
		return wrong(p, "%s has no value: give it as %s=VALUE", key, key);
	if (strcmp(key, "loss") == 0)
		return parse_share(p, key, text, &c->loss);
	if (strcmp(key, "reorder") == 0)
		return parse_share(p, key, text, &c->reorder);
	if (strcmp(key, "dup") == 0)
		return parse_share(p, key, text, &c->dup);
	if (strcmp(key, "corrupt") == 0)
		return parse_share(p, key, text, &c->corrupt);
	if (strcmp(key, "ecn") == 0)
		return parse_share(p, key, text, &c->ecn);
	if (strcmp(key, "delay") == 0)
		return parse_time(p, key, text, &c->delay_ns);
	if (strcmp(key, "jitter") == 0)
		return parse_time(p, key, text, &c->jitter_ns);
	if (strcmp(key, "late") == 0)
		return parse_time(p, key, text, &c->late_ns);
	if (strcmp(key, "seed") == 0)
		return parse_count(p, key, text, UINT64_MAX, &c->seed);
	if (strcmp(key, "burst") == 0) {
		ret = parse_count(p, key, text, UROCE_NETEM_MAX_BURST, &count);
		c->burst = (uint32_t)count;
		return ret;
	}
	ret = parse_count(p, key, text, UROCE_NETEM_MAX_LIMIT, &count);
	c->limit = (uint32_t)count;
	return ret;
}

/* @return 0, or -EINVAL: a key has two values */
static int
check_once(struct parse *p, const struct rte_kvargs *list)
{
	for (unsigned int i = 0; i < list->count; i++) {
		const char *key = list->pairs[i].key;

		if (rte_kvargs_count(list, key) > 1)
			return wrong(p, "%s is given more than once", key);
	}
	return 0;
}

int
uroce_netem_conf_parse(struct uroce_netem_conf *conf, const char *text, char *error, unsigned int room)
{
	static const char *const keys[] = {
		"loss", "burst", "reorder", "dup", "corrupt", "ecn", "delay", "jitter", "late", "limit", "seed", NULL,
	};
	struct parse p = { .conf = conf, .error = error, .room = room };
	struct rte_kvargs *list;
	int ret;

	*conf = (struct uroce_netem_conf){ .burst = 1, .limit = UROCE_NETEM_LIMIT,
					 .late_ns = UROCE_NETEM_REORDER_NS, .seed = 1 };
	list = rte_kvargs_parse(text, keys);
	if (list != NULL && list->count == 0) {
		rte_kvargs_free(list);
		list = NULL;
	}
	if (list == NULL)
		return wrong(&p, "'%s' is not a list of loss=, burst=, reorder=, dup=, corrupt=, ecn=, delay=, "
			     "jitter=, late=, limit= and seed=, separated by commas", text);
	error[0] = '\0';
	ret = check_once(&p, list);
	if (ret == 0)
		ret = rte_kvargs_process_opt(list, NULL, parse_pair, &p) == 0 ? 0 : -EINVAL;
	rte_kvargs_free(list);
	if (ret != 0 && error[0] == '\0')
		return wrong(&p, "'%s' is not an impairment", text);
	return ret;
}

int
uroce_netem_check(const char *impairment, char *error, unsigned int error_room)
{
	struct uroce_netem_conf conf;

	return -uroce_netem_conf_parse(&conf, impairment, error, error_room);
}
