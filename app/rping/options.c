/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses the command line of uroce-rping after the `--`. The option letters are rping's. main() calls this before EAL
 * starts, so that a wrong argument is reported at once.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "address.h"
#include "conf.h"
#include "options.h"
#include "program.h"

const char uroce_app_name[] = "uroce-rping";

const char uroce_app_both_ends[] = "leave out -s and -c";

struct parse {
	struct rping_options *o;
	char *error;
	size_t room;
};

static int wrong(const struct parse *p, const char *format, ...) __rte_format_printf(2, 3);

static int
wrong(const struct parse *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(p->error, p->room, format, args);
	va_end(args);
	return -EINVAL;
}

static int
set_host(const struct parse *p, char option, const char *arg, struct sockaddr_storage *to)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)to;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)to;

	memset(to, 0, sizeof(*to));
	if (inet_pton(AF_INET, arg, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		return 0;
	}
	if (inet_pton(AF_INET6, arg, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		return 0;
	}
	return wrong(p, "-%c %s: use an IP address, e.g. 10.0.0.1 or fd00::1", option, arg);
}

static int
set_role(const struct parse *p, enum rping_role role)
{
	if (p->o->role != RPING_BOTH && p->o->role != role)
		return wrong(p, "-s and -c exclude each other: use one of them");
	p->o->role = role;
	return 0;
}

static int
set_number(const struct parse *p, const char *option, const char *arg, uint64_t min, uint64_t max,
	   uint64_t *value)
{
	if (uroce_app_number_parse(arg, min, max, value) != 0)
		return wrong(p, "%s %s: use a number from %llu to %llu", option, arg,
			     (unsigned long long)min, (unsigned long long)max);
	return 0;
}

static int
set_addr(const struct parse *p, const char *arg)
{
	union ibv_gid gid;

	if (uroce_app_cidr_parse(arg, &gid) != 0)
		return wrong(p, "--addr %s: use an IP address with its prefix length, e.g. 10.0.0.1/24 or fd00::1/64",
			     arg);
	if (p->o->nb_addrs == UROCE_APP_MAX_ADDRESSES)
		return wrong(p, "--addr %s: there are more than %u: leave this one out", arg,
			     UROCE_APP_MAX_ADDRESSES);
	p->o->addrs[p->o->nb_addrs++] = arg;
	return 0;
}

static int
set_limits(const struct parse *p, const char *arg)
{
	char reason[256];

	p->o->limits = arg;
	return uroce_app_limits_check(arg, reason, sizeof(reason)) ? 0 : wrong(p, "--limits: %s", reason);
}

enum {
	OPT_ADDR = 256,
	OPT_LIMITS,
	OPT_FAULT,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "addr", required_argument, NULL, OPT_ADDR },
	{ "fault", required_argument, NULL, OPT_FAULT },
	{ "limits", required_argument, NULL, OPT_LIMITS },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int
set_flag(struct rping_options *o, int option)
{
	switch (option) {
	case 'v': o->verbose = true; return 0;
	case 'V': o->validate = true; return 0;
	case 'd': o->debug = true; return 0;
	case 'P': o->persistent = true; return 0;
	case 'q': o->own_qp = true; return 0;
	case 'h': o->help = true; return 0;
	case OPT_VERSION: o->version = true; return 0;
	default: return -EINVAL;
	}
}

static int
set_option(const struct parse *p, int option, const char *arg)
{
	struct rping_options *o = p->o;
	uint64_t value = 0;
	int ret;

	switch (option) {
	case 's': return set_role(p, RPING_SERVER);
	case 'c': return set_role(p, RPING_CLIENT);
	case 'a': o->addr_given = true; return set_host(p, 'a', arg, &o->addr);
	case 'I': return set_host(p, 'I', arg, &o->source);
	case OPT_ADDR: return set_addr(p, arg);
	case OPT_LIMITS: return set_limits(p, arg);
	case 'p':
		ret = set_number(p, "-p", arg, 1, UINT16_MAX, &value);
		o->port = (uint16_t)value;
		return ret;
	case 'C':
		ret = set_number(p, "-C", arg, 0, INT32_MAX, &value);
		o->count = (uint32_t)value;
		return ret;
	case 'S':
		ret = set_number(p, "-S", arg, UROCE_RPING_MIN_SIZE, UROCE_RPING_MAX_SIZE, &value);
		o->size = (uint32_t)value;
		return ret;
	case OPT_FAULT:
		ret = set_number(p, "--fault", arg, 0, INT32_MAX, &value);
		o->fault = (int64_t)value;
		return ret;
	default: return set_flag(o, option);
	}
}

/* Checks that need all options. */
static int
check_together(const struct parse *p)
{
	struct rping_options *o = p->o;

	if (o->role == RPING_CLIENT && !o->addr_given)
		return wrong(p, "-c needs the server's address: add -a ADDR, e.g. -a 10.0.0.1");
	if (o->role == RPING_CLIENT && (o->persistent || o->fault >= 0))
		return wrong(p, "-P and --fault are options of the server: leave them out with -c");
	if (o->role != RPING_CLIENT && o->source.ss_family != 0)
		return wrong(p, "-I is the client's source address: use it only with -c");
	if (o->role == RPING_BOTH && (o->persistent || o->addr_given))
		return wrong(p, "both ends run in this process: leave out -P and -a, or add -s or -c");
	if (o->source.ss_family != 0 && o->source.ss_family != o->addr.ss_family)
		return wrong(p, "-I and -a are not of one family: use two IPv4 or two IPv6 addresses");
	if (o->addr.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&o->addr)->sin6_port = htons(o->port);
	else
		((struct sockaddr_in *)&o->addr)->sin_port = htons(o->port);
	return 0;
}

int
uroce_rping_options_parse(struct rping_options *o, int argc, char **argv, char *error,
			  size_t error_room)
{
	struct parse p = { .o = o, .error = error, .room = error_room };
	int option, at = 1, ret = 0; /* argv[at] is the argument in question: optind is not always just behind it */

	memset(o, 0, sizeof(*o));
	o->addr.ss_family = AF_INET;
	o->port = UROCE_RPING_PORT;
	o->size = UROCE_RPING_SIZE;
	o->fault = -1;
	opterr = 0;
	optind = 0; /* glibc: start again, EAL may have used getopt */
	for (; ret == 0 && (option = getopt_long(argc, argv, "+:sca:I:p:C:S:vVdPqh", long_options, NULL)) != -1;
	     at = optind) {
		if (option == ':')
			ret = wrong(&p, "%s needs a value: see --help", argv[at]);
		else if (option == '?')
			ret = wrong(&p, "%s is not an option, or takes no value: see --help; "
				    "EAL arguments go before a --",
				    argv[at]);
		else
			ret = set_option(&p, option, optarg);
	}
	opterr = 1; /* let EAL's getopt report wrong arguments */
	if (ret != 0)
		return ret;
	if (optind < argc)
		return wrong(&p, "'%s' is not an option: see --help", argv[optind]);
	return check_together(&p);
}

bool
uroce_rping_options_has(const char *arg)
{
	/* EAL has -a, -c, -d, -h, -S and -v, too */
	static const char *const ours[] = { "-s", "-I", "-p", "-P", "-C", "-V", "-q", "--addr", "--fault" };

	for (unsigned int i = 0; i < RTE_DIM(ours); i++) {
		if (strncmp(arg, ours[i], strlen(ours[i])) == 0)
			return true;
	}
	return false;
}
