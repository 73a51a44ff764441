/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Stands in for lib/port: decodes frames, finds the QP, gives the engine its turns, and keeps the frames that it sends.
 * Received frames end at an unreadable page, so that a read beyond them stops the test. For one thread.
 */

#include <string.h>

#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_malloc.h>

#include "device.h"
#include "harness/setup.h"
#include "uroce_config.h"
#include "verbs/address/mcast.h"
#include "verbs/qp/qp.h"
#include "wire/packet.h"

#define QUEUE_FRAMES 1024
#define POOL_MBUFS 2047

const struct device_conf device_ipv4 = {
	.our_gid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 }, .peer_gid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 },
};
const struct device_conf device_ipv6 = {
	.our_gid.raw = { 0xfd, [15] = 1 }, .peer_gid.raw = { 0xfd, [15] = 2 },
};

static struct {
	struct harness_device host;
	struct uroce_engine engine;
	struct device_conf conf;
	struct uroce_template to_engine;
	struct rte_mempool *headers, *payloads, *received;
	uint64_t now_ns;
	bool stalled;
	uint64_t verdicts[UROCE_VERDICT_COUNT];	/* of frames that did not reach the engine */
	struct device_frame queue[QUEUE_FRAMES];
	uint32_t queue_head, queue_tail;
} device;

static void
open_once(void)
{
	if (device.headers != NULL)
		return;
	harness_eal();
	device.headers = harness_pool("headers", POOL_MBUFS, UROCE_TX_INLINE_BYTES);
	device.payloads = harness_pool("payloads", POOL_MBUFS, 4096);
	device.received = harness_pool("received", POOL_MBUFS, DEVICE_FRAME_BYTES);
}

void
device_open(const struct device_conf *conf)
{
	const struct uroce_device_conf dev_conf = { .name = "uroce0", .numa_node = -1, .log2_max_qp = 6,
						    .log2_max_mr = 8, .go_back_n = conf->go_back_n };

	open_once();
	device.conf = *conf;
	harness_headers(&device.to_engine, &conf->peer_gid, &conf->our_gid);
	memset(device.verdicts, 0, sizeof(device.verdicts));
	device.queue_head = device.queue_tail = 0;
	device.now_ns = 1000000000;
	device.stalled = false;
	RTE_VERIFY(uroce_engine_init(&device.engine, device.headers, device.payloads, NULL, device.now_ns) == 0);
	harness_device_init(&device.host, &device.engine, &dev_conf);
	device.host.gids[0] = conf->our_gid;
	device.host.clock_ns = &device.now_ns;
	device.host.multi_seg = !conf->copy;
}

const char *
device_close(void)
{
	if (harness_device_fini(&device.host) != 0)
		return "objects of the device";
	if (rte_mempool_in_use_count(device.headers) != 0 || rte_mempool_in_use_count(device.payloads) != 0 ||
	    rte_mempool_in_use_count(device.received) != 0)
		return "mbufs";
	uroce_engine_fini(&device.engine);
	return uroce_wheel_next(&device.engine.wheel) != UINT64_MAX ? "timers" : NULL;
}

struct ibv_context *
device_context(void)
{
	return device.host.context;
}

const struct device_conf *
device_conf_get(void)
{
	return &device.conf;
}

uint64_t
device_now(void)
{
	return device.now_ns;
}

uint32_t
device_headers_write(uint8_t *frame, uint32_t udp_payload)
{
	uroce_template_write(&device.to_engine, frame, udp_payload);
	return device.to_engine.header_bytes;
}

/* The QP of a packet, or all QPs that are attached to its group. */
static unsigned int
receivers_of(const struct uroce_packet *p, struct uroce_qp **to)
{
	uint8_t mgid[16] = { [10] = 0xff, 0xff };

	if (p->dest_qpn != UROCE_MULTICAST_QPN) {
		to[0] = uroce_qp_lookup(&device.host.dev, p->dest_qpn);
		return to[0] != NULL;
	}
	memcpy(p->ip_version == 4 ? mgid + 12 : mgid, p->dst_ip, p->ip_version == 4 ? 4 : 16);
	return uroce_mcast_receivers(&device.host.dev, mgid, to);
}

