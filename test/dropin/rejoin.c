/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Tests when a port of net_memif reconnects, and when the CM learns that the port's peer has departed. The test
 * replaces ethdev, EAL's alarm and the link; the sockets are real.
 */

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>
#include <rte_alarm.h>
#include <rte_ethdev.h>

#include "base/log.h"
#include "cmocka_compat.h"
#include "munmap.h"
#include "port/cm/departure.h"
#include "port/port.h"
#include "port/ethdev/watch.h"
#include "port_state.h"
#include "progress/rejoin.h"
#include "uroce.h"
#include "uroce_config.h"

#define LOOKS 200	/* more than all pauses between the attempts together */

static char dir[] = "/tmp/uroce-rejoin-XXXXXX";
static struct sockaddr_un place = { .sun_family = AF_UNIX };
static char args[160];
static struct rte_devargs devargs;
static const struct rte_devargs *known_devargs;
static struct uroce_port port;
static bool shared, up, held;
static unsigned int watched, stops, starts, refused, departures;
static rte_eal_alarm_callback callback;
static void *callback_arg;
static unsigned int alarms;
static int alarm_error;

int
rte_eth_dev_info_get(uint16_t port_id, struct rte_eth_dev_info *info)
{
	*info = (struct rte_eth_dev_info){ .driver_name = "" };
	return 0;
}

const struct rte_devargs *
rte_dev_devargs(const struct rte_device *dev)
{
	return known_devargs;
}

bool
uroce_port_state_is_shared(uint16_t port_id)
{
	return shared;
}

bool
uroce_port_state_is_up(uint16_t port_id)
{
	return up;
}

/* No worker may be polled during the restart. */
int
rte_eth_dev_stop(uint16_t port_id)
{
	assert_true(held);
	stops++;
	return 0;
}

int
rte_eth_dev_start(uint16_t port_id)
{
	assert_true(held);
	assert_int_equal(++starts, stops);
	if (refused == 0)
		return 0;
	refused--;
	return -EPERM;
}

void
uroce_hold_workers(void (*fn)(void *arg), void *arg)
{
	held = true;
	fn(arg);
	held = false;
}

void
uroce_watch_link(struct uroce_port *p)
{
	assert_ptr_equal(p, &port);
	watched++;
}

void
uroce_depart_all(struct uroce_port *p)
{
	assert_ptr_equal(p, &port);
	assert_false(held);	/* it wakes threads that may need a worker */
	departures++;
}

int
rte_eal_alarm_set(uint64_t us, rte_eal_alarm_callback cb, void *arg)
{
	assert_int_equal(us, UROCE_VERBS_REJOIN_US);
	callback = cb;
	callback_arg = arg;
	alarms++;
	return alarm_error;
}

static void
look(unsigned int times)
{
	while (times-- > 0) {
		unsigned int before = alarms;

		callback(callback_arg);
		assert_int_equal(alarms, before + 1);	/* set for the next look */
	}
}

/* Create a server's socket, a new one each time. */
static void
new_socket(void)
{
	static int fd = -1;

	unlink(place.sun_path);
	if (fd >= 0)
		close(fd);
	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&place, sizeof(place)), 0);
}

static int
setup(void **state)
{
	shared = true;
	port.dev.vctx.priv = (void *)&port.dev;
	snprintf(args, sizeof(args), "role=client,id=0,socket=%s,socket-abstract=no", place.sun_path);
	devargs = (struct rte_devargs){ .args = args };
	known_devargs = &devargs;
	up = true;
	watched = stops = starts = refused = departures = 0;
	callback = NULL;
	alarm_error = 0;
	unsetenv("UROCE_PEER");
	new_socket();
	return 0;
}

static int
group_setup(void **state)
{
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(place.sun_path, sizeof(place.sun_path), "%s/s", dir);
	return 0;
}

static int
group_teardown(void **state)
{
	unlink(place.sun_path);
	return rmdir(dir);
}

static void
test_replaced(void **state)
{
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	look(LOOKS);
	assert_int_equal(watched, LOOKS);
	up = false;
	look(LOOKS);
	unlink(place.sun_path);
	look(LOOKS);
	assert_int_equal(stops, 0);	/* no socket, no restart */
	for (unsigned int i = 1; i <= 3; i++) {
		new_socket();
		look(1);
		assert_int_equal(starts, i);
		up = true;
		look(LOOKS);
		up = false;
		look(LOOKS);
		assert_int_equal(starts, i);
	}
}

/* A server that has not started yet refuses: attempts become rarer and end after a limit. The next server gets as
 * many. */
static void
test_turned_away(void **state)
{
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	up = false;
	for (unsigned int i = 1; i <= 2; i++) {
		new_socket();
		refused = 2;
		starts = stops = 0;
		look(1);
		for (unsigned int left = UROCE_VERBS_REJOINS - 1, pause = 1; left > 0; left--, pause *= 2) {
			look(pause);
			assert_int_equal(starts, UROCE_VERBS_REJOINS - left);
			look(1);
			assert_int_equal(starts, UROCE_VERBS_REJOINS - left + 1);
		}
		look(LOOKS);
		assert_int_equal(starts, UROCE_VERBS_REJOINS);
	}
}

