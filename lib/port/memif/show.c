/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Passes the descriptors of DPDK's memory to peers, on EAL's interrupt thread. When DPDK maps or unmaps pages, its
 * callback marks all connections as incomplete, and the thread then sends the changes.
 *
 * Lock order: DPDK's memory lock, with which the callback runs, then the lock of this file.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_alarm.h>
#include <rte_eal_memconfig.h>
#include <rte_fbarray.h>
#include <rte_memory.h>

#include "base/log.h"
#include "port/memif/show.h"

enum { UNKNOWN, KNOWN, STALE }; /* of a page, to the peer; stale: DPDK has unmapped it since it was shown */

static struct {
	pthread_mutex_t lock;
	bool is_pending; /* an alarm is set */
	bool is_registered;
	struct uroce_memif_show *shows[RTE_MAX_ETHPORTS];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void update(void *arg);

/* With the lock. */
static void
schedule(uint64_t us)
{
	if (!all.is_pending)
		all.is_pending = rte_eal_alarm_set(us, update, NULL) == 0;
}

/* @return 0; -EAGAIN: the socket is full; -errno */
static int
send_message(const struct uroce_memif_show *s, struct memif_message *m, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(fd))];
	} control = { 0 };
	struct iovec part = { .iov_base = m, .iov_len = sizeof(*m) };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	/* not sendmsg(), which drivers/quirks replaces */
	if (syscall(SYS_sendmsg, s->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == (long)sizeof(*m))
		return 0;
	return errno == ETOOMANYREFS ? -EAGAIN : -errno;
}

static int
ask(struct uroce_memif_show *s)
{
	struct memif_message m = { .type = MEMIF_ASK };
	int ret = 0;

	if (!s->has_asked)
		ret = send_message(s, &m, -1);
	s->has_asked |= ret == 0;
	return ret;
}

/* Consecutive pages of a list: contiguous in one file, or unmapped by DPDK. */
struct part {
	unsigned int first;
	unsigned int count;
	int fd; /* -1: pages that DPDK has unmapped */
	uint64_t file_at;
};

/* @return 0; -errno: the page has no file */
static int
file_of(struct rte_memseg_list *msl, unsigned int page, struct part *p)
{
	struct rte_memseg *seg = rte_fbarray_get(&msl->memseg_arr, page);
	size_t at = 0;

	p->fd = seg != NULL ? rte_memseg_get_fd_thread_unsafe(seg) : -1;
	if (p->fd < 0 || rte_memseg_get_fd_offset_thread_unsafe(seg, &at) != 0)
		return -ENOTSUP;
	p->file_at = at;
	return 0;
}

/* From page `first` on, find the next part that the peer must map or unmap.
 * @return 0; -ENOENT: there is none; -ENOTSUP: memory without a file */
static int
find_part(struct rte_memseg_list *msl, const struct uroce_memif_list *l, unsigned int first, struct part *p)
{
	const unsigned int n = msl->memseg_arr.len;
	bool is_used = false;
	struct part next;
	int ret;

	for (; first < n; first++) {
		is_used = rte_fbarray_is_used(&msl->memseg_arr, first) == 1;
		if (is_used ? l->pages[first] != KNOWN : l->pages[first] != UNKNOWN)
			break;
	}
	if (first == n)
		return -ENOENT;
	*p = (struct part){ .first = first, .count = 1, .fd = -1 };
	ret = is_used ? file_of(msl, first, p) : 0;
	for (unsigned int i = first + 1; is_used && ret == 0 && i < n && l->pages[i] != KNOWN; i++, p->count++)
		if (rte_fbarray_is_used(&msl->memseg_arr, i) != 1 || file_of(msl, i, &next) != 0 || next.fd != p->fd ||
		    next.file_at != p->file_at + (uint64_t)p->count * msl->page_sz)
			break;
	return ret;
}

static int
show_part(struct uroce_memif_show *s, const struct rte_memseg_list *msl, unsigned int window, const struct part *p)
{
	struct memif_message m = {
		.type = MEMIF_SHOW,
		.show = {
			.window = (uint16_t)window,
			.is_gone = p->fd < 0,
			.window_bytes = s->lists[window].bytes,
			.at = p->first * msl->page_sz,
			.bytes = p->count * msl->page_sz,
			.file_at = p->file_at,
		},
	};
	int ret = send_message(s, &m, p->fd);

	if (ret != 0)
		return ret;
	s->sent++;
	memset(s->lists[window].pages + p->first, p->fd < 0 ? UNKNOWN : KNOWN, p->count);
	return 0;
}

/* @return the list's window; -1: there is no room for another */
static int
window_of(struct uroce_memif_show *s, const struct rte_memseg_list *msl)
{
	struct uroce_memif_list *l = &s->lists[s->count % UROCE_MEMIF_WINDOWS];

	for (uint16_t i = 0; i < s->count; i++)
		if (s->lists[i].first == msl->addr_64)
			return i;
	if (s->count == UROCE_MEMIF_WINDOWS)
		return -1;
	l->pages = calloc(msl->memseg_arr.len, 1);
	if (l->pages == NULL)
		return -1;
	l->first = msl->addr_64;
	l->bytes = (uint64_t)msl->memseg_arr.len * msl->page_sz;
	__atomic_store_n(&s->count, (uint16_t)(s->count + 1), __ATOMIC_RELAXED);
	return s->count - 1;
}

