/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The options of uroce-rping: its command line after the `--`.
 */

#ifndef UROCE_RPING_OPTIONS_H
#define UROCE_RPING_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <uroce_config.h>

enum rping_role {
	RPING_BOTH, /* both ends in this process */
	RPING_SERVER,
	RPING_CLIENT,
};

struct rping_options {
	enum rping_role role;
	struct sockaddr_storage addr;   /* -a and -p: the server's */
	struct sockaddr_storage source; /* -I; family 0: none */
	bool addr_given;
	uint16_t port;
	uint32_t size;  /* bytes of a ping */
	uint32_t count; /* 0: no limit */
	bool verbose;
	bool validate;
	bool debug;
	bool persistent;
	bool own_qp;
	bool help;
	bool version;
	const char *limits; /* of workers and ports; NULL: the defaults */
	int64_t fault; /* the server spoils this ping; -1: none */
	const char *addrs[UROCE_APP_MAX_ADDRESSES];
	unsigned int nb_addrs;
};

/**
 * Parse the arguments after EAL's, argv[0] being the program. Strings stay argv's.
 *
 * @param error	set to the error and its remedy when -EINVAL is returned
 */
int uroce_rping_options_parse(struct rping_options *o, int argc, char **argv, char *error,
			      size_t error_room);

/** Is this an option of uroce-rping that EAL does not have? */
bool uroce_rping_options_has(const char *arg);

#endif /* UROCE_RPING_OPTIONS_H */
