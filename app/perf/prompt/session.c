/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The main thread's loop of a session, and the requests of the prompt's thread to it. One lock protects one state,
 * which the main thread checks a thousand times a second while no test runs. A running test reads only
 * uroce_app_stopped(), as without a prompt.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_debug.h>

#include "prompt/session.h"
#include "signals.h"

static void
tell(struct perf_session *s)
{
	const uint64_t one = 1;

	/* a 64-bit counter does not overflow */
	RTE_VERIFY(write(s->event, &one, sizeof(one)) == (ssize_t)sizeof(one));
}

int
uroce_perf_session_init(struct perf_session *s, const struct perf_options *options)
{
	s->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (s->event < 0) {
		fprintf(stderr, "uroce-perf: cannot start the prompt: %s\n", strerror(errno));
		return -1;
	}
	pthread_mutex_init(&s->lock, NULL);
	s->options = *options;
	s->state = s->bench != NULL ? PERF_SESSION_IDLE : PERF_SESSION_RUNNING;
	/* as main() has configured the network */
	s->no_congestion = options->no_congestion;
	s->impairment = options->impair != NULL ? strdup(options->impair) : NULL;
	return 0;
}

void
uroce_perf_session_fini(struct perf_session *s)
{
	close(s->event);
	pthread_mutex_destroy(&s->lock);
	free(s->impairment);
	free(s->rows);
}

enum perf_session_state
uroce_perf_session_state(struct perf_session *s)
{
	enum perf_session_state state;

	pthread_mutex_lock(&s->lock);
	state = s->state;
	pthread_mutex_unlock(&s->lock);
	return state;
}

bool
uroce_perf_session_start(struct perf_session *s)
{
	bool idle;

	pthread_mutex_lock(&s->lock);
	idle = s->state == PERF_SESSION_IDLE;
	if (idle)
		s->state = PERF_SESSION_RUNNING;
	pthread_mutex_unlock(&s->lock);
	return idle;
}

void
uroce_perf_session_stop(struct perf_session *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == PERF_SESSION_RUNNING) {
		s->stopping = true;
		uroce_app_stop();
	}
	pthread_mutex_unlock(&s->lock);
}

void
uroce_perf_session_end(struct perf_session *s)
{
	pthread_mutex_lock(&s->lock);
	if (s->state == PERF_SESSION_RUNNING)
		uroce_app_stop();
	s->state = PERF_SESSION_ENDING;
	pthread_mutex_unlock(&s->lock);
	tell(s);
}

void
uroce_perf_session_fail(struct perf_session *s)
{
	pthread_mutex_lock(&s->lock);
	s->failed = true;
	pthread_mutex_unlock(&s->lock);
}

/* Apply the impairment that the prompt has set, if it has changed. @return 0 or -1, a message printed */
static int
impair(struct perf_session *s)
{
	const char *wanted = s->options.impair;

	if (wanted == NULL ? s->impairment == NULL : s->impairment != NULL && strcmp(wanted, s->impairment) == 0)
		return 0;
	free(s->impairment);
	s->impairment = NULL;
	for (unsigned int i = 0; i < s->nb_hosts; i++)
		uroce_app_host_unimpair(s->hosts[i]);
	for (unsigned int i = 0; i < s->nb_hosts; i++) {
		if (uroce_app_host_impair(s->hosts[i], wanted) != 0)
			return -1;
	}
	s->impairment = wanted != NULL ? strdup(wanted) : NULL;
	return 0;
}

static int
control(struct perf_session *s)
{
	if (s->no_congestion == s->options.no_congestion)
		return 0;
	for (unsigned int i = 0; i < s->nb_hosts; i++) {
		if (uroce_app_host_control(s->hosts[i], !s->options.no_congestion) != 0)
			return -1;
	}
	s->no_congestion = s->options.no_congestion;
	return 0;
}

/* Keep the rows of all tests, for --json. */
static int
rows_keep(struct perf_session *s)
{
	const struct perf_bench *b = s->bench;
	struct perf_row *rows;

	if (b->nb_rows == 0)
		return 0;
	rows = realloc(s->rows, (s->nb_rows + b->nb_rows) * sizeof(*rows));
	if (rows == NULL) {
		fprintf(stderr, "uroce-perf: out of memory for the results\n");
		return -1;
	}
	memcpy(rows + s->nb_rows, b->rows, b->nb_rows * sizeof(*rows));
	s->rows = rows;
	s->nb_rows += b->nb_rows;
	return 0;
}

static void
test_run(struct perf_session *s)
{
	int ret;

	s->bench->options = &s->options;
	s->bench->nb_rows = 0;
	memset(s->bench->rows, 0, sizeof(s->bench->rows));
	ret = impair(s) == 0 && control(s) == 0 ? 0 : -1;
	if (ret == 0)
		ret = uroce_perf_bench_run(s->bench);
	if (rows_keep(s) != 0)
		ret = -1;

	pthread_mutex_lock(&s->lock);
	s->ended++;
	s->failed |= ret != 0;
	if (s->stopping) /* stopped by the prompt, which continues; an outside signal ends the session */
		uroce_app_stop_clear();
	s->stopping = false;
	if (s->state == PERF_SESSION_RUNNING)
		s->state = PERF_SESSION_IDLE;
	pthread_mutex_unlock(&s->lock);
	tell(s);
}

/* Poll the workers, and show the other end that this process is alive. */
static void
idle(struct perf_session *s)
{
	struct perf_peer *peer = s->bench->peer;
	char error[PERF_TEXT_BYTES];
	unsigned int work = 0;

	for (unsigned int i = 0; i < s->nb_hosts; i++)
		work += uroce_worker_poll(s->hosts[i]->workers[0]);
	if (++s->looks % UROCE_PERF_IDLE_LOOKS == 0 && peer->alive(peer, error, sizeof(error)) != 0) {
		fprintf(stderr, "uroce-perf: %s\n", error);
		uroce_perf_session_fail(s);
		uroce_perf_session_end(s);
	} else if (uroce_app_stopped() && uroce_perf_session_state(s) == PERF_SESSION_IDLE) {
		/* end the session first: a test that starts now must see the stop */
		uroce_perf_session_end(s);
	} else if (work == 0) {
		usleep(UROCE_PERF_IDLE_US);
	}
}

/* Pass a line to the prompt, which prints it without breaking the line that is being typed. */
static void
progress(void *arg, const char *line)
{
	struct perf_session *s = arg;

	pthread_mutex_lock(&s->lock);
	snprintf(s->line, sizeof(s->line), "%s", line);
	pthread_mutex_unlock(&s->lock);
	tell(s);
}

void
uroce_perf_session_run(struct perf_session *s)
{
	enum perf_session_state state = uroce_perf_session_state(s);

	s->bench->progress = s->on_terminal ? progress : NULL;
	s->bench->progress_arg = s;
	for (; state != PERF_SESSION_ENDING; state = uroce_perf_session_state(s)) {
		if (state == PERF_SESSION_RUNNING)
			test_run(s);
		else
			idle(s);
	}
}
