/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A client of EAL's telemetry socket, for one command at a time.
 */

#include "cmocka_compat.h"
#include "telemetry_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/un.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_eal.h>

static char answer[65536];
static char directory[64];
static int fd = -1;

int
telemetry_eal_init(void)
{
	static char args[7][40] = { "telemetry",  "--no-huge", "-m512", "--no-pci", "", "--log-level=lib.eal:warning",
				    "--no-shconf" };
	static char *argv[RTE_DIM(args) + 1];

	snprintf(args[4], sizeof(args[4]), "--file-prefix=uroce_test_%d", (int)getpid());
	for (unsigned int i = 0; i < RTE_DIM(args); i++)
		argv[i] = args[i];
	if (rte_eal_init((int)RTE_DIM(args), argv) < 0)
		return -1;
	snprintf(directory, sizeof(directory), "%s", rte_eal_get_runtime_dir());
	return 0;
}

void
telemetry_eal_cleanup(void)
{
	char path[96];

	rte_eal_cleanup();
	/* EAL leaves the directory, and the socket until exit() */
	snprintf(path, sizeof(path), "%s/dpdk_telemetry.v2", directory);
	unlink(path);
	rmdir(directory);
}

void
telemetry_open(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_true(fd >= 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/dpdk_telemetry.v2", directory);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_true(recv(fd, answer, sizeof(answer), 0) > 0); /* a greeting */
}

void
telemetry_close(void)
{
	close(fd);
}

int
telemetry_setup(void **state)
{
	if (telemetry_eal_init() != 0)
		return -1;
	telemetry_open();
	return 0;
}

int
telemetry_teardown(void **state)
{
	telemetry_close();
	telemetry_eal_cleanup();
	return 0;
}

const char *
telemetry_ask(const char *format, ...)
{
	char command[2048];
	va_list args;
	ssize_t n;

	va_start(args, format);
	n = vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_uint_in_range(n, 1, sizeof(command) - 1);
	assert_int_equal(send(fd, command, (size_t)n, 0), n);
	n = recv(fd, answer, sizeof(answer) - 1, 0);
	assert_true(n > 0);
	answer[n] = '\0';
	return answer;
}

void
telemetry_expect(const char *command, const char *part)
{
	const char *got = telemetry_ask("%s", command);

	if (strstr(got, part) == NULL)
		fail_msg("%s: the reply %s lacks %s", command, got, part);
}

void
telemetry_expect_null(const char *command)
{
	const char *got = telemetry_ask("%s", command);
	size_t length = strlen(got);

	if (length < 6 || strcmp(got + length - 6, ":null}") != 0)
		fail_msg("%s: the reply %s is not null", command, got);
}

uint64_t
telemetry_number_or(const char *name, uint64_t other)
{
	char text[128];
	const char *at;

	snprintf(text, sizeof(text), "\"%s\":", name);
	at = strstr(answer, text);
	return at != NULL ? strtoull(at + strlen(text), NULL, 10) : other;
}

uint64_t
telemetry_number(const char *name)
{
	uint64_t value = telemetry_number_or(name, UINT64_MAX);

	if (value == UINT64_MAX)
		fail_msg("no number is named %s in %s", name, answer);
	return value;
}
