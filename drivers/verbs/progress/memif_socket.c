/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Prepares the sockets of net_memif ports before EAL starts: removes sockets without a listener, and waits for the
 * sockets of other processes. A net_memif server leaves its socket behind when it exits, and does not start if the
 * socket exists: the second program of a script would have no port. A client connects when its port starts or never,
 * but the other process may open its port later: a server may first wait for a client on TCP. Runs on the thread that
 * starts EAL.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "progress/memif_socket.h"
#include "uroce_config.h"

#define VDEV "--vdev="
#define MEMIF "net_memif"
#define SOCKET ",socket="

/* Get the server socket of an EAL argument, with or without --vdev=. @return false: the argument names no net_memif
 * server with a socket in the file system, or the path is too long */
static bool
server_of(const char *arg, struct sockaddr_un *address)
{
	const char *name = strstr(arg, SOCKET);
	size_t bytes;

	if (strncmp(arg, VDEV, strlen(VDEV)) == 0)
		arg += strlen(VDEV);
	if (strncmp(arg, MEMIF, strlen(MEMIF)) != 0 || strstr(arg, ",role=server") == NULL ||
	    strstr(arg, ",socket-abstract=no") == NULL || name == NULL)
		return false;
	name += strlen(SOCKET);
	bytes = strcspn(name, ",");
	if (bytes == 0 || bytes >= sizeof(address->sun_path))
		return false;
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path, name, bytes);
	return true;
}

/* @return 0: the process is in another PID namespace */
static pid_t
listener(int fd)
{
	struct ucred peer = { .pid = 0 };
	socklen_t bytes = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 ? peer.pid : 0;
}

/* Connect to the socket, and disconnect. @return 0, and the listener's ID; or the error: ECONNREFUSED if no process
 * listens */
static int
probe(const struct sockaddr_un *address, pid_t *pid)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int ret = 0;

	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0)
		*pid = listener(fd);
	else
		ret = errno;
	close(fd);
	return ret;
}

pid_t
uroce_memif_socket_remove(const char *arg)
{
	struct sockaddr_un address;
	pid_t pid = -1;
	struct stat st;

	if (!server_of(arg, &address) || lstat(address.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return -1;
	if (probe(&address, &pid) == ECONNREFUSED)
		unlink(address.sun_path);
	return pid;
}

/* A socket without a listener is that of a process that has exited, or does not listen yet. */
static bool
is_there(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;
	pid_t pid;
	int ret;

	if (stat(path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return false;
	memcpy(address.sun_path, path, strlen(path));
	ret = probe(&address, &pid);
	return ret != ECONNREFUSED && ret != ENOENT;
}

bool
uroce_memif_sockets_wait(const char *paths, unsigned int limit_ms)
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
