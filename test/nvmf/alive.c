/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Admin commands without a namespace, and keep-alive: a host that is silent for too long is disconnected, but not for the
 * time in which the target did not run. The tests move the target's times instead of waiting.
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

static struct nvme_completion
run(uint8_t opcode, uint32_t cdw10, uint32_t cdw11, uint32_t bytes)
{
	struct nvme_command c = { .opcode = opcode, .nsid = rte_cpu_to_le_32(1) };

	c.cdw[0] = rte_cpu_to_le_32(cdw10);
	c.cdw[1] = rte_cpu_to_le_32(cdw11);
	host_keyed(&h, &c, bytes);
	return host_run(&admin, &c, 0);
}

static void
test_admin(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t cdw10, cdw11, bytes;
		uint16_t status;
	} cases[] = {
		{ NVME_ADMIN_GET_LOG_PAGE, NVME_LOG_ERROR | 15u << 16, 0, 64, NVME_SUCCESS },
		{ NVME_ADMIN_GET_LOG_PAGE, NVME_LOG_SMART | 127u << 16, 0, 512, NVME_SUCCESS },
		{ NVME_ADMIN_GET_LOG_PAGE, NVME_LOG_FIRMWARE | 127u << 16, 0, 512, NVME_SUCCESS },
		{ NVME_ADMIN_GET_LOG_PAGE, NVME_LOG_EFFECTS | 1023u << 16, 0, 4096, NVME_SUCCESS },
		{ NVME_ADMIN_GET_LOG_PAGE, NVME_LOG_SMART | 127u << 16, 0, 256, NVME_SGL_LENGTH_INVALID },
		{ NVME_ADMIN_GET_LOG_PAGE, NVME_LOG_DISCOVERY | 3u << 16, 0, 16, NVME_INVALID_LOG_PAGE },
		{ NVME_ADMIN_GET_LOG_PAGE, 0x0c | 3u << 16, 0, 16, NVME_INVALID_LOG_PAGE }, /* ANA */
		{ NVME_ADMIN_IDENTIFY, NVME_CNS_CSI_CONTROLLER, 0, 4096, NVME_SUCCESS },
		{ NVME_ADMIN_IDENTIFY, NVME_CNS_CSI_NAMESPACE, 0, 4096, NVME_SUCCESS },
		{ NVME_ADMIN_IDENTIFY, NVME_CNS_COMMAND_SETS, 0, 4096, NVME_SUCCESS },
		{ NVME_ADMIN_IDENTIFY, NVME_CNS_CSI_CONTROLLER, 1u << 24, 4096, NVME_INVALID_FIELD },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_WRITE_CACHE, 1, 0, NVME_SUCCESS },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_WRITE_CACHE, 0, 0, NVME_FEATURE_NOT_CHANGEABLE },
		{ NVME_ADMIN_SET_FEATURES, NVME_FEATURE_KEEP_ALIVE | 1u << 31, 0, 0, NVME_FEATURE_NOT_SAVEABLE },
		{ NVME_ADMIN_SET_FEATURES, 0x7f, 0, 0, NVME_INVALID_FIELD },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_WRITE_CACHE, 0, 0, NVME_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, NVME_FEATURE_QUEUES, 0, 0, NVME_SUCCESS },
		{ NVME_ADMIN_GET_FEATURES, 0x7f, 0, 0, NVME_INVALID_FIELD },
		{ NVME_ADMIN_KEEP_ALIVE, 0, 0, 0, NVME_SUCCESS },
		{ 0x05, 0, 0, 0, NVME_INVALID_OPCODE }, /* Create I/O Completion Queue, which fabrics lack */
	};

	for (unsigned int i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(host_status(run(cases[i].opcode, cases[i].cdw10, cases[i].cdw11, cases[i].bytes)),
				 cases[i].status);
}

/* The host may have UROCE_NVMF_EVENTS asynchronous event requests outstanding, and abort them. */
static void
test_abort(void **state)
{
	struct nvme_command abort = { .opcode = NVME_ADMIN_ABORT, .sgl.keyed.type = NVME_SGL_KEYED };
	const uint16_t second = (uint16_t)(admin.next_cid + 2);
	struct nvme_completion aborted;

	for (unsigned int i = 1; i <= UROCE_NVMF_EVENTS; i++) {
		struct nvme_command event = { .opcode = NVME_ADMIN_ASYNC_EVENT, .sgl.keyed.type = NVME_SGL_KEYED };

		host_send(&admin, &event, 0);
		while (controller->nb_events != i)
			host_poll(&h);
	}
	assert_int_equal(host_status(run(NVME_ADMIN_ASYNC_EVENT, 0, 0, 0)), NVME_ASYNC_EVENT_LIMIT);
	abort.cdw[0] = rte_cpu_to_le_32((uint32_t)second << 16); /* of queue 0 */
	host_send(&admin, &abort, 0);
	aborted = host_wait(&admin);
	assert_int_equal(rte_le_to_cpu_16(aborted.cid), second);
	assert_int_equal(host_status(aborted), NVME_ABORTED_BY_REQUEST);
	assert_int_equal(rte_le_to_cpu_32(host_wait(&admin).dw0), 0);
	assert_int_equal(controller->nb_events, UROCE_NVMF_EVENTS - 1);
	assert_int_equal(rte_le_to_cpu_32(run(NVME_ADMIN_ABORT, (uint32_t)second << 16, 0, 0).dw0), 1); /* not found */
}

UROCE_TESTS(nvmf_alive)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_admin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_abort, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stopped, setup, teardown),
	};

	test_eal_init(NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