static int
show_list(const struct rte_memseg_list *list, void *arg)
{
	struct rte_memseg_list *msl = rte_mem_virt2memseg_list(list->base_va); /* fbarray's functions want no const */
	struct uroce_memif_show *s = arg;
	struct part p = { 0 };
	int window, ret = 0;

	if (msl->external || msl->memseg_arr.count == 0)
		return 0;
	window = window_of(s, msl);
	while (window >= 0 && ret == 0) {
		ret = find_part(msl, &s->lists[window], p.first + p.count, &p);
		if (ret == 0)
			ret = show_part(s, msl, (unsigned int)window, &p);
	}
	return ret == -ENOENT ? 0 : ret;
}

/* Send the peer all changes of DPDK's memory. @return 0; -errno */
static int
show_all(struct uroce_memif_show *s)
{
	int ret = rte_memseg_list_walk_thread_unsafe(show_list, s);

	if (ret == 0) /* pairs with the acquire in uroce_memif_is_shown() */
		__atomic_store_n(&s->complete, s->sent, __ATOMIC_RELEASE);
	return ret;
}

static void
give_up(struct uroce_memif_show *s, int error)
{
	s->is_asked = false;
	if (error == -ENOTSUP)
		UROCE_LOG(ERR, "share_memory: payloads are copied, since EAL has no file descriptors of DPDK's memory "
			       "(rte_memseg_get_fd())\n");
	else if (error != -EPIPE && error != -ECONNRESET) /* else the peer has exited */
		UROCE_LOG(ERR, "share_memory: payloads are copied, since the peer cannot be told of the memory: %s\n",
			  strerror(-error));
}

/* On EAL's interrupt thread. */
static void
update(void *arg)
{
	(void)arg;
	rte_mcfg_mem_read_lock();
	pthread_mutex_lock(&all.lock);
	all.is_pending = false;
	for (unsigned int i = 0; i < RTE_DIM(all.shows); i++) {
		struct uroce_memif_show *s = all.shows[i];
		int ret = 0;

		if (s == NULL || !s->is_wanted)
			continue;
		ret = ask(s);
		if (ret == 0 && s->is_asked && s->complete == 0)
			ret = show_all(s);
		if (ret == -EAGAIN)
			schedule(UROCE_MEMIF_SHOW_US);
		else if (ret != 0)
			give_up(s, ret);
	}
	pthread_mutex_unlock(&all.lock);
	rte_mcfg_mem_read_unlock();
}

/* DPDK has mapped pages, or is about to unmap them. It holds its lock, so update() does not run. */
static void
on_memory(enum rte_mem_event event, const void *addr, size_t bytes, void *arg)
{
	(void)arg;
	pthread_mutex_lock(&all.lock);
	for (unsigned int i = 0; i < RTE_DIM(all.shows); i++) {
		struct uroce_memif_show *s = all.shows[i];
		const struct rte_memseg_list *msl = rte_mem_virt2memseg_list(addr);

		if (s == NULL)
			continue;
		__atomic_store_n(&s->complete, 0, __ATOMIC_RELAXED);
		for (uint16_t w = 0; event == RTE_MEM_EVENT_FREE && msl != NULL && w < s->count; w++)
			if (s->lists[w].first == msl->addr_64)
				memset(s->lists[w].pages + ((uintptr_t)addr - msl->addr_64) / msl->page_sz, STALE,
				       bytes / msl->page_sz);
	}
	schedule(1);
	pthread_mutex_unlock(&all.lock);
}

void
uroce_memif_show_begin(struct uroce_memif_show *s, int socket)
{
	const int fd = socket != 0 ? fcntl(socket, F_DUPFD_CLOEXEC, 0) : -1;

	*s = (struct uroce_memif_show){ .socket = RTE_MAX(fd, 0) };
	if (s->socket == 0)
		return;
	if (!__atomic_exchange_n(&all.is_registered, true, __ATOMIC_RELAXED))
		(void)rte_mem_event_callback_register("uroce_memif", on_memory, NULL); /* else memory never changes */
	pthread_mutex_lock(&all.lock);
	for (unsigned int i = 0; i < RTE_DIM(all.shows); i++)
		if (all.shows[i] == NULL) {
			all.shows[i] = s;
			break;
		}
	pthread_mutex_unlock(&all.lock);
}

static void
set(struct uroce_memif_show *s, bool *what, bool value)
{
	pthread_mutex_lock(&all.lock);
	*what = value;
	if (s->socket != 0)
		schedule(1);
	pthread_mutex_unlock(&all.lock);
}

void
uroce_memif_show_want(struct uroce_memif_show *s, bool is_wanted)
{
	set(s, &s->is_wanted, is_wanted);
}

void
uroce_memif_show_asked(struct uroce_memif_show *s)
{
	set(s, &s->is_asked, true);
}

void
uroce_memif_show_end(struct uroce_memif_show *s)
{
	pthread_mutex_lock(&all.lock);
	for (unsigned int i = 0; i < RTE_DIM(all.shows); i++)
		if (all.shows[i] == s)
			all.shows[i] = NULL;
	pthread_mutex_unlock(&all.lock);
	if (s->socket != 0)
		close(s->socket);
	for (uint16_t i = 0; i < s->count; i++)
		free(s->lists[i].pages);
	*s = (struct uroce_memif_show){ 0 };
}
