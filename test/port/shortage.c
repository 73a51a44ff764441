/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Without hugepages, a worker and a device fit into little memory, with room for the application's objects: into EAL's
 * default of 64 MiB where cache lines have 64 bytes. A configuration that does not fit is refused, and the message names
 * the option that helps.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_common.h>
#include <rte_log.h>
#include <rte_malloc.h>

#include "cmocka_compat.h"
#include "eal.h"
#include "groups.h"
#include "rings.h"

#if RTE_CACHE_LINE_SIZE > 64	/* DPDK of arm64: mbufs are larger */
#define MEMORY_MIB "80"
#define LARGE_MIB 256
#else
#define MEMORY_MIB "64"	/* EAL's default */
#define LARGE_MIB 128
#endif
#define SPARE_BYTES (8u << 20)

/* The log of the last call, as text. */
struct heard {
	FILE *stream;
	char *text;
	size_t bytes;
};

static void
listen_to_log(struct heard *h)
{
	h->stream = open_memstream(&h->text, &h->bytes);
	assert_non_null(h->stream);
	assert_int_equal(rte_openlog_stream(h->stream), 0);
}

/* The number behind `word` in the log. */
static unsigned int
number_in_log(struct heard *h, const char *word)
{
	const char *at;
	unsigned int number;

	assert_int_equal(rte_openlog_stream(NULL), 0);
	assert_int_equal(fclose(h->stream), 0);
	at = strstr(h->text, word);
	if (at == NULL)
		fail_msg("the log \"%s\" lacks \"%s\"", h->text, word);
	number = (unsigned int)strtoul(at + strlen(word), NULL, 10);
	free(h->text);
	return number;
}

static size_t
free_bytes(void)
{
	struct rte_malloc_socket_stats stats;

	assert_int_equal(rte_malloc_get_socket_stats(0, &stats), 0);
	return stats.heap_freesz_bytes;
}

static void
test_default_memory(void **state)
{
	struct test_rings rings;
	struct uroce_worker *worker, *second;
	struct ibv_context *context;
	struct heard heard;

	test_rings_create(&rings, 1);
	worker = uroce_create_worker(-1);
	assert_non_null(worker);
	context = uroce_open_port(rings.port_id, NULL, &worker, 1);
	assert_non_null(context);
	assert_uint_in_range(free_bytes(), SPARE_BYTES, 80u << 20);

	/* no room for another one */
	listen_to_log(&heard);
	errno = 0;
	second = uroce_create_worker(-1);
	assert_null(second);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(number_in_log(&heard, "start the program with -m "), 128);

	assert_int_equal(uroce_close_device(context), 0);
	assert_int_equal(uroce_destroy_worker(worker), 0);
	test_rings_destroy(&rings);
}

/* More keys than memory: 2^20 of 64 bytes. The advice in the message depends on the configuration. */
static void
test_large_device(void **state)
{
	const struct uroce_port_conf large = { .size = sizeof(large), .log2_max_mr = 20 };
	size_t before = free_bytes();
	struct test_rings rings;
	struct uroce_worker *worker;
	struct heard heard;

	test_rings_create(&rings, 1);
	worker = uroce_create_worker(-1);
	assert_non_null(worker);
	listen_to_log(&heard);
	errno = 0;
	assert_null(uroce_open_port(rings.port_id, &large, &worker, 1));
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(number_in_log(&heard, "start the program with -m "), LARGE_MIB);
	assert_int_equal(uroce_destroy_worker(worker), 0);
	test_rings_destroy(&rings);
	assert_uint_in_range(free_bytes(), before - 65536, before);
}

UROCE_TESTS(port_shortage)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_memory),
		cmocka_unit_test(test_large_device),
	};

	test_eal_init("-m", MEMORY_MIB, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
