/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The options of uroce-switch: its command line after the `--`.
 */

#ifndef UROCE_SWITCH_OPTIONS_H
#define UROCE_SWITCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum switch_action { SWITCH_RUN, SWITCH_HELP, SWITCH_VERSION };

struct switch_options {
	enum switch_action action;
	const char *dir;    /* NULL: the user's own */
	unsigned int ports; /* at the socket, without EAL's ports */
	bool busy;          /* never sleep */
};

/** Parse the arguments; argv[0] is skipped. @return 0; -EINVAL with a message that names the remedy */
int uroce_switch_options_parse(struct switch_options *o, int argc, char **argv, char *error, size_t room);

#endif /* UROCE_SWITCH_OPTIONS_H */