/* Receive the frame into an mbuf as a port does, because the engine may keep it. */
static struct rte_mbuf *
receive(const struct device_frame *f)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(device.received);
	char *bytes;

	RTE_VERIFY(m != NULL);
	bytes = rte_pktmbuf_append(m, (uint16_t)f->len);
	RTE_VERIFY(bytes != NULL);
	memcpy(bytes, f->bytes, f->len);
	return m;
}

void
device_in(const struct device_frame *frames, unsigned int n)
{
	static struct uroce_packet packets[DEVICE_BURST * UROCE_MAX_MCAST_QPS];
	static struct uroce_qp *qps[RTE_DIM(packets)];
	struct rte_mbuf *mbufs[DEVICE_BURST];
	unsigned int good = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_mbuf *m = mbufs[i] = receive(&frames[i]);
		enum uroce_verdict v = uroce_packet_decode(m, RTE_ETHER_HDR_LEN, &packets[good]);
		unsigned int receivers = v == UROCE_OK ? receivers_of(&packets[good], &qps[good]) : 0;

		if (v == UROCE_OK && receivers == 0)
			v = UROCE_DROP_QPN;
		if (v != UROCE_OK)
			device.verdicts[v]++;
		for (unsigned int r = 1; r < receivers; r++)
			packets[good + r] = packets[good];
		good += receivers;
	}
	uroce_engine_receive(&device.engine, qps, packets, good, device.now_ns);
	rte_pktmbuf_free_bulk(mbufs, n);
}

/* Copy the frame, and free its mbuf. */
static void
take(struct rte_mbuf *m, struct device_frame *f)
{
	const uint8_t *bytes;

	RTE_VERIFY(m->pkt_len <= sizeof(f->bytes));
	rte_mbuf_sanity_check(m, 1);
	f->at_ns = device.now_ns;
	f->len = m->pkt_len;
	bytes = rte_pktmbuf_read(m, 0, m->pkt_len, f->bytes);
	if (bytes != f->bytes)
		memcpy(f->bytes, bytes, f->len);
	rte_pktmbuf_free(m);
}

static void
keep(struct rte_mbuf *m)
{
	RTE_VERIFY(device.queue_tail - device.queue_head < QUEUE_FRAMES);
	take(m, &device.queue[device.queue_tail++ % QUEUE_FRAMES]);
}

bool
device_send_one(struct device_frame *out, uint64_t ns)
{
	uint64_t end = device.now_ns + ns;
	struct rte_mbuf *m;

	while (uroce_engine_send(&device.engine, &m, 1, device.now_ns) == 0) {
		uint64_t deadline = uroce_engine_deadline(&device.engine);

		if (deadline > end)
			return false;
		device.now_ns = RTE_MAX(deadline, device.now_ns + 1);
	}
	take(m, out);
	return true;
}

void
device_send(void)
{
	struct rte_mbuf *frames[DEVICE_BURST];
	unsigned int n;

	if (device.stalled)
		return;
	do {
		n = uroce_engine_send(&device.engine, frames, DEVICE_BURST, device.now_ns);
		for (unsigned int i = 0; i < n; i++)
			keep(frames[i]);
	} while (n > 0);
}

void
device_stall(bool stalled)
{
	device.stalled = stalled;
}

const struct device_frame *
device_out_peek(void)
{
	return device.queue_head == device.queue_tail ? NULL
						      : &device.queue[device.queue_head % QUEUE_FRAMES];
}

void
device_out_take(void)
{
	device.queue_head++;
}

uint64_t
device_wait(uint64_t ns)
{
	uint64_t end = device.now_ns + ns;

	while (device_out_peek() == NULL && device.now_ns < end) {
		uint64_t deadline = uroce_engine_deadline(&device.engine);

		/* the engine has had its turn for a deadline that has passed */
		device.now_ns = RTE_MIN(end, RTE_MAX(deadline, device.now_ns + 1));
		device_send();
	}
	return end - device.now_ns;
}

bool
device_counter(const char *name, uint64_t *value)
{
	for (unsigned int v = 0; v < UROCE_VERDICT_COUNT; v++) {
		if (strcmp(uroce_verdicts[v].name, name) != 0)
			continue;
		*value = device.verdicts[v] + device.engine.verdicts[v];
		return true;
	}
	for (unsigned int c = 0; c < UROCE_ENGINE_COUNTER_COUNT; c++) {
		if (strcmp(uroce_engine_counter_names[c], name) != 0)
			continue;
		*value = device.engine.counters[c];
		return true;
	}
	return false;
}
