/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of commands: each is a list of tokens for rte_cmdline to match and complete. The command's function
 * checks the values of its words, since it can explain an error.
 */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmdline.h>
#include <cmdline_parse.h>
#include <cmdline_parse_string.h>
#include <rte_common.h>

#include "prompt/commands.h"
#include "prompt/prompt.h"
#include "prompt/set.h"
#include "prompt/show.h"

/* The words of a parsed command. */
struct command {
	cmdline_fixed_string_t verb;
	cmdline_fixed_string_t noun;
	cmdline_fixed_string_t word;
};

static struct perf_session *session;
static char *impairment; /* session->options points to it */

/* ---- show and clear */

static void
show(void *parsed, struct cmdline *cl __rte_unused, void *data)
{
	const struct command *c = parsed;
	char error[PERF_TEXT_BYTES];

	if (uroce_perf_show(session, uroce_perf_prompt_out(), c->noun, data != NULL ? c->word : NULL, error,
			    sizeof(error)) != 0)
		uroce_perf_prompt_refuse("%s", error);
}

static void
clear(void *parsed __rte_unused, struct cmdline *cl __rte_unused, void *data __rte_unused)
{
	uroce_perf_show_clear(session);
}

/* ---- set */

/* The client determines the tests that a server runs. */
static bool
is_idle(const char *what)
{
	if (session->bench == NULL)
		uroce_perf_prompt_refuse("%s: the client selects the tests: use its prompt", what);
	else if (uroce_perf_session_state(session) == PERF_SESSION_RUNNING)
		uroce_perf_prompt_refuse("%s: a test is running: use stop or wait first", what);
	else
		return true;
	return false;
}

static void
set(void *parsed, struct cmdline *cl __rte_unused, void *data __rte_unused)
{
	const struct command *c = parsed;
	char error[PERF_TEXT_BYTES], *value;

	if (!is_idle("set"))
		return;
	value = strdup(c->word);
	if (value == NULL) {
		uroce_perf_prompt_refuse("set: out of memory");
	} else if (uroce_perf_set(&session->options, c->noun, value, error, sizeof(error)) != 0) {
		uroce_perf_prompt_refuse("set %s", error);
	} else if (session->options.impair == value) {
		free(impairment);
		impairment = value;
		return;
	}
	free(value);
}

/* ---- tests */

static void
start(void *parsed __rte_unused, struct cmdline *cl __rte_unused, void *data __rte_unused)
{
	if (!is_idle("start"))
		return;
	uroce_perf_prompt_wait(0); /* print pending results before the next test overwrites them */
	if (!uroce_perf_session_start(session))
		uroce_perf_prompt_refuse("start: the program is exiting");
}

/* Waits, so that the next command finds the test stopped. */
static void
stop(void *parsed __rte_unused, struct cmdline *cl __rte_unused, void *data __rte_unused)
{
	if (session->bench == NULL) {
		uroce_perf_prompt_refuse("stop: the client selects the tests: use quit to end this server");
		return;
	}
	uroce_perf_session_stop(session);
	uroce_perf_prompt_wait(-1);
}

static void
wait_some(void *parsed, struct cmdline *cl __rte_unused, void *data)
{
	const struct command *c = parsed;
	double seconds = -1;
	char *end;

	if (data != NULL) {
		seconds = strtod(c->word, &end);
		if (end == c->word || *end != '\0' || !isfinite(seconds) || seconds < 0 ||
		    seconds > UROCE_PERF_MAX_TIME_S) {
			uroce_perf_prompt_refuse("wait %s: use seconds from 0 to %u, e.g. 5 or 0.5", c->word,
						 UROCE_PERF_MAX_TIME_S);
			return;
		}
	}
	uroce_perf_prompt_wait(seconds);
}

static void
quit(void *parsed __rte_unused, struct cmdline *cl __rte_unused, void *data __rte_unused)
{
	uroce_perf_prompt_quit();
}

/* ---- help */

static const struct {
	const char *topic;
	const char *text;
} topics[] = {
	{ "show",
	  "show port|qp|mr|cq|counters|config|worker|results [NUMBER|all]\n"
	  "  port               ports, their addresses and packet counters\n"
	  "  qp, mr, cq         objects of the running test; qp NUMBER: details of one queue pair\n"
	  "  counters [all]     counters since `clear counters`; without all, only those that are not 0\n"
	  "  config             the options of the next test\n"
	  "  worker             load of each worker since it was last shown\n"
	  "  results            results of the last test\n"
	  "clear counters       show later counters relative to now\n" },
	{ "set",
	  "set NAME VALUE       change an option of the command line, while no test runs:\n"
	  "  op OP              write, write-imm, read, send, send-imm, fetch-add, cmp-swap\n"
	  "  transport, mode    rc, uc or ud; bw, rate or lat\n"
	  "  size, mtu          BYTES[K|M] or all; 256, 512, 1024, 2048 or 4096\n"
	  "  qps, depth         number of queue pairs; messages in flight per queue pair\n"
	  "  buffers            size of a queue pair's message buffers at each end, BYTES[K|M]\n"
	  "  time, iters        seconds; messages: the one set last limits the test\n"
	  "  verify             on or off\n"
	  "  fault              number of the message to corrupt, with verify; or off\n"
	  "  impair             loss=P,reorder=P,dup=P,corrupt=P,ecn=P,delay=T,... or off\n"
	  "  congestion         on or off\n" },
	{ "run",
	  "start                start a test in the background\n"
	  "stop                 stop the test, as Ctrl-C does, and wait for its results\n"
	  "wait [SECONDS]       wait for the end of the test, at most so long\n"
	  "quit                 stop the test and exit, as Ctrl-D does, and Ctrl-C when no test runs\n" },
};

