/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The counters of a switch, as EAL's telemetry returns them, and as SIGUSR1 prints them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>
#include <unistd.h>

#include "groups.h"
#include "telemetry.h"
#include "telemetry_client.h"
#include "world.h"

/* Two frames, one of them malformed; and a client's port, whose name contains its number. */
static void
world_busy(struct world *w)
{
	struct rte_mbuf *m;

	world_start(w);
	world_in(w, 0, world_frame(w, 1, 2, 0, 0));
	m = world_frame(w, 1, 2, 0, 0);
	rte_pktmbuf_mtod(m, uint8_t *)[6] = 3;
	world_in(w, 0, m);
	for (unsigned int i = 1; i < WORLD_PORTS; i++)
		rte_pktmbuf_free(world_out(w, i));
	w->s.ports[0].sent = 101;
	w->s.ports[0].sent_bytes = 102;
	w->s.ports[0].dropped = 103;
	w->s.ports[0].marked = 104;
	w->s.ports[0].forged = 105;
	uroce_switch_port_close(&w->s.ports[3]);
	uroce_switch_port_open_memif(&w->s.ports[3], 3, w->pool);
}

static void
test_telemetry(void **state)
{
	char name[RTE_ETH_NAME_MAX_LEN];
	uint64_t refused = 7;
	struct world w;

	world_busy(&w);
	telemetry_open();
	telemetry_expect_null("/uroce_switch/info");
	uroce_switch_telemetry_start(&w.s, &refused);
	telemetry_expect("/uroce_switch/list", "\"memif3\"]");
	telemetry_expect("/uroce_switch/info", "\"stations\":1");
	assert_int_equal(telemetry_number("ports"), WORLD_PORTS);
	assert_int_equal(telemetry_number("clients_refused"), 7);
	assert_int_equal(telemetry_number("not_learned"), 0);
	telemetry_expect("/uroce_switch/port,memif3", "\"link\":\"down\"");
	uroce_switch_port_name(&w.s.ports[0], name);
	telemetry_ask("/uroce_switch/port,%s", name);
	assert_int_equal(telemetry_number("received"), 2);
	assert_int_equal(telemetry_number("received_bytes"), 120);
	assert_int_equal(telemetry_number("sent"), 101);
	assert_int_equal(telemetry_number("sent_bytes"), 102);
	assert_int_equal(telemetry_number("dropped"), 103);
	assert_int_equal(telemetry_number("marked"), 104);
	assert_int_equal(telemetry_number("malformed"), 1);
	assert_int_equal(telemetry_number("forged"), 105);
	telemetry_expect_null("/uroce_switch/port");
	telemetry_expect_null("/uroce_switch/port,nobody");
	uroce_switch_telemetry_stop();
	telemetry_expect("/uroce_switch/list", "[]");
	telemetry_expect_null("/uroce_switch/port,memif3");
	telemetry_expect_null("/uroce_switch/info");
	telemetry_close();
	world_stop(&w);
}

static void
test_report(void **state)
{
	char text[4096] = "", *line;
	struct world w;
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	size_t n;

	assert_non_null(file);
	world_busy(&w);
	dup2(fileno(file), STDERR_FILENO);
	uroce_switch_report(&w.s, 9);
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	line = strchr(text, '\n');
	assert_non_null(line);
	assert_non_null(strstr(line, "up "));
	assert_non_null(strstr(line, "           2             120          101             102        103        104"
				     "          1        105\n"));
	assert_non_null(strstr(line, "memif3 "));
	assert_non_null(strstr(line, "1 stations, 0 not learned, 9 clients refused"));
	world_stop(&w);
}

UROCE_TESTS(switch_telemetry)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_telemetry),
		cmocka_unit_test(test_report),
	};
	int ret;

	if (telemetry_eal_init() != 0)
		return 1;
	ret = cmocka_run_group_tests(tests, NULL, NULL);
	telemetry_eal_cleanup();
	return ret;
}
