/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Creates and locks the switch's directory. Main thread.
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

	return n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* A path that is truncated here is too long for its files: join() refuses it. */
static void
name_own(char path[PATH_MAX])
{
	const char *given = getenv("UROCE_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (given != NULL && given[0] != '\0')
		snprintf(path, PATH_MAX, "%s", given);
	else if (runtime != NULL && runtime[0] == '/')
		snprintf(path, PATH_MAX, "%s/uroce", runtime);
	else if (geteuid() == 0)
		snprintf(path, PATH_MAX, "/run/uroce");
	else
		snprintf(path, PATH_MAX, "/tmp/uroce-%u", (unsigned int)geteuid());
}

/* In /tmp, another user may have made the directory to intercept the processes. */
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

/* A process that checks for a switch holds the lock for a moment. */
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
	char lock[PATH_MAX];
	int ret;

	if (path == NULL)
		name_own(d->path);
	else
		snprintf(d->path, sizeof(d->path), "%s", path);
	ret = join(d->socket, d->path, "memif");
	if (ret == 0)
		ret = join(lock, d->path, "lock");
	if (ret == 0)
		ret = join(d->ports, d->path, "ports");
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
	unlink(d->ports);
	unlink(d->socket);
	return 0;
}

int
uroce_switch_dir_open(const struct switch_dir *d, unsigned int ports)
{
	/* a new file only: a link that another user has made here must not truncate one of our files */
	FILE *f = fopen(d->ports, "wxe");
	int ret;

	if (f == NULL)
		return -errno;
	ret = fprintf(f, "%u\n", ports) < 0 ? -EIO : 0;
	return fclose(f) == 0 ? ret : -errno;
}

void
uroce_switch_dir_release(struct switch_dir *d)
{
	unlink(d->ports);
	unlink(d->socket);
	close(d->lock);
}
