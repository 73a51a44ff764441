/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The command line of uroce-nvmf after the `--`.
 */

#ifndef UROCE_NVMF_OPTIONS_H
#define UROCE_NVMF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/secret.h"
#include "nvme.h"
#include "uroce_config.h"

struct nvmf_options {
	const char *addrs[UROCE_APP_MAX_ADDRESSES];
	unsigned int nb_addrs;
	const char *namespaces[UROCE_NVMF_MAX_NAMESPACES];
	unsigned int nb_namespaces;
	struct nvmf_host hosts[UROCE_NVMF_MAX_HOSTS];
	unsigned int nb_hosts;
	uint8_t dh_group;	/* enum auth_group: the weakest that is accepted */
	const char *nqn;
	uint16_t port;
	unsigned int queues;
	const char *limits; /* of workers and the port; NULL: the defaults */
	bool read_only;
	bool share_memory; /* as in struct uroce_port_conf */
	bool help;
	bool version;
};

/** @return 0 or -EINVAL, with a message in error */
int uroce_nvmf_options_parse(struct nvmf_options *o, int argc, char **argv, char *error, size_t error_room);

#endif /* UROCE_NVMF_OPTIONS_H */
