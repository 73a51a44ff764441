/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses the command line of uroce-nvmf after the `--`. main() calls this before EAL starts, so that a wrong argument is
 * reported at once.
 */

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "address.h"
#include "auth/crypto.h"
#include "conf.h"
#include "options.h"
#include "program.h"

const char uroce_app_name[] = "uroce-nvmf";

const char uroce_app_both_ends[] = "";

struct parse {
	struct nvmf_options *o;
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
add(const struct parse *p, const char *option, const char *arg, const char **list, unsigned int *n, unsigned int most)
{
	if (*n == most)
		return wrong(p, "%s %s: there are more than %u: leave this one out", option, arg, most);
	list[(*n)++] = arg;
	return 0;
}

static int
add_addr(const struct parse *p, const char *arg)
{
	union ibv_gid gid;

	if (uroce_app_cidr_parse(arg, &gid) != 0)
		return wrong(p, "--addr %s: use an IP address with its prefix length, e.g. 10.0.0.1/24 or fd00::1/64",
			     arg);
	return add(p, "--addr", arg, p->o->addrs, &p->o->nb_addrs, RTE_DIM(p->o->addrs));
}

static int
check_nqn(const struct parse *p, const char *option, const char *arg)
{
	if (strncmp(arg, "nqn.", 4) != 0 || strlen(arg) > NVME_NQN_MAX)
		return wrong(p, "%s %s: use an NVMe qualified name of at most %u characters, e.g. "
			     "nqn.2026-11.org.example:disk",
			     option, arg, NVME_NQN_MAX);
	return 0;
}

static int
add_host(const struct parse *p, const char *arg)
{
	struct nvmf_options *o = p->o;
	int ret = check_nqn(p, "--allow-host", arg);

	if (ret != 0)
		return ret;
	for (unsigned int i = 0; i < o->nb_hosts; i++)
		if (strcmp(o->hosts[i].nqn, arg) == 0) /* the keys of only one would count */
			return wrong(p, "--allow-host %s: it is given twice: leave one out", arg);
	if (o->nb_hosts == RTE_DIM(o->hosts))
		return wrong(p, "--allow-host %s: there are more than %u: leave this one out", arg, o->nb_hosts);
	o->hosts[o->nb_hosts++].nqn = arg;
	return 0;
}

/* A secret in a file is not shown by ps(1). */
static int
read_secret(const struct parse *p, const char *option, const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "r");
	bool read = f != NULL && fgets(text, (int)room, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (!read)
		return wrong(p, "%s @%s: cannot read the file, or it is empty", option, path);
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

/* @param offset	of the secret in the host of the last --allow-host */
static int
set_key(const struct parse *p, const char *option, const char *arg, size_t offset)
{
	struct nvmf_options *o = p->o;
	char text[256];
	int ret = 0;

	if (o->nb_hosts == 0)
		return wrong(p, "%s: it belongs to a host: put --allow-host before it", option);
	snprintf(text, sizeof(text), "%s", arg);
	if (arg[0] == '@')
		ret = read_secret(p, option, arg + 1, text, sizeof(text));
	if (ret == 0 && uroce_nvmf_secret_parse(text, RTE_PTR_ADD(&o->hosts[o->nb_hosts - 1], offset)) != 0)
		ret = wrong(p, "%s: this is no secret: use the output of nvme gen-dhchap-key, DHHC-1:...:, or @FILE", option);
	return ret;
}

static int
set_group(const struct parse *p, const char *arg)
{
	for (uint8_t group = 0; group < AUTH_GROUPS; group++)
		if (strcmp(arg, uroce_nvmf_group_name(group)) == 0) {
			p->o->dh_group = group;
			return 0;
		}
	return wrong(p, "--dh-group %s: use null, ffdhe2048, ffdhe3072, ffdhe4096, ffdhe6144 or ffdhe8192", arg);
}

static int
set_number(const struct parse *p, const char *option, const char *arg, uint64_t max, uint64_t *value)
{
	if (uroce_app_number_parse(arg, 1, max, value) != 0)
		return wrong(p, "%s %s: use a number from 1 to %llu", option, arg, (unsigned long long)max);
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
	OPT_PORT,
	OPT_NAMESPACE,
	OPT_NQN,
	OPT_ALLOW_HOST,
	OPT_HOST_KEY,
	OPT_CTRL_KEY,
	OPT_DH_GROUP,
	OPT_READ_ONLY,
	OPT_QUEUES,
	OPT_SHARE_MEMORY,
	OPT_LIMITS,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "addr", required_argument, NULL, OPT_ADDR },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "namespace", required_argument, NULL, OPT_NAMESPACE },
	{ "nqn", required_argument, NULL, OPT_NQN },
	{ "allow-host", required_argument, NULL, OPT_ALLOW_HOST },
	{ "host-key", required_argument, NULL, OPT_HOST_KEY },
	{ "ctrl-key", required_argument, NULL, OPT_CTRL_KEY },
	{ "dh-group", required_argument, NULL, OPT_DH_GROUP },
	{ "read-only", no_argument, NULL, OPT_READ_ONLY },
	{ "queues", required_argument, NULL, OPT_QUEUES },
	{ "share-memory", no_argument, NULL, OPT_SHARE_MEMORY },
	{ "limits", required_argument, NULL, OPT_LIMITS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int
set_option(const struct parse *p, int option, const char *arg)
{
	struct nvmf_options *o = p->o;
	uint64_t value = 0;
	int ret;

	switch (option) {
	case OPT_ADDR: return add_addr(p, arg);
	case OPT_NAMESPACE:
		return add(p, "--namespace", arg, o->namespaces, &o->nb_namespaces, RTE_DIM(o->namespaces));
	case OPT_NQN: o->nqn = arg; return check_nqn(p, "--nqn", arg);
	case OPT_ALLOW_HOST: return add_host(p, arg);
	case OPT_HOST_KEY: return set_key(p, "--host-key", arg, offsetof(struct nvmf_host, host_key));
	case OPT_CTRL_KEY: return set_key(p, "--ctrl-key", arg, offsetof(struct nvmf_host, ctrl_key));
	case OPT_DH_GROUP: return set_group(p, arg);
	case OPT_PORT:
		ret = set_number(p, "--port", arg, UINT16_MAX, &value);
		o->port = (uint16_t)value;
		return ret;
	case OPT_QUEUES:
		ret = set_number(p, "--queues", arg, UROCE_NVMF_MAX_QUEUES - 1, &value);
		o->queues = (unsigned int)value;
		return ret;
	case OPT_LIMITS: return set_limits(p, arg);
	case OPT_READ_ONLY: o->read_only = true; return 0;
	case OPT_SHARE_MEMORY: o->share_memory = true; return 0;
	case OPT_HELP: o->help = true; return 0;
	default: o->version = true; return 0;
	}
}

static int
check_together(const struct parse *p)
{
	const struct nvmf_options *o = p->o;

	if (o->help || o->version)
		return 0;
	if (o->nb_addrs == 0)
		return wrong(p, "the port needs an address: add --addr IP/PREFIX, e.g. --addr 10.0.0.1/24");
	if (o->nb_namespaces == 0)
		return wrong(p, "there is nothing to serve: add --namespace FILE, or --namespace ram:1G");
	for (unsigned int i = 0; i < o->nb_hosts; i++)
		if (o->hosts[i].ctrl_key.bytes != 0 && o->hosts[i].host_key.bytes == 0)
			return wrong(p, "--ctrl-key of %s: the host authenticates first: add --host-key", o->hosts[i].nqn);
	return 0;
}

int
uroce_nvmf_options_parse(struct nvmf_options *o, int argc, char **argv, char *error, size_t error_room)
{
	struct parse p = { .o = o, .error = error, .room = error_room };
	int option, at = 1, ret = 0;

	memset(o, 0, sizeof(*o));
	o->nqn = "nqn.2026-11.org.uroce:target";
	o->port = UROCE_NVMF_PORT;
	o->queues = UROCE_NVMF_IO_QUEUES;
	o->dh_group = AUTH_FFDHE2048;
	opterr = 0;
	optind = 0; /* glibc: start again, EAL may have used getopt */
	for (; ret == 0 && (option = getopt_long(argc, argv, "+:", long_options, NULL)) != -1; at = optind) {
		if (option == ':')
			ret = wrong(&p, "%s needs a value: see --help", argv[at]);
		else if (option == '?')
			ret = wrong(&p, "%s is not an option, or takes no value: see --help; EAL arguments go before a --",
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
