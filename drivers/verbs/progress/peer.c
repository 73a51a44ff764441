/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Waits for the sockets of the other processes before EAL starts, since a net_memif client connects at its start or
 * never. The other process may open its port later than this one: a server may wait for a client on TCP first. The
 * thread that starts EAL.
 */

#include <stddef.h>
#include <string.h>
#include <time.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "progress/peer.h"
#include "uroce_config.h"

static bool
is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

bool
uroce_peer_wait(const char *paths, unsigned int limit_ms)
{
	const struct timespec step = { .tv_nsec = UROCE_VERBS_PEER_STEP_MS * 1000000L };
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	unsigned int waited_ms = 0;

	while (paths != NULL && paths[0] != '\0') {
		size_t bytes = strcspn(paths, ",");

		if (bytes >= sizeof(path))
			return false;
		memcpy(path, paths, bytes);
		path[bytes] = '\0';
		for (; bytes != 0 && !is_there(path); waited_ms += UROCE_VERBS_PEER_STEP_MS) {
			if (waited_ms >= limit_ms)
				return false;
			nanosleep(&step, NULL);
		}
		paths += bytes + (paths[bytes] == ',');
	}
	return true;
}
