/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Target: the rdma_cm calls in any order with any arguments, on two devices that exchange MADs, lose them, or get
 * made-up ones; requests with any rdma_cm header; removed devices. Each event is for an existing ID, and at the end
 * nothing leaks. No call blocks: channels are non-blocking, and events are acknowledged at once.
 */

#include <errno.h>
#include <string.h>
#include <arpa/inet.h>

#include "cm/rdma/cma_header.h"
#include "cm/rdma/cma_sockaddr.h"
#include "cm/ib/mad.h"
#include "cma_world.h"
#include "fuzz.h"
#include "base/random.h"

#define MAX_IDS     24
#define MAX_STEPS   256
#define MAX_CONNS 256 /* enough for an input; larger tables would take half of the time */
#define CHANNELS    2
#define LOSE_ONE_IN 4

static struct {
	struct fuzz_input in;
	struct rdma_event_channel *channels[CHANNELS];
	struct rdma_cm_id *ids[MAX_IDS];
	unsigned int count;
	unsigned int sent;
} fuzz;

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_init(true);
	world_max_conns = MAX_CONNS;
	return 0;
}

static uint8_t
u8(void)
{
	return fuzz_u8(&fuzz.in);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static struct sockaddr *
address(void)
{
	static struct sockaddr_storage any;
	uint8_t how = u8(), host = u8();
	uint16_t port = 7000 + host % 4;

	switch (how % 8) {
	case 0: return world_v6(1 + host % 2, port);
	case 1: return world_v4(0, port);
	case 2: return world_v6(0, host % 2 == 0 ? port : 0);
	case 3: return world_v4(host, port);
	case 4: /* a multicast group */
		any.ss_family = AF_INET;
		((struct sockaddr_in *)&any)->sin_addr.s_addr = htonl(0xef000000 | host % 4);
		return (struct sockaddr *)&any;
	case 5:
		fuzz_bytes(&fuzz.in, &any, 28);
		any.ss_family = (sa_family_t)(how & 0x80 ? AF_INET6 : host);
		return (struct sockaddr *)&any;
	default: return world_v4(1 + host % 2, port);
	}
}

static struct rdma_conn_param
param(void)
{
	static uint8_t data[UINT8_MAX];
	uint8_t how = u8();
	struct rdma_conn_param p = { .responder_resources = how & 0x1f,
				     .initiator_depth = how >> 3,
				     .retry_count = 7,
				     .rnr_retry_count = 7 };

	if ((how & 1) != 0) {
		p.private_data = data;
		p.private_data_len = u8();
	}
	if ((how & 2) != 0) {
		p.retry_count = u8();
		p.rnr_retry_count = u8();
		p.qp_num = fuzz_u32(&fuzz.in);
		p.srq = u8();
	}
	return p;
}

static struct rdma_cm_id *
pick(void)
{
	uint8_t i = u8();

	return fuzz.count > 0 ? fuzz.ids[i % fuzz.count] : NULL;
}

/* ---- IDs and events ------------------------------------------------------------------------- */

static bool
is_known(const struct rdma_cm_id *id)
{
	for (unsigned int i = 0; i < fuzz.count; i++)
		if (fuzz.ids[i] == id)
			return true;
	return false;
}

static void
destroy(unsigned int i)
{
	struct rdma_cm_id *id = fuzz.ids[i];

	if (id->qp != NULL)
		uroce_rdma_destroy_qp(id);
	if (id->srq != NULL)
		uroce_rdma_destroy_srq(id);
	RTE_VERIFY(uroce_rdma_destroy_id(id) == 0);
	fuzz.ids[i] = fuzz.ids[--fuzz.count];
}

static void
create(void)
{
	static const enum rdma_port_space spaces[] = { RDMA_PS_TCP, RDMA_PS_TCP, RDMA_PS_UDP,
						       RDMA_PS_IB, RDMA_PS_IPOIB };
	enum rdma_port_space ps = spaces[u8() % RTE_DIM(spaces)];
	struct rdma_cm_id *id;

	if (fuzz.count < MAX_IDS &&
	    uroce_rdma_create_id(fuzz.channels[u8() % CHANNELS], &id, NULL, ps) == 0)
		fuzz.ids[fuzz.count++] = id;
}

static void
take_events(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *event;

	while (uroce_rdma_get_cm_event(channel, &event) == 0) {
		struct rdma_cm_id *comes = NULL;

		RTE_VERIFY(event->param.conn.private_data_len <= UROCE_CM_MAX_PRIVATE_BYTES);
		if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
			comes = event->id;
			RTE_VERIFY(!is_known(comes) && is_known(event->listen_id));
		} else {
			RTE_VERIFY(is_known(event->id) && event->id->channel == channel);
		}
		RTE_VERIFY(uroce_rdma_ack_cm_event(event) == 0);
		if (comes == NULL)
			continue;
		if (fuzz.count == MAX_IDS)
			destroy(0);
		fuzz.ids[fuzz.count++] = comes;
	}
	RTE_VERIFY(errno == EAGAIN);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void
call_qp(struct rdma_cm_id *id)
{
	uint8_t how = u8();
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 1 + how % 2,
			 .max_recv_wr = 1,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = (how & 0x80) != 0 ? (enum ibv_qp_type)(how & 0xf) : id->qp_type,
	};
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1 + how % 4, .max_sge = 1 } };

	if ((how & 0x40) != 0 && id->srq == NULL)
		uroce_rdma_create_srq(id, NULL, &srq);
	else if (id->qp == NULL)
		uroce_rdma_create_qp(id, NULL, &attr);
	else
		uroce_rdma_destroy_qp(id);
}

