/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Looks memory that is to be registered up in the kernel's list of mappings. Control threads.
 */

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <rte_common.h>

#include "mem/mapped.h"

/* The query of Linux 6.11 for the mapping of an address, which older kernel headers do not define. */
struct procmap_query {
	uint64_t size;
	uint64_t query_flags;
	uint64_t query_addr;
	uint64_t vma_start;
	uint64_t vma_end;
	uint64_t vma_flags;
	uint64_t not_needed[7];
};

static_assert(sizeof(struct procmap_query) == 104, "part of the number of the request");

#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
#define VMA_READABLE  1
#define VMA_WRITABLE  2

/* The part of a line that is needed, "start-end rwxp". A file name of any length may follow. */
#define HEAD_BYTES 48

struct scan {
	uint64_t at;   /* all bytes before it are mapped as required */
	uint64_t last; /* the last byte of the range */
	bool write;
	bool done;
	size_t head_bytes;     /* bytes in head[] */
	char head[HEAD_BYTES]; /* beginning of the current line */
};

/*
 * The list may change while it is read. The kernel guarantees ascending addresses, and a line for each mapping that
 * exists all the time. Lines may overlap, if mappings are merged meanwhile.
 */
static int
scan_line(struct scan *s)
{
	uint64_t start, end;
	char *rest;

	s->head[s->head_bytes] = '\0';
	start = strtoull(s->head, &rest, 16);
	if (*rest != '-')
		return -EIO;
	end = strtoull(rest + 1, &rest, 16);
	if (*rest != ' ' || strlen(rest) < 4)
		return -EIO;
	if (end <= s->at)
		return 0;
	if (start > s->at || rest[1] != 'r' || (s->write && rest[2] != 'w'))
		return -EFAULT;
	s->at = end;
	s->done = s->last < end;
	return 0;
}

static int
scan_bytes(struct scan *s, const char *bytes, size_t n)
{
	int rc = 0;

	while (n > 0 && rc == 0 && !s->done) {
		const char *newline = memchr(bytes, '\n', n);
		const size_t part = newline != NULL ? (size_t)(newline - bytes) : n;
		const size_t kept = RTE_MIN(part, HEAD_BYTES - 1 - s->head_bytes);

		memcpy(s->head + s->head_bytes, bytes, kept);
		s->head_bytes += kept;
		if (newline == NULL)
			break;
		rc = scan_line(s);
		s->head_bytes = 0;
		bytes += part + 1;
		n -= part + 1;
	}
	return rc;
}

int
uroce_mapped_scan(int fd, uint64_t first, uint64_t last, bool write)
{
	struct scan s = { .at = first, .last = last, .write = write };
	char bytes[4096];
	int rc = 0;

	while (rc == 0 && !s.done) {
		ssize_t n = read(fd, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0)
			rc = scan_bytes(&s, bytes, (size_t)n);
		else
			rc = n < 0 ? -errno : -EFAULT;
	}
	return rc;
}

/* @return as uroce_mapped_check(), or -ENOTSUP: the kernel has no query, read the list */
static int
query(int fd, uint64_t first, uint64_t last, bool write)
{
	const uint64_t wanted = VMA_READABLE | (write ? VMA_WRITABLE : 0);
	uint64_t at = first;

	for (;;) {
		struct procmap_query q = { .size = sizeof(q), .query_addr = at };

		if (ioctl(fd, PROCMAP_QUERY, &q) != 0) {
			if (errno == EINTR)
				continue;
			return errno == ENOENT ? -EFAULT : -ENOTSUP;
		}
		if ((q.vma_flags & wanted) != wanted)
			return -EFAULT;
		if (last < q.vma_end)
			return 0;
		at = q.vma_end;
	}
}

int
uroce_mapped_check(uint64_t first, uint64_t last, bool write)
{
	int rc;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	rc = query(fd, first, last, write);
	if (rc == -ENOTSUP)
		rc = uroce_mapped_scan(fd, first, last, write);
	close(fd);
	return rc;
}
