/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 */

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "port/worker/pool.h"
#include "port/net/upkeep.h"
#include "port/worker/worker.h"
#include "tap.h"
#include "wire/icrc.h"

#define POLLS    10
#define PATIENCE 100000000u

void
tap_open(struct tap *t, uint16_t vlan, const char *const *cidrs)
{
	struct uroce_port_conf conf = { .size = sizeof(conf), .vlan = vlan };
	static unsigned int sequence;
	struct rte_mbuf *m;
	char name[32];

	memset(t, 0, sizeof(*t));
	test_rings_create(&t->wire, 1);
	snprintf(name, sizeof(name), "tap_%u", sequence++);
	t->pool = rte_pktmbuf_pool_create(name, 255, 0, 0, RTE_PKTMBUF_HEADROOM + TAP_BYTES,
					  SOCKET_ID_ANY);
	assert_non_null(t->pool);
	t->worker = uroce_create_worker(-1);
	assert_non_null(t->worker);
	t->context = uroce_open_port(t->wire.port_id, &conf, &t->worker, 1);
	assert_non_null(t->context);
	t->port = uroce_port_of_context(t->context);
	for (; *cidrs != NULL; cidrs++)
		assert_int_equal(uroce_add_address(t->context, *cidrs), 0);
	test_poll(&t->worker, 1, POLLS);
	while (rte_ring_dequeue(t->wire.tx[0], (void **)&m) == 0)
		rte_pktmbuf_free(m);
}

void
tap_close(struct tap *t)
{
	struct rte_mbuf *m;

	assert_int_equal(uroce_close_device(t->context), 0);
	while (rte_ring_dequeue(t->wire.tx[0], (void **)&m) == 0)
		rte_pktmbuf_free(m);
	assert_int_equal(uroce_destroy_worker(t->worker), 0);
	assert_int_equal(uroce_pools_retired(), 0);
	assert_true(rte_mempool_full(t->pool));
	rte_mempool_free(t->pool);
	test_rings_destroy(&t->wire);
}

static uint8_t
nibble(char c)
{
	assert_true(isxdigit((unsigned char)c));
	return (uint8_t)(isdigit((unsigned char)c) ? c - '0'
						   : tolower((unsigned char)c) - 'a' + 10);
}

size_t
tap_frame(const struct tap *t, uint8_t *frame, const char *text)
{
	struct rte_ether_addr peer;
	uint8_t *out = frame;
	char *end;

	rte_ether_unformat_addr(TAP_PEER, &peer);
	while (*text != '\0') {
		assert_true(out < frame + TAP_BYTES - 16);
		if (isspace((unsigned char)*text)) {
			text++;
		} else if (*text == 'M' || *text == 'P') {
			memcpy(out, *text == 'M' ? &t->port->mac : &peer, sizeof(peer));
			out += sizeof(peer);
			text++;
		} else if (*text == 'L') {
			memcpy(out, t->port->gids[0].subnet.gid, 16);
			out += 16;
			text++;
		} else if (*text == 'Z') {
			size_t n = strtoul(text + 1, &end, 10);

			memset(out, 0, n);
			out += n;
			text = end;
		} else {
			*out++ = (uint8_t)(nibble(text[0]) << 4 | nibble(text[1]));
			text += 2;
		}
	}
	return (size_t)(out - frame);
}

/* RFC 1071, the straightforward way. */
uint32_t
tap_sum(uint32_t start, const uint8_t *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		start += i % 2 == 0 ? (uint32_t)p[i] << 8 : p[i];
	return start;
}

void
tap_put_checksum(uint8_t *at, uint32_t total)
{
	while (total > 0xffff)
		total = (total & 0xffff) + (total >> 16);
	total = ~total;
	at[0] = (uint8_t)(total >> 8);
	at[1] = (uint8_t)total;
}

static size_t
get16(const uint8_t *p)
{
	return (size_t)p[0] << 8 | p[1];
}

