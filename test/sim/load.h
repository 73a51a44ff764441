/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The parts of the workload. All of them run in one world at the same time, and each has its own oracle; workload.c
 * gives them turns.
 */

#ifndef UROCE_TEST_SIM_LOAD_H
#define UROCE_TEST_SIM_LOAD_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct end;
struct sim;

struct load {
	const char *name;
	unsigned int share; /* relative number of turns */
	void (*create)(struct sim *sim);
	/** Do one random action. @return whether something was posted */
	bool (*act)(struct sim *sim);
	/** Poll, and post what it takes for all to complete. @return whether it has */
	bool (*settle)(struct sim *sim, bool post_receives);
	/** Compare received with posted data, when all is at rest. */
	void (*rest)(struct sim *sim);
	/** Handle an asynchronous event. @return whether its object belongs to this part */
	bool (*event)(struct sim *sim, struct end *e, const struct ibv_async_event *event);
	/** Print outstanding requests. */
	void (*report)(struct sim *sim);
	void (*destroy)(struct sim *sim);
};

extern const struct load load_conns;	  /* conns.c: reliable connections, on all of an end's memory */
extern const struct load load_unreliable; /* unreliable.c: UC and UD */
extern const struct load load_shared;	  /* shared.c: RC and XRC with shared receive queues */

/** Poll connections that are up, and post receives for outstanding messages. */
void conns_feed(struct sim *sim);

/** Make every connection fail at the same time. */
void conns_fail(struct sim *sim);

void loads_create(struct sim *sim);
/** Give one turn to one part. @return whether something was posted */
bool loads_act(struct sim *sim);
/** @return whether all has completed */
bool loads_settle(struct sim *sim, bool post_receives);
void loads_rest(struct sim *sim);
void loads_report(struct sim *sim);
void loads_destroy(struct sim *sim);

/** Take the asynchronous events of an end's device; each must belong to a part. */
void loads_take_events(struct sim *sim, struct end *e);

#endif /* UROCE_TEST_SIM_LOAD_H */
