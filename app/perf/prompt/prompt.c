/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The prompt's thread, a control thread of EAL beside the lcores. Only this thread reads commands and, with a
 * terminal, writes to it: the main thread passes progress and results through the session. rte_cmdline edits,
 * completes and parses.
 *
 * This file reads the input, since rte_cmdline does not detect its end and cannot wait for another descriptor. It
 * sets the terminal's mode, since cmdline_stdin_new() does so only after it has printed its prompt: keys pressed in
 * between are lost, or end a line.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <rte_common.h>
#include <rte_debug.h>
#include <rte_lcore.h>

#include "base/dpdk_compat.h"
#include "prompt/prompt.h"

#define CTRL_C '\x03'

/* Bytes that were read and not handled yet. */
struct input {
	int fd;
	bool over;
	size_t length;
	char bytes[2 * UROCE_PERF_COMMAND_BYTES];
};

/* One per process: rte_cmdline's callbacks have no context. */
static struct prompt {
	struct perf_session *session;
	cmdline_parse_ctx_t *commands;
	pthread_t thread;
	FILE *script; /* NULL: none */
	FILE *out;
	struct cmdline *terminal; /* NULL: none, or not yet */
	struct termios mode;      /* the terminal's mode before the start */
	struct input keys;        /* input of the terminal */
	const char *source;       /* source of the command: a script; NULL: the terminal */
	unsigned int line;
	unsigned int ended; /* tests whose results have been printed */
	bool in_command;
	bool refused; /* the last command was refused */
	bool interrupted;
	bool over; /* stop reading */
	bool quit; /* stop reading, and do not wait for the running test */
} prompt;

FILE *
uroce_perf_prompt_out(void)
{
	return prompt.out;
}

void
uroce_perf_prompt_quit(void)
{
	prompt.over = prompt.quit = true;
}