/* The first server has not accepted the connection yet. */
static void
test_late(void **state)
{
	up = false;
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	look(1);
	assert_int_equal(starts, 1);
}

/* The first server accepted the connection, and departed before the first look: its socket is not worth an attempt. */
static void
test_gone(void **state)
{
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	up = false;
	look(LOOKS);
	assert_int_equal(starts, 0);
	new_socket();
	look(1);
	assert_int_equal(starts, 1);
}

/* Another kind of file replaces the socket. */
static void
test_no_socket(void **state)
{
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	up = false;
	unlink(place.sun_path);
	close(open(place.sun_path, O_CREAT | O_WRONLY, 0600));
	look(LOOKS);
	assert_int_equal(stops, 0);
}

static void
assert_never_asks(void)
{
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	up = false;
	new_socket();
	look(LOOKS);
	assert_int_equal(watched, LOOKS);	/* the link is still watched */
	assert_int_equal(stops, 0);
	watched = 0;
	up = true;
}

static void
test_not_a_client(void **state)
{
	snprintf(args, sizeof(args), "role=server,id=0,socket=%s,socket-abstract=no", place.sun_path);
	assert_never_asks();
	snprintf(args, sizeof(args), "role=client,id=0,socket=%s", place.sun_path);	/* no file */
	assert_never_asks();
	snprintf(args, sizeof(args), "role=client,socket-abstract=no");
	assert_never_asks();
	snprintf(args, sizeof(args), "role=client,socket-abstract=no,socket=/%0*d", (int)sizeof(place.sun_path), 0);
	assert_never_asks();
	devargs.args = NULL;
	assert_never_asks();
	known_devargs = NULL;
	assert_never_asks();
}

static void
test_others(void **state)
{
	shared = false;
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	assert_null(callback);
}

static void
test_no_memory(void **state)
{
	alarm_error = -ENOMEM;
	for (unsigned int i = 0; i <= UROCE_MAX_DEVICES; i++)
		uroce_rejoin_watch(&port.dev.vctx.context, 0);
	assert_non_null(callback);	/* failed watches take no slot */
}

static void
unmap(void *arg)
{
	bool *done = arg;

	assert_true(held);
	*done = true;
}

/* Let the driver unmap memory. @return the departures that the CM gets */
static unsigned int
departures_of(bool link)
{
	bool done = false;

	up = link;
	departures = 0;
	uroce_memif_hold(unmap, &done);
	assert_true(done);
	return departures;
}

/* The watches before this one count, too, each with its own setting. */
static void
assert_tells(bool tells)
{
	const unsigned int before = departures_of(false);

	up = true;
	uroce_rejoin_watch(&port.dev.vctx.context, 0);
	assert_int_equal(departures_of(false), before + tells);
	assert_int_equal(departures_of(true), 0);	/* the link is up: another client has departed */
}

/* A departure counts at an end of a pair: a server, or a client whose socket UROCE_PEER names. Otherwise the port is
 * at a switch. */
static void
test_departures(void **state)
{
	char peers[3 * sizeof(place.sun_path)];

	assert_tells(false);
	setenv("UROCE_PEER", "", 1);
	assert_tells(false);
	snprintf(peers, sizeof(peers), "%sx,x%s", place.sun_path, place.sun_path);
	setenv("UROCE_PEER", peers, 1);
	assert_tells(false);
	setenv("UROCE_PEER", place.sun_path, 1);
	assert_tells(true);
	snprintf(peers, sizeof(peers), "/x,%s,/y", place.sun_path);
	setenv("UROCE_PEER", peers, 1);
	assert_tells(true);
	snprintf(args, sizeof(args), "role=client,socket-abstract=no");	/* without a visible socket */
	setenv("UROCE_PEER", ",", 1);
	assert_tells(false);
	unsetenv("UROCE_PEER");
	snprintf(args, sizeof(args), "role=server,id=0,socket=%s,socket-abstract=no", place.sun_path);
	assert_tells(true);
	shared = false;
	assert_tells(false);
}

/* Each watch takes a slot of its own, until none is left. */
static void
test_many(void **state)
{
	void *args_before = NULL;
	unsigned int i;

	for (i = 0; i <= UROCE_MAX_DEVICES; i++) {
		callback = NULL;
		uroce_rejoin_watch(&port.dev.vctx.context, 0);
		if (callback == NULL)
			break;
		assert_true(callback_arg != args_before);
		args_before = callback_arg;
	}
	assert_uint_in_range(i, 2, UROCE_MAX_DEVICES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_replaced, setup),
		cmocka_unit_test_setup(test_turned_away, setup),
		cmocka_unit_test_setup(test_late, setup),
		cmocka_unit_test_setup(test_gone, setup),
		cmocka_unit_test_setup(test_no_socket, setup),
		cmocka_unit_test_setup(test_not_a_client, setup),
		cmocka_unit_test_setup(test_others, setup),
		cmocka_unit_test_setup(test_departures, setup),
		cmocka_unit_test_setup(test_no_memory, setup),
		cmocka_unit_test_setup(test_many, setup),	/* must be the last: slots are not freed */
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
