/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A session: tests one after the other, as the prompt asks for them. The main thread has the hosts, polls their
 * workers and runs the tests, as without a prompt; the prompt's thread owns the options while no test runs.
 */

#ifndef UROCE_PERF_PROMPT_SESSION_H
#define UROCE_PERF_PROMPT_SESSION_H

#include <pthread.h>

#include "measure/bench.h"

#define PERF_MAX_HOSTS 2 /* of one process: client and server */

enum perf_session_state {
	PERF_SESSION_IDLE,    /* the options and rows are the prompt's */
	PERF_SESSION_RUNNING, /* ... the main thread's */
	PERF_SESSION_ENDING,  /* nothing will be started any more */
};

struct perf_session {
	struct app_host *hosts[PERF_MAX_HOSTS]; /* the client's first; the only one, of two processes */
	unsigned int nb_hosts;
	struct perf_options options;
	struct perf_bench *bench; /* NULL: a server, whose client says what runs */
	pthread_mutex_t lock;     /* protects all up to `failed` */
	enum perf_session_state state;
	bool stopping;     /* the test that runs, by the prompt */
	unsigned int ended;       /* tests */
	char line[PERF_TEXT_BYTES]; /* progress that the prompt has not read yet, or empty */
	bool failed;       /* a test, or a command of a script */
	int event;         /* eventfd: something above has changed */
	bool on_terminal;  /* progress goes through the prompt; constant */
	/* main thread */
	char *impairment;    /* as it is; NULL: none */
	bool no_congestion;
	unsigned int looks;  /* at the peer, while nothing runs */
	struct perf_row *rows; /* of all tests */
	unsigned int nb_rows;
};

/** The options are copied. @return 0 or -1, a message printed */
int uroce_perf_session_init(struct perf_session *s, const struct perf_options *options);
void uroce_perf_session_fini(struct perf_session *s);

/** Run what is asked for until the session ends. The main thread. */
void uroce_perf_session_run(struct perf_session *s);
/** It ends now: a test that runs is stopped. Any thread. */
void uroce_perf_session_end(struct perf_session *s);

/* ---- the prompt's thread */

enum perf_session_state uroce_perf_session_state(struct perf_session *s);
/** @return false: a test runs, or it ends */
bool uroce_perf_session_start(struct perf_session *s);
/** Ask the test that runs, if one does, to end. */
void uroce_perf_session_stop(struct perf_session *s);
/** Something went wrong that the exit status tells. */
void uroce_perf_session_fail(struct perf_session *s);

#endif /* UROCE_PERF_PROMPT_SESSION_H */