void
uroce_perf_prompt_refuse(const char *format, ...)
{
	char text[PERF_TEXT_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	prompt.refused = true;
	if (prompt.source == NULL) {
		fprintf(prompt.out, "%s\n", text);
		return;
	}
	fprintf(stderr, "uroce-perf: %s:%u: %s\n", prompt.source, prompt.line, text);
	uroce_perf_session_fail(prompt.session);
}

/* Clear the line that is being typed, before other output. Afterward ^L has rte_cmdline print it again, one line
 * higher. */
static void
line_leave(struct prompt *p)
{
	if (p->terminal != NULL && !p->in_command)
		fprintf(p->out, "\r\033[K");
}

static void
line_return(struct prompt *p)
{
	static const char ctrl_l = '\x0c';

	if (p->terminal != NULL && !p->in_command)
		fprintf(p->out, "\n");
	fflush(p->out);
	if (p->terminal != NULL && !p->in_command)
		cmdline_in(p->terminal, &ctrl_l, 1);
}

/* Print the main thread's progress and results. */
static void
news(struct prompt *p)
{
	struct perf_session *s = p->session;
	char line[PERF_TEXT_BYTES];
	unsigned int ended;
	uint64_t count;

	/* EAGAIN: an earlier call has read the event */
	RTE_VERIFY(read(s->event, &count, sizeof(count)) > 0 || errno == EAGAIN);
	pthread_mutex_lock(&s->lock);
	memcpy(line, s->line, sizeof(line));
	s->line[0] = '\0';
	ended = s->ended;
	p->over |= s->state == PERF_SESSION_ENDING;
	pthread_mutex_unlock(&s->lock);

	if (line[0] != '\0') {
		line_leave(p);
		fprintf(p->out, "%s\n", line);
		line_return(p);
	}
	if (ended == p->ended)
		return;
	p->ended = ended;
	p->interrupted = false;
	line_leave(p);
	uroce_perf_bench_report(p->out, s->bench);
	line_return(p);
}

/* Wait for input; meanwhile print the main thread's news. fd -1: no input. @return true: input is available */
static bool
listen_for(struct prompt *p, int fd, int timeout_ms)
{
	struct pollfd fds[] = { { .fd = p->session->event, .events = POLLIN }, { .fd = fd, .events = POLLIN } };

	if (poll(fds, RTE_DIM(fds), timeout_ms) <= 0)
		return false;
	if (fds[0].revents != 0)
		news(p);
	return fds[1].revents != 0;
}

static void
input_read(struct input *in)
{
	ssize_t n = read(in->fd, in->bytes + in->length, sizeof(in->bytes) - in->length);

	if (n > 0)
		in->length += (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		in->over = true;
}

static void
input_drop(struct input *in, size_t n)
{
	in->length -= n;
	memmove(in->bytes, in->bytes + n, in->length);
}

/* The first Ctrl-C stops the test, the second ends the process; without a test, Ctrl-C ends the prompt. */
static void
interrupt(struct prompt *p)
{
	if (uroce_perf_session_state(p->session) != PERF_SESSION_RUNNING) {
		uroce_perf_prompt_quit();
		return;
	}
	if (p->interrupted) {
		tcsetattr(STDIN_FILENO, TCSANOW, &p->mode);
		_exit(128 + SIGINT);
	}
	p->interrupted = true;
	uroce_perf_session_stop(p->session);
}

/* Check for Ctrl-C, which takes effect before a command typed earlier has ended. Keys between the two are discarded,
 * as terminals do; later keys stay. */
static void
keys_look(struct prompt *p)
{
	const char *found;

	while ((found = memchr(p->keys.bytes, CTRL_C, p->keys.length)) != NULL) {
		input_drop(&p->keys, (size_t)(found - p->keys.bytes) + 1);
		interrupt(p);
	}
}

/* While a command waits, keep keys other than Ctrl-C for later. */
static void
keys_keep(struct prompt *p)
{
	if (p->keys.length == sizeof(p->keys.bytes))
		input_drop(&p->keys, 1);
	input_read(&p->keys);
	keys_look(p);
}

void
uroce_perf_prompt_wait(double seconds)
{
	const uint64_t deadline = seconds < 0 ? UINT64_MAX : uroce_perf_now_ms() + (uint64_t)(seconds * 1000);
	struct prompt *p = &prompt;
	uint64_t now;

	if (uroce_perf_session_state(p->session) == PERF_SESSION_RUNNING)
		keys_look(p); /* keys that arrived with the command */
	while (uroce_perf_session_state(p->session) == PERF_SESSION_RUNNING &&
	       (now = uroce_perf_now_ms()) < deadline) {
		int timeout_ms = (int)RTE_MIN(deadline - now, (uint64_t)INT32_MAX);

		if (listen_for(p, p->terminal != NULL && !p->keys.over ? p->keys.fd : -1, timeout_ms))
			keys_keep(p);
	}
	news(p); /* print its results before later output */
}

/* ---- scripts */

/* @return true: a line, with the \n that cmdline_parse() expects; false: end of the input, or an invalid line */
static bool
line_read(struct prompt *p, struct input *in, char line[UROCE_PERF_COMMAND_BYTES])
{
	const char *end = memchr(in->bytes, '\n', in->length);
	size_t length;

	while (end == NULL && !in->over && !p->over && in->length < UROCE_PERF_COMMAND_BYTES) {
		if (listen_for(p, in->fd, -1))
			input_read(in);
		end = memchr(in->bytes, '\n', in->length);
	}
	if (p->over || (end == NULL && in->length == 0))
		return false;
	p->line++;
	length = end != NULL ? (size_t)(end - in->bytes) : in->length;
	if (length > UROCE_PERF_COMMAND_BYTES - 2 || memchr(in->bytes, '\0', length) != NULL) {
		uroce_perf_prompt_refuse("not a command: %s", length > UROCE_PERF_COMMAND_BYTES - 2
								      ? "too long"
								      : "a byte is 0");
		return false;
	}
	memcpy(line, in->bytes, length);
	line[length] = '\n';
	line[length + 1] = '\0';
	input_drop(in, length + (end != NULL));
	return true;
}

static void
line_run(struct prompt *p, struct cmdline *parser, const char *line)
{
	int ret;

	p->refused = false;
	ret = cmdline_parse(parser, line);
	if (ret == CMDLINE_PARSE_BAD_ARGS)
		uroce_perf_prompt_refuse("wrong arguments, see help: %.*s", (int)strcspn(line, "\n"), line);
	else if (ret < 0)
		uroce_perf_prompt_refuse("not a command, see help: %.*s", (int)strcspn(line, "\n"), line);
	fflush(p->out);
}

/* A wrong command ends a file. A pipe is read on; the exit status reports the error. */
static void
script_run(struct prompt *p, int fd, const char *name, bool go_on)
{
	struct cmdline *parser = cmdline_new(p->commands, "", -1, -1);
	struct input in = { .fd = fd };
	char line[UROCE_PERF_COMMAND_BYTES];

	if (parser == NULL) {
		fprintf(stderr, "uroce-perf: out of memory for the prompt\n");
		uroce_perf_session_fail(p->session);
		return;
	}
	p->source = name;
	p->line = 0;
	while (line_read(p, &in, line)) {
		line_run(p, parser, line);
		if (p->over || (p->refused && !go_on))
			break;
	}
	p->source = NULL;
	cmdline_free(parser);
}

/* ---- the terminal */

static void
key(struct prompt *p, char c)
{
	if (c == CTRL_C) {
		interrupt(p);
		return;
	}
	p->in_command = true;
	if (cmdline_in(p->terminal, &c, 1) < 0) /* ^D on an empty line */
		uroce_perf_prompt_quit();
	p->in_command = false;
	fflush(p->out);
}

static void
terminal_run(struct prompt *p)
{
	struct termios mode;

	p->keys.fd = STDIN_FILENO;
	tcgetattr(STDIN_FILENO, &p->mode);
	mode = p->mode;
	mode.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG);
	tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	p->terminal = cmdline_new(p->commands, "uroce-perf> ", STDIN_FILENO, STDOUT_FILENO);
	if (p->terminal == NULL) {
		tcsetattr(STDIN_FILENO, TCSANOW, &p->mode);
		fprintf(stderr, "uroce-perf: out of memory for the prompt\n");
		uroce_perf_session_fail(p->session);
		return;
	}
	while (!p->over) {
		if (p->keys.length == 0 && listen_for(p, p->keys.fd, -1))
			input_read(&p->keys);
		if (p->keys.length > 0) {
			char c = p->keys.bytes[0];

			input_drop(&p->keys, 1);
			key(p, c);
		} else if (p->keys.over) {
			uroce_perf_prompt_quit();
		}
	}
}

static void
terminal_leave(struct prompt *p)
{
	if (p->terminal == NULL)
		return;
	fprintf(p->out, "\n");
	fflush(p->out);
	tcsetattr(STDIN_FILENO, TCSANOW, &p->mode);
	cmdline_free(p->terminal);
	p->terminal = NULL;
}

static void *
prompt_main(void *arg)
{
	struct prompt *p = arg;
	struct perf_session *s = p->session;

	if (p->script != NULL)
		script_run(p, fileno(p->script), s->options.cmdline_file, false);
	if (s->options.interactive && !p->over) {
		if (s->on_terminal)
			terminal_run(p);
		else
			script_run(p, STDIN_FILENO, "standard input", true);
	}
	if (p->quit)
		uroce_perf_session_stop(s);
	p->in_command = true;
	uroce_perf_prompt_wait(-1);
	terminal_leave(p);
	uroce_perf_session_end(s);
	return NULL;
}

int
uroce_perf_prompt_start(struct perf_session *s, cmdline_parse_ctx_t *commands, FILE *script)
{
	const char *json = s->options.json;
	int ret;

	prompt.session = s;
	prompt.commands = commands;
	prompt.script = script;
	prompt.out = json != NULL && strcmp(json, "-") == 0 ? stderr : stdout;
	s->on_terminal = s->options.interactive && isatty(STDIN_FILENO);
	ret = commands == NULL ? -ENOMEM :
	      uroce_ctrl_thread_create(&prompt.thread, "uroce-prompt", prompt_main, &prompt);
	if (ret == 0)
		return 0;
	fprintf(stderr, "uroce-perf: cannot start the prompt: %s\n", strerror(-ret));
	return -1;
}

void
uroce_perf_prompt_join(void)
{
	pthread_join(prompt.thread, NULL);
}
