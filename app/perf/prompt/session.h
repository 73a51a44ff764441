/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A session: tests one after the other, as the prompt asks for them. The main thread owns the hosts, polls their
 * workers and runs the tests, as without a prompt; the prompt's thread owns the options while no test runs.
 */

#ifndef UROCE_PERF_PROMPT_SESSION_H
#define UROCE_PERF_PROMPT_SESSION_H

#include <pthread.h>

#include "bench.h"

#define PERF_MAX_HOSTS 2 /* of one process: client and server */

enum perf_session_state {
	PERF_SESSION_IDLE,    /* the prompt's thread owns options and rows */
	PERF_SESSION_RUNNING, /* the main thread owns options and rows */
	PERF_SESSION_ENDING,  /* no test will be started */
};

struct perf_session {
	struct app_host *hosts[PERF_MAX_HOSTS]; /* the client's first; with two processes, only one */
	unsigned int nb_hosts;
	struct perf_options options;
	struct perf_bench *bench; /* NULL: a server, whose client selects the tests */
	pthread_mutex_t lock;     /* protects all up to `failed` */
	enum perf_session_state state;
	bool stopping;     /* the prompt stops the running test */
	unsigned int ended;       /* number of ended tests */
	char line[PERF_TEXT_BYTES]; /* progress not yet read by the prompt, or empty */
	bool failed;       /* a test or a command of a script has failed */
	int event;         /* eventfd: a field above has changed */
	bool on_terminal;  /* progress goes through the prompt; constant */
	/* main thread */
	char *impairment;    /* in effect now; NULL: none */
	bool no_congestion;
	unsigned int looks;  /* checks of the peer while no test runs */
	struct perf_row *rows; /* rows of all tests */
	unsigned int nb_rows;
};

/** Initialize a session; copies the options. @return 0 or -1, a message printed */
int uroce_perf_session_init(struct perf_session *s, const struct perf_options *options);
void uroce_perf_session_fini(struct perf_session *s);

/** Run the requested tests until the session ends. Main thread. */
void uroce_perf_session_run(struct perf_session *s);
/** End the session, and stop a running test. Any thread. */
void uroce_perf_session_end(struct perf_session *s);

/* ---- the prompt's thread */

enum perf_session_state uroce_perf_session_state(struct perf_session *s);
/** Request a test. @return false: a test is running, or the session ends */
bool uroce_perf_session_start(struct perf_session *s);
/** Request that the running test, if any, stops. */
void uroce_perf_session_stop(struct perf_session *s);
/** Have the exit status report a failure. */
void uroce_perf_session_fail(struct perf_session *s);

#endif /* UROCE_PERF_PROMPT_SESSION_H */
