/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The switch's directory. Main thread.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <uroce_config.h>

#include "dir.h"

/* @return 0 or -ENAMETOOLONG */
static int
join(char to[PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(to, PATH_MAX, "%s/%s", dir, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int
name_own(struct switch_dir *d)
{
	const char *given = getenv("UROCE_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");
	int n;

	if (given != NULL && given[0] != '\0')
		return snprintf(d->path, sizeof(d->path), "%s", given) < PATH_MAX ? 0 : -ENAMETOOLONG;
	if (runtime != NULL && runtime[0] == '/')
		return join(d->path, runtime, "uroce");
	if (geteuid() == 0)
		n = snprintf(d->path, sizeof(d->path), "/run/uroce");
	else
		n = snprintf(d->path, sizeof(d->path), "/tmp/uroce-%u", (unsigned int)geteuid());
	return n < 0 ? -EINVAL : 0;
}

/* In /tmp anybody could have made it, to sit between the processes. */
static int
make(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) != 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) != 0)
		return -errno;
	if (!S_ISDIR(st.st_mode))
		return -ENOTDIR;
	return st.st_uid == geteuid() ? 0 : -EACCES;
}

/* Who wants to know whether there is a switch has the lock for a moment. */
static int
take_lock(int fd)
{
	const struct timespec nap = { .tv_nsec = UROCE_SWITCH_LOCK_NAP_NS };

	for (unsigned int i = 0; flock(fd, LOCK_EX | LOCK_NB) != 0; i++) {
		if (errno != EWOULDBLOCK)
			return -errno;
		if (i == UROCE_SWITCH_LOCK_NAPS)
			return -EBUSY;
		nanosleep(&nap, NULL);
	}
	return 0;
}

int
uroce_switch_dir_take(struct switch_dir *d, const char *path)
{
	char lock[PATH_MAX], ports[PATH_MAX];
	int ret = 0;

	if (path == NULL)
		ret = name_own(d);
	else if (snprintf(d->path, sizeof(d->path), "%s", path) >= PATH_MAX)
		ret = -ENAMETOOLONG;
	if (ret == 0)
		ret = join(d->socket, d->path, "memif");
	if (ret == 0)
		ret = join(lock, d->path, "lock");
	if (ret == 0)
		ret = join(ports, d->path, "ports");
	if (ret == 0 && strpbrk(d->path, ", \t\n") != NULL)
		ret = -EINVAL;
	if (ret == 0 && strlen(d->socket) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		ret = -ENAMETOOLONG;
	if (ret == 0)
		ret = make(d->path);
	if (ret != 0)
		return ret;
	d->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (d->lock < 0)
		return -errno;
	ret = take_lock(d->lock);
	if (ret != 0) {
		close(d->lock);
		return ret;
	}
	unlink(ports);
	unlink(d->socket);
	return 0;
}

int
uroce_switch_dir_open(const struct switch_dir *d, unsigned int ports)
{
	char path[PATH_MAX];
	int ret = join(path, d->path, "ports");
	FILE *f;

	if (ret != 0)
		return ret;
	f = fopen(path, "wxe"); /* there was none: who else may write here has none of our files emptied by a link */
	if (f == NULL)
		return -errno;
	ret = fprintf(f, "%u\n", ports) < 0 ? -EIO : 0;
	return fclose(f) == 0 ? ret : -errno;
}

void
uroce_switch_dir_release(struct switch_dir *d)
{
	char path[PATH_MAX];

	if (join(path, d->path, "ports") == 0)
		unlink(path);
	unlink(d->socket);
	close(d->lock);
}
