/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Makes sure that no other process has the ports that this process is about to open, and that the other processes of
 * its pairs are ready. On the progress thread.
 */

#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "eal_claim.h"
#include "eal_ports.h"
#include "progress/holder.h"
#include "progress/memif_socket.h"
#include "uroce_config.h"

#define ALREADY \
	"already uses this port, and a port serves one process: use RDMA in one of the two only, or start this one " \
	"by uroce-run with a port of its own, e.g. --peer NAME"

/* @return true: the port cannot be shared. A net_memif peer accepts one process; with other drivers both get frames. */
static bool
parent_has_port(const char *args)
{
	const pid_t pid = uroce_holder_ancestor(args);
	char name[UROCE_VERBS_PATH_BYTES];

	if (pid == 0)
		return false;
	uroce_holder_name(pid, name, sizeof(name));
	uroce_complain("process %d (%s), an ancestor of this one, " ALREADY, (int)pid, name);
	return strstr(args, "net_memif") != NULL;
}

/* Is this a net_memif port on whose socket another process listens? */
static bool
is_taken(const char *device)
{
	const pid_t pid = uroce_memif_socket_remove(device);
	char name[UROCE_VERBS_PATH_BYTES];

	if (pid < 0)
		return false;
	uroce_holder_name(pid, name, sizeof(name));
	if (pid == 0)
		uroce_complain("%s: another process " ALREADY, device);
	else
		uroce_complain("%s: process %d (%s) " ALREADY, device, (int)pid, name);
	return true;
}

bool
uroce_eal_claim(const char *given)
{
	char *device;

	if (parent_has_port(given))
		return false;
	if (!uroce_memif_sockets_wait(getenv("UROCE_PEER"), UROCE_VERBS_PEER_WAIT_MS)) {
		uroce_complain("the other process of the pair has not opened its port, %s, within %u s: check that it "
			       "runs and uses RDMA", getenv("UROCE_PEER"), UROCE_VERBS_PEER_WAIT_MS / 1000);
		return false;
	}
	while ((device = uroce_eal_ports_next(&given)) != NULL) {
		const bool taken = is_taken(device);

		free(device);
		if (taken)
			return false;
	}
	return true;
}
