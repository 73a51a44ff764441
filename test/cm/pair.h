/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two communication managers and a wire between them, with a clock that only moves when told. The
 * wire loses, doubles and delays MADs as it is told, from a seed. Each end keeps what its consumer
 * was told; a test says what the consumer does. One thread.
 */

#ifndef UROCE_TEST_CM_PAIR_H
#define UROCE_TEST_CM_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/ib/cm.h"
#include "cm/ib/mad.h"
#include "cm/ib/state.h"

#define TEST_CLIENT     0
#define TEST_SERVER     1
#define TEST_SERVICE_ID 0x0000000001061234ull
#define TEST_LATENCY_NS 1000000ull
#define TEST_LOG        64

struct test_pair;
struct test_end;

/* What the consumer of an end does; the value is that of uroce_cm_ops.event. */
typedef int (*test_event_fn)(struct test_end *end, const struct uroce_cm_event *event);

struct test_end {
	struct test_pair *pair;
	struct uroce_cm *cm;
	union ibv_gid gid;
	uint64_t guid;
	test_event_fn on_event;
	void *arg;
	/* the last TEST_LOG of them */
	struct {
		enum uroce_cm_event_type type;
		struct uroce_cm_conn *conn;
	} log[TEST_LOG];
	unsigned int events;
	uint64_t last_ns; /* of the last event */
	unsigned int by_type[UROCE_CM_SIDR_REQ_ERROR + 1];
	struct uroce_cm_conn *accepted; /* of the last REQ or SIDR_REQ */
	uint16_t rej_reason;            /* of the last REJ */
	uint8_t apr_status;
	struct uroce_cm_sidr_rep sidr_rep;        /* its private data is not kept */
	uint8_t priv[UROCE_CM_MAX_PRIVATE_BYTES]; /* of the last event */
	uint8_t priv_bytes;
};

struct test_mad {
	uint64_t at_ns;
	uint64_t number;
	struct uroce_cm_path path; /* of its sender */
	uint8_t to;
	uint8_t bytes[UROCE_CM_MAD_BYTES];
};

struct test_pair {
	struct test_end end[2];
	uint64_t now_ns;
	uint64_t seed;
	unsigned int loss, dup, late; /* per 1000 */
	bool cut[2];                  /* nothing reaches this end */
	struct test_mad *heap;        /* on the wire, the next to arrive first */
	unsigned int on_wire, room;
	uint64_t number;
	struct test_mad last[2]; /* sent to this end */
	unsigned int sent[UROCE_CM_MESSAGE_COUNT];
};

void test_pair_init(struct test_pair *p, uint64_t seed);
void test_pair_init_max(struct test_pair *p, uint64_t seed, uint32_t max_conns);
void test_pair_fini(struct test_pair *p);
uint32_t test_pair_random(struct test_pair *p, uint32_t below);

/** When something happens next; UINT64_MAX: never. */
uint64_t test_pair_next_ns(const struct test_pair *p);
/** Let time pass until nothing is left to happen, or until_ns is reached. */
void test_pair_run(struct test_pair *p, uint64_t until_ns);
/** Deliver what is on the wire, without waiting for anybody's patience to end. */
void test_pair_deliver(struct test_pair *p);
/** Everything that is on the wire gets lost. */
void test_pair_lose(struct test_pair *p);

/** A MAD from the other end, or who says it is. */
void test_end_receive(struct test_end *end, const uint8_t *mad);
struct uroce_cm_conn *test_end_listen(struct test_end *end, uint64_t service_id);
/** A path from this end to the other. */
struct uroce_cm_path test_end_path(const struct test_end *end);
/** What rdma_connect() would ask for. */
struct uroce_cm_req test_end_req(const struct test_end *end, uint32_t qpn);
struct uroce_cm_rep test_end_rep(const struct test_end *end, uint32_t qpn);
/** A connection whose REQ has been sent. */
struct uroce_cm_conn *test_end_connect(struct test_end *end, uint32_t qpn);
uint64_t test_end_counter(const struct test_end *end, const char *name);

/** Both ends established; [TEST_CLIENT] has sent the REQ. The server's listener is made for it, and
 * gone. */
void test_pair_connect(struct test_pair *p, struct uroce_cm_conn *conns[2]);

enum uroce_cm_state test_state(const struct uroce_cm_conn *conn);
/** Connections of the manager, whatever their state. */
uint32_t test_end_conns(const struct test_end *end);

/** Answers every REQ, REP, DREQ and SIDR_REQ as a friendly consumer would. */
int test_friendly(struct test_end *end, const struct uroce_cm_event *event);
/** Does nothing: what has come in is answered by the test. */
int test_silent(struct test_end *end, const struct uroce_cm_event *event);

#endif /* UROCE_TEST_CM_PAIR_H */
