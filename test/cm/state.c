/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The state tables, compared with a transcription of the specification's diagrams, a letter per state and message, and
 * with each other.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <rte_common.h>

#include "cm/ib/state.h"
#include "groups.h"

/* Columns: REQ MRA REJ REP RTU DREQ DREP SIDR_REQ SIDR_REP LAP APR. - unexpected, d duplicate, a reply repeated, m
 * MRA, s stale; otherwise the next state: I idle, T timewait, E established, P REP received, D DREQ received, L LAP
 * received, Q R A MRA for REQ, REP, LAP. */
static const struct {
	enum uroce_cm_state state;
	const char *does;
} received[] = {
	{ UROCE_CM_STATE_NONE,    "-----------" },
	{ UROCE_CM_IDLE,          "-----------" },
	{ UROCE_CM_LISTEN,        "-----------" },
	{ UROCE_CM_REQ_SENT,      "-QIP-------" },
	{ UROCE_CM_REQ_RCVD,      "m-I--------" },
	{ UROCE_CM_MRA_REQ_SENT,  "a-I--------" },
	{ UROCE_CM_MRA_REQ_RCVD,  "-dIP-------" },
	{ UROCE_CM_REP_SENT,      "aRI-ED-----" },
	{ UROCE_CM_REP_RCVD,      "-dTm-d-----" },
	{ UROCE_CM_MRA_REP_SENT,  "-dTa-d-----" },
	{ UROCE_CM_MRA_REP_RCVD,  "ddI-ED-----" },
	{ UROCE_CM_ESTABLISHED,   "ddTadDT--Ld" },
	{ UROCE_CM_LAP_SENT,      "dATadDT---E" },
	{ UROCE_CM_LAP_RCVD,      "ddTadDT--dd" },
	{ UROCE_CM_MRA_LAP_SENT,  "ddTadDT--ad" },
	{ UROCE_CM_MRA_LAP_RCVD,  "ddTadDT---E" },
	{ UROCE_CM_DREQ_SENT,     "ddTddDT--dd" },
	{ UROCE_CM_DREQ_RCVD,     "ddddddd--dd" },
	{ UROCE_CM_TIMEWAIT,      "sddddad--dd" },
	{ UROCE_CM_SIDR_REQ_SENT, "--------I--" },
	{ UROCE_CM_SIDR_REQ_RCVD, "-------d---" },
	{ UROCE_CM_SIDR_REP_SENT, "-------a---" },
};

/* The same columns: the next state after sending. W: SIDR_REP sent; S: the message's own SENT state. */
static const char *const sent[UROCE_CM_STATE_COUNT] = {
	[UROCE_CM_STATE_NONE] =    "-----------",
	[UROCE_CM_IDLE] =          "S------S---",
	[UROCE_CM_LISTEN] =        "-----------",
	[UROCE_CM_REQ_SENT] =      "--I--------",
	[UROCE_CM_REQ_RCVD] =      "-qIS-------",
	[UROCE_CM_MRA_REQ_SENT] =  "--IS-------",
	[UROCE_CM_MRA_REQ_RCVD] =  "--I--------",
	[UROCE_CM_REP_SENT] =      "--T--------",
	[UROCE_CM_REP_RCVD] =      "-rT-E------",
	[UROCE_CM_MRA_REP_SENT] =  "--T-E------",
	[UROCE_CM_MRA_REP_RCVD] =  "--T--------",
	[UROCE_CM_ESTABLISHED] =   "-----S---S-",
	[UROCE_CM_LAP_SENT] =      "-----S-----",
	[UROCE_CM_LAP_RCVD] =      "-l---S----E",
	[UROCE_CM_MRA_LAP_SENT] =  "-----S----E",
	[UROCE_CM_MRA_LAP_RCVD] =  "-----S-----",
	[UROCE_CM_DREQ_SENT] =     "-----------",
	[UROCE_CM_DREQ_RCVD] =     "------T----",
	[UROCE_CM_TIMEWAIT] =      "-----------",
	[UROCE_CM_SIDR_REQ_SENT] = "-----------",
	[UROCE_CM_SIDR_REQ_RCVD] = "--------W--",
	[UROCE_CM_SIDR_REP_SENT] = "-----------",
};

static const enum uroce_cm_state own_sent[UROCE_CM_MESSAGE_COUNT] = {
	[UROCE_CM_REQ] = UROCE_CM_REQ_SENT,
	[UROCE_CM_REP] = UROCE_CM_REP_SENT,
	[UROCE_CM_DREQ] = UROCE_CM_DREQ_SENT,
	[UROCE_CM_LAP] = UROCE_CM_LAP_SENT,
	[UROCE_CM_SIDR_REQ] = UROCE_CM_SIDR_REQ_SENT,
};