void
tap_checksum_ipv4(uint8_t *frame, size_t l3)
{
	tap_put_checksum(frame + l3 + 10, tap_sum(0, frame + l3, 20));
}

void
tap_put_icrc(struct tap *t, uint8_t *frame, size_t bytes, size_t l3, size_t l4)
{
	struct rte_mbuf *m = tap_mbuf(t, frame, bytes);
	uint32_t icrc = uroce_icrc(m, (uint32_t)l3, (uint32_t)l4, (uint32_t)(bytes - 4 - l3));

	rte_pktmbuf_free(m);
	for (unsigned int i = 0; i < 4; i++)
		frame[bytes - 4 + i] = (uint8_t)(icrc >> 8 * i);
}

void
tap_checksum_icmp(uint8_t *frame, size_t l3)
{
	tap_checksum_ipv4(frame, l3);
	tap_put_checksum(frame + l3 + 22, tap_sum(0, frame + l3 + 20, get16(frame + l3 + 2) - 20));
}

void
tap_checksum_icmp6(uint8_t *frame, size_t l3)
{
	size_t bytes = get16(frame + l3 + 4);
	uint32_t total = tap_sum(0, frame + l3 + 8, 32) + (uint32_t)bytes + 58;

	tap_put_checksum(frame + l3 + 42, tap_sum(total, frame + l3 + 40, bytes));
}

struct rte_mbuf *
tap_mbuf(struct tap *t, const uint8_t *frame, size_t bytes)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(t->pool);

	assert_non_null(m);
	assert_true(bytes <= TAP_BYTES);
	memcpy(rte_pktmbuf_append(m, (uint16_t)bytes), frame, bytes);
	return m;
}

void
tap_send_mbuf(struct tap *t, struct rte_mbuf *m)
{
	assert_int_equal(rte_ring_enqueue(t->wire.rx[0], m), 0);
	test_poll(&t->worker, 1, POLLS);
}

void
tap_send(struct tap *t, const uint8_t *frame, size_t bytes)
{
	tap_send_mbuf(t, tap_mbuf(t, frame, bytes));
}

struct rte_mbuf *
tap_receive(struct tap *t)
{
	struct rte_mbuf *m = NULL;

	for (unsigned int i = 0; i < PATIENCE; i++) {
		if (rte_ring_dequeue(t->wire.tx[0], (void **)&m) == 0)
			return m;
		uroce_worker_poll(t->worker);
	}
	fail_msg("the device has sent no frame");
	return NULL;
}

void
tap_expect(struct tap *t, const uint8_t *frame, size_t bytes)
{
	struct rte_mbuf *m = tap_receive(t);

	assert_int_equal(rte_pktmbuf_pkt_len(m), bytes);
	assert_int_equal(m->nb_segs, 1);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), frame, bytes);
	rte_pktmbuf_free(m);
}

void
tap_expect_text(struct tap *t, const char *text)
{
	uint8_t frame[TAP_BYTES];
	size_t bytes = tap_frame(t, frame, text);

	tap_expect(t, frame, bytes);
}

void
tap_expect_nothing(struct tap *t)
{
	test_poll(&t->worker, 1, POLLS);
	assert_true(rte_ring_empty(t->wire.tx[0]));
}

void
tap_upkeep(struct tap *t, uint64_t now_ns)
{
	uroce_worker_enter(t->worker);
	uroce_port_upkeep(&t->port->queues[0], now_ns);
	uroce_worker_exit(t->worker);
}

uint64_t
tap_counter(struct tap *t, const char *name)
{
	return test_counter(t->context, name);
}

void
tap_expect_drop(struct tap *t, const uint8_t *frame, size_t bytes, const char *counter)
{
	uint64_t before = tap_counter(t, counter);

	tap_send(t, frame, bytes);
	assert_int_equal(tap_counter(t, counter), before + 1);
	tap_expect_nothing(t);
}
