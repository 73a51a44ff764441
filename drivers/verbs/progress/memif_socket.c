/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Removes a memif socket that no process listens at, before EAL starts. A net_memif server leaves its socket when
 * it ends, and does not start if the socket exists: the second program of a script would have no port. The thread
 * that starts EAL.
 */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "progress/memif_socket.h"

#define VDEV "--vdev="
#define MEMIF "net_memif"
#define SOCKET ",socket="

/* Of --vdev, which may have been a word of its own. @return false: it has none in the file system, or one whose name is too long to be any */
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

pid_t
uroce_memif_socket_remove(const char *arg)
{
	struct sockaddr_un address;
	pid_t pid = -1;
	struct stat st;
	int fd;

	if (!server_of(arg, &address) || lstat(address.sun_path, &st) != 0 || !S_ISSOCK(st.st_mode))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		pid = listener(fd);
	else if (errno == ECONNREFUSED)
		unlink(address.sun_path);
	close(fd);
	return pid;
}
