/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A shared object that makes the same calls as librdmacm, and is called in the same way.
 */

#include <fcntl.h>
#include <unistd.h>
#include <sys/stat.h>

struct ibv_ah;
struct ibv_ah_attr;
struct ibv_pd;
typedef struct ibv_ah *create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);

struct ibv_ah *victim_create_ah(create_ah *create, struct ibv_pd *pd, struct ibv_ah_attr *attr);
int victim_open(const char *path, int flags, mode_t mode);
int victim_fstat(int fd, struct stat *st);
ssize_t victim_write(int fd, const void *buf, size_t bytes);
int victim_close(int fd);
pid_t victim_parent(void);

int
victim_open(const char *path, int flags, mode_t mode)
{
	return open(path, flags, mode);
}

int
victim_fstat(int fd, struct stat *st)
{
	return fstat(fd, st);
}

ssize_t
victim_write(int fd, const void *buf, size_t bytes)
{
	return write(fd, buf, bytes);
}

int
victim_close(int fd)
{
	return close(fd);
}

/* Not a call of librdmacm's. */
pid_t
victim_parent(void)
{
	return getppid();
}

/* No tail call: the call must come from this object. */
struct ibv_ah *
victim_create_ah(create_ah *create, struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct ibv_ah *volatile ah = create(pd, attr);

	return ah;
}
