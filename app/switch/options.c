/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Parses the options of uroce-switch. main() calls this before EAL starts, so that a wrong argument is reported at
 * once.
 */

#include <errno.h>
#include <getopt.h>
#include <stdio.h>

#include <uroce_config.h>

#include "address.h"
#include "options.h"
#include "program.h"

const char uroce_app_name[] = "uroce-switch";

const char uroce_app_both_ends[] = "use --ports";

enum { OPT_DIR = 1, OPT_PORTS, OPT_BUSY, OPT_HELP, OPT_VERSION };

static const struct option table[] = {
	{ "dir", required_argument, NULL, OPT_DIR },
	{ "ports", required_argument, NULL, OPT_PORTS },
	{ "busy", no_argument, NULL, OPT_BUSY },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

int
uroce_switch_options_parse(struct switch_options *o, int argc, char **argv, char *error, size_t room)
{
	uint64_t value;
	int c;

	*o = (struct switch_options){ .ports = UROCE_SWITCH_DEFAULT_PORTS };
	optind = 0;
	/* argv[at] is the argument in question: optind is not always just behind it */
	for (int at = 1; (c = getopt_long(argc, argv, "+:", table, NULL)) != -1; at = optind) {
		switch (c) {
		case OPT_DIR: o->dir = optarg; break;
		case OPT_BUSY: o->busy = true; break;
		case OPT_HELP: o->action = SWITCH_HELP; return 0;
		case OPT_VERSION: o->action = SWITCH_VERSION; return 0;
		case OPT_PORTS:
			if (uroce_app_number_parse(optarg, 0, UROCE_SWITCH_PORTS, &value) != 0) {
				snprintf(error, room, "--ports %s: use a number from 0 to %d", optarg,
					 UROCE_SWITCH_PORTS);
				return -EINVAL;
			}
			o->ports = (unsigned int)value;
			break;
		case ':': snprintf(error, room, "%s needs a value: see --help", argv[at]); return -EINVAL;
		default: snprintf(error, room, "%s is no option: see --help; EAL arguments go before a --", argv[at]); return -EINVAL;
		}
	}
	if (optind == argc)
		return 0;
	snprintf(error, room, "'%s' is no option: see --help", argv[optind]);
	return -EINVAL;
}