static const struct {
	char letter;
	enum uroce_cm_state state;
} letters[] = {
	{ 'I', UROCE_CM_IDLE }, { 'T', UROCE_CM_TIMEWAIT }, { 'E', UROCE_CM_ESTABLISHED },
	{ 'P', UROCE_CM_REP_RCVD }, { 'D', UROCE_CM_DREQ_RCVD }, { 'L', UROCE_CM_LAP_RCVD },
	{ 'Q', UROCE_CM_MRA_REQ_RCVD }, { 'R', UROCE_CM_MRA_REP_RCVD }, { 'A', UROCE_CM_MRA_LAP_RCVD },
	{ 'q', UROCE_CM_MRA_REQ_SENT }, { 'r', UROCE_CM_MRA_REP_SENT }, { 'l', UROCE_CM_MRA_LAP_SENT },
	{ 'W', UROCE_CM_SIDR_REP_SENT },
};

static enum uroce_cm_state
state_of(char letter)
{
	for (unsigned int i = 0; i < RTE_DIM(letters); i++)
		if (letters[i].letter == letter)
			return letters[i].state;
	fail_msg("no state has the letter %c", letter);
	return UROCE_CM_STATE_NONE;
}

static enum uroce_cm_action
action_of(char letter)
{
	switch (letter) {
	case '-': return UROCE_CM_UNEXPECTED;
	case 'd': return UROCE_CM_DUPLICATE;
	case 'a': return UROCE_CM_ANSWER;
	case 'm': return UROCE_CM_DEFER;
	case 's': return UROCE_CM_STALE;
	case 'Q':
	case 'R':
	case 'A': return UROCE_CM_WAIT;
	default: return UROCE_CM_TAKE;
	}
}

static void
messages_do_what_the_diagrams_say(void **unused)
{
	assert_int_equal(RTE_DIM(received), UROCE_CM_STATE_COUNT);
	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++) {
		const char *does = received[s].does;

		assert_int_equal(received[s].state, s);
		assert_int_equal(strlen(does), UROCE_CM_MESSAGE_COUNT);
		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
			const struct uroce_cm_row *row = &uroce_cm_receives[s][m];

			if (row->action != action_of(does[m]))
				fail_msg("%s in %s", uroce_cm_messages[m].name, uroce_cm_state_names[s]);
			if (row->action == UROCE_CM_TAKE || row->action == UROCE_CM_WAIT)
				assert_int_equal(row->next, state_of(does[m]));
			if (row->action == UROCE_CM_DEFER)
				assert_int_equal(row->next, uroce_cm_sends[s][UROCE_CM_MRA]);
		}
	}
}

static void
sending_leads_where_the_diagrams_say(void **unused)
{
	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++) {
		assert_int_equal(strlen(sent[s]), UROCE_CM_MESSAGE_COUNT);
		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
			enum uroce_cm_state expected;

			if (sent[s][m] == '-')
				expected = UROCE_CM_STATE_NONE;
			else if (sent[s][m] == 'S')
				expected = own_sent[m];
			else
				expected = state_of(sent[s][m]);
			if (uroce_cm_sends[s][m] != expected)
				fail_msg("%s from %s", uroce_cm_messages[m].name, uroce_cm_state_names[s]);
		}
	}
}

/* Each message has one event. */
static void
events_are_of_their_messages(void **unused)
{
	static const enum uroce_cm_event_type events[UROCE_CM_MESSAGE_COUNT] = {
		[UROCE_CM_MRA] = UROCE_CM_MRA_RECEIVED,
		[UROCE_CM_REJ] = UROCE_CM_REJ_RECEIVED,
		[UROCE_CM_REP] = UROCE_CM_REP_RECEIVED,
		[UROCE_CM_RTU] = UROCE_CM_RTU_RECEIVED,
		[UROCE_CM_DREQ] = UROCE_CM_DREQ_RECEIVED,
		[UROCE_CM_DREP] = UROCE_CM_DREP_RECEIVED,
		[UROCE_CM_SIDR_REP] = UROCE_CM_SIDR_REP_RECEIVED,
		[UROCE_CM_LAP] = UROCE_CM_LAP_RECEIVED,
		[UROCE_CM_APR] = UROCE_CM_APR_RECEIVED,
	};

	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++)
		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
			const struct uroce_cm_row *row = &uroce_cm_receives[s][m];

			if (row->action == UROCE_CM_TAKE || row->action == UROCE_CM_WAIT)
				assert_int_equal(row->event, events[m]);
		}
}

