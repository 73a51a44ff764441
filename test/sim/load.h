/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The parts of the workload. All of them are at work in one world at the same time, and each has an
 * oracle of its own for what it posts; workload.c gives them their turns.
 */

#ifndef UROCE_TEST_SIM_LOAD_H
#define UROCE_TEST_SIM_LOAD_H

#include <stdbool.h>

#include <infiniband/verbs.h>

struct end;
struct sim;

struct load {
	const char *name;
	unsigned int share; /* of the turns */
	void (*create)(struct sim *sim);
	/** Do one thing, drawn from the seed. @return whether something was sent */
	bool (*act)(struct sim *sim);
	/** Poll, and post what it takes for all to complete. @return whether it has */
	bool (*settle)(struct sim *sim, bool post_receives);
	/** All is at rest: what has come must be what was posted. */
	void (*rest)(struct sim *sim);
	/** An asynchronous event. @return whether it is of something of this part's */
	bool (*event)(struct sim *sim, struct end *e, const struct ibv_async_event *event);
	/** Say what has not completed. */
	void (*report)(struct sim *sim);
	void (*destroy)(struct sim *sim);
};

extern const struct load load_conns;	  /* conns.c: reliable connections, on all of an end's memory */
extern const struct load load_unreliable; /* unreliable.c: UC and UD */
extern const struct load load_shared;	  /* shared.c: RC and XRC with shared receive queues */

/** Poll those connections that are up, and post receives for what is under way. */
void conns_feed(struct sim *sim);

/** Have every connection fail at the same time. */
void conns_fail(struct sim *sim);

void loads_create(struct sim *sim);
/** One turn of one part. @return whether something was sent */
bool loads_act(struct sim *sim);
/** @return whether all has completed */
bool loads_settle(struct sim *sim, bool post_receives);
void loads_rest(struct sim *sim);
void loads_report(struct sim *sim);
void loads_destroy(struct sim *sim);

/** Take the asynchronous events of an end's device: each must be somebody's. */
void loads_take_events(struct sim *sim, struct end *e);

#endif /* UROCE_TEST_SIM_LOAD_H */
