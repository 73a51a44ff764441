/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Mounts a tmpfs over a directory of /sys or /dev, where no directory can be created, and mounts the old entries into
 * it, one by one. Symbolic links are copied: those of sysfs are relative and stay valid. One thread.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysfs/view.h"

#define PTMX makedev(5, 2)
#define WHOLE ".system"	/* mount point of the whole original directory */

static int
write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	close(fd);
	return n == (ssize_t)strlen(text) ? 0 : -EIO;
}

/* Keep the user's ID in the new namespace; the process has all capabilities there until its next exec. */
static int
enter_as_user(void)
{
	const unsigned int uid = geteuid(), gid = getegid();
	char map[64];
	int ret;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
		return -errno;
	ret = write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	if (ret == 0)
		ret = write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	if (ret == 0)
		ret = write_text("/proc/self/gid_map", map);
	return ret;
}

int
uroce_view_enter(void)
{
	int ret = 0;

	if (unshare(CLONE_NEWNS) != 0)
		ret = errno == EPERM ? enter_as_user() : -errno;
	if (ret == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		ret = -errno;
	return ret;
}

static int
copy_link(int from, const char *name, const char *to)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(from, name, target, sizeof(target) - 1);

	if (n < 0)
		return -errno;
	target[n] = '\0';
	return symlink(target, to) == 0 ? 0 : -errno;
}

/* Create an empty file or directory, and mount the original on it, with the mounts below it. */
static int
copy_mount(int from, const char *name, const char *to, bool directory)
{
	char source[64 + NAME_MAX];

	snprintf(source, sizeof(source), "/proc/self/fd/%d/%s", from, name);
	if (directory ? mkdir(to, 0755) != 0 : mknod(to, S_IFREG | 0644, 0) != 0)
		return -errno;
	return mount(source, to, NULL, MS_BIND | MS_REC, NULL) == 0 ? 0 : -errno;
}

/* ptmx, the multiplexer of pseudo-terminals, looks for "pts" beside itself, in its own file system: mount the whole
 * original directory. */
static int
copy_ptmx(int from, const char *to, const char *directory)
{
	char source[32], whole[PATH_MAX];

	snprintf(source, sizeof(source), "/proc/self/fd/%d", from);
	if (snprintf(whole, sizeof(whole), "%s/" WHOLE, directory) >= (int)sizeof(whole))
		return -ENAMETOOLONG;
	if (mkdir(whole, 0755) != 0 || mount(source, whole, NULL, MS_BIND | MS_REC, NULL) != 0)
		return -errno;
	if (umount2(whole, MNT_DETACH) != 0)	/* MS_REC includes the tmpfs that covers the directory now */
		return -errno;
	return symlink(WHOLE "/ptmx", to) == 0 ? 0 : -errno;
}

/* Skips an entry that was removed after it was listed: it is not one of uroce's. */
static int
copy_entry(int from, const char *name, const char *directory)
{
	char to[PATH_MAX];
	struct stat st;
	int ret;

	if (snprintf(to, sizeof(to), "%s/%s", directory, name) >= (int)sizeof(to))
		return -ENAMETOOLONG;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode))
		ret = copy_link(from, name, to);
	else if (S_ISCHR(st.st_mode) && st.st_rdev == PTMX && strcmp(name, "ptmx") == 0)
		ret = copy_ptmx(from, to, directory);
	else
		ret = copy_mount(from, name, to, S_ISDIR(st.st_mode));
	return ret == -ENOENT ? 0 : ret;
}

static bool
is_one_of(const char *name, const char *const *names)
{
	while (*names != NULL && strcmp(*names, name) != 0)
		names++;
	return *names != NULL;
}

int
uroce_view_open(const char *path, const char *const *without)
{
	DIR *old = opendir(path);
	struct dirent *entry;
	int ret = 0;

	if (old == NULL)
		return -errno;
	if (mount("uroce", path, "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=755,size=16m") != 0)
		ret = -errno;
	for (errno = 0; ret == 0 && (entry = readdir(old)) != NULL; errno = 0)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    !is_one_of(entry->d_name, without))
			ret = copy_entry(dirfd(old), entry->d_name, path);
	if (ret == 0 && errno != 0)
		ret = -errno;
	closedir(old);
	return ret;
}