static void
what_awaits_an_answer_ends_without_one(void **unused)
{
	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++) {
		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
			enum uroce_cm_state next = uroce_cm_sends[s][m];

			if (next != UROCE_CM_STATE_NONE && uroce_cm_messages[m].answered)
				assert_int_equal(uroce_cm_timeouts[next].action, UROCE_CM_TAKE);
			if (uroce_cm_receives[s][m].action == UROCE_CM_WAIT)
				assert_int_equal(uroce_cm_timeouts[uroce_cm_receives[s][m].next].action, UROCE_CM_TAKE);
		}
		/* rejecting for a timeout leads to the same state */
		if (uroce_cm_timeouts[s].action == UROCE_CM_TAKE && uroce_cm_sends[s][UROCE_CM_REJ] != 0)
			assert_int_equal(uroce_cm_timeouts[s].next, uroce_cm_sends[s][UROCE_CM_REJ]);
	}
}

static void
every_state_can_be_reached_and_left(void **unused)
{
	uint8_t reached[UROCE_CM_STATE_COUNT] = {
		/* entered by uroce_cm_conn_create(), uroce_cm_listen(), a REQ and a SIDR_REQ */
		[UROCE_CM_STATE_NONE] = 1, [UROCE_CM_IDLE] = 1, [UROCE_CM_LISTEN] = 1, [UROCE_CM_REQ_RCVD] = 1,
		[UROCE_CM_SIDR_REQ_RCVD] = 1,
	};

	for (unsigned int s = UROCE_CM_IDLE; s < UROCE_CM_STATE_COUNT; s++) {
		bool left = s == UROCE_CM_LISTEN;

		for (unsigned int m = 0; m < UROCE_CM_MESSAGE_COUNT; m++) {
			const struct uroce_cm_row *row = &uroce_cm_receives[s][m];

			reached[uroce_cm_sends[s][m]] = 1;
			reached[row->next] = 1;
			left |= uroce_cm_sends[s][m] != 0 || row->next != 0;
		}
		left |= uroce_cm_timeouts[s].next != 0;
		assert_true(left);
		assert_non_null(uroce_cm_state_names[s]);
	}
	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++)
		if (reached[s] == 0)
			fail_msg("no transition leads to %s", uroce_cm_state_names[s]);
}

static void
half_open_and_established_are_what_they_say(void **unused)
{
	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++) {
		bool dreq = uroce_cm_sends[s][UROCE_CM_DREQ] != UROCE_CM_STATE_NONE;
		const char *half_open = "REQ_RCVD MRA_REQ_SENT REP_SENT MRA_REP_RCVD SIDR_REQ_RCVD";
		const char *name = uroce_cm_state_names[s];
		const char *found = strstr(half_open, name);
		bool whole = found != NULL && (found == half_open || found[-1] == ' ') &&
			(found[strlen(name)] == ' ' || found[strlen(name)] == 0);

		assert_int_equal(uroce_cm_state_established(s), dreq);
		assert_int_equal(uroce_cm_state_half_open(s), whole);
	}
}

/* A departure acts as a REJ, DREQ or DREP that the peer has not sent. The peer waits for no DREP, so the state is
 * TIMEWAIT at once, not DREQ_RCVD. */
static void
departures_are_what_the_peer_would_have_said(void **unused)
{
	for (unsigned int s = 0; s < UROCE_CM_STATE_COUNT; s++) {
		const struct uroce_cm_row *row = &uroce_cm_departures[s];
		bool waits = s != UROCE_CM_REQ_SENT && s != UROCE_CM_DREQ_RCVD && s != UROCE_CM_SIDR_REQ_SENT &&
			     (uroce_cm_state_established(s) || uroce_cm_sends[s][UROCE_CM_REJ] != 0 ||
			      s == UROCE_CM_DREQ_SENT);

		assert_int_equal(row->action, waits ? UROCE_CM_TAKE : UROCE_CM_UNEXPECTED);
		if (!waits)
			continue;
		if (uroce_cm_state_established(s)) {
			assert_int_equal(row->event, UROCE_CM_DREQ_RECEIVED);
			assert_int_equal(row->next, UROCE_CM_TIMEWAIT);
		} else {
			const enum uroce_cm_message m = s == UROCE_CM_DREQ_SENT ? UROCE_CM_DREP : UROCE_CM_REJ;

			assert_int_equal(row->event, uroce_cm_receives[s][m].event);
			assert_int_equal(row->next, uroce_cm_receives[s][m].next);
		}
	}
}

UROCE_TESTS(cm_state)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_do_what_the_diagrams_say),
		cmocka_unit_test(sending_leads_where_the_diagrams_say),
		cmocka_unit_test(events_are_of_their_messages),
		cmocka_unit_test(what_awaits_an_answer_ends_without_one),
		cmocka_unit_test(departures_are_what_the_peer_would_have_said),
		cmocka_unit_test(every_state_can_be_reached_and_left),
		cmocka_unit_test(half_open_and_established_are_what_they_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
