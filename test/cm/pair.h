/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Two communication managers with a wire between them, and a clock that the test advances. The wire loses, duplicates
 * and delays MADs at configured rates, from a seed. Each end records its consumer's events; the test supplies the
 * consumer's reaction. For one thread.
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

/* The reaction of an end's consumer; returns the result of uroce_cm_ops.event. */
typedef int (*test_event_fn)(struct test_end *end, const struct uroce_cm_event *event);

struct test_end {
	struct test_pair *pair;
	struct uroce_cm *cm;
	union ibv_gid gid;
	uint64_t guid;
	test_event_fn on_event;
	void *arg;
	/* the last TEST_LOG events */
	struct {
		enum uroce_cm_event_type type;
		struct uroce_cm_conn *conn;
	} log[TEST_LOG];
	unsigned int events;
	uint64_t last_ns; /* time of the last event */
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
	struct uroce_cm_path path; /* the sender's path */
	uint8_t to;
	uint8_t bytes[UROCE_CM_MAD_BYTES];
};

struct test_pair {
	struct test_end end[2];
	uint64_t now_ns;
	uint64_t seed;
	unsigned int loss, dup, late; /* per 1000 */
	bool cut[2];                  /* this end receives nothing */
	struct test_mad *heap;        /* in flight, ordered by arrival */
	unsigned int on_wire, room;
	uint64_t number;
	struct test_mad last[2]; /* last MAD sent to this end */
	unsigned int sent[UROCE_CM_MESSAGE_COUNT];
};

void test_pair_init(struct test_pair *p, uint64_t seed);
void test_pair_init_max(struct test_pair *p, uint64_t seed, uint32_t max_conns);
void test_pair_fini(struct test_pair *p);
uint32_t test_pair_random(struct test_pair *p, uint32_t below);

/** Time of the next arrival or timer; UINT64_MAX: none. */
uint64_t test_pair_next_ns(const struct test_pair *p);
/** Advance the clock until nothing is left to happen, or to until_ns. */
void test_pair_run(struct test_pair *p, uint64_t until_ns);
/** Deliver all MADs in flight, without letting a timer fire. */
void test_pair_deliver(struct test_pair *p);
/** Drop all MADs in flight. */
void test_pair_lose(struct test_pair *p);

/** Receive a MAD with the address of the other end. */
void test_end_receive(struct test_end *end, const uint8_t *mad);
struct uroce_cm_conn *test_end_listen(struct test_end *end, uint64_t service_id);
/** A path from this end to the other. */
struct uroce_cm_path test_end_path(const struct test_end *end);
/** A REQ as rdma_connect() makes it. */
struct uroce_cm_req test_end_req(const struct test_end *end, uint32_t qpn);
struct uroce_cm_rep test_end_rep(const struct test_end *end, uint32_t qpn);
/** A connection that has sent its REQ. */
struct uroce_cm_conn *test_end_connect(struct test_end *end, uint32_t qpn);
uint64_t test_end_counter(const struct test_end *end, const char *name);

/** Establish a connection; [TEST_CLIENT] sends the REQ. The server's listener is created and destroyed here. */
void test_pair_connect(struct test_pair *p, struct uroce_cm_conn *conns[2]);

enum uroce_cm_state test_state(const struct uroce_cm_conn *conn);
/** Number of the manager's connections, in any state. */
uint32_t test_end_conns(const struct test_end *end);

/** A consumer that answers each REQ, REP, DREQ and SIDR_REQ positively. */
int test_friendly(struct test_end *end, const struct uroce_cm_event *event);
/** A consumer that does nothing: the test answers. */
int test_silent(struct test_end *end, const struct uroce_cm_event *event);

#endif /* UROCE_TEST_CM_PAIR_H */
