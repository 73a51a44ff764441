/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Keep-alive: a host that is silent for too long is disconnected, but not for the time in which the target did not run.
 * The tests move the target's times instead of waiting.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "eal.h"
#include "groups.h"
#include "host.h"

#define KATO_MS 1000u
#define LONG_NS (UROCE_NVMF_KATO_GRACE_NS + 2 * KATO_MS * 1000000ull)

static struct host h;
static struct host_queue admin, io;
static struct nvmf_poller *poller;
static struct nvmf_controller *controller;

static int
setup(void **state)
{
	const char *namespaces[] = { "null:1M" };

	host_open(&h, namespaces, 1);
	(void)host_start(&h, &admin, &io);
	poller = &h.target->pollers[0];
	controller = LIST_FIRST(&h.target->subsystem.controllers);
	return 0;
}

static int
teardown(void **state)
{
	host_queue_close(&io);
	host_queue_close(&admin);
	host_close(&h);
	return 0;
}

/* Let the target look at its queues, after all commands that have come. */
static void
look(void)
{
	uint64_t before = poller->look_ns;

	while (poller->look_ns == before)
		host_poll(&h);
}

static void
test_silent(void **state)
{
	look();
	assert_true(controller->alive_ns != 0);
	controller->alive_ns -= LONG_NS;
	look();
	assert_false(admin.disconnected); /* no timeout was asked for */
	controller->kato_ms = KATO_MS;
	while (!admin.disconnected || !io.disconnected)
		host_poll(&h);
}

static void
test_stopped(void **state)
{
	look();
	controller->kato_ms = KATO_MS;
	controller->alive_ns -= LONG_NS;
	poller->look_ns -= LONG_NS;
	look();
	assert_true(poller->stopped_ns >= LONG_NS - UROCE_NVMF_LOOK_NS);
	assert_int_equal(controller->kato_ms, KATO_MS); /* 0 if the host was given up */
	assert_false(h.target->pollers[0].queues.tqh_first->kick);
}

UROCE_TESTS(nvmf_alive)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
