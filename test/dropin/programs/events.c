/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Asynchronous events of two contexts of one device, by epoll: each context gets the events of its own objects, once.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/epoll.h>

#include "ends.h"

enum { SOON_MS = 600000 };

static void
watch(int epoll, struct end *end)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = end };
	const int fd = end->context->async_fd;
	struct ibv_async_event none;

	NEED(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0);
	NEED(ibv_get_async_event(end->context, &none) != 0);	/* no event from before it was opened */
	NEED(errno == EAGAIN);
	NEED(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0);
}

/* The next event of this end's context is of this type and for its QP. Events of other contexts may come first. */
static void
expect(int epoll, struct end *end, enum ibv_event_type type)
{
	struct ibv_async_event event;
	struct epoll_event ready[2];
	int n;

	do {
		n = epoll_wait(epoll, ready, 2, SOON_MS);
		NEED(n >= 1);
	} while (ready[0].data.ptr != end && ready[n - 1].data.ptr != end);
	NEED(ibv_get_async_event(end->context, &event) == 0);
	if (event.event_type != type)
		fprintf(stderr, "got %s, expected %s\n", ibv_event_type_str(event.event_type),
			ibv_event_type_str(type));
	NEED(event.event_type == type);
	NEED(event.element.qp == end->qp);
	NEED(event.element.qp->qp_context == end);
	ibv_ack_async_event(&event);
}

static void
expect_no_more(int epoll)
{
	struct ibv_async_event event;
	struct epoll_event ready;
	struct end *end;

	if (epoll_wait(epoll, &ready, 1, 0) == 0)
		return;
	end = ready.data.ptr;
	NEED(ibv_get_async_event(end->context, &event) == 0);
	fprintf(stderr, "one more: %s\n", ibv_event_type_str(event.event_type));
	NEED(0);
}

static enum ibv_qp_state
state_of(struct end *end)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	NEED(ibv_query_qp(end->qp, &attr, IBV_QP_STATE, &init) == 0);
	return attr.qp_state;
}

int
main(void)
{
	struct ibv_qp_attr drained = { .qp_state = IBV_QPS_SQD, .en_sqd_async_notify = 1 };
	const int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct address wrong;
	struct end a, b;

	NEED(epoll >= 0);
	connect_here(&a, &b, device_at(0));
	watch(epoll, &a);
	watch(epoll, &b);
	exchange_here(&a, &b);
	expect_no_more(epoll);

	NEED(ibv_modify_qp(b.qp, &drained, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
	expect(epoll, &b, IBV_EVENT_SQ_DRAINED);
	drained.qp_state = IBV_QPS_RTS;
	NEED(ibv_modify_qp(b.qp, &drained, IBV_QP_STATE) == 0);

	wrong = end_address(&b);
	wrong.rkey ^= 0x55aa00;
	post_send(&a, 7, IBV_WR_RDMA_WRITE, &wrong);
	NEED(poll_for(&a, IBV_WC_REM_ACCESS_ERR).wr_id == 7);
	expect(epoll, &b, IBV_EVENT_QP_ACCESS_ERR);
	expect(epoll, &a, IBV_EVENT_QP_FATAL);
	NEED(state_of(&a) == IBV_QPS_ERR);
	NEED(state_of(&b) == IBV_QPS_ERR);
	expect_no_more(epoll);
	end_close(&a);
	end_close(&b);
	close(epoll);
	puts("events where they belong");
	return 0;
}