static void
call_resolve(struct rdma_cm_id *id)
{
	struct sockaddr *src = u8() % 4 == 0 ? address() : NULL;
	struct sockaddr *dst = address();

	uroce_rdma_resolve_addr(id, src, dst, u8() * 10);
}

static void
call_option(struct rdma_cm_id *id)
{
	uint8_t value[8];
	int level = u8() % 3, option = u8() % 5;

	fuzz_bytes(&fuzz.in, value, sizeof(value));
	uroce_rdma_set_option(id, level, option, value, u8() % (sizeof(value) + 1));
}

static void
call_attr(struct rdma_cm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = u8() % 8 };
	struct ibv_ece ece = { .vendor_id = fuzz_u32(&fuzz.in), .options = u8() };
	int mask;

	uroce_rdma_init_qp_attr(id, &attr, &mask);
	uroce_rdma_set_local_ece(id, &ece);
	uroce_rdma_get_remote_ece(id, &ece);
	uroce_rdma_get_src_port(id);
	uroce_rdma_get_dst_port(id);
}

static void
call(struct rdma_cm_id *id)
{
	static const uint8_t data[UINT8_MAX];
	struct rdma_conn_param p;

	switch (u8() % 20) {
	case 0:
	case 1: uroce_rdma_bind_addr(id, address()); break;
	case 2:
	case 3: uroce_rdma_listen(id, u8() % 4); break;
	case 4:
	case 5: call_resolve(id); break;
	case 6: uroce_rdma_resolve_route(id, u8()); break;
	case 7:
	case 8: call_qp(id); break;
	case 9:
	case 10:
		p = param();
		uroce_rdma_connect(id, u8() % 8 == 0 ? NULL : &p);
		break;
	case 11:
	case 12:
		p = param();
		uroce_rdma_accept(id, u8() % 8 == 0 ? NULL : &p);
		break;
	case 13: uroce_rdma_reject(id, data, u8()); break;
	case 14: uroce_rdma_disconnect(id); break;
	case 15: uroce_rdma_join_multicast(id, address(), NULL); break;
	case 16: uroce_rdma_leave_multicast(id, address()); break;
	case 17: call_option(id); break;
	case 18: call_attr(id); break;
	default:
		if (u8() % 2 == 0)
			uroce_rdma_migrate_id(id, fuzz.channels[u8() % CHANNELS]);
		else if (uroce_rdma_establish(id) != 0)
			uroce_rdma_notify(id,
					  u8() % 2 == 0 ? IBV_EVENT_COMM_EST : IBV_EVENT_QP_FATAL);
		break;
	}
}

/* ---- the wire ------------------------------------------------------------------------------- */

static bool
lose(const uint8_t *mad)
{
	(void)mad;
	return fuzz.sent++ % LOSE_ONE_IN == 0;
}