static void
help(void *parsed, struct cmdline *cl __rte_unused, void *data)
{
	const struct command *c = parsed;
	FILE *out = uroce_perf_prompt_out();
	bool found = false;

	for (unsigned int i = 0; i < RTE_DIM(topics); i++) {
		if (data != NULL && strcmp(c->word, topics[i].topic) != 0)
			continue;
		fprintf(out, "%s", topics[i].text);
		found = true;
	}
	if (!found)
		uroce_perf_prompt_refuse("help %s: use show, set or run", c->word);
}

/* ---- the table */

/* The words of a command as its help shows them; of several alternatives, one is given. With `choices`, the last word
 * is free, and is completed to these. */
static const struct {
	void (*f)(void *parsed, struct cmdline *cl, void *data);
	const char *words;
	const char *choices;
} table[] = {
	{ help, "help", NULL },
	{ help, "help show|set|run", "show#set#run" },
	{ show, "show port|qp|mr|cq|counters|config|worker|results", NULL },
	{ show, "show port|qp|mr|cq|counters|config|worker|results NUMBER|all", "all" },
	{ clear, "clear counters", NULL },
	{ set, "set op OP", "write#write-imm#read#send#send-imm#fetch-add#cmp-swap" },
	{ set, "set transport rc|uc|ud", "rc#uc#ud" },
	{ set, "set mode bw|rate|lat", "bw#rate#lat" },
	{ set, "set size BYTES[K|M]|all", "all" },
	{ set, "set mtu 256..4096", "256#512#1024#2048#4096" },
	{ set, "set qps N", "" },
	{ set, "set depth N", "" },
	{ set, "set buffers BYTES[K|M]|off", "off" },
	{ set, "set time SECONDS", "" },
	{ set, "set iters N", "" },
	{ set, "set verify on|off", "on#off" },
	{ set, "set fault N|off", "off" },
	{ set, "set impair loss=P,...|off", "off" },
	{ set, "set congestion on|off", "on#off" },
	{ start, "start", NULL },
	{ stop, "stop", NULL },
	{ wait_some, "wait", NULL },
	{ wait_some, "wait SECONDS", "" },
	{ quit, "quit", NULL },
};

#define MOST_WORDS 3

/* A command for rte_cmdline. */
struct built {
	struct cmdline_token_string tokens[MOST_WORDS];
	char words[MOST_WORDS][STR_TOKEN_SIZE];
	cmdline_parse_inst_t instance; /* last, since its tokens follow it */
};

static int
word_parse(cmdline_parse_token_hdr_t *token, const char *line, void *result, unsigned int room)
{
	struct cmdline_token_string any = { .string_data.str = NULL };

	RTE_SET_USED(token);
	return cmdline_parse_string(&any.hdr, line, result, room);
}

static int
word_help(cmdline_parse_token_hdr_t *token, char *text, unsigned int room)
{
	const char *choices = ((const struct cmdline_token_string *)token)->string_data.str;

	snprintf(text, room, "%s", choices != NULL ? choices : "VALUE");
	return 0;
}

/* Accepts any word; completes it to the token's choices. */
static struct cmdline_token_ops word_ops = {
	.parse = word_parse,
	.complete_get_nb = cmdline_complete_get_nb_string,
	.complete_get_elt = cmdline_complete_get_elt_string,
	.get_help = word_help,
};

/* Build the token of one word of table[row]. */
static void
token_build(struct built *b, unsigned int i, const char *word, size_t length, unsigned int row, bool last)
{
	static const size_t offsets[] = { offsetof(struct command, verb), offsetof(struct command, noun),
					  offsetof(struct command, word) };
	const char *choices = last ? table[row].choices : NULL;
	struct cmdline_token_string *token = &b->tokens[i];

	snprintf(b->words[i], sizeof(b->words[i]), "%.*s", (int)length, word);
	for (char *c = b->words[i]; *c != '\0'; c++)
		*c = *c == '|' ? '#' : *c;
	token->hdr.ops = choices != NULL ? &word_ops : &cmdline_token_string_ops;
	token->hdr.offset = (unsigned int)(choices != NULL ? offsetof(struct command, word) : offsets[i]);
	token->string_data.str = choices == NULL ? b->words[i] : choices[0] != '\0' ? choices : NULL;
	b->instance.tokens[i] = &token->hdr;
}

static cmdline_parse_inst_t *
instance_build(unsigned int row)
{
	struct built *b = calloc(1, sizeof(*b) + (MOST_WORDS + 1) * sizeof(b->instance.tokens[0]));
	const char *word = table[row].words;
	unsigned int n = 0;

	if (b == NULL)
		return NULL;
	for (; *word != '\0'; n++) {
		const size_t length = strcspn(word, " ");

		token_build(b, n, word, length, row, word[length] == '\0');
		word += length + (word[length] == ' ');
	}
	b->instance.f = table[row].f;
	b->instance.data = table[row].choices != NULL ? &b->instance : NULL;
	b->instance.help_str = table[row].words;
	return &b->instance;
}

cmdline_parse_ctx_t *
uroce_perf_commands(struct perf_session *s)
{
	static cmdline_parse_ctx_t commands[RTE_DIM(table) + 1]; /* lives as long as the process */

	session = s;
	for (unsigned int i = 0; i < RTE_DIM(table); i++) {
		if (commands[i] == NULL)
			commands[i] = instance_build(i);
		if (commands[i] == NULL)
			return NULL;
	}
	return commands;
}
