/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The replaced calls of net_memif: on EAL's interrupt thread, which this thread plays if the test says so, they differ
 * from the C library's; on all other threads they do not.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <cmocka.h>
#include <rte_interrupts.h>

#include "munmap.h"

#define BYTES 4096

static bool is_intr;
static unsigned int held;

int
rte_thread_is_intr(void)
{
	return is_intr;
}

void
uroce_memif_hold(void (*fn)(void *arg), void *arg)
{
	held++;
	fn(arg);
	held++;
}

static int
setup(void **state)
{
	is_intr = false;
	held = 0;
	return 0;
}

static bool
is_mapped(void *addr)
{
	return msync(addr, BYTES, MS_ASYNC) == 0;
}

static void *
map(void)
{
	void *addr = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(addr != MAP_FAILED && is_mapped(addr));
	return addr;
}

static void
test_unmap(void **state)
{
	void *addr = map();

	assert_int_equal(munmap(addr, BYTES), 0);
	assert_false(is_mapped(addr));
	assert_int_equal(held, 0);
	is_intr = true;
	addr = map();
	assert_int_equal(munmap(addr, BYTES), 0);
	assert_false(is_mapped(addr));
	assert_int_equal(held, 2);
}

static void
test_unmap_refused(void **state)
{
	char page[BYTES];

	for (unsigned int i = 0; i < 2; i++) {
		is_intr = i == 1;
		errno = 0;
		assert_int_equal(munmap(page + 1, 0), -1);
		assert_int_equal(errno, EINVAL);
	}
}

/* Send five bytes in two parts. */
static ssize_t
say(int fd, int flags)
{
	struct iovec parts[] = {
		{ .iov_base = (char[]){ "abc" }, .iov_len = 3 },
		{ .iov_base = (char[]){ "de" }, .iov_len = 2 },
	};
	const struct msghdr m = { .msg_iov = parts, .msg_iovlen = 2 };

	errno = 0;
	return sendmsg(fd, &m, flags);
}

static void
test_send(void **state)
{
	char got[8] = "";
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
	for (unsigned int i = 0; i < 2; i++) {
		is_intr = i == 1;
		assert_int_equal(say(ends[0], 0), 5);
		assert_int_equal(recv(ends[1], got, sizeof(got), 0), 5);
		assert_string_equal(got, "abcde");
	}
	close(ends[0]);
	close(ends[1]);
}

/* Send to a closed socket, with and without unread data in it. */
static void
test_send_gone(void **state)
{
	static const int errors[] = { EPIPE, ECONNRESET };
	int ends[2];

	for (unsigned int i = 0; i < 4; i++) {
		is_intr = i >= 2;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
		if (i % 2 == 1)
			assert_int_equal(say(ends[0], 0), 5);
		close(ends[1]);
		assert_int_equal(say(ends[0], is_intr ? 0 : MSG_NOSIGNAL), is_intr ? 5 : -1); /* without a signal */
		assert_int_equal(errno, errors[i % 2]);
		close(ends[0]);
	}
}

/* Other errors are reported. */
static void
test_send_refused(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		is_intr = i == 1;
		assert_int_equal(say(-1, 0), -1);
		assert_int_equal(errno, EBADF);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_unmap, setup),
		cmocka_unit_test_setup(test_unmap_refused, setup),
		cmocka_unit_test_setup(test_send, setup),
		cmocka_unit_test_setup(test_send_gone, setup),
		cmocka_unit_test_setup(test_send_refused, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