/* Deliver a REQ or SIDR_REQ with a nearly valid header to device 0 or 1. */
static void
request_in(void)
{
	uint8_t how = u8(), mad[UROCE_CM_MAD_BYTES], to = how & 1, at = u8();
	struct uroce_cm_path path = { .hop_limit = 64, .pkey = 0xffff, .mtu = IBV_MTU_1024 };
	uint64_t service = ((how & 2) != 0 ? 0x0000000001110000ull : 0x0000000001060000ull) |
			   (7000 + u8() % 4);
	uint8_t *header;

	uroce_cma_addr_to_gid(world_v4(1 + to, 0), &path.sgid);
	uroce_cma_addr_to_gid(world_v4(2 - to, 0), &path.dgid);
	uroce_cm_mad_init(mad, (how & 2) != 0 ? UROCE_CM_SIDR_REQ : UROCE_CM_REQ, at);
	if ((how & 2) != 0) {
		uroce_cm_put(mad, SIDR_REQ, REQUEST_ID, at);
		uroce_cm_put(mad, SIDR_REQ, SERVICE_ID, service);
		uroce_cm_put(mad, SIDR_REQ, PKEY, 0xffff);
	} else {
		uroce_cm_put(mad, REQ, LOCAL_COMM_ID, at);
		uroce_cm_put(mad, REQ, SERVICE_ID, service);
		uroce_cm_put(mad, REQ, QPN, 2 + at);
		uroce_cm_put(mad, REQ, MTU, 3);
		memcpy(uroce_cm_at(mad, REQ, PRIMARY_LOCAL_GID), path.dgid.raw, 16);
		memcpy(uroce_cm_at(mad, REQ, PRIMARY_REMOTE_GID), path.sgid.raw, 16);
	}
	header =
		mad +
		uroce_cm_messages[(how & 2) != 0 ? UROCE_CM_SIDR_REQ : UROCE_CM_REQ].private_offset;
	uroce_cma_header_encode(header, world_v4(2 - to, 9000), world_v4(1 + to, 0));
	for (unsigned int n = how >> 6; n > 0; n--)
		fuzz_poke(&fuzz.in, header, UROCE_CMA_HEADER_BYTES);
	if ((how & 4) != 0)
		fuzz_poke(&fuzz.in, mad + 24, sizeof(mad) - 24);
	if (world.devices[to].gone || world.started == 0)
		return;
	pthread_mutex_lock(&uroce_cm_lock);
	uroce_cm_receive(world.devices[to].agent.cm, mad, sizeof(mad), &path, world.now_ns);
	pthread_mutex_unlock(&uroce_cm_lock);
}

static void
device_go(unsigned int d)
{
	if (world.devices[d].gone || world.started == 0)
		return;
	world_go(d);
}

/* ---- the target ------------------------------------------------------------------------------ */

static void
step(void)
{
	uint8_t what = u8();
	struct rdma_cm_id *id;

	switch (what % 16) {
	case 0:
	case 1: create(); break;
	case 2:
		if (fuzz.count > 0)
			destroy(u8() % fuzz.count);
		break;
	case 3:
	case 4: world_deliver(); break;
	case 5:
	case 6:
	case 7: take_events(fuzz.channels[what >> 7]); break;
	case 8: world_pass(WORLD_MS << u8() % 15); break;
	case 9: request_in(); break;
	case 10:
		if (u8() % 16 == 0)
			device_go(u8() % 2);
		world.lose = u8() % 4 == 0 ? lose : NULL;
		world.resolve = (int[]){ 0, -EINPROGRESS, -EHOSTUNREACH }[u8() % 3];
		break;
	default:
		id = pick();
		if (id != NULL)
			call(id);
		break;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&fuzz, 0, sizeof(fuzz));
	fuzz.in = (struct fuzz_input){ data, size };
	uroce_random_seed(1);
	world_setup(NULL);
	for (unsigned int i = 0; i < CHANNELS; i++)
		fuzz.channels[i] = world_channel();
	for (unsigned int i = 0; i < MAX_STEPS && fuzz_more(&fuzz.in); i++)
		step();
	world_pass(10 * WORLD_MS);
	for (unsigned int i = 0; i < CHANNELS; i++)
		take_events(fuzz.channels[i]);
	while (fuzz.count > 0)
		destroy(fuzz.count - 1);
	for (unsigned int i = 0; i < CHANNELS; i++)
		uroce_rdma_destroy_event_channel(fuzz.channels[i]);
	world_teardown(NULL);
	return 0;
}
